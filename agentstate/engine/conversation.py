"""The conversation's recent window: what was said and done, in order, bounded.

The window is cut where a customer begins to speak, or, when none has for long, before anything that is no result: so
a call and the results that followed it are never parted. A result that came late, after somebody had spoken, may
outlive its call.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

WINDOW = 60  # items kept in the state; older ones stay in the ledger
LONGEST = 4 * WINDOW  # items kept while no customer speaks
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
    recent = range(len(items) - WINDOW, len(items))
    begins = [index for index in recent if items[index].role == "customer"]
    if not begins and len(items) > LONGEST:
        begins = [index for index in recent if items[index].role != "tool"]
    return items[begins[0] :] if begins else items
