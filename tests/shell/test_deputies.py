"""A request that too few people can approve: it says so, goes to the team's deputies, and expires by name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agentstate.clock import now
from agentstate.engine.decide import DecisionNotAllowed
from agentstate.errors import Invalid
from agentstate.people import commands as people
from agentstate.people import delegations, deputies, trail
from agentstate.people.errors import OwnAccount
from agentstate.people.models import Deputy, User
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission, Role
from sessions.agents import registry
from sessions.approvals import claims
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.automation.notifications import preferences
from sessions.automation.notifications import queries as told
from sessions.automation.notifications import repository as keeping
from sessions.conversation import commands as conversation_commands
from sessions.core import authority
from sessions.descriptions import entries as descriptions_entries
from sessions.models.alerts import Alert
from sessions.models.notifications import NoticeDelivery
from sessions.runtime import sweeper
from tests import cast
from tests.shell import authority_oracle
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, state, work
from tests.shell.notice_world import send as deliver
from tests.shell.notice_world import tell
from tests.shell.pages import read
from tests.shell.test_notice_mail import server  # noqa: F401  (fixture)
from tests.shell.test_pages import paused
from tests.shell.test_pages_decisions import card, send
from tests.shell.test_terms import due

pytestmark = pytest.mark.django_db(transaction=True)
TOO_FEW = "Needs 2 people; only 1 could approve it at the time of the request."
SENT = f"{TOO_FEW} Sent to the team's deputies: Charlie."
NONE_NAMED = f"{TOO_FEW} No deputy of the team may approve it. It expires unless the team names a deputy."


@pytest.fixture(autouse=True)
def of_two(bank, monkeypatch) -> None:
    """The bank's policy with two people behind every transfer."""
    policy = registry.policy_named("bank")
    rules = tuple(msgspec.structs.replace(rule, quorum=2) for rule in policy.rules)
    monkeypatch.setattr(registry, "policy_named", lambda _name: msgspec.structs.replace(policy, rules=rules))


def charlie() -> User:
    """A supervisor of team Cards who reads team Retail's sessions."""
    user = cast.charlie()
    people.grant_role(user, cast.retail(), Role.VIEWER, None)
    return user


def named(user: User | None = None) -> Deputy:
    """A deputy of team Retail: Charlie, if nobody else."""
    return deputies.name((user or charlie()).pk, cast.retail().pk, cast.adam())


def asked() -> UUID:
    """A transfer that waits for two people, in a team of whom only Alice may approve it."""
    cast.alice()
    return paused()[1].id


def line(request: UUID, user: User | None = None) -> approvals_queries.RequestLine:
    return approvals_queries.request_line(user or cast.alice(), request)


def approve(user: User, request: UUID) -> None:
    approvals_commands.decide(user, request, approvals_commands.Decision("approve", seen=line(request).digest))


def test_a_request_says_that_too_few_people_may_approve_it_and_a_deputy_is_the_second(bank):
    before = bank.transfers("C-1001")
    deputy, request = named().user, asked()
    assert (line(request).approvers_missing, line(request).too_few) == (1, SENT)
    approve(deputy, request)
    assert line(request).too_few == SENT
    approve(cast.alice(), request)
    work()
    assert line(request).execution == "done"
    assert len(bank.transfers("C-1001")) == len(before) + 1
    made = events(line(request).session, "decision.made")
    assert [(each["by"], each["deputy"]) for each in made] == [(deputy.actor, True), (cast.alice().actor, False)]
    call_command("rebuild", "--check")


def test_it_is_in_the_queue_of_a_deputy_and_of_nobody_else_from_another_team():
    deputy, request = named().user, asked()
    olga = cast.person("olga", Role.SUPERVISOR, cast.cards())
    people.grant_role(olga, cast.retail(), Role.VIEWER, None)
    assert [each.id for each in approvals_queries.requests(deputy, mine=True)] == [request]
    assert approvals_queries.requests(olga, mine=True) == []
    assert line(request, olga).who_may == ["Alice", "Charlie"]
    claims.claim(deputy, request)
    with pytest.raises(DecisionNotAllowed):
        approve(olga, request)


def test_a_deputy_decides_nothing_where_the_team_has_enough_people():
    cast.bob()
    deputy, request = named().user, asked()
    assert (line(request).approvers_missing, line(request).too_few) == (0, "")
    assert approvals_queries.requests(deputy, mine=True) == []
    assert not line(request, deputy).may_decide
    assert line(request, deputy).who_may == ["Alice", "Bob"]
    with pytest.raises(DecisionNotAllowed):
        approve(deputy, request)
    with pytest.raises(DecisionNotAllowed):
        claims.claim(deputy, request)


def test_who_proposed_or_shares_a_right_is_left_out_as_a_deputy_too():
    deputy, request = named().user, asked()
    other = named(colleague()).user
    until = now() + timedelta(hours=1)
    delegations.give(deputy, other, cast.cards(), until=until, reason="lunch", permissions=[Permission.DECIDE])
    approve(deputy, request)
    with pytest.raises(DecisionNotAllowed, match="share a right"):
        approve(other, request)
    session, found = paused("$1,300.00")
    caller = cast.person("deputy3", Role.SUPERVISOR, cast.cards())
    for role in (Role.VIEWER, Role.CALLER):
        people.grant_role(caller, cast.retail(), role, None)
    named(caller)
    conversation_commands.say(caller, session, "And hurry.")
    with pytest.raises(DecisionNotAllowed, match="spoke as the customer"):
        approve(caller, found.id)


def colleague() -> User:
    """Another supervisor of team Cards who reads team Retail's sessions."""
    user = cast.person("carla", Role.SUPERVISOR, cast.cards())
    people.grant_role(user, cast.retail(), Role.VIEWER, None)
    return user


@pytest.mark.parametrize("lost", ["deputy", "right elsewhere", "account", "program"])
def test_a_deputy_who_lost_it_before_the_call_ran_means_a_new_request(bank, lost):
    before, found = bank.transfers("C-1001"), named()
    request = asked()
    approve(found.user, request)
    approve(cast.alice(), request)
    if lost == "deputy":
        deputies.remove(found.pk, cast.adam())
    elif lost == "right elsewhere":
        people.remove_role(found.user, cast.cards(), Role.SUPERVISOR, None)
    elif lost == "program":
        people.grant_role(found.user, cast.cards(), Role.PROGRAM, None)
    else:
        people.disable(found.user, None)
    work()
    assert bank.transfers("C-1001") == before
    assert line(request).execution == "asked_again"


def test_nobody_decided_it_expires_by_name_on_page_api_and_in_the_report(bank):
    request = asked()
    due(request, "expires_at")
    assert sweeper.expire_due() == 1
    ended = line(request)
    assert ended.state == "expired"
    assert ended.because.startswith("too few people could approve it, 1 of 2 when it was asked")
    assert (
        "Too few people were allowed to approve it." in card(cast.browser(cast.alice()), request).id("settled").text()
    )
    body = Api(cast.alice()).get(f"/requests/{request}").json()
    assert (body["approvers_missing"], body["too_few"], body["because"]) == (1, TOO_FEW, ended.because)


def test_the_card_and_the_log_say_it_in_words():
    deputy, request = named().user, asked()
    page = card(cast.browser(deputy), request)
    assert page.id("too-few").text() == SENT
    assert "approve" in page.id("acts").text().lower()
    session = line(request).session
    audit = cast.browser(cast.alice()).get(reverse("session_audit", args=[session])).content.decode()
    assert "only 1 could approve it" in audit


def test_with_no_deputy_it_says_so_and_who_may_name_one_is_led_there():
    request, alice = asked(), cast.alice()
    assert line(request).too_few == NONE_NAMED
    assert Api(alice).get(f"/requests/{request}").json()["too_few"] == NONE_NAMED
    page = card(cast.browser(alice), request)
    assert (page.id("too-few").text(), list(page.id("too-few").all("a"))) == (NONE_NAMED, [])
    people.grant_role(alice, cast.retail(), Role.ADMIN, None)
    (link,) = card(cast.browser(alice), request).id("too-few").all("a")
    assert link.attrs["href"] == reverse("desk")
    named()
    page = card(cast.browser(alice), request)
    assert (page.id("too-few").text(), list(page.id("too-few").all("a"))) == (SENT, [])


@pytest.mark.parametrize("lost", ["right elsewhere", "spoke"])
def test_a_deputy_who_may_not_approve_it_is_not_named(lost):
    deputy, request = named().user, asked()
    if lost == "spoke":
        people.grant_role(deputy, cast.retail(), Role.CALLER, None)
        conversation_commands.say(deputy, line(request).session, "And hurry.")
    else:
        people.remove_role(deputy, cast.cards(), Role.SUPERVISOR, None)
    assert line(request).too_few == NONE_NAMED


def test_deputies_of_a_list_are_read_once(django_assert_num_queries):
    named(), asked()
    with CaptureQueriesContext(connection) as of_one:
        approvals_queries.requests(cast.alice())
    paused("$1,300.00")
    with django_assert_num_queries(len(of_one)):
        assert [each.too_few for each in approvals_queries.requests(cast.alice())] == [SENT, SENT]


# The notification.


def delivered(user: User, way: str = "in_app") -> list[NoticeDelivery]:
    return list(NoticeDelivery.objects.filter(person=user.pk, way=way))


def with_shipped_rules() -> None:
    team = cast.retail()
    keeping.take_shipped(team.tenant_id, team.pk, cast.adam().actor)


@pytest.mark.parametrize("amount", ["$1,200.00", "$3,000.00"])  # of tier 3 another rule notifies the reviewers
def test_deputies_of_the_team_are_notified_once_of_a_request_that_is_for_them(amount):
    with_shipped_rules()
    deputy, alice = named().user, cast.alice()
    others = [colleague(), cast.vera(), cast.adam()]
    session, request = paused(amount)
    conversation_commands.say(cast.cleo(), session, "And hurry.")
    tell(), tell()
    (row,) = told.notices(deputy)
    assert (row.title, row.path) == (
        f"Needs a deputy's decision: tier {request.tier}, transfer",
        reverse("decision", args=[request.id]),
    )
    assert [len(delivered(each)) for each in (deputy, alice, *others)] == [1, int(request.tier == 3), 0, 0, 0]
    assert card(cast.browser(deputy), request.id).id("too-few").text() == SENT


def test_a_deputy_has_it_by_mail(server):  # noqa: F811
    with_shipped_rules()
    deputy = named().user
    preferences.keep(deputy, email="charlie@example.com", off=[])
    request = asked()
    tell(), deliver()
    (mail,) = server.mails
    assert mail["To"] == "charlie@example.com"
    assert mail["Subject"].startswith("[AgentState] Needs a deputy's decision: tier 2, transfer")
    assert reverse("decision", args=[request]) in mail.get_body(["plain"]).get_content()


def test_a_deputy_is_not_notified_of_what_they_may_not_approve():
    with_shipped_rules()
    deputy = named().user
    people.grant_role(deputy, cast.retail(), Role.CALLER, None)
    session, _ = paused()
    conversation_commands.say(deputy, session, "And hurry.")
    tell()
    assert delivered(deputy) == []


def test_nobody_is_notified_as_a_deputy_where_the_team_has_enough_people():
    with_shipped_rules()
    deputy, _ = named().user, cast.bob()
    assert asked()
    tell()
    assert (delivered(deputy), Alert.objects.count()) == ([], 0)


def test_a_deputy_to_whom_a_right_was_lent_is_a_reviewer_where_the_team_has_enough_people():
    with_shipped_rules()
    deputy, bob = named().user, cast.bob()
    cast.alice(), cast.person("dora", Role.SUPERVISOR, cast.retail())
    until, rights = now() + timedelta(hours=1), [Permission.DECIDE, Permission.DECIDE_TIER3]
    delegations.give(bob, deputy, cast.retail(), until=until, reason="lunch", permissions=rights)
    _, request = paused("$3,000.00")
    assert request.too_few == ""
    tell()
    assert [each.title for each in told.notices(deputy)] == ["Needs a decision: tier 3, transfer"]


def test_a_deputy_decides_on_the_page():
    deputy, request = named().user, asked()
    assert send(cast.browser(deputy), request, "approve").status_code in (200, 302)
    assert line(request).approvals == 1


def test_a_delay_that_a_person_undoes_goes_to_the_deputies(monkeypatch):
    policy = registry.policy_named("bank")
    delayed = {"gate": "hold", "hold": 60}
    rules = tuple(msgspec.structs.replace(each, **(delayed if each.gate == "approve" else {})) for each in policy.rules)
    monkeypatch.setattr(registry, "policy_named", lambda _name: msgspec.structs.replace(policy, rules=rules))
    with_shipped_rules()
    deputy, request = named().user, asked()
    tell()
    assert (line(request).too_few, delivered(deputy)) == ("", [])
    approvals_commands.undo(cast.alice(), request, reason="wrong account")
    tell()
    assert (line(request).too_few, len(delivered(deputy))) == (SENT, 1)
    assert (
        "wrong account; 1 approvers missing"
        in descriptions_entries.entry(
            "request.undone", events(line(request).session, "request.undone")[0], "transfer"
        ).about
    )
    approve(deputy, request)
    approve(cast.alice(), request)
    work()
    assert line(request).execution == "done"
    call_command("rebuild", "--check")


def test_what_a_deputy_edits_is_asked_about_anew():
    deputy, request = named().user, asked()
    changed = {**line(request).arguments, "amount": {"minor": 80000, "currency": "USD"}}
    approvals_commands.decide(
        deputy,
        request,
        approvals_commands.Decision("edit", reason="misheard", arguments=changed, seen=line(request).digest),
    )
    (again,) = [each for each in state(line(request).session).requests.values() if each.status == "pending"]
    assert again.asked.approvers_missing == 1


def test_a_deputy_gives_no_standing_approval_and_lends_nothing():
    deputy = named().user
    assert authority.reviewer(deputy, cast.retail().pk).may == frozenset()
    until = now() + timedelta(hours=1)
    with pytest.raises(PermissionDenied):
        delegations.give(deputy, cast.vera(), cast.retail(), until=until, reason="so", permissions=[Permission.DECIDE])


def test_what_deputies_may_is_read_in_one_statement_as_for_each_alone(django_assert_num_queries):
    deputy, team = named().user, cast.retail().pk
    everybody = [deputy, colleague(), cast.alice(), cast.vera(), cast.adam()]
    for too_few in (False, True):
        with django_assert_num_queries(0):  # of Django's
            found = authority.reviewers([each.actor for each in everybody], team, too_few)
        assert found == {each.actor: authority_oracle.reviewer(each, team, too_few) for each in everybody}
    assert found[deputy.actor].own.deputy
    assert [user.username for user, _ in authority.deciders(team)] == ["alice"]
    assert [user.username for user, _ in authority.deciders(team, too_few=True)] == ["alice", "charlie"]


def test_people_are_counted_in_two_queries_when_a_request_is_made_and_never_otherwise(monkeypatch):
    counted: list[Any] = []
    before, statements = authority.approvers, []
    run = authority.ledger.run
    monkeypatch.setattr("sessions.core.commit.approvers", lambda team: counted.append(team) or before(team))
    request = asked()
    assert len(counted) == 1
    approve(cast.alice(), request)
    assert len(counted) == 1
    monkeypatch.setattr(authority.ledger, "run", lambda *each: statements.append(each) or run(*each))
    assert [each.actor for each in before(cast.retail().pk)] == [cast.alice().actor]
    assert len(statements) == 1


# Who names deputies.


def test_an_admin_of_the_team_names_and_removes_and_the_staff_log_says_so(monkeypatch):
    records: list[trail.Record] = []
    monkeypatch.setattr(trail, "sink", records.append)
    user, retail, adam = charlie(), cast.retail(), cast.adam()
    records.clear()
    made = deputies.name(user.pk, retail.pk, adam)
    assert deputies.name(user.pk, retail.pk, adam) == made
    deputies.remove(made.pk, adam)
    assert [(each.kind, each.actor, each.subject) for each in records] == [
        ("deputy.named", adam.actor, user.actor),
        ("deputy.removed", adam.actor, user.actor),
    ]
    assert {each.facts["team"] for each in records} == {str(retail.pk)}


@pytest.mark.parametrize("who", ["alice", "vera", "charlie", "carol"])
def test_nobody_else_names_or_removes_one(who):
    made = named()
    carol = cast.person("carol", Role.ADMIN, cast.cards())  # an admin, of another team
    by = carol if who == "carol" else getattr(cast, who)()
    candidate = colleague()
    with pytest.raises((PermissionDenied, OwnAccount)):
        deputies.name(candidate.pk, cast.retail().pk, by)
    with pytest.raises((PermissionDenied, OwnAccount, deputies.UnknownDeputy)):
        deputies.remove(made.pk, by)
    assert list(Deputy.objects.all()) == [made]


def test_nobody_names_themselves():
    adam = cast.adam()
    people.grant_role(adam, cast.cards(), Role.SUPERVISOR, None)
    people.grant_role(adam, cast.retail(), Role.VIEWER, None)
    with pytest.raises(OwnAccount):
        deputies.name(adam.pk, cast.retail().pk, adam)


def test_who_reads_nothing_here_decides_nowhere_or_decides_here_is_no_deputy():
    program = colleague()
    people.grant_role(program, cast.cards(), Role.PROGRAM, None)
    for user in (cast.charlie(), cast.vera(), cast.alice(), program):
        with pytest.raises(deputies.NotDeputy):
            deputies.name(user.pk, cast.retail().pk, cast.adam())
    with pytest.raises(Invalid, match="no such person"):
        deputies.name(cast.retail().pk, cast.retail().pk, cast.adam())


def test_a_team_has_a_bounded_number_of_deputies(monkeypatch):
    monkeypatch.setattr(deputies, "MAX_DEPUTIES", 1)
    named()
    with pytest.raises(deputies.NotDeputy, match="1 deputies already"):
        named(colleague())


# The team's page, and the API.


def panel(user: User) -> Any:
    """What the desk shows of team Retail's approvers."""
    return read(cast.browser(user).get(reverse("desk")).content).id("approvers-retail")


def test_the_teams_page_warns_beforehand_and_names_who_may():
    cast.alice()
    assert "Tier 2 needs 2 people; this team has 1 who may approve (Alice)." in panel(cast.adam()).text()
    cast.bob()
    assert "The team has enough approvers" in panel(cast.adam()).text()
    until = now() + timedelta(hours=1)
    rights = [Permission.DECIDE, Permission.DECIDE_TIER3]
    delegations.give(cast.bob(), cast.alice(), cast.retail(), until=until, reason="lunch", permissions=rights)
    assert "They share a right, so they count as 1." in panel(cast.adam()).text()


def test_a_team_without_anybody_is_told_so():
    assert "no one in this team may approve." in panel(cast.adam()).text()


def test_on_the_page_a_deputy_is_named_and_removed_without_a_script():
    user, adam = charlie(), cast.browser(cast.adam())
    assert "No deputies" in panel(cast.adam()).text()
    body = {"user": str(user.pk), "team": str(cast.retail().pk)}
    assert adam.post(reverse("desk_deputy"), body).status_code == 302
    shown = panel(cast.adam()).text()
    assert ("Charlie" in shown, "Remove" in shown, "No deputies" in shown) == (True, True, False)
    assert "Remove" not in panel(cast.alice()).text()  # who takes over reads it and names nobody
    made = Deputy.objects.get()
    assert cast.browser(cast.alice()).post(reverse("desk_deputy_remove", args=[made.pk])).status_code == 403
    assert adam.post(reverse("desk_deputy_remove", args=[made.pk])).status_code == 302
    assert not Deputy.objects.exists()
    wrong = {**body, "user": str(cast.vera().pk)}
    answer = adam.post(reverse("desk_deputy"), wrong)
    assert (answer.status_code, "cannot be a deputy" in answer.content.decode()) == (409, True)


def test_over_the_api_deputies_are_named_listed_and_removed():
    user, adam = charlie(), Api(cast.adam())
    cast.alice()
    body = {"user": str(user.pk), "team": str(cast.retail().pk)}
    problem(Api(cast.alice()).post("/deputies", body), 403, "permission_denied")
    made = adam.post("/deputies", body).json()
    assert (made["user"], made["team"]) == (body["user"], body["team"])
    (team,) = Api(cast.alice()).get("/deputies").json()["teams"]
    assert team["deputies"] == [made]
    assert {gap["tier"]: gap["able"] for gap in team["gaps"]} == {3: ["Alice"], 2: ["Alice"]}
    problem(Api(cast.vera()).get("/deputies"), 403, "permission_denied")
    problem(Api(cast.person("carol", Role.ADMIN, cast.cards())).ask("DELETE", f"/deputies/{made['id']}"), 404)
    assert adam.ask("DELETE", f"/deputies/{made['id']}").json() == made
    problem(adam.ask("DELETE", f"/deputies/{made['id']}"), 404, "unknown_deputy")
