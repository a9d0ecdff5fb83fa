"""What events change in the conversation: it is opened, somebody speaks, it ends or the agent gives up.

A function an event, named like it.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, added
from agentstate.engine.lifecycle import CallMove, CallStatus
from agentstate.engine.migrating.in_force import referred
from agentstate.engine.remembered import Settled
from agentstate.engine.state import involvement
from agentstate.engine.state.alerts import all_closed
from agentstate.engine.state.calls import moved
from agentstate.engine.state.desk import Desk
from agentstate.engine.state.looping import ended, heard
from agentstate.engine.state.session import SessionState, calls_in


def session_opened(state: SessionState, event: ev.SessionOpened, at: str) -> SessionState:
    return replace(state, opened=event, opened_at=at, schema=referred(event.schema))


def message_added(state: SessionState, event: ev.MessageAdded, at: str) -> SessionState:
    said = Item(seq=state.seq, role=event.role, text=event.text, by=event.by)
    asks = event.role in ("customer", "note")
    return replace(
        state,
        items=added(state.items, said),
        messages=state.messages + 1,
        involved=involvement.heard(state.involved, event.role, event.by),
        cause=() if event.role in ("customer", "staff") else state.cause,
        owes=(state.owes and not (state.taken_by and event.role == "staff")) or asks,
        failure="" if asks else state.failure,
        model_attempt=0 if asks else state.model_attempt,
        model_retry_at="" if asks else state.model_retry_at,
        loop=heard(state.loop, event.queued) if asks else state.loop,
        settled=_asked_anew(state.settled) if asks and state.settled else state.settled,
    )


def _asked_anew(settled: tuple[Settled, ...]) -> tuple[Settled, ...]:
    """What nobody decided in time may be asked again once somebody has spoken; what was answered stays answered."""
    return tuple(each for each in settled if each.how != "expired")


def session_ended(state: SessionState, event: ev.SessionEnded | ev.SessionCancelled, at: str) -> SessionState:
    for call in calls_in(state, CallStatus.READY):
        state = moved(state, call.id, CallMove.WITHDRAW)
    state = session_left(state)
    state = replace(state, loop=replace(ended(state.loop, at), waiting=()))
    return replace(
        state,
        ended_reason=event.reason,
        ended_at=at,
        owes=False,
        asking="",
        run="",
        failure="",
        paused_at="",
        timers={},
    )


def session_left(state: SessionState) -> SessionState:
    """Nobody has it, is waited for or is to see to anything: the session is over."""
    return replace(state, taken_by="", desk=Desk(in_flight=state.desk.in_flight))


def session_paused(state: SessionState, event: ev.SessionPaused, at: str) -> SessionState:
    return replace(state, paused_at=at, paused_with_parent=event.with_parent)


def session_resumed(state: SessionState, event: ev.SessionResumed, at: str) -> SessionState:
    return replace(state, paused_at="", paused_with_parent=False)


def payload_pruned(state: SessionState, event: ev.PayloadPruned, at: str) -> SessionState:
    return state  # who loads the session sees by its seal, or where a recorded state begins, that words are gone


def snapshot_recorded(state: SessionState, event: ev.SnapshotRecorded, at: str) -> SessionState:
    return state  # it says of the state what the state itself would be no better for knowing


def session_sealed(state: SessionState, event: ev.SessionSealed, at: str) -> SessionState:
    return replace(all_closed(state, at), sealed=event.why)


def session_expired(state: SessionState, event: ev.SessionExpired, at: str) -> SessionState:
    return replace(state, expired_at=at)


def session_reopened(state: SessionState, event: ev.SessionReopened, at: str) -> SessionState:
    return replace(state, expired_at="")


def session_failed(state: SessionState, event: ev.SessionFailed, at: str) -> SessionState:
    # The run is over with it: the next one has a budget of its own.
    return replace(state, failure=event.reason, owes=False, asking="", run="", loop=ended(state.loop, at))
