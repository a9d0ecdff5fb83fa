"""What timers and triggers leave in a session's state: what is to come, and by whose chain its agent acts now."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState
from agentstate.engine.timers import Timer


def timer_set(state: SessionState, event: ev.TimerSet, at: str) -> SessionState:
    timer = Timer(event.timer, event.what, event.due, event.by, state.seq, event.text)
    return replace(state, timers={**state.timers, event.timer: timer})


def timer_gone(state: SessionState, event: ev.TimerCancelled | ev.TimerFired, at: str) -> SessionState:
    return replace(state, timers={key: timer for key, timer in state.timers.items() if key != event.timer})


def trigger_fired(state: SessionState, event: ev.TriggerFired, at: str) -> SessionState:
    return replace(
        state,
        cause=event.chain,
        owes=state.owes or event.run,
        failure="" if event.run else state.failure,
        model_attempt=0 if event.run else state.model_attempt,
        model_retry_at="" if event.run else state.model_retry_at,
    )
