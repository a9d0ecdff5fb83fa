"""Versions of real sessions: going back with money moved, forks that keep quiet, and rows that are still the fold."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from agentstate.engine.decide.refusals import Outdated
from agentstate.people.permissions import PermissionDenied
from audit import ledger
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import session_lines, states
from sessions.core.states import UnknownSession
from sessions.models.sessions import AgentSession, ApprovalRequest
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, nothing_written, problem
from tests.shell.bank_world import events, kinds, opened, say, state, work

pytestmark = pytest.mark.django_db(transaction=True)


def moved() -> UUID:
    """$400.00 was moved at the bank."""
    session = opened()
    work()
    say(session, "I want to move $400.00 from savings to checking.")
    say(session, "Yes, that is right.")
    return session


def waiting() -> UUID:
    """$1,200.00 wait for a supervisor."""
    session = opened()
    work()
    say(session, "I want to move $1,200.00 from savings to checking.")
    say(session, "Yes, that is right.")
    return session


def back(session: UUID, to: int) -> None:
    """A supervisor looks at what going back would do, and does it."""
    shown = versions_queries.rollback_preview(cast.alice(), session, to)
    versions_commands.roll_back(cast.alice(), session, to, seen=shown.digest, reason="it misheard")


def first(session: UUID, kind: str) -> int:
    return kinds(session).index(kind)


def test_money_that_moved_is_listed_with_what_can_be_done_about_it(bank):
    session = moved()
    shown = versions_queries.rollback_preview(cast.alice(), session, 3)
    transfer = next(effect for effect in shown.since.lasting if effect.tool == "transfer")
    assert transfer.outcome == "done"
    assert "$400.00" in transfer.what
    assert transfer.compensation == "Move the same amount back with a new transfer, if the customer wants it."


def test_the_state_goes_back_and_the_money_is_not_moved_twice(bank):
    session = moved()
    to = first(session, "tool.intended")
    back(session, to)
    work()
    assert state(session).epoch == 1
    assert len(bank.transfers("C-1001")) == 1
    assert "TR" not in str(state(session).pad)
    assert rebuild.check(session) == []


def test_a_waiting_request_is_withdrawn_and_its_row_says_so(bank):
    session = waiting()
    back(session, first(session, "approval.requested") - 1)
    row = ApprovalRequest.objects.get(session=session, asked_seq=first(session, "approval.requested"))
    assert row.state == "withdrawn"
    assert AgentSession.objects.get(pk=session).epoch == 1
    assert rebuild.check(session) == []


def test_rows_are_rebuilt_after_rollbacks_and_forks(bank):
    session = waiting()
    back(session, 4)
    work()
    child = versions_commands.fork(cast.alice(), session, reason="what if").session
    work()
    for each in (session, child):
        rebuild.rebuild(each)
        assert rebuild.check(each) == []
        states.forget_all()
        assert states.load(each).state == states.fold_all(each, states.load(each).head.size)


def test_what_was_looked_at_must_still_be_so(bank):
    session = waiting()
    shown = versions_queries.rollback_preview(cast.alice(), session, 3)
    request = ApprovalRequest.objects.get(session=session, state="pending")
    approvals_commands.decide(cast.alice(), request.pk, approvals_commands.Decision("approve"))
    with pytest.raises(Outdated), nothing_written():
        versions_commands.roll_back(cast.alice(), session, 3, seen=shown.digest, reason="too late")


def test_the_same_rollback_sent_again_is_done_once(bank):
    session = moved()
    shown = versions_queries.rollback_preview(cast.alice(), session, 3)
    wanted: dict[str, Any] = {"seen": shown.digest, "reason": "it misheard", "key": "k1"}
    once = versions_commands.roll_back(cast.alice(), session, 3, **wanted)
    again = versions_commands.roll_back(cast.alice(), session, 3, **wanted)
    assert again.repeated
    assert again.seq == once.seq
    assert kinds(session).count("session.rolled_back") == 1


def test_a_fork_neither_speaks_nor_acts_nor_stands_on_the_wall(bank):
    session = waiting()
    child = versions_commands.fork(
        cast.alice(), session, seq=first(session, "approval.requested") - 2, reason="what if"
    ).session
    work()
    drafted = kinds(child)
    assert drafted[:2] == ["session.opened", "session.forked"]
    assert "message.added" not in drafted[2:]
    assert "tool.intended" not in [kind for kind in drafted if kind == "approval.requested"]
    assert not ApprovalRequest.objects.filter(session=child).exists()
    assert bank.transfers("C-1001") == []
    assert child not in [line.id for line in session_lines.live_sessions(cast.alice())]
    assert versions_queries.versions_of(cast.alice(), session).forks == (child,)


def test_in_a_fork_a_supervisor_supposes_and_the_customer_is_not_there(bank):
    child = versions_commands.fork(cast.alice(), waiting(), reason="what if").session
    with pytest.raises(PermissionDenied):
        conversation_commands.say(cast.cleo(), child, "Hello?")
    conversation_commands.say(cast.alice(), child, "Forget it.")
    work()
    assert "message.drafted" in kinds(child)


def test_a_promoted_fork_takes_over_in_one_transaction(bank):
    session = waiting()
    child = versions_commands.fork(cast.alice(), session, reason="what if").session
    work()
    conversation_commands.say(cast.cleo(), session, "Are you still there?")
    versions_commands.promote(cast.alice(), child, reason="it does better")
    ended, promoted = [
        next(ledger.parse_envelope(row.envelope) for row in ledger.read_rows(each) if kind in row.envelope.decode())
        for each, kind in ((session, "session.superseded"), (child, "fork.promoted"))
    ]
    assert ended.cmd == promoted.cmd
    assert state(session).ended
    assert state(session).versions.superseded_by == str(child)
    assert "Are you still there?" in [heard["text"] for heard in events(child, "fork.promoted")[0]["heard"]]
    work()
    assert "message.added" in kinds(child)
    assert rebuild.check(session) == rebuild.check(child) == []


def test_a_promoted_fork_counts_what_its_parent_moved_meanwhile(bank):
    session = moved()
    child = versions_commands.fork(cast.alice(), session, seq=first(session, "tool.intended"), reason="what if").session
    assert state(child).tally.moved != state(session).tally.moved
    versions_commands.promote(cast.alice(), child, reason="it does better")
    assert state(child).tally == state(session).tally
    assert rebuild.check(child) == []


def test_two_forks_cannot_both_take_over(bank):
    session = waiting()
    one, other = (versions_commands.fork(cast.alice(), session, reason="what if").session for _ in range(2))
    versions_commands.promote(cast.alice(), one, reason="first")
    with pytest.raises(Exception, match="the session goes on as"), nothing_written():
        versions_commands.promote(cast.alice(), other, reason="second")


def test_only_who_may_change_state_goes_back_or_forks(bank):
    session = opened()
    work()
    for user in (cast.vera(), cast.cleo(), cast.let_in(cast.anna(), "read"), cast.adam()):
        with pytest.raises(PermissionDenied), nothing_written():
            versions_commands.fork(user, session, reason="x")
        with pytest.raises(PermissionDenied), nothing_written():
            versions_commands.roll_back(user, session, 1, seen="x", reason="x")
        with pytest.raises(PermissionDenied), nothing_written():
            versions_commands.name_checkpoint(user, session, "x")
    with pytest.raises(UnknownSession):
        versions_commands.fork(cast.charlie(), session, reason="x")


def test_over_the_api_one_looks_first_and_then_goes_back(bank):
    session, api = moved(), Api(cast.alice())
    shown = api.post(f"/sessions/{session}/rollback", {"to": 3}).json()
    assert shown["lasting"][-1]["compensation"].startswith("Move the same amount back")
    body = {"to": 3, "confirm": shown["digest"], "reason": "it misheard"}
    assert api.post(f"/sessions/{session}/rollback", body).status_code == 201
    problem(api.post(f"/sessions/{session}/rollback", body), 409, "outdated")
    problem(api.post(f"/sessions/{session}/rollback", {"to": 10_000}), 404, "no_such_point")
    problem(api.post(f"/sessions/{session}/rollback", {"to": True}), 400)
    problem(api.post(f"/sessions/{session}/rollback", {"to": 3, "confirm": "x"}), 400, field="reason")


def test_over_the_api_points_get_names_and_states_are_compared(bank):
    session, api = moved(), Api(cast.alice())
    api.post(f"/sessions/{session}/checkpoints", {"name": "before the money", "seq": 3})
    points = api.get(f"/sessions/{session}/checkpoints").json()
    assert {"seq": 3, "name": "before the money"}.items() <= points["checkpoints"][-1].items()
    found = api.get(f"/sessions/{session}/diff", **{"from": 3}).json()
    assert any("$" in sentence for sentence in found["sentences"])
    assert {step["op"] for step in found["patch"]} <= {"add", "replace", "remove", "move"}
    assert api.get(f"/sessions/{session}/diff").json()["sentences"]
    problem(api.get(f"/sessions/{session}/diff", **{"from": 0}), 400, field="from")
    problem(api.get(f"/sessions/{session}/diff", **{"from": 1, "to": 999}), 404, "no_such_point")


def test_over_the_api_a_fork_is_made_and_promoted(bank):
    session, api = moved(), Api(cast.alice())
    child = api.post(f"/sessions/{session}/fork", {"reason": "what if"})
    assert child.json()["fork_of"] == str(session)
    assert child.headers["Location"].endswith(f"/api/v1/sessions/{child.json()['id']}")
    assert api.get(f"/sessions/{child.json()['id']}").json()["fork_of"] == str(session)
    assert api.post(f"/sessions/{child.json()['id']}/promote", {"reason": "better"}).status_code == 201
    problem(api.post(f"/sessions/{session}/promote", {"reason": "better"}), 409, "not_a_fork")
    problem(api.post(f"/sessions/{session}/messages", {"text": "Hello?"}), 403)
