"""What was said and done in a session, item by item, as its state holds it raw.

Only the recent and the important stays here; what stands for the rest, and how an item leaves, is in `memory`. An item
never leaves without a summary that covers it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

WINDOW = 60  # items held raw when the model is asked
MOST_ITEMS = 2 * WINDOW  # items held raw however long no model is asked
LONGEST = 4 * WINDOW  # items held raw of a history from before there were summaries
ItemRole = Literal["customer", "agent", "staff", "note", "tool"]


class ItemCall(msgspec.Struct, frozen=True):
    """A call that an agent's item made."""

    id: str
    tool: str
    arguments: dict[str, Any]
    output_path: str | None = None


class Item(msgspec.Struct, frozen=True, dict=True):
    """One thing said, or one result; `seq` is the entry it came with, `at` its instant, `turn` how many messages of the
    customer there had been. `place` is the output path that its result was written to; empty: nowhere.

    What follows from it alone is worked out once and kept with it (`dict`), outside its fields: it is in no bytes and
    no comparison, and the words are nowhere once the item is gone.
    """

    seq: int
    role: ItemRole
    text: str
    by: str = ""
    call: str = ""
    calls: tuple[ItemCall, ...] = ()
    at: str = ""
    turn: int = 0
    place: str = ""


def added(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """`items` with `item` at the end."""
    return (*items, item)
