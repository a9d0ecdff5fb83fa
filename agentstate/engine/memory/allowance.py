"""How much of its budget an agent's instructions and tools leave for state and conversation."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentstate.engine.memory.shown import ToolSpec, json_text
from agentstate.engine.memory.tokens import Counter
from agentstate.errors import Invalid

MIN_CONVERSATION = 120  # tokens that a conversation needs at least: a summary with its heading, and one message


class BudgetTooSmall(Invalid):
    """The instructions and tools of an agent leave no room in its budget for a conversation."""

    code = "budget_too_small"
    remedy = "Raise the budget, shorten the instructions, or give the agent fewer tools."


class Allowance(msgspec.Struct, frozen=True):
    """Tokens of a budget that instructions and tools take."""

    budget: int
    instructions: int
    tools: int

    @property
    def left(self) -> int:
        """Tokens that are left for state and conversation."""
        return self.budget - self.instructions - self.tools

    @property
    def state(self) -> int:
        """Characters that a request has for the scratchpad: one for each token that is left."""
        return max(1, self.left)

    def must_suffice(self, agent: str) -> None:
        """Raises BudgetTooSmall where no conversation fits beside the instructions and tools of `agent`."""
        if self.left < MIN_CONVERSATION:
            raise BudgetTooSmall(
                f"agent {agent!r}: instructions take {self.instructions} tokens and tools {self.tools} of a budget of"
                f" {self.budget}; a conversation needs {MIN_CONVERSATION}",
                field="budget",
            )


def allowance(budget: int, counter: Counter, instructions: str, tools: Iterable[ToolSpec]) -> Allowance:
    """Returns what instructions and tools take of a budget, by the counter."""
    return Allowance(budget, counter.count(instructions), sum(counter.count(json_text(each)) for each in tools))
