"""Heads that were reported past the database: whoever commits a decision says which head it made.

A reported head has to be signed, or a signed head has to be proved to continue it. Until then it waits here, in the
process alone; what waits for longer than WAITS is an alarm (audit.condition).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

WAITS = 60.0  # seconds that a reported head may wait
MOST = 16  # reported heads of one log that wait
MOST_LOGS = 100_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """A reported head: its log, size and root, and for how many seconds it has waited."""

    log: UUID
    size: int
    root: bytes
    seconds: float


class Reports:
    """The reported heads that wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heads: dict[UUID, dict[int, tuple[bytes, float]]] = {}

    def add(self, log: UUID, size: int, root: bytes) -> None:
        """A head was reported. The first one of a log and size counts: another root there is proved by neither."""
        heads = self._heads.get(log)
        if heads is None and len(self._heads) < MOST_LOGS:
            heads = self._heads[log] = {}
        if heads is not None and len(heads) < MOST:
            heads.setdefault(size, (root, self._clock()))

    def sizes(self, log: UUID, above: int, up_to: int) -> tuple[int, ...]:
        """The sizes of the waiting heads of a log between two sizes, the upper one included, in order."""
        heads = self._heads.get(log)
        return () if heads is None else tuple(sorted(size for size in heads if above < size <= up_to))

    def root(self, log: UUID, size: int) -> bytes | None:
        """The root that was reported; None: none waits at this size."""
        found = self._heads.get(log, {}).get(size)
        return None if found is None else found[0]

    def signed(self, log: UUID, size: int, root: bytes, continued: Iterable[int]) -> None:
        """This head was signed, which was proved to continue the reported ones of the sizes `continued`."""
        for each in continued:
            self.forget(log, each)
        if self.root(log, size) == root:
            self.forget(log, size)

    def forget(self, log: UUID, size: int) -> None:
        """This head waits no more."""
        heads = self._heads.get(log, {})
        heads.pop(size, None)
        if not heads:
            self._heads.pop(log, None)

    def waiting(self) -> list[Waiting]:
        """All heads that wait, oldest first."""
        now = self._clock()
        found = [
            Waiting(log, size, root, now - since)
            for log, heads in self._heads.items()
            for size, (root, since) in heads.items()
        ]
        return sorted(found, key=lambda each: -each.seconds)
