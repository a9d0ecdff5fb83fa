"""The conversation's recent window: what was said and done, in order, bounded.

The window is cut only where a customer begins to speak, so a call and its results are never parted.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

WINDOW = 60  # items kept in the state; older ones stay in the ledger
ItemRole = Literal["customer", "agent", "staff", "note", "tool"]


class ItemCall(msgspec.Struct, frozen=True):
    """A call that an agent's item made."""

    id: str
    tool: str
    arguments: dict[str, Any]
    output_path: str | None = None


class Item(msgspec.Struct, frozen=True):
    """One thing said, or one result; `seq` is the entry it came with."""

    seq: int
    role: ItemRole
    text: str
    by: str = ""
    call: str = ""
    calls: tuple[ItemCall, ...] = ()


def added(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """`items` with `item` at the end, cut to the window."""
    longer = (*items, item)
    if len(longer) <= WINDOW:
        return longer
    return _cut(longer)


def _cut(items: tuple[Item, ...]) -> tuple[Item, ...]:
    for index in range(len(items) - WINDOW, len(items)):
        if items[index].role == "customer":
            return items[index:]
    return items  # one run without a word of the customer: bounded by the run's own budget of steps
