"""What a proof changes of the state: nothing."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState


def value_proved(state: SessionState, event: ev.ValueProved, at: str) -> SessionState:
    return state
