"""What a session needs next, as a function of its state: the runtime only does what this says.

Every call whose inputs exist is ready, and ready calls run side by side. `flying` are the calls whose results the
asking worker still awaits: what else is running was begun by somebody who is gone, and its result is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice
from typing import Literal

import msgspec

from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.interventions import has_its_turn
from agentstate.engine.state.session import Call, SessionState, calls_in, expires_at, may_begin, pending
from agentstate.engine.timers import next_due


class RunCall(msgspec.Struct, frozen=True):
    """Commit an intent for this call and run it. `again`: an intent is open already, its result was lost."""

    call: str
    again: bool


class AskModel(msgspec.Struct, frozen=True):
    """Ask the model. `again`: a request is open already, its answer was lost."""

    again: bool


class MoveChart(msgspec.Struct, frozen=True):
    """Let the timers of the chart that are due arrive."""


class RingTimer(msgspec.Struct, frozen=True):
    """Let the timer of the session that is due arrive."""


class LetExpire(msgspec.Struct, frozen=True):
    """The customer has been awaited long enough."""


class Nothing(msgspec.Struct, frozen=True):
    """Rest. `until` is the instant at which to look again, or empty: then somebody has to act first."""

    waiting_for: Literal["customer", "decision", "retry", "delegate", "resume", "colleague", "stop", "stuck", "nobody"]
    until: str = ""


Action = RunCall | AskModel | MoveChart | RingTimer | LetExpire | Nothing
NOBODY: Set[str] = frozenset()


def next_action(state: SessionState, at: str) -> Action:
    """The first of what to do at instant `at`, for somebody who awaits no result."""
    return next_actions(state, at)[0]


def next_actions(
    state: SessionState, at: str, flying: Set[str] = NOBODY, room: int = 1, held: Set[str] = NOBODY
) -> tuple[Action, ...]:
    """Returns what to do at instant `at`, side by side: up to `room` calls, or else one thing, alone. Empty while the
    results of `flying` are awaited and nothing can begin beside them. A stop holds the calls of `held`: they do not
    begin, and the session continues without them.
    """
    calls = tuple(islice((each for each in _to_run(state, at, flying | held) if each.call not in flying), room))
    if calls or flying:
        return calls
    return (_alone(state, at, held),)


def _to_run(state: SessionState, at: str, busy: Set[str]) -> Iterator[RunCall]:
    """Open intents come first: an effect that may have happened is settled before anything new begins. While a session
    is paused nothing is, and an open intent waits as long. Nothing of `busy`: it runs, or a stop holds it.
    """
    if state.paused_at:
        return
    lost = [call for call in calls_in(state, CallStatus.RUNNING) if call.id not in busy and not call.delegate]
    if lost or state.ended:
        yield from (RunCall(call.id, again=True) for call in lost)
        return
    for call in calls_in(state, CallStatus.READY):
        if call.id not in busy and call.retry_at <= at and may_begin(state, call) and has_its_turn(state, call):
            yield RunCall(call.id, again=False)
    for key in state.plans.ready if not state.taken_by else ():
        if key not in busy:
            yield RunCall(key, again=False)


def is_task_done(state: SessionState) -> bool:
    """Whether a session that does another session's task has nothing left to do and waits for nothing. It then ends."""
    if not state.plans.parent or state.ended or state.paused_at or state.plans.is_open:
        return False
    open_calls = calls_in(state, CallStatus.RUNNING, CallStatus.READY, CallStatus.DOUBTED)
    return not pending(state) and not open_calls and not state.owes


def _alone(state: SessionState, at: str, held: Set[str]) -> AskModel | MoveChart | RingTimer | LetExpire | Nothing:
    if state.ended:
        return Nothing("nobody")
    if state.paused_at:
        return Nothing("resume")
    if state.taken_by:
        return _while_taken(state, held)
    if state.chart.due and state.chart.due <= at:
        return MoveChart()
    timed = next_due(state.timers)
    if timed and timed <= at:
        return RingTimer()
    if ready := _to_come(state, held):
        return Nothing("retry", _first(state, min(call.retry_at for call in ready)))
    if state.asking or state.memory.wanted is not None:
        return AskModel(again=bool(state.asking))
    if state.owes:
        if state.model_retry_at > at:
            return Nothing("retry", _first(state, state.model_retry_at))
        return AskModel(again=False)
    if waits := pending(state):
        instants = [each.held_until for each in waits if each.held_until]
        return Nothing("decision", _first(state, min(instants, default="")))
    if held:
        return Nothing("stop", _first(state))
    if calls_in(state, CallStatus.RUNNING):
        return Nothing("delegate", _first(state))
    if calls_in(state, CallStatus.DOUBTED):
        return Nothing("stuck", _first(state))
    return _awaited(state, at)


def _to_come(state: SessionState, held: Set[str]) -> list[Call]:
    """The allowed calls that wait for nothing but their time."""
    ready = calls_in(state, CallStatus.READY)
    return [call for call in ready if call.id not in held and has_its_turn(state, call)]


def _while_taken(state: SessionState, held: Set[str]) -> Nothing:
    """A person has it: nothing of the agent's goes on; what somebody let through may have to be tried again."""
    again = [call.retry_at for call in _to_come(state, held) if may_begin(state, call)]
    return Nothing("colleague", min(again, default=""))


def _awaited(state: SessionState, at: str) -> LetExpire | Nothing:
    """Nothing goes on but that the customer is awaited, for as long as the session may idle."""
    until = expires_at(state)
    if until and until <= at and not state.run:
        return LetExpire()
    return Nothing("customer", _first(state, until))


def _first(state: SessionState, until: str = "") -> str:
    """When to look again: at `until`, or when a timer of the session or its chart is due before."""
    return min((due for due in (until, state.chart.due, next_due(state.timers)) if due), default="")
