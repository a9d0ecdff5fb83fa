"""Shapes of what an agent remembers and of what a model was given."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from agentstate.engine.decide.memory import MOST_WHY
from agentstate.engine.memory.pins import Pin
from agentstate.engine.memory.summaries import Summary
from sessions.http.bodies import Chars, Command, Range
from sessions.http.openapi import published
from sessions.memory import queries, steps


class PinItem(Command, kw_only=True):
    """Which message to keep in its own words."""

    seq: Annotated[int, Range(0, 2**53, "of the entry that brought it")]
    why: Annotated[str, Chars(MOST_WHY)] | UnsetType = UNSET


class RateItem(Command, kw_only=True):
    """How much use a message is."""

    seq: Annotated[int, Range(0, 2**53, "of the entry that brought it")]
    rating: Annotated[int, Range(-2, 2, "-2 of no use, 2 of much")]
    why: Annotated[str, Chars(MOST_WHY)] | UnsetType = UNSET


published(
    RememberedItem=queries.Remembered,
    SummaryOfItems=Summary,
    PinnedItem=Pin,
    MemoryOfSession=queries.Memory,
    RequestOfStep=steps.StepRequest,
)
