"""RFC 6962 and C2SP tiles as their definitions say, by recursion over entries: what the fast ones are held against."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from audit.tlog.tiles import Tile


class NaiveTree:
    """The tree over `entries`; a subtree's hash is remembered, nothing else is clever."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        self.leaves = [hashlib.sha256(b"\x00" + entry).digest() for entry in entries]
        self._known: dict[tuple[int, int], bytes] = {}

    def mth(self, start: int, end: int) -> bytes:
        """MTH(D[start:end])."""
        if (start, end) not in self._known:
            self._known[start, end] = self._mth(start, end)
        return self._known[start, end]

    def _mth(self, start: int, end: int) -> bytes:
        if start == end:
            return hashlib.sha256(b"").digest()
        if end - start == 1:
            return self.leaves[start]
        middle = start + _half(end - start)
        return hashlib.sha256(b"\x01" + self.mth(start, middle) + self.mth(middle, end)).digest()

    def path(self, index: int, start: int, end: int) -> list[bytes]:
        """PATH(index, D[start:end]), section 2.1.1."""
        if end - start == 1:
            return []
        middle = start + _half(end - start)
        if index < middle:
            return [*self.path(index, start, middle), self.mth(middle, end)]
        return [*self.path(index, middle, end), self.mth(start, middle)]

    def proof(self, old: int, size: int) -> list[bytes]:
        """PROOF(old, D[size]), section 2.1.2."""
        return self.subproof(0, old, 0, size, True)

    def subproof(self, first: int, last: int, start: int, end: int, known: bool) -> list[bytes]:
        """SUBTREE_SUBPROOF of draft-ietf-plants-merkle-tree-certs section 4.4, which for a prefix is SUBPROOF."""
        if (first, last) == (start, end):
            return [] if known else [self.mth(start, end)]
        middle = start + _half(end - start)
        if last <= middle:
            return [*self.subproof(first, last, start, middle, known), self.mth(middle, end)]
        if first >= middle:
            return [*self.subproof(first, last, middle, end, known), self.mth(start, middle)]
        return [*self.subproof(middle, last, middle, end, False), self.mth(start, middle)]

    def tile(self, level: int, index: int, size: int) -> bytes:
        """The tile as the specification's formula has it, at a tree of `size`."""
        span = 256**level
        starts = range(index * 256 * span, min((index + 1) * 256 * span, size // span * span), span)
        return b"".join(self.mth(start, start + span) for start in starts)


class StoredTiles:
    """A store of tiles in memory; it counts what is read."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.reads: list[Tile] = []

    def write(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        self.files.update({tile.path: data for tile, data in tiles})

    def read_tiles(self, tiles: Sequence[Tile]) -> list[bytes]:
        self.reads += tiles
        return [self.files[tile.path] for tile in tiles]


def mutations(proof: list[bytes], stranger: bytes) -> list[list[bytes]]:
    """Every class of change to a list of hashes: a bit in each, one dropped, added, doubled, swapped, short or long."""
    changed = []
    for at, value in enumerate(proof):
        before, after = proof[:at], proof[at + 1 :]
        changed += [[*before, flipped(value, at * 7 % 256), *after], [*before, *after], [*before, value, *proof[at:]]]
        changed += [[*before, value[:-1], *after], [*before, value + b"\x00", *after], [*before, b"", *after]]
        if after:
            changed.append([*before, after[0], value, *after[1:]])
    changed += [[*proof, stranger], [stranger, *proof]]
    return [each for each in changed if each != proof]


def flipped(value: bytes, bit: int) -> bytes:
    """`value` with one bit turned."""
    return value[: bit // 8] + bytes([value[bit // 8] ^ (1 << bit % 8)]) + value[bit // 8 + 1 :]


def _half(count: int) -> int:
    half = 1
    while half * 2 < count:
        half *= 2
    return half
