"""How an agent remembers: the settings of its memory, as data.

Half-lives are in turns of the customer and in seconds; 0 means that nothing decays by it. Paths in `private` never
reach a model: neither in the scratchpad nor in the result of the call that wrote them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agentstate.engine import scratchpad
from agentstate.engine.memory.importance import DEFAULT_RULES, Rule
from agentstate.errors import Invalid

BUDGET = 8_000  # tokens of a model request
SMALLEST, LARGEST = 100, 2_000_000  # tokens that a budget may have


class BadMemory(Invalid):
    """The settings of an agent's memory are not usable."""

    code = "bad_memory"


class Remembering(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`summaries`: who writes them, the engine by rules or the agent's model (by rules again when that fails)."""

    budget: int = BUDGET
    half_life_turns: int = 12
    half_life_seconds: int = 3_600
    summaries: Literal["rules", "model"] = "rules"
    rules: tuple[Rule, ...] = DEFAULT_RULES
    private: tuple[str, ...] = ()
    counter: str = "estimate"

    def __post_init__(self) -> None:
        if not SMALLEST <= self.budget <= LARGEST:
            raise BadMemory(f"budget: got {self.budget} tokens, want {SMALLEST} to {LARGEST}", field="budget")
        if self.half_life_turns < 0 or self.half_life_seconds < 0:
            raise BadMemory("half_life: want 0 (never) or more", field="half_life")
        for path in self.private:
            if path != "state":  # all of it
                scratchpad.parts(path)


def load(data: bytes) -> Remembering:
    """The settings from their JSON. Raises BadMemory naming the field, or BadPath."""
    try:
        return msgspec.json.decode(data, type=Remembering)
    except msgspec.MsgspecError as error:
        raise BadMemory(str(error)) from None
