"""All that a session remembers of its conversation beside the raw items: summaries, pins, ratings, corrections.

Bounded: MOST summaries of a bounded text, MOST_PINS pins, a rating for each raw item that has one, a few corrections.
"""

from __future__ import annotations

import msgspec

from agentstate.engine.memory.correction import Correction
from agentstate.engine.memory.pins import Pin
from agentstate.engine.memory.summaries import Summary


class Wanted(msgspec.Struct, frozen=True):
    """A summary that a model was asked for and has not written yet: what it will cover, and with how many tokens."""

    step: str
    model: str
    first: int
    last: int
    kept: tuple[int, ...]
    replaces: tuple[int, ...]
    count: int
    covers: str
    limit: int


class Memory(msgspec.Struct, frozen=True):
    """`turn` counts the customer's messages; `estimated` is what the request to `asked_model` takes, uncorrected, and
    `offered` are the tools that it names.
    """

    turn: int = 0
    summaries: tuple[Summary, ...] = ()
    pins: tuple[Pin, ...] = ()
    ratings: dict[str, int] = {}
    corrections: tuple[Correction, ...] = ()
    asked_model: str = ""
    estimated: int = 0
    wanted: Wanted | None = None
    offered: tuple[str, ...] = ()

    def pinned(self, seq: int) -> bool:
        """Whether the item of that entry is pinned itself."""
        return any(pin.seq == seq for pin in self.pins)

    def rating(self, seq: int) -> int:
        """What people made of the item: below 0 of little use, above 0 of much."""
        return self.ratings.get(str(seq), 0)
