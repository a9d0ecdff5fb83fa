"""What events change where effects are undone. A function an event, named like it."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.lifecycle import CALL_ENDED, CallStatus
from agentstate.engine.speech import SAY
from agentstate.engine.state.involvement import people
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.state.speech import open_speeches

KEPT_UNDONE = 200  # effects whose undoing was ordered, the latest


def compensation_ordered(state: SessionState, event: ev.CompensationOrdered, at: str) -> SessionState:
    """The calls stand proposed, each behind the one before it."""
    behind, calls = "", dict(state.calls)
    for step in event.calls:
        calls[step.id] = Call(
            step.id,
            step.tool,
            step.arguments,
            None,
            CallStatus.PROPOSED,
            undoes=step.effect,
            behind=behind,
            authors=people((event.by,)),
        )
        behind = step.id
    undone = (*state.versions.undone_calls, *(step.call for step in event.calls))[-KEPT_UNDONE:]
    return replace(state, calls=calls, versions=replace(state.versions, undone_calls=undone))


def has_its_turn(state: SessionState, call: Call) -> bool:
    """Whether the call that this one is behind has ended: the one that it names, or what the agent was to say first."""
    if call.tool == SAY:
        return open_speeches(state)[0].id == call.id
    before = state.calls.get(call.behind) if call.behind else None
    return before is None or before.status in CALL_ENDED
