"""Putting a session back leaves money where it went; a person orders it back: gated, recorded, newest first."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.urls import reverse

from agentstate.engine.policy.terms import argument_at
from agentstate.people.permissions import PermissionDenied
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.compensation import commands as compensation_commands
from sessions.compensation import queries as compensation_queries
from sessions.runtime import sweeper
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import events, kinds, say, work
from tests.shell.test_terms import due
from tests.shell.test_versions import back, moved

pytestmark = pytest.mark.django_db(transaction=True)


def put_back():
    """$40.00 or so moved, the session was put back, and nothing runs."""
    session = moved()
    back(session, 3)
    return session


def pressed(session) -> None:
    page = cast.browser(cast.alice())
    found = compensation_queries.undoable_of(cast.alice(), session)
    sent = {"rollback": found.rollback, "call": [each.call for each in found.effects], "reason": "wrong account"}
    answer = page.post(reverse("versions_change", args=[session, "compensate"]), sent, follow=True)
    assert "Reversing calls started" in answer.content.decode()


def approved_all(session) -> None:
    work()
    for line in approvals_queries.requests(cast.bob()):  # alice has ordered it
        if line.session == session:
            typed = {path: argument_at(line.arguments, path) for path in line.terms.retype}
            approvals_commands.decide(
                cast.bob(),
                line.id,
                approvals_commands.Decision("approve", code=next(iter(line.terms.reasons), ""), retyped=typed),
            )
            due(line.id, "held_until")  # accounts that are not looked up count as a stranger's: it is delayed
    sweeper.end_holds()
    work()


def test_the_money_goes_back_by_a_transfer_of_its_own_once_somebody_orders_it(bank):
    session = put_back()
    before = bank.transfers("C-1001")
    page = cast.browser(cast.alice()).get(reverse("versions", args=[session])).content.decode()
    assert "External effects that remain" in page
    pressed(session)
    approved_all(session)
    after = bank.transfers("C-1001")[len(before) :]
    assert [amount for amount, _ in after] == [before[-1][0]]
    assert kinds(session).count("compensation.ordered") == 1
    (ordered,) = events(session, "compensation.ordered")
    step, first = ordered["calls"][0], events(session, "session.rolled_back")[0]["lasting"][-1]["arguments"]
    assert step["arguments"]["from_account"] == first["to_account"]
    assert step["arguments"]["to_account"] == first["from_account"]
    assert compensation_queries.undoable_of(cast.alice(), session).effects == ()
    call_command("rebuild", "--check")


def test_it_can_be_listed_and_ordered_over_the_api_once(bank):
    session, api = put_back(), Api(cast.alice())
    found = api.get(f"/sessions/{session}/compensation").json()
    assert [each["tool"] for each in found["effects"]] == ["transfer"]
    body = {"rollback": found["rollback"], "reason": "wrong account", "idempotency_key": "k"}
    assert api.post(f"/sessions/{session}/compensation", body).status_code == 201
    again = api.post(f"/sessions/{session}/compensation", {**body, "idempotency_key": "other"})
    assert (again.status_code, again.json()["code"]) == (409, "nothing_to_undo")


def test_who_may_not_change_a_session_may_not_order_it(bank):
    session = put_back()
    found = compensation_queries.undoable_of(cast.vera(), session)
    with pytest.raises(PermissionDenied):
        compensation_commands.compensate(cast.vera(), session, found.rollback, reason="please")
    say(session, "Hello?")
    assert kinds(session).count("compensation.ordered") == 0
