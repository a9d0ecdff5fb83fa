"""Sessions that idle expire, and go on with the next message as if nothing had been."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy
from agentstate.engine.advance import AskModel, LetExpire, Nothing, next_action
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import SessionStatus
from agentstate.engine.state.evolution import evolve, fold
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from tests.searching import drawn

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
MINUTE = 60


class Talk:
    """A session in memory that may idle for so many seconds."""

    def __init__(self, idle: int = 10 * MINUTE) -> None:
        self.state, self.now, self.idle = SessionState(), START, idle
        self.history: list[tuple[ev.AnyEvent, str]] = []
        self.ids = (f"id-{number}" for number in count())
        self.does(core.Open("C-1", "team", "bank", "phone"))

    def does(self, command: core.Command, seconds: float = 1) -> list[ev.AnyEvent]:
        self.now += timedelta(seconds=seconds)
        nobody = policy.Policy("none", 1, ())
        given = core.CommandContext(self.now, lambda: next(self.ids), {}, nobody, idle=self.idle)
        events = core.decide(command, self.state, given)
        for event in events:
            self.state = evolve(self.state, event, stamp(self.now))
            self.history.append((event, stamp(self.now)))
        return events

    def answered(self) -> Talk:
        """The customer has spoken and the agent has answered: it is the customer's turn."""
        self.does(core.Say("customer", "Hello?", "customer"))
        self.does(core.Ask("step", "model", 0, 0, (), "digest"))
        self.does(core.Answer("step", "model", "Good morning.", ()))
        self.does(core.Rest("customer"))
        return self

    def next(self, seconds: float = 0) -> object:
        return next_action(self.state, stamp(self.now + timedelta(seconds=seconds)))


def test_an_idle_session_is_looked_at_again_when_it_may_expire():
    talk = Talk().answered()
    due = stamp(talk.now + timedelta(minutes=10))
    assert talk.next() == Nothing("customer", due)
    assert talk.next(10 * MINUTE - 1) == Nothing("customer", due)
    assert talk.next(10 * MINUTE) == LetExpire()


def test_it_expires_then_and_waits_for_the_next_message_without_a_timer():
    talk = Talk().answered()
    assert talk.does(core.ExpireSession(), 10 * MINUTE) == [ev.SessionExpired(10 * MINUTE)]
    assert talk.state.status is SessionStatus.EXPIRED
    assert not talk.state.ended
    assert talk.next(10**6) == Nothing("customer", "")


def test_a_late_message_reopens_the_same_session_with_all_that_it_remembers():
    talk = Talk().answered()
    talk.does(core.ExpireSession(), 10 * MINUTE)
    before = talk.state.items
    events = talk.does(core.Say("customer", "Sorry, I was away.", "customer"), 10**6)
    assert [ev.kind_of(event) for event in events] == ["session.reopened", "message.added"]
    assert talk.state.items[: len(before)] == before
    assert talk.state.status is SessionStatus.PLANNING
    assert talk.next() == AskModel(again=False)


def test_what_does_not_speak_reopens_nothing():
    talk = Talk().answered()
    talk.does(core.ExpireSession(), 10 * MINUTE)
    talk.does(core.Adapt(ev.Adaptation(view={"preferences": {}}, mappings=("answers.brief",))))
    assert talk.state.status is SessionStatus.EXPIRED


def test_a_session_that_has_no_limit_never_expires():
    talk = Talk(idle=0).answered()
    assert talk.next(10**8) == Nothing("customer", "")
    with pytest.raises(core.Outdated):
        talk.does(core.ExpireSession(), 10**8)


def test_a_session_at_work_or_that_waits_for_a_person_does_not_expire():
    talk = Talk()
    talk.does(core.Say("customer", "Hello?", "customer"))
    assert talk.next(10**6) == AskModel(again=False)
    with pytest.raises(core.Outdated):
        talk.does(core.ExpireSession(), 10**6)


def test_it_does_not_expire_early_twice_or_after_its_end():
    talk = Talk().answered()
    with pytest.raises(core.Outdated):
        talk.does(core.ExpireSession(), 10 * MINUTE - 1)
    talk.does(core.ExpireSession(), 1)
    with pytest.raises(core.Outdated):
        talk.does(core.ExpireSession(), 10**6)
    talk.does(core.End("hung up", "customer"))
    assert talk.state.status is SessionStatus.DONE
    with pytest.raises(core.SessionOver):
        talk.does(core.ExpireSession(), 10**6)


def test_a_limit_is_the_sessions_own_from_its_opening_on():
    talk = Talk().answered()
    talk.idle = 5
    assert talk.next(10 * MINUTE - 1) == Nothing("customer", stamp(talk.now + timedelta(minutes=10)))


@settings(max_examples=drawn(100))
@given(st.lists(st.sampled_from(["say", "wait", "expire", "answer"]), max_size=15))
def test_expiry_keeps_the_laws_of_the_fold(acts):
    talk = Talk(idle=30)
    for act in acts:
        try:
            if act == "say":
                talk.does(core.Say("customer", "Hello?", "customer"))
            elif act == "answer":
                talk.answered()
            else:
                talk.does(core.ExpireSession(), 40 if act == "wait" else 5)
        except core.Outdated:
            pass
        middle = len(talk.history) // 2
        assert fold(talk.history[middle:], fold(talk.history[:middle])) == talk.state
        assert from_snapshot(to_snapshot(talk.state)) == talk.state
        assert bool(talk.state.expired_at) == (talk.state.status is SessionStatus.EXPIRED)
