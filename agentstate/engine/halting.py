"""What may not begin in a session now because a person has stopped it: everything, or single tools.

Knowing it here saves useless work; what counts is what the statement that commits an intent reads.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from agentstate.engine.advance import Action, AskModel, Nothing, RunCall
from agentstate.engine.state import SessionState
from agentstate.engine.state.rounds import planned


class Halt(msgspec.Struct, frozen=True):
    """`everything`: no model is asked, no call begins and the agent says nothing. `tools`: no call of these begins."""

    everything: bool = False
    tools: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return self.everything or bool(self.tools)

    def holds(self, action: Action, state: SessionState) -> bool:
        """Whether what is next may not begin."""
        if self.everything:
            return isinstance(action, AskModel | RunCall)
        return isinstance(action, RunCall) and tool_of(state, action.call) in self.tools


def tool_of(state: SessionState, call: str) -> str:
    """The tool of a call that was let through, or whose turn it is in a plan; empty when neither is known."""
    if call in state.calls:
        return state.calls[call].tool
    found = planned(state.plans, call)
    return found.tool if found is not None else ""


def left(actions: Sequence[Action], state: SessionState, halt: Halt, flying: Set[str]) -> tuple[Action, ...]:
    """What of `actions` may begin; where nothing may and no result is awaited, that the session rests until the stop is
    lifted.
    """
    kept = tuple(action for action in actions if not halt.holds(action, state))
    return (Nothing("stop"),) if actions and not kept and not flying else kept
