"""The head map: a compact sparse Merkle tree that says, for every log at once, which head is its latest.

A key is the SHA-256 of a log's origin, its bits read from the most significant; a value says where the log's latest
head lies in the global log and how many entries it has. A subtree over no key is `EMPTY`; over exactly one key it is
that key's leaf hash, wherever it hangs; over more it is node(left, right), divided by the next bit. So the root is
a function of the set of pairs alone, whatever order they came in.

    leaf = SHA-256(00 ‖ key ‖ value)    node = SHA-256(01 ‖ left ‖ right)    EMPTY = 32 zero bytes

A proof is the list of siblings on the way from the key's place up to the root (deepest first), and what stands at
that place: the key itself, nothing, or one other key that shares the path. The last two prove that it is absent.

Stored, the map is 65,536 *buckets* of sorted records (48 bytes: key, value), by the first 16 bits of the key, under
257 *tiles* of 256 cells (33 bytes: how many keys are below, and the hash), by the first 8 bits and at the top. Before
its records a bucket holds the four cells of its quarters, by the next two bits. An update rewrites only the buckets and
tiles that it touches, and hashes only the quarters that it changes. All of it is a cache: it follows from the heads.

`MapHead` is the leaf of the global log that states a map's root.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

KEY_SIZE, VALUE_SIZE = 32, 16
RECORD_SIZE = KEY_SIZE + VALUE_SIZE
EMPTY = bytes(32)
TITLE = "agentstate headmap/1"
TOP = 0  #: number of the tile at the top; tile 1 + b is over the keys whose first byte is b

_NONE, _ONE, _MANY = 0, 1, 2
_CELL = 33
_CELLS = 256
_QUARTERS = 4
_RECORDS = _QUARTERS * _CELL  # where the records of a bucket begin
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)

Cell = tuple[int, bytes]  #: how many keys are below (none, one, many) and the subtree's hash
_NOTHING: Cell = (_NONE, EMPTY)


class BadMap(ValueError):
    """Stored parts, a proof or a stated root are not of the form that a map has."""


class MapStore(Protocol):
    """Reads stored parts of a map, many at once. Parts that were never written are left out."""

    def read_buckets(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """Buckets 0 to 65,535."""

    def read_tiles(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """Tiles 0 (the top) to 256."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an update makes of a map: its root, how many keys are new, and the parts to write."""

    root: bytes
    added: int
    buckets: dict[int, bytes]
    tiles: dict[int, bytes]


@dataclass(slots=True)
class MemoryMap:
    """A map kept in memory, for whoever replays heads and recomputes every map."""

    buckets: dict[int, bytes] = field(default_factory=dict)
    tiles: dict[int, bytes] = field(default_factory=dict)
    count: int = 0

    def read_buckets(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        return {number: self.buckets[number] for number in numbers if number in self.buckets}

    def read_tiles(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        return {number: self.tiles[number] for number in numbers if number in self.tiles}

    def set(self, values: Mapping[bytes, bytes]) -> bytes:
        """The root after these keys got these values."""
        change = update(values, self)
        self.buckets.update(change.buckets)
        self.tiles.update(change.tiles)
        self.count += change.added
        return change.root


@dataclass(frozen=True, slots=True)
class MapHead:
    """A map as a leaf of the global log: over the `position` leaves before it, `count` logs, and this root."""

    origin: str
    position: int
    count: int
    root: bytes

    def body(self) -> bytes:
        """The leaf's bytes."""
        numbers = self.position, self.count
        if not self.origin or "\n" in self.origin or len(self.root) != 32 or not all(0 <= n < 2**63 for n in numbers):
            raise BadMap("want a one-line origin, numbers of at least 0 and a root of 32 bytes")
        root = base64.b64encode(self.root).decode("ascii")
        return f"{TITLE}\n{self.origin}\n{self.position}\n{self.count}\n{root}\n".encode()


@dataclass(frozen=True, slots=True)
class MapProof:
    """What a map says of one key: `value` if it is there; else None, and `other` (key, value) if one stands in its way.

    `siblings` are of 32 bytes, deepest first; where a sibling holds no key it is `EMPTY`.
    """

    siblings: tuple[bytes, ...]
    value: bytes | None
    other: tuple[bytes, bytes] | None = None

    def as_json(self) -> dict[str, Any]:
        """The proof for canonical JSON; every value is hexadecimal."""
        return {
            "other": None if self.other is None else [part.hex() for part in self.other],
            "siblings": [sibling.hex() for sibling in self.siblings],
            "value": None if self.value is None else self.value.hex(),
        }


def parse_head(data: bytes) -> MapHead:
    """Read a leaf; anything that `MapHead.body` would not have written is refused."""
    lines = data.decode("utf-8", "replace").split("\n")
    if len(lines) != 6 or lines[0] != TITLE or not all(_NUMBER.fullmatch(line) for line in lines[2:4]):
        raise BadMap(f"map head: want {TITLE!r}, origin, position, count and root, a line each")
    try:
        result = MapHead(lines[1], int(lines[2]), int(lines[3]), base64.b64decode(lines[4], validate=True))
    except ValueError:
        raise BadMap("map head: malformed base64") from None
    if result.body() != data:
        raise BadMap("map head: not in its canonical spelling")
    return result


def parse_proof(document: object) -> MapProof:
    """Read what `MapProof.as_json` wrote; nothing is verified."""
    if not isinstance(document, dict) or set(document) != {"other", "siblings", "value"}:
        raise BadMap("map proof: want other, siblings and value")
    other, siblings, value = document["other"], document["siblings"], document["value"]
    if not isinstance(siblings, list) or not (other is None or (isinstance(other, list) and len(other) == 2)):
        raise BadMap("map proof: want a list of siblings, and a pair as other")
    return MapProof(
        tuple(_unhex(sibling, 32) for sibling in siblings),
        None if value is None else _unhex(value, VALUE_SIZE),
        None if other is None else (_unhex(other[0], KEY_SIZE), _unhex(other[1], VALUE_SIZE)),
    )


def key_of(origin: str) -> bytes:
    """The key of the log of this origin (`ORIGIN/s/<log>`)."""
    return sha256(origin.encode()).digest()


def value_of(index: int, size: int) -> bytes:
    """The value of a log whose latest head, of `size` entries, is leaf `index` of the global log."""
    return index.to_bytes(8, "big") + size.to_bytes(8, "big")


def read_value(value: bytes) -> tuple[int, int]:
    """Index and size of a value."""
    if len(value) != VALUE_SIZE:
        raise BadMap(f"value: got {len(value)} bytes, want {VALUE_SIZE}")
    return int.from_bytes(value[:8], "big"), int.from_bytes(value[8:], "big")


def leaf_hash(key: bytes, value: bytes) -> bytes:
    """The hash of one pair."""
    return sha256(b"\x00" + key + value).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees that hold more than one key between them."""
    return sha256(b"\x01" + left + right).digest()


def update(values: Mapping[bytes, bytes], store: MapStore) -> Change:
    """Set these keys to these values. Nothing is written: the change says what to write.

    Costs one pass over each touched bucket and tile; keys that are not touched are neither read nor hashed, except
    those that share a bucket with one that is.
    """
    by_bucket: dict[int, list[bytes]] = {}
    for key, value in values.items():
        if len(key) != KEY_SIZE or len(value) != VALUE_SIZE:
            raise BadMap(f"pair: got {len(key)} and {len(value)} bytes, want {KEY_SIZE} and {VALUE_SIZE}")
        by_bucket.setdefault(key[0] << 8 | key[1], []).append(key + value)
    stored = store.read_buckets(sorted(by_bucket))
    buckets: dict[int, bytes] = {}
    cells: dict[int, dict[int, Cell]] = {}
    added = 0
    for number, changed in by_bucket.items():
        data = stored.get(number, b"")
        buckets[number], cell = _refilled(data, changed)
        added += (len(buckets[number]) - (len(data) or _RECORDS)) // RECORD_SIZE
        cells.setdefault(1 + (number >> 8), {})[number & 255] = cell
    return _raised(cells, buckets, added, store)


def root(store: MapStore) -> bytes:
    """The root of the stored map."""
    top = store.read_tiles([TOP]).get(TOP)
    return EMPTY if top is None else _levels(_cells(top))[-1][0][1]


def prove(key: bytes, store: MapStore) -> MapProof:
    """What the stored map says of `key`."""
    if len(key) != KEY_SIZE:
        raise BadMap(f"key: got {len(key)} bytes, want {KEY_SIZE}")
    siblings: list[bytes] = []
    for depth, number in ((0, TOP), (1, 1 + key[0])):
        data = store.read_tiles([number]).get(number)
        cells = [_NOTHING] * _CELLS if data is None else _cells(data)
        levels = _levels(cells)
        for step in range(8):
            level, at = 8 - step, key[depth] >> (8 - step)
            if levels[level][at][0] != _MANY:
                return _ended(key, siblings, _only(number, level, at, cells, store))
            siblings.append(levels[level - 1][(key[depth] >> (level - 1)) ^ 1][1])
        if cells[key[depth]][0] != _MANY:
            return _ended(key, siblings, _only(number, 0, key[depth], cells, store))
    rows = _rows(store.read_buckets([key[0] << 8 | key[1]]).get(key[0] << 8 | key[1], b""))
    depth = 16
    while len(rows) > 1:
        bit = _bit(key, depth)
        siblings.append(_trie([row for row in rows if _bit(row, depth) != bit], depth + 1)[1])
        rows = [row for row in rows if _bit(row, depth) == bit]
        depth += 1
    return _ended(key, siblings, rows[0] if rows else None)


def verify(key: bytes, proof: MapProof, expected_root: bytes) -> bool:
    """Whether the map with this root says of `key` what the proof says: its value, or that it is absent."""
    depth = len(proof.siblings)
    if len(key) != KEY_SIZE or depth > 256 or any(len(part) != 32 for part in (expected_root, *proof.siblings)):
        return False
    if proof.value is not None:
        if proof.other is not None or len(proof.value) != VALUE_SIZE:
            return False
        result = leaf_hash(key, proof.value)
    elif proof.other is not None:
        other, value = proof.other
        if len(other) != KEY_SIZE or len(value) != VALUE_SIZE or other == key or _shared(other, key) < depth:
            return False
        result = leaf_hash(other, value)
    else:
        result = EMPTY
    # At most one key beside none would have been lifted: such a tree is not the one that the set has.
    if proof.siblings and proof.siblings[0] == EMPTY:
        return False
    for place, sibling in zip(range(depth - 1, -1, -1), proof.siblings, strict=True):
        result = node_hash(sibling, result) if _bit(key, place) else node_hash(result, sibling)
    return result == expected_root


def _raised(cells: dict[int, dict[int, Cell]], buckets: dict[int, bytes], added: int, store: MapStore) -> Change:
    """The change, once the cells of the touched buckets are carried up through the tiles."""
    stored = store.read_tiles(sorted({TOP, *cells}))
    tiles: dict[int, bytes] = {}
    top: dict[int, Cell] = {}
    for number, changed in cells.items():
        tiles[number], top[number - 1] = _rewritten(stored.get(number), changed)
    if not top and TOP not in stored:
        return Change(EMPTY, 0, {}, {})
    tiles[TOP], (_, result) = _rewritten(stored.get(TOP), top)
    return Change(result, added, buckets, tiles)


def _rewritten(data: bytes | None, changed: Mapping[int, Cell]) -> tuple[bytes, Cell]:
    """A tile with some cells replaced, and the cell that it is in the tile above."""
    tile = bytearray(_CELLS * _CELL if data is None else data)
    if len(tile) != _CELLS * _CELL:
        raise BadMap(f"tile: got {len(tile)} bytes, want {_CELLS * _CELL}")
    for at, (kind, value) in changed.items():
        tile[at * _CELL : (at + 1) * _CELL] = bytes([kind]) + value
    result = bytes(tile)
    if result[::_CELL].count(_MANY) < _CELLS:
        return result, _levels(_cells(result))[-1][0]
    # As in every tile of a large map, nothing is to be lifted.
    hashes = [result[at : at + _CELL - 1] for at in range(1, len(result), _CELL)]
    while len(hashes) > 1:
        above = zip(hashes[::2], hashes[1::2], strict=True)
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in above]
    return result, (_MANY, hashes[0])


def _refilled(data: bytes, changed: Sequence[bytes]) -> tuple[bytes, Cell]:
    """A bucket (nothing: an empty one) with these records put in, and the cell that it is in the tile above."""
    rows, head = _rows(data), bytearray(data[:_RECORDS]) or bytearray(_RECORDS)
    if len(head) != _RECORDS:
        raise BadMap(f"bucket: got {len(head)} bytes before its records, want {_RECORDS}")
    for record in changed:
        key = record[:KEY_SIZE]
        at = bisect_left(rows, key)
        if at < len(rows) and rows[at].startswith(key):
            rows[at] = record
        else:
            rows.insert(at, record)
    for quarter in {record[2] >> 6 for record in changed}:
        kind, value = _trie([row for row in rows if row[2] >> 6 == quarter], 18)
        head[quarter * _CELL : (quarter + 1) * _CELL] = bytes([kind]) + value
    whole = b"".join([head, *rows])
    if head[::_CELL].count(_MANY) < _QUARTERS:
        return whole, _levels(_cells(bytes(head), _QUARTERS))[-1][0]
    one, two, three, four = (whole[at : at + _CELL - 1] for at in range(1, _RECORDS, _CELL))
    return whole, (_MANY, node_hash(node_hash(one, two), node_hash(three, four)))


def _trie(rows: Sequence[bytes], depth: int) -> Cell:
    """The subtree over sorted records that share their first `depth` bits.

    Neighbours part at the bit after their common prefix, so one pass with a stack suffices: a subtree is joined to
    the one on its left as soon as what follows parts from them higher up.
    """
    if not rows:
        return _NOTHING
    current, current_depth = sha256(b"\x00" + rows[0]).digest(), 0  # depth 0: one key, which needs no lifting
    if len(rows) == 1:
        return _ONE, current
    waiting: list[tuple[bytes, int, int, bytes]] = []  # left hash, its depth, the bit where they part, its record
    last = rows[0]
    number = int.from_bytes(last[:8], "big")
    for row in rows[1:]:
        following = int.from_bytes(row[:8], "big")
        parting = 64 - (number ^ following).bit_length()
        if parting == 64:
            parting = _shared(last, row)
        while waiting and waiting[-1][2] > parting:
            left, left_depth, bit, left_row = waiting.pop()
            if left_depth > bit + 1:
                left = _lifted(left, left_row, left_depth, bit + 1)
            if current_depth > bit + 1:
                current = _lifted(current, last, current_depth, bit + 1)
            current, current_depth = sha256(b"\x01" + left + current).digest(), bit
        waiting.append((current, current_depth, parting, last))
        current, current_depth, last, number = sha256(b"\x00" + row).digest(), 0, row, following
    while waiting:
        left, left_depth, bit, left_row = waiting.pop()
        if left_depth > bit + 1:
            left = _lifted(left, left_row, left_depth, bit + 1)
        if current_depth > bit + 1:
            current = _lifted(current, last, current_depth, bit + 1)
        current, current_depth = sha256(b"\x01" + left + current).digest(), bit
    return _MANY, _lifted(current, last, current_depth, depth) if current_depth > depth else current


def _lifted(value: bytes, key: bytes, depth: int, to: int) -> bytes:
    """The hash at depth `to` of a subtree of several keys that hangs at `depth`, with nothing beside it on the way."""
    for place in range(depth - 1, to - 1, -1):
        value = node_hash(EMPTY, value) if _bit(key, place) else node_hash(value, EMPTY)
    return value


def _levels(cells: list[Cell]) -> list[list[Cell]]:
    """A tile's cells and the seven rows above them, up to the one cell of the whole."""
    levels = [cells]
    while len(cells) > 1:
        cells = [
            (_MANY, sha256(b"\x01" + left[1] + right[1]).digest())
            if left[0] == _MANY or right[0] == _MANY or left[0] & right[0]
            else max(left, right)
            for left, right in zip(cells[::2], cells[1::2], strict=True)
        ]
        levels.append(cells)
    return levels


def _cells(data: bytes, many: int = _CELLS) -> list[Cell]:
    if len(data) != many * _CELL:
        raise BadMap(f"cells: got {len(data)} bytes, want {many * _CELL}")
    return [(data[at], data[at + 1 : at + _CELL]) for at in range(0, len(data), _CELL)]


def _rows(bucket: bytes) -> list[bytes]:
    return [bucket[at : at + RECORD_SIZE] for at in range(_RECORDS, len(bucket), RECORD_SIZE)]


def _only(number: int, level: int, at: int, cells: list[Cell], store: MapStore) -> bytes | None:
    """The only record below a cell, or None where there is none."""
    for place in range(at << level, (at + 1) << level):
        if cells[place][0] == _NONE:
            continue
        if number != TOP:
            bucket = (number - 1) << 8 | place
            return _rows(store.read_buckets([bucket])[bucket])[0]
        return _only(1 + place, 8, 0, _cells(store.read_tiles([1 + place])[1 + place]), store)
    return None


def _ended(key: bytes, siblings: list[bytes], row: bytes | None) -> MapProof:
    """The proof, once the place of `key` is reached and `row` stands there."""
    path = tuple(reversed(siblings))
    if row is None:
        return MapProof(path, None)
    if row[:KEY_SIZE] == key:
        return MapProof(path, row[KEY_SIZE:])
    return MapProof(path, None, (row[:KEY_SIZE], row[KEY_SIZE:]))


def _bit(key: bytes, depth: int) -> int:
    return key[depth >> 3] >> (7 - (depth & 7)) & 1


def _shared(one: bytes, other: bytes) -> int:
    """How many bits two keys have in common before they part."""
    return 256 - (int.from_bytes(one[:KEY_SIZE], "big") ^ int.from_bytes(other[:KEY_SIZE], "big")).bit_length()


def _unhex(text: object, size: int) -> bytes:
    if not isinstance(text, str) or not re.fullmatch(f"[0-9a-f]{{{2 * size}}}", text, re.ASCII):
        raise BadMap(f"map proof: want {size} bytes in hexadecimal")
    return bytes.fromhex(text)
