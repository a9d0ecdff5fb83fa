"""Which connections have not sent a whole request head, by address. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Connection = TypeVar("Connection", bound=Hashable)


class Heads(Generic[Connection]):
    """At most `limit` connections of one address have an incomplete head; a further one pushes out the oldest.

    So who opens thousands of connections loses them, and a colleague behind the same address still gets in.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._waiting: dict[str, dict[Connection, None]] = {}  # insertion order is age

    def begin(self, address: str, connection: Connection) -> Connection | None:
        """Count a connection; returns the one to close for it, which is counted no more."""
        waiting = self._waiting.setdefault(address, {})
        waiting[connection] = None
        if len(waiting) <= self.limit:
            return None
        oldest = next(iter(waiting))
        del waiting[oldest]
        return oldest

    def end(self, address: str, connection: Connection) -> None:
        """Count a connection no more: its head is complete, or it is closed."""
        waiting = self._waiting.get(address, {})
        waiting.pop(connection, None)
        if not waiting:
            self._waiting.pop(address, None)

    def count(self, address: str) -> int:
        """How many connections of an address have an incomplete head."""
        return len(self._waiting.get(address, {}))

    def __len__(self) -> int:
        """How many addresses have any."""
        return len(self._waiting)
