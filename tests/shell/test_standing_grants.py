"""Grants that hold beyond the session in which they were given: for its customer, or for its agent in its team."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connections
from django.urls import reverse

from agentstate.engine.decide import DecisionNotAllowed
from agentstate.engine.decide.versions import Consequences
from agentstate.people.models import User
from agentstate.people.roles import Role
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import commit, standing_approvals, states
from sessions.core.authority import reviewers
from sessions.models.sessions import AgentSession, StandingGrant
from sessions.privacy import stores
from sessions.standing_approvals import commands as grants
from sessions.standing_approvals import queries as lists
from sessions.supervision import commands as supervision_commands
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.processes import eventually
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, offering, opened, say, state, work
from tests.shell.locks import another_connection, waits_for_a_lock
from tests.shell.test_contention import in_thread
from tests.shell.test_shared_rights import lend

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["customer", "agent"])
def scope(request, bank, monkeypatch) -> str:
    monkeypatch.setattr(registry, "policy_named", lambda name: offering(request.param))
    return str(request.param)


def asked(customer: str = "C-1001", amount: str = "$1,100.00", by: User | None = None) -> UUID:
    """A session in which that transfer was asked for, and nothing decided."""
    session = opened(customer, by=by)
    for said in (f"I want to move {amount} from savings to checking.", "Yes, that is right."):
        conversation_commands.say(by or cast.cleo(), session, said)
        work()
    return session


def pending() -> list[str]:
    return [line["id"] for line in Api(cast.alice()).get("/requests", state="pending").json()["requests"]]


def given(**wishes) -> tuple[UUID, str]:
    """A session in which a grant was given, and the grant."""
    session = asked()
    (request,) = pending()
    approvals_commands.decide(cast.alice(), UUID(request), approvals_commands.Decision("approve"))
    work()
    answer = Api(cast.alice()).post(f"/sessions/{session}/grants", {"request": request, **wishes})
    assert answer.status_code == 201, answer.json()
    return session, next(iter(state(session).grants))


def test_the_next_session_of_that_customer_or_agent_goes_on_without_asking(bank, scope):
    session, grant = given()
    other = asked()
    assert events(other, "call.allowed")[-1]["rule"] == f"grant:{grant}"
    assert (len(bank.transfers("C-1001")), pending()) == (2, [])
    (line,) = Api(cast.alice()).get(f"/sessions/{other}/grants").json()["grants"]
    assert (line["id"], line["scope"], line["used"], line["session"]) == (grant, scope, 1, str(session))
    assert rebuild.check(other) == rebuild.check(session) == []


def test_one_for_a_customer_is_of_no_other_and_one_for_an_agent_is_of_all_its_sessions(bank, scope):
    given()
    asked("C-1002")
    assert len(pending()) == (1 if scope == "customer" else 0)
    assert len(bank.transfers("C-1002")) == (0 if scope == "customer" else 1)


def test_another_team_has_nothing_of_it(bank, scope):
    _, grant = given()
    caller = cast.person("calvin", Role.CALLER, cast.cards())
    session = asked(by=caller)
    assert AgentSession.objects.get(pk=session).team_id == cast.cards().pk
    assert state(session).requests
    assert StandingGrant.objects.get(pk=grant).used == 0


def test_its_uses_count_over_all_sessions(bank, scope):
    _, grant = given(uses=2)
    for _ in range(3):
        asked()
    assert (StandingGrant.objects.get(pk=grant).used, len(bank.transfers("C-1001")), len(pending())) == (2, 3, 1)


def at_once(acts: list[Callable[[], object]]) -> None:
    ready = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> None:
        ready.wait()
        try:
            act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        for done in [pool.submit(run, act) for act in acts]:
            done.result()


def test_sessions_that_use_it_at_the_same_time_use_it_as_often_as_was_granted(bank, scope):
    _, grant = given(uses=2)
    sessions = [opened() for _ in range(4)]
    for session in sessions:
        say(session, "I want to move $1,100.00 from savings to checking.")
    for session in sessions:
        conversation_commands.say(cast.cleo(), session, "Yes, that is right.")
    at_once([work for _ in range(4)])
    work()
    assert (StandingGrant.objects.get(pk=grant).used, len(bank.transfers("C-1001")), len(pending())) == (2, 3, 2)


def test_of_two_that_want_the_last_use_at_once_the_later_one_asks_a_person(bank, scope):
    """Another session has taken the last use and has not committed yet: the statement waits for it and looks again."""
    _, grant = given(uses=1)
    session = opened()
    say(session, "I want to move $1,100.00 from savings to checking.")
    conversation_commands.say(cast.cleo(), session, "Yes, that is right.")
    with another_connection() as other:
        other.execute("UPDATE agent_sessions_standinggrant SET used = used + 1 WHERE id = %s", [grant])
        worker = in_thread(work)
        eventually(lambda: waits_for_a_lock("standinggrant"), 10, "the worker's statement waits for that row")
        other.commit()
        worker.join(20)
    work()
    assert (StandingGrant.objects.get(pk=grant).used, len(bank.transfers("C-1001")), len(pending())) == (1, 1, 1)
    assert state(session).requests


def test_taken_back_anywhere_it_lets_nothing_through_any_more(bank, scope):
    session, grant = given()
    other = asked(amount="$10.00")
    alice = Api(cast.alice())
    assert alice.post(f"/sessions/{other}/grants/{grant}/revoke", {"reason": "enough"}).status_code == 201
    assert events(other, "grant.revoked")[0]["grant"] == grant
    problem(alice.post(f"/sessions/{session}/grants/{grant}/revoke", {}), 409, "grant_over")
    asked()
    assert len(pending()) == 1
    assert [line.standing for line in lists.grants_of(cast.alice(), session).grants] == ["revoked"]
    assert rebuild.check(other) == []


def test_taken_back_between_being_let_through_and_beginning_it_asks_a_person(bank, scope, monkeypatch):
    """The worker has looked when it was still good; the statement that commits the intent looks again."""
    given()
    looked = standing_approvals.standing_for

    def then_taken_back(*about):
        found = looked(*about)
        if not StandingGrant.objects.exclude(revoked_by="").exists() and "call.allowed" in kinds(about[0].id):
            StandingGrant.objects.update(revoked_by="user:x", revoked_at="2026-01-01T00:00:00Z")
        return found

    monkeypatch.setattr(standing_approvals, "standing_for", then_taken_back)
    session = asked()
    work()
    assert (len(bank.transfers("C-1001")), len(pending())) == (1, 1)
    assert kinds(session).count("tool.intended") == kinds(session).count("tool.returned")


def test_whoever_may_not_decide_takes_nothing_back(bank, scope):
    session, grant = given()
    problem(Api(cast.vera()).post(f"/sessions/{session}/grants/{grant}/revoke", {}), 403)
    problem(Api(cast.charlie()).post(f"/sessions/{session}/grants/{grant}/revoke", {}), 404, "unknown_session")
    assert StandingGrant.objects.get(pk=grant).revoked_by == ""


def test_its_words_are_sealed_and_go_with_the_customer_of_whose_request_it_came(bank, scope):
    _, grant = given()
    row = StandingGrant.objects.get(pk=grant)
    assert b"to_account" not in bytes(row.sealed)
    (store,) = [each for each in stores.STORES if each.name == "grants"]
    assert (store.count(row.kid), store.sweep(row.kid), store.count(row.kid)) == (1, 1, 0)
    asked()
    assert len(pending()) == 1


def test_the_page_says_where_it_holds_and_where_it_was_given(bank, scope):
    session, _ = given()
    other = asked(amount="$10.00")
    page = cast.browser(cast.alice()).get(reverse("session_grants", args=[other])).content.decode()
    assert f"In every session of this {scope}" in page
    assert reverse("session_grants", args=[session]) in page


def test_a_policy_that_offers_less_by_now_lets_nothing_through(bank, scope, monkeypatch):
    given()
    monkeypatch.setattr(registry, "policy_named", lambda name: offering("session"))
    asked()
    assert len(pending()) == 1


def rolled_back(session: UUID, to: int, by: User) -> Consequences:
    shown = versions_queries.rollback_preview(by, session, to)
    versions_commands.roll_back(by, session, to, seen=shown.digest, reason="it misheard")
    return shown


def test_a_rollback_ends_by_name_what_was_given_in_the_part_that_it_takes_back(bank, scope):
    session, grant = given()
    other = asked()
    assert len(bank.transfers("C-1001")) == 2
    preview = {"to": kinds(session).index("grant.given")}
    assert Api(cast.alice()).post(f"/sessions/{session}/rollback", preview).json()["standing_approvals"] == [grant]
    shown = rolled_back(session, preview["to"], cast.bob())
    assert shown.since.approvals == (grant,)
    (entry,) = events(session, "grant.revoked")
    assert (entry["grant"], entry["by"]) == (grant, cast.bob().actor)
    assert entry["reason"] == "taken back by a rollback"
    row = StandingGrant.objects.get(pk=grant)
    assert (row.revoked_by, row.rolled_back, row.used) == (cast.bob().actor, True, 1)
    (line,) = lists.grants_of(cast.alice(), other).grants
    assert (line.standing, line.used) == ("rolled back", 1)
    page = cast.browser(cast.alice()).get(reverse("session_grants", args=[other])).content.decode()
    assert "Ended by a rollback" in page
    asked()
    assert len(pending()) == 1
    assert rebuild.check(session) == rebuild.check(other) == []


def test_a_rollback_leaves_what_was_given_before_and_nobody_gives_it_a_second_time(bank, scope):
    session, grant = given()
    request = events(session, "grant.given")[0]["request"]
    conversation_commands.say(cast.cleo(), session, "Thank you.")
    work()
    assert rolled_back(session, kinds(session).index("grant.given") + 1, cast.bob()).since.approvals == ()
    assert StandingGrant.objects.get(pk=grant).revoked_by == ""
    assert not lists.grants_of(cast.alice(), session).offers
    problem(Api(cast.alice()).post(f"/sessions/{session}/grants", {"request": request}), 409, "no_grant_offered")
    to = kinds(session).index("grant.given")
    assert rolled_back(session, to, cast.bob()).since.approvals == (grant,)
    assert StandingGrant.objects.get(pk=grant).rolled_back


def test_a_promoted_fork_ends_by_name_what_was_given_in_its_parent_since_the_fork_was_made(bank, scope):
    session, grant = given()
    fork = versions_commands.fork(
        cast.alice(), session, seq=kinds(session).index("grant.given"), reason="what if"
    ).session
    versions_commands.promote(cast.bob(), fork, reason="it does better")
    (entry,) = events(fork, "grant.revoked")
    assert (entry["grant"], entry["by"]) == (grant, cast.bob().actor)
    assert entry["reason"] == "taken back by the promotion of a fork"
    row = StandingGrant.objects.get(pk=grant)
    assert (row.revoked_by, row.rolled_back) == (cast.bob().actor, True)
    (line,) = lists.grants_of(cast.alice(), fork).grants
    assert line.standing == "rolled back"
    page = cast.browser(cast.alice()).get(reverse("session_grants", args=[fork])).content.decode()
    assert "Ended by a rollback" in page
    asked()
    assert len(pending()) == 1
    assert rebuild.check(session) == rebuild.check(fork) == []


@pytest.mark.parametrize("scope", ["customer"], indirect=True)
def test_a_promoted_fork_leaves_what_was_given_before_it_was_made(bank, scope):
    session, grant = given()
    fork = versions_commands.fork(cast.alice(), session, reason="from here").session
    versions_commands.promote(cast.bob(), fork, reason="it does better")
    assert events(fork, "grant.revoked") == []
    assert StandingGrant.objects.get(pk=grant).revoked_by == ""


@pytest.mark.parametrize("scope", ["customer"], indirect=True)
def test_a_rollback_names_nothing_that_was_taken_back_or_used_up_before(bank, scope):
    session, grant = given(uses=1)
    to = kinds(session).index("grant.given")
    assert versions_queries.rollback_preview(cast.bob(), session, to).since.approvals == (grant,)
    asked()
    assert versions_queries.rollback_preview(cast.bob(), session, to).since.approvals == ()
    other, wider = given()
    to = kinds(other).index("grant.given")
    assert versions_queries.rollback_preview(cast.bob(), other, to).since.approvals == (wider,)
    grants.revoke_grant(cast.alice(), session, wider)
    assert versions_queries.rollback_preview(cast.bob(), other, to).since.approvals == ()


def looked_up(monkeypatch) -> list[set[str]]:
    """Of whom commits ask from here on what they may decide."""
    found: list[set[str]] = []

    def looked_up(actors, team, **more):
        found.append(set(actors))
        return reviewers(actors, team, **more)

    monkeypatch.setattr(commit, "reviewers", looked_up)
    return found


@pytest.mark.parametrize("scope", ["agent"], indirect=True)
def test_only_a_commit_that_lets_a_call_through_looks_up_who_gave_what_is_in_force(bank, scope, monkeypatch):
    _, grant = given()
    found = looked_up(monkeypatch)
    session = opened()
    say(session, "I want to move $1,100.00 from savings to checking.")
    say(session, "Yes, that is right.")
    assert found
    assert set().union(*found) == {cast.alice().actor}
    assert len(found) <= kinds(session).count("model.answered") + kinds(session).count("tool.intended")
    grants.revoke_grant(cast.alice(), session, grant)
    found.clear()
    other = states.load(asked())
    assert (found, len(pending())) == ([], 1)
    assert (
        standing_approvals.standing_for(other.place, other.state, offering("agent")) == {}
    )  # nothing is unsealed for them


@pytest.mark.parametrize("scope", ["agent"], indirect=True)
@pytest.mark.parametrize("lent", ["to the giver", "by the giver", "to nobody"])
def test_it_covers_no_call_in_which_a_colleague_who_shares_a_right_with_its_giver_had_a_part(bank, scope, lent):
    given()
    session = opened()
    work()
    supervision_commands.barge_in(cast.bob(), session, "One moment.")
    if lent != "to nobody":
        giver, receiver = (cast.bob(), cast.alice()) if lent == "to the giver" else (cast.alice(), cast.bob())
        lend(giver, receiver, session)
    say(session, "I want to move $1,100.00 from savings to checking.")
    say(session, "Yes, that is right.")
    assert len(pending()) == (1 if lent != "to nobody" else 0)


@pytest.mark.parametrize("scope", ["agent"], indirect=True)
def test_who_shares_a_right_with_somebody_who_had_a_part_does_not_give_it(bank, scope):
    session = asked()
    (request,) = pending()
    approvals_commands.decide(cast.alice(), UUID(request), approvals_commands.Decision("approve"))
    work()
    supervision_commands.barge_in(cast.bob(), session, "One moment.")
    lend(cast.bob(), cast.alice(), session)
    with pytest.raises(DecisionNotAllowed, match="a colleague with whom you share a right"):
        grants.grant_same(cast.alice(), session, UUID(request))
