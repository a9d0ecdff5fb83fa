"""What events change in what a session knows of its customer."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState


def user_adapted(state: SessionState, event: ev.UserAdapted, at: str) -> SessionState:
    return replace(state, user=event.adaptation)
