"""Timers of a session through the real doors: set, rung by the worker, cancelled, set by the agent's own tool."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from audit import ledger
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.models.sessions import AgentSession
from sessions.runtime import sweeper
from sessions.timers import commands as timers
from sessions.timers import tools as tool
from sessions.tools.registry import ToolContext, find
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, opened, say, work

pytestmark = pytest.mark.django_db(transaction=True)
PAST = datetime(2026, 1, 1, tzinfo=UTC)


def resting() -> UUID:
    """A session whose agent has answered and waits for the customer."""
    session = opened()
    say(session, "Hello.")
    return session


def test_a_timer_waits_in_a_row_and_is_rung_by_whoever_works_then(bank):
    session = resting()
    timers.set_timer(cast.alice(), session, "remind", text="Ask about the card", after=3600)
    row = AgentSession.objects.get(pk=session)
    assert (row.lease_until, sweeper.something_is_due()) == (None, False)
    assert timedelta(minutes=59) < row.ready_at - datetime.now(UTC) < timedelta(minutes=61)
    timers.set_timer(cast.alice(), session, "remind", text="Ask about the letter", at=PAST)
    work()
    assert [each["outcome"] for each in events(session, "timer.fired")] == ["told"]
    said = [each["text"] for each in events(session, "message.added") if each["role"] == "note"]
    assert said == ["Ask about the letter"]
    assert AgentSession.objects.get(pk=session).ready_at is not None


def test_a_timer_is_not_rung_before_the_databases_instant_whatever_a_worker_believes(bank, monkeypatch):
    from sessions.runtime import advance

    session = resting()
    timers.set_timer(cast.alice(), session, "remind", text="Ask", after=600)
    ahead = datetime.now(UTC) + timedelta(hours=1)
    monkeypatch.setattr(advance, "now", lambda: ahead)
    work()
    assert kinds(session).count("timer.fired") == 0


def test_the_same_key_sets_one_timer_and_cancelling_it_ends_it():
    session = opened()
    api = Api(cast.alice())
    wish = {"what": "follow_up", "after": 60, "text": "Ask again", "idempotency_key": "t-1"}
    first, again = api.post(f"/sessions/{session}/timers", wish), api.post(f"/sessions/{session}/timers", wish)
    assert (first.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    (timer,) = api.get(f"/sessions/{session}/timers").json()["timers"]
    assert (timer["what"], timer["text"]) == ("follow_up", "Ask again")
    assert api.ask("DELETE", f"/sessions/{session}/timers/{timer['id']}").status_code == 201
    assert api.get(f"/sessions/{session}/timers").json()["timers"] == []
    problem(api.ask("DELETE", f"/sessions/{session}/timers/{timer['id']}"), 404, "unknown_timer")


@pytest.mark.parametrize(
    "wish",
    [
        {}, {"after": 1, "at": "2031-01-01T00:00:00Z"}, {"after": -1}, {"after": 10**9}, {"at": "soon"},
        {"after": 60, "text": ""}, {"after": 60, "what": "explode"},
    ],
)  # fmt: skip
def test_a_timer_that_makes_no_sense_is_refused(wish):
    session = opened()
    answer = Api(cast.alice()).post(f"/sessions/{session}/timers", {"what": "remind", "text": "look", **wish})
    assert answer.status_code == 400
    assert states.load(session).state.timers == {}


def test_only_who_may_change_a_session_sets_its_timers():
    session = opened()
    for person in (cast.vera(), cast.cleo(), cast.adam()):
        problem(Api(person).post(f"/sessions/{session}/timers", {"what": "remind", "after": 1, "text": "x"}), 403)
    problem(Api(cast.charlie()).get(f"/sessions/{session}/timers"), 404)


def test_the_agents_tool_sets_one_timer_however_often_its_call_is_tried():
    session = opened()
    context = ToolContext(str(session), "call-1", "key-1", "C-1001", 1)
    wish = {"what": "follow_up", "after": 60, "text": "Ask again"}
    assert find("set_timer") is not None
    assert tool.set_timer(wish, context) == tool.set_timer(wish, context) == {"set": True, "after": 60}
    (held,) = states.load(session).state.timers.values()
    assert (held.what, held.by) == ("follow_up", "agent")


def test_an_ended_session_has_no_timers_left_and_takes_none():
    session = opened()
    timers.set_timer(cast.alice(), session, "remind", text="Ask", after=60)
    conversation_commands.end(cast.cleo(), session, "done")
    assert states.load(session).state.timers == {}
    assert ledger.run("SELECT ready_at FROM agent_sessions_agentsession", {})[0][0] is None
    answer = Api(cast.alice()).post(f"/sessions/{session}/timers", {"what": "remind", "after": 1, "text": "x"})
    problem(answer, 409, "session_over")
