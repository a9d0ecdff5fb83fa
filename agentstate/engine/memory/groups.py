"""What stays together: a call and all its results are one group, anything else said is a group of its own."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentstate.engine.conversation import Item


class Group(msgspec.Struct, frozen=True):
    """Items that are kept, summarised and pinned together, oldest first."""

    items: tuple[Item, ...]

    @property
    def first(self) -> int:
        """Entry of the oldest item."""
        return self.items[0].seq

    @property
    def last(self) -> int:
        """Entry of the newest item."""
        return self.items[-1].seq

    @property
    def seqs(self) -> frozenset[int]:
        """Entries of all items."""
        return frozenset([item.seq for item in self.items])

    @property
    def calls(self) -> frozenset[str]:
        """Ids of the calls that it makes or answers."""
        made = {call.id for item in self.items for call in item.calls}
        return frozenset(made | {item.call for item in self.items if item.call})


def grouped(items: Iterable[Item]) -> list[Group]:
    """The groups, in the order of their first items. A result whose call is not held is a group of its own."""
    places: dict[str, list[Item]] = {}
    found: list[list[Item]] = []
    for item in items:
        if item.role == "tool" and item.call in places:
            places[item.call].append(item)
            continue
        found.append([item])
        places |= {call.id: found[-1] for call in item.calls}
    return [Group(tuple(members)) for members in found]
