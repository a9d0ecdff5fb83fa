"""What may not begin in a session now because a person has stopped it: everything, or single tools.

Knowing it here saves useless work; what counts is what the statement that commits an intent reads.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from agentstate.engine.advance import Action, AskModel, Nothing, RunCall
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.rounds import planned
from agentstate.engine.state.session import SessionState, calls_in


class Halt(msgspec.Struct, frozen=True):
    """`everything`: no model is asked, no call begins and the agent says nothing. `tools`: no call of these begins."""

    everything: bool = False
    tools: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return self.everything or bool(self.tools)

    def holds(self, action: Action) -> bool:
        """Whether what is next may not begin."""
        return self.everything and isinstance(action, AskModel | RunCall)

    def held_calls(self, state: SessionState) -> frozenset[str]:
        """Returns the calls of stopped tools that would begin, or begin again. The session continues without them."""
        if not self.tools:
            return frozenset()
        ready = [call.id for call in calls_in(state, CallStatus.READY)]
        lost = [call.id for call in calls_in(state, CallStatus.RUNNING) if not call.delegate]
        return frozenset(key for key in (*ready, *lost, *state.plans.ready) if tool_of(state, key) in self.tools)


def tool_of(state: SessionState, call: str) -> str:
    """The tool of a call that was let through, or whose turn it is in a plan; empty when neither is known."""
    if call in state.calls:
        return state.calls[call].tool
    found = planned(state.plans, call)
    return found.tool if found is not None else ""


def left(actions: Sequence[Action], halt: Halt, flying: Set[str]) -> tuple[Action, ...]:
    """What of `actions` may begin; where nothing may and no result is awaited, that the session rests until the stop is
    lifted.
    """
    kept = tuple(action for action in actions if not halt.holds(action))
    return (Nothing("stop"),) if actions and not kept and not flying else kept
