"""Words of the agent that are not said yet, in the order in which they were to be said."""

from __future__ import annotations

from agentstate.engine.lifecycle import CALL_ENDED
from agentstate.engine.speech import SAY
from agentstate.engine.state.session import Call, SessionState


def open_speeches(state: SessionState) -> list[Call]:
    """Returns the calls of `say` that have not ended, the oldest first."""
    return [call for call in state.calls.values() if call.tool == SAY and call.status not in CALL_ENDED]
