"""Folds events: `evolve(state, event, at)` gives the state after one event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import SESSION, CallStatus, IllegalMove, SessionMove, SessionStatus, move
from agentstate.engine.speech import SAY
from agentstate.engine.state import (  # noqa: F401 (each registers what its events change)
    approvals,
    approved_inputs,
    automation,
    calls,
    conversation,
    forks,
    goals,
    interventions,
    memory,
    plans,
    rollback,
    runs,
    scratchpad,
    standing_approvals,
    subjects,
    supervision,
    value_authors,
    versions,
)
from agentstate.engine.state.session import SessionState, calls_in, may_begin, pending
from agentstate.errors import Broken

_ACTING = frozenset((CallStatus.RUNNING, CallStatus.READY))


def fold(stored: Iterable[tuple[ev.AnyEvent, str]], state: SessionState | None = None) -> SessionState:
    """The state after `stored`: pairs of an event and its envelope's time."""
    state = state or SessionState()
    for event, at in stored:
        state = evolve(state, event, at)
    return state


# The house among itself: nothing happened in the session, which is as idle after it as before.
UNNOTICED = (
    ev.SnapshotRecorded,
    ev.PayloadPruned,
    ev.AlertRaised,
    ev.AlertAcknowledged,
    ev.AlertEscalated,
    ev.AlertClosed,
)


def evolve(state: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """The state after `event`, which happened at `at`. Total over what `decide` emits; raises Broken otherwise."""
    change = event_handler.of(type(event))
    try:
        changed = plans.followed(state, change(state, event, at), event, at)
        changed = approved_inputs.watched(state, changed, event)
        changed = value_authors.attributed(state, changed, event)
        changed = memory.recollected(state, changed, event, at)
        if not subjects.kid_of(state, event):  # what others' data says is no part of this conversation
            changed = conversation.followed(state, changed, event, at)
        changed = versions.marked(state, changed, event, at)
        last_at = state.last_at if isinstance(event, UNNOTICED) else at
        return replace(changed, seq=state.seq + 1, last_at=last_at, status=_status(changed, event))
    except (IllegalMove, KeyError) as error:
        raise Broken(f"{ev.kind_of(event)} at seq {state.seq} cannot have happened: {error}") from error


def evolve_erased(state: SessionState, kid: str, at: str) -> SessionState:
    """The state after an entry of which nothing but its envelope is left: its data subject, known by the key `kid`, was
    erased. The session's own customer was not, or there would be no state.
    """
    changed = subjects.passed_over(state, kid)
    status = changed.status if changed.ended or changed.paused_at else move(SESSION, changed.status, _moved(changed))
    return replace(changed, seq=state.seq + 1, last_at=at, status=status)


_ASKED: Mapping[type[ev.AnyEvent], SessionMove] = {
    ev.SessionPaused: SessionMove.PAUSE,
    ev.SessionResumed: SessionMove.RESUME,
    ev.SessionCancelled: SessionMove.CANCEL,
    ev.SessionEnded: SessionMove.END,
}


def _status(state: SessionState, event: ev.AnyEvent) -> SessionStatus:
    """The lifecycle status that the state amounts to, reached by a legal move."""
    asked = _ASKED.get(type(event))
    if asked is SessionMove.RESUME:
        return move(SESSION, move(SESSION, state.status, asked), _moved(state))
    if asked is not None:
        return move(SESSION, state.status, asked)
    if state.ended or state.paused_at:
        return state.status  # a result that comes after the end, or meanwhile, is recorded and moves nothing
    return move(SESSION, state.status, _moved(state))


def _acts(state: SessionState) -> bool:
    """Whether a call runs or is about to."""
    if state.taken_by:
        return any(call.status in _ACTING and may_begin(state, call) for call in state.calls.values())
    acting = [call for call in state.calls.values() if call.status in _ACTING]
    return bool(state.plans.ready) or any(
        call.tool != SAY or interventions.has_its_turn(state, call) for call in acting
    )


def _moved(state: SessionState) -> SessionMove:
    if state.failure:
        return SessionMove.FAIL
    if _acts(state):
        return SessionMove.ACT
    if pending(state) or calls_in(state, CallStatus.DOUBTED):
        return SessionMove.WAIT
    if (state.asking or state.owes) and not state.taken_by:
        return SessionMove.ASK
    return SessionMove.EXPIRE if state.expired_at else SessionMove.REST
