"""The tree as tiles (C2SP tlog-tiles): which files a log of n leaves consists of, and every proof from them.

A *tile* of level l and index i holds up to 256 consecutive hashes: at level 0 leaf hashes, above it the roots of full
tiles one level below. A tile is full at 256 hashes and then never changes; the last one of a level may be *partial*.
A growing log writes only the tiles that `growth` returns, and a proof reads a handful of them, whatever the size.

Which hashes a proof consists of says ranges.py; `hashes` turns its ranges into hashes with a single read.

Sizes and indexes are counts of leaves, below 2^63. Formats: C2SP tlog-tiles; proofs: RFC 6962 sections 2.1.1 and 2.1.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from audit.tlog.ranges import MAX_SIZE, Node, Range, consistency_ranges, inclusion_ranges, perfect
from audit.tlog.tree import EMPTY_ROOT, HASH_SIZE, BadTree, node_hash

WIDTH = 256  #: hashes in a full tile, entries in a full bundle
HEIGHT = 8  #: levels of the tree that one tile spans
MAX_ENTRY = 65_535  #: bytes of one entry in a bundle, whose length is written in 16 bits
MAX_BUNDLE = WIDTH * (2 + MAX_ENTRY)

_PATH = re.compile(
    r"tile/(entries|[0-9]|[1-5][0-9]|6[0-3])/((?:x[0-9]{3}/){0,6}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII
)


class BadTile(ValueError):
    """A tile, a bundle or a path is not of the form that the log's size asks for."""


@dataclass(frozen=True, slots=True, order=True)
class Tile:
    """Where hashes lie: `width` of them at `index` of `level`."""

    level: int
    index: int
    width: int

    @property
    def path(self) -> str:
        """The file's path below the log's prefix."""
        return f"tile/{self.level}/{_index_path(self.index, self.width)}"


@dataclass(frozen=True, slots=True, order=True)
class Bundle:
    """Where entries lie: `width` of them from entry 256 * `index` on."""

    index: int
    width: int

    @property
    def path(self) -> str:
        """The file's path below the log's prefix."""
        return f"tile/entries/{_index_path(self.index, self.width)}"


class HashReader(Protocol):
    """Reads stored tiles, all that a proof needs at once."""

    def read_tiles(self, tiles: Sequence[Tile]) -> Sequence[bytes]:
        """The bytes of each tile, in order.

        A tile that has grown since may be given as it is now: a log only grows, so a wider tile begins with the
        narrower one. Raises whatever the storage raises where a tile is missing.
        """


def parse_path(path: str) -> Tile | Bundle:
    """The tile or bundle at this path. Raises BadTile for any other spelling."""
    found = _PATH.fullmatch(path)
    if found is None:
        raise BadTile(f"{path[:80]!r} is no path of a tile or bundle")
    level, encoded, width = found[1], found[2], int(found[3] or WIDTH)
    index = int(encoded.replace("x", "").replace("/", ""))
    result = Bundle(index, width) if level == "entries" else Tile(int(level), index, width)
    if result.path != path:
        raise BadTile(f"{path[:80]!r} is not spelled as {result.path[:80]!r}")
    return result


def tiles_of(size: int) -> list[Tile]:
    """Every tile of a tree of `size` leaves, lowest level first."""
    return grown_tiles(0, size)


def grown_tiles(old: int, new: int) -> list[Tile]:
    """The tiles that a tree of `new` leaves has and one of `old` had not, lowest level first."""
    _check_growth(old, new)
    found: list[Tile] = []
    level = 0
    while new >> (HEIGHT * level):
        found += [Tile(level, index, width) for index, width in _grown(old, new, level)]
        level += 1
    return found


def grown_bundles(old: int, new: int) -> list[Bundle]:
    """The entry bundles that a log of `new` entries has and one of `old` had not."""
    _check_growth(old, new)
    return [Bundle(index, width) for index, width in _grown(old, new, 0)]


def growth(old: int, leaves: Sequence[bytes], reader: HashReader) -> list[tuple[Tile, bytes]]:
    """The tiles to write when `leaves` (leaf hashes) are added to a tree of `old` leaves, lowest level first.

    Reads at most one partial tile per level. Written in any order they harm nobody: no head of the old size needs them.
    """
    new = old + len(leaves)
    _check_growth(old, new)
    if any(len(leaf) != HASH_SIZE for leaf in leaves):
        raise BadTree(f"a leaf hash is not of {HASH_SIZE} bytes")
    edges = _edges(old, new, reader)
    written: list[tuple[Tile, bytes]] = []
    level, added = 0, b"".join(leaves)
    while added:
        begun = edges.get(level, b"")
        whole = begun + added
        first = old >> (HEIGHT * (level + 1))
        full: list[bytes] = []
        for at in range(0, len(whole), WIDTH * HASH_SIZE):
            data = whole[at : at + WIDTH * HASH_SIZE]
            written.append((Tile(level, first + at // (WIDTH * HASH_SIZE), len(data) // HASH_SIZE), data))
            if len(data) == WIDTH * HASH_SIZE:
                full.append(perfect_root(data))
        level, added = level + 1, b"".join(full)
    return written


def root(size: int, reader: HashReader) -> bytes:
    """The root of the tree of `size` leaves, from its right edge of tiles."""
    _check_growth(0, size)
    return hashes([(0, size)], size, reader)[0] if size else EMPTY_ROOT


def frontier(size: int, reader: HashReader) -> bytes:
    """The frontier of the tree of `size` leaves, as tree.append takes it."""
    _check_growth(0, size)
    nodes = perfect((0, size))
    return b"".join(hashes([(at << height, (at + 1) << height) for height, at in nodes], size, reader))


def inclusion_proof(index: int, size: int, reader: HashReader) -> list[bytes]:
    """The path from the leaf at `index` to the root of `size` leaves, nearest hash first."""
    return hashes(inclusion_ranges(index, (0, size)), size, reader)


def consistency_proof(old: int, size: int, reader: HashReader) -> list[bytes]:
    """That the first `old` leaves (at least one) are a prefix of the tree of `size`."""
    return hashes(consistency_ranges((0, old), size), size, reader)


def hashes(ranges: Sequence[Range], size: int, reader: HashReader) -> list[bytes]:
    """The root over each range of leaves (subtrees, not empty) of the tree of `size`. One read, of each tile once."""
    nodes = [perfect(each) for each in ranges]
    wanted = sorted({_tile_of(node, size) for each in nodes for node in each})
    held = _read(wanted, reader)
    return [_joined([_node(node, size, held) for node in each]) for each in nodes]


def perfect_root(data: bytes) -> bytes:
    """The root over hashes lying one behind the other, whose number is a power of two."""
    row = [data[at : at + HASH_SIZE] for at in range(0, len(data), HASH_SIZE)]
    if not row or len(row) & (len(row) - 1) or len(data) % HASH_SIZE:
        raise BadTile(f"got {len(data)} bytes, want a power of two of hashes")
    while len(row) > 1:
        row = [node_hash(row[at], row[at + 1]) for at in range(0, len(row), 2)]
    return row[0]


def write_bundle(entries: Sequence[bytes]) -> bytes:
    """1 to 256 entries, each behind its length in two bytes, big endian."""
    if not 0 < len(entries) <= WIDTH:
        raise BadTile(f"bundle: got {len(entries)} entries, want 1 to {WIDTH}")
    longest = max(map(len, entries))
    if longest > MAX_ENTRY:
        raise BadTile(f"bundle: got an entry of {longest} bytes, want at most {MAX_ENTRY}")
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def parse_bundle(data: bytes, width: int) -> list[bytes]:
    """Exactly `width` entries, with nothing after them."""
    entries: list[bytes] = []
    at = 0
    while at < len(data) and len(entries) < width:
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if at + 2 > len(data) or end > len(data):
            raise BadTile(f"bundle: entry {len(entries)} is cut off")
        entries.append(data[at + 2 : end])
        at = end
    if at != len(data) or len(entries) != width:
        raise BadTile(f"bundle: got {len(entries)} entries and {len(data) - at} more bytes, want {width} entries")
    return entries


def _grown(old: int, new: int, level: int) -> Iterable[Range]:
    """Index and width of what is new at one level."""
    before, after = old >> (HEIGHT * level), new >> (HEIGHT * level)
    if before == after:
        return
    for index in range(before // WIDTH, -(-after // WIDTH)):
        yield index, min(WIDTH, after - index * WIDTH)


def _edges(old: int, new: int, reader: HashReader) -> dict[int, bytes]:
    """The partial tile of each level that grows, as it is at `old`."""
    wanted, level = [], 0
    while old >> (HEIGHT * level):
        before, after = old >> (HEIGHT * level), new >> (HEIGHT * level)
        if before != after and before % WIDTH:
            wanted.append(Tile(level, before // WIDTH, before % WIDTH))
        level += 1
    return {tile.level: data for tile, data in _read(wanted, reader).items()}


def _read(wanted: Sequence[Tile], reader: HashReader) -> dict[Tile, bytes]:
    if not wanted:
        return {}
    got = reader.read_tiles(wanted)
    if len(got) != len(wanted):
        raise BadTile(f"got {len(got)} tiles, want {len(wanted)}")
    held: dict[Tile, bytes] = {}
    for tile, data in zip(wanted, got, strict=True):
        want = tile.width * HASH_SIZE
        if len(data) < want or len(data) > WIDTH * HASH_SIZE or len(data) % HASH_SIZE:
            raise BadTile(f"{tile.path}: got {len(data)} bytes, want {want}")
        held[tile] = bytes(data[:want])
    return held


def _joined(row: list[bytes]) -> bytes:
    """The root over perfect subtrees, largest first."""
    if not row:
        raise BadTree("a hash over no leaves is in no proof")
    result = row[-1]
    for left in row[-2::-1]:
        result = node_hash(left, result)
    return result


def _tile_of(node: Node, size: int) -> Tile:
    """The tile that holds the hashes from which this node is computed."""
    height, index = node
    if (index + 1) << height > size:
        raise BadTree(f"a node of height {height} at {index} is not within {size} leaves")
    level, rest = divmod(height, HEIGHT)
    at = (index << rest) // WIDTH
    return Tile(level, at, min(WIDTH, (size >> (HEIGHT * level)) - at * WIDTH))


def _node(node: Node, size: int, held: Mapping[Tile, bytes]) -> bytes:
    height, index = node
    rest = height % HEIGHT
    at = (index << rest) % WIDTH * HASH_SIZE
    return perfect_root(held[_tile_of(node, size)][at : at + (HASH_SIZE << rest)])


def _index_path(index: int, width: int) -> str:
    if not 0 <= index <= MAX_SIZE or not 0 < width <= WIDTH:
        raise BadTile(f"got index {index} and width {width}, want an index below 2^63 and 1 to {WIDTH} hashes")
    digits = f"{index:03d}"
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    spelled = "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])
    return spelled if width == WIDTH else f"{spelled}.p/{width}"


def _check_growth(old: int, new: int) -> None:
    if not 0 <= old <= new <= MAX_SIZE:
        raise BadTree(f"got sizes {old} and {new}, want a growth from at least 0 to less than 2^63")
