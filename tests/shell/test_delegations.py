"""Lending the right to decide, over the API and on its page; both ends are entries of the staff log."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentstate.clock import now
from agentstate.people import delegations
from agentstate.people.models import Delegation, User
from agentstate.people.permissions import can
from agentstate.people.roles import DELEGABLE, GRANTABLE
from sessions.core.authority import reviewer, reviewers
from tests import cast
from tests.shell import authority_oracle
from tests.shell.api_world import Api, problem
from tests.shell.pages import read

pytestmark = pytest.mark.django_db(transaction=True)


def body(**more: object) -> dict[str, object]:
    until = (now() + timedelta(days=2)).isoformat()
    given = {"receiver": str(cast.alice().pk), "team": str(cast.retail().pk), "permissions": ["decide"]}
    return {**given, "until": until, "reason": "on holiday", **more}


def test_over_the_api_it_is_given_seen_by_both_and_taken_back():
    bob, alice = Api(cast.bob()), Api(cast.alice())
    made = bob.post("/delegations", body()).json()
    assert [line["id"] for line in alice.get("/delegations").json()["delegations"]] == [made["id"]]
    assert Api(cast.charlie()).get("/delegations").json()["delegations"] == []
    problem(Api(cast.charlie()).ask("DELETE", f"/delegations/{made['id']}"), 404, "unknown_delegation")
    assert bob.ask("DELETE", f"/delegations/{made['id']}").json()["revoked_at"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"permissions": ["configure"]}, "permissions"),
        ({"permissions": []}, "permissions"),
        ({"until": "2020-01-01T00:00:00Z"}, "until"),
        ({"until": "2036-01-01T00:00:00Z"}, "until"),
        ({"reason": " "}, "reason"),
    ],
)
def test_what_is_too_much_too_long_or_unexplained_is_refused_by_its_field(more, field):
    answer = Api(cast.bob()).post("/delegations", body(**more))
    assert answer.status_code == 400
    assert field in answer.content.decode()


def test_to_oneself_or_to_who_reads_nothing_there_it_is_refused():
    problem(Api(cast.bob()).post("/delegations", body(receiver=str(cast.bob().pk))), 409, "not_delegable")
    problem(Api(cast.bob()).post("/delegations", body(receiver=str(cast.charlie().pk))), 409, "not_delegable")


def test_who_may_not_decide_lends_nothing():
    problem(Api(cast.vera()).post("/delegations", body()), 403, "permission_denied")


def test_what_one_may_decide_oneself_is_what_ones_permissions_say_in_each_team():
    people = [cast.alice(), cast.bob(), cast.charlie(), cast.vera(), cast.adam(), cast.cleo()]
    people.append(cast.let_in(cast.anna(), *GRANTABLE))  # whatever is opened to an auditor decides nothing
    gone = cast.person("gone", cast.Role.SUPERVISOR, cast.retail())
    User.objects.filter(pk=gone.pk).update(is_active=False)
    for user in [*people, gone]:
        for team in (cast.retail().pk, cast.cards().pk):
            assert reviewer(user, team).may == {each for each in DELEGABLE if can(user, each, team)}, user.username
    assert reviewer(cast.alice(), cast.retail().pk).may


def test_what_several_people_may_now_is_read_in_one_statement_as_for_each_alone(django_assert_num_queries):
    people = [cast.alice(), cast.bob(), cast.charlie(), cast.vera(), cast.adam()]
    gone, retail, until = cast.person("gone", cast.Role.SUPERVISOR, cast.retail()), cast.retail(), now()
    for giver, receiver in ((1, 0), (0, 1), (1, 3), (0, 3)):
        terms = {"until": until + timedelta(days=2), "reason": "away", "permissions": DELEGABLE}
        made = delegations.give(people[giver], people[receiver], retail, **terms)
    delegations.revoke(made.pk, cast.alice())
    delegations.give(gone, cast.bob(), retail, until=until + timedelta(days=1), reason="x", permissions=DELEGABLE[:1])
    User.objects.filter(pk=gone.pk).update(is_active=False)
    for team in (retail.pk, cast.cards().pk):
        with django_assert_num_queries(0):  # of Django's
            together = reviewers([*(each.actor for each in (*people, gone)), "system"], team)
        assert together == {each.actor: authority_oracle.reviewer(each, team) for each in people}
    assert any(each.of for each in reviewer(cast.vera(), retail.pk).lent)


def test_on_its_page_it_is_lent_and_given_back_without_a_script():
    bob, alice = cast.browser(cast.bob()), cast.browser(cast.alice())
    until = (now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")
    assert bob.post("/decisions/lent/", body(until=until)).status_code == 302
    assert "Bob" in read(alice.get("/decisions/lent/").content).text()
    given = Delegation.objects.get()
    alice.post(f"/decisions/lent/{given.pk}/end/")
    assert "Revoked" in read(bob.get("/decisions/lent/").content).text()


def test_the_page_says_what_was_wrong_and_keeps_what_was_typed():
    answer = cast.browser(cast.bob()).post("/decisions/lent/", body(until="soon"))
    assert answer.status_code == 422
    assert "say until when" in answer.content.decode()
    assert "on holiday" in answer.content.decode()


def test_lending_and_taking_back_are_entries_of_the_staff_log(monkeypatch):
    from agentstate.people import delegations, trail

    told: list[str] = []
    monkeypatch.setattr(trail, "sink", lambda record: told.append(record.kind))
    until = now() + timedelta(hours=1)
    given = delegations.give(
        cast.bob(), cast.alice(), cast.retail(), until=until, reason="lunch", permissions=["decide"]
    )
    delegations.revoke(given.pk, cast.alice())
    delegations.revoke(given.pk, cast.alice())
    assert [kind for kind in told if kind.startswith("delegation")] == ["delegation.given", "delegation.revoked"]
