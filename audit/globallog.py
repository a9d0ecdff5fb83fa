"""The global log as it is stored: leaves, tiles, signed heads, and the head map's cache. Only reads.

One log a tenant, whose leaves are heads of that tenant's logs, head maps, new log keys and downtimes. Every proof comes
from a handful of tiles. `audit.sequencer` is the only writer. Bodies and heads are public and name no person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from agentstate.errors import Broken, NotFound
from audit.ledger import run
from audit.tlog import headmap, tiles, tree
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.checkpoint import parse as parse_checkpoint
from audit.tlog.headleaf import parse as parse_leaf
from audit.tlog.headmap import MapHead, MapProof
from audit.tlog.note import parse as parse_note
from audit.tlog.tiles import WIDTH, Tile
from audit.tlog.tree import HASH_SIZE

READ_BATCH = 5000  # leaves


class Altered(Broken):
    """The stored global log was altered."""

    code = "global_log_altered"
    remedy = "Compare the database with its backups and with what witnesses hold."


class NotThere(NotFound):
    """There is no such leaf, head or map yet."""

    code = "not_in_global_log"


@dataclass(frozen=True, slots=True)
class State:
    """How far a tenant's global log is: size and frontier, the index of its newest head map (-1: none), the size of its
    newest signed head (0: none), and when this was read (PostgreSQL's clock).
    """

    tenant: UUID
    size: int
    frontier: bytes
    mapped: int
    signed: int
    read_at: datetime

    @property
    def root(self) -> bytes:
        """The RFC 6962 root over all leaves."""
        return tree.root(self.frontier, self.size)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head of the global log, signed (`note`); `cosignatures` are witnesses' lines, each with its newline."""

    tenant: UUID
    size: int
    root: bytes
    note: bytes
    signed_at: datetime
    cosignatures: tuple[str, ...] = ()

    @property
    def checkpoint(self) -> bytes:
        """The note with all its signatures: what is served and exported."""
        return self.note + "".join(self.cosignatures).encode()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a log's newest sequenced head stands: leaf `index`, of `size` entries."""

    index: int
    size: int


@dataclass(frozen=True, slots=True)
class MapEvidence:
    """What the newest head map (leaf `index` of the global log) says of one log."""

    index: int
    head: MapHead
    proof: MapProof

    @property
    def place(self) -> Place | None:
        """The log's latest head as of this map; None: it is not in it."""
        return None if self.proof.value is None else Place(*headmap.read_value(self.proof.value))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """What cannot be read of the stored global log was altered: the errors of the cores become Altered."""
    try:
        yield
    except ValueError as error:
        raise Altered(f"{what}: {error}.") from None


def origin_of(log: UUID) -> str:
    """The name under which the heads of one log stand in the global log and are signed."""
    return f"{settings.LOG_ORIGIN}/s/{log}"


#: One row, for `state_of`.
STATE = """
SELECT s.size, s.frontier, s.mapped, (SELECT coalesce(max(size), 0) FROM audit_signedhead h
    WHERE h.tenant = asked.tenant), clock_timestamp()
  FROM (VALUES (%(tenant)s::uuid)) AS asked(tenant) LEFT JOIN audit_gstate s USING (tenant)"""


def state(tenant: UUID) -> State:
    """As it stands, signed or not."""
    return state_of(tenant, run(STATE, {"tenant": tenant})[0])


def state_of(tenant: UUID, row: tuple[Any, ...]) -> State:
    """The state that a row of STATE says."""
    size, frontier, mapped, signed, read_at = row
    if size is None:
        return State(tenant, 0, b"", -1, signed, read_at)
    return State(tenant, size, bytes(frontier), mapped, signed, read_at)


def signed_head(tenant: UUID, size: int | None = None) -> SignedHead | None:
    """The newest signed head, or the newest of this size, with the cosignatures that came in for it so far."""
    rows = run(
        "SELECT h.size, h.note, h.signed_at, ARRAY(SELECT DISTINCT ON (c.name) c.line FROM audit_cosignature c"
        "  WHERE c.tenant = h.tenant AND c.size = h.size ORDER BY c.name, c.at DESC)"
        " FROM audit_signedhead h WHERE h.tenant = %(tenant)s AND (%(size)s::bigint IS NULL OR h.size = %(size)s)"
        " ORDER BY h.size DESC, h.signed_at DESC LIMIT 1",
        {"tenant": tenant, "size": size},
    )
    return _signed(tenant, rows[0]) if rows else None


def cosigned_head(tenant: UUID, names: Sequence[str]) -> SignedHead | None:
    """The newest head under which a cosignature of every one of these witnesses stands."""
    rows = run(
        "SELECT size FROM audit_cosignature WHERE tenant = %(tenant)s AND name = ANY(%(names)s)"
        " GROUP BY size HAVING count(DISTINCT name) = %(wanted)s ORDER BY size DESC LIMIT 1",
        {"tenant": tenant, "names": list(names), "wanted": len(set(names))},
    )
    return signed_head(tenant, rows[0][0]) if rows else None


def _signed(tenant: UUID, row: tuple[Any, ...]) -> SignedHead:
    size, note, signed_at, lines = row
    with reading(f"Signed head of {size} leaves"):
        head = parse_checkpoint(parse_note(bytes(note)).text)
    return SignedHead(tenant, size, head.root, bytes(note), signed_at, tuple(lines))


def latest_place(log: UUID) -> Place | None:
    """Where the log's newest head stands in the global log, signed or not; None before its first round."""
    rows = run('SELECT "index", size FROM audit_place WHERE log = %(log)s', {"log": log})
    return Place(*rows[0]) if rows else None


def place_before(tenant: UUID, log: UUID, size: int) -> Place | None:
    """Where the newest head of a log stands among the first `size` leaves. One that has grown since is looked for
    backwards from there, which is not far in a log that is written to.
    """
    newest = latest_place(log)
    if newest is None or newest.index < size:
        return newest
    prefix = f"{origin_of(log)}\n".encode()
    rows = run(
        'SELECT "index", body FROM audit_glog WHERE tenant = %(tenant)s AND "index" < %(size)s'
        ' AND substr(body, 1, %(length)s) = %(prefix)s ORDER BY "index" DESC LIMIT 1',
        {"tenant": tenant, "size": size, "length": len(prefix), "prefix": prefix},
    )
    if not rows:
        return None
    with reading(f"Leaf {rows[0][0]}"):
        return Place(rows[0][0], parse_leaf(bytes(rows[0][1]))[0].size)


def body(tenant: UUID, index: int) -> bytes:
    """One leaf. Raises NotThere."""
    for _, data in bodies(tenant, index, index + 1):
        return data
    raise NotThere(f"leaf {index}")


def head_body(tenant: UUID, place: Place) -> Checkpoint:
    """The head that stands at `place`. Raises Altered when another leaf does."""
    data = body(tenant, place.index)
    with reading(f"Leaf {place.index}"):
        head, _ = parse_leaf(data)
    if head.size != place.size:
        raise Altered(f"Leaf {place.index}: got a head of {head.size} entries, want {place.size}.")
    return head


_HEADS_BEFORE = r"""
WITH RECURSIVE head ("index", body) AS (
  SELECT "index", body FROM audit_glog WHERE tenant = %(tenant)s AND "index" = %(index)s
  UNION ALL
  SELECT g."index", g.body FROM head, audit_glog g WHERE g.tenant = %(tenant)s AND g."index" < head."index"
    AND g."index" = substring(convert_from(head.body, 'UTF8') FROM '
after ([0-9]{1,18}) ')::bigint)
SELECT body FROM head WHERE "index" < %(index)s ORDER BY "index" """


def heads_before(tenant: UUID, index: int) -> list[bytes]:
    """The leaves that said the heads of a log before leaf `index` did, oldest first, as each names the one before."""
    return [bytes(body) for (body,) in run(_HEADS_BEFORE, {"tenant": tenant, "index": index})]


def map_head(tenant: UUID, index: int) -> MapHead:
    """The head map that leaf `index` states. Raises Altered when another leaf stands there, NotThere."""
    data = body(tenant, index)
    with reading(f"Leaf {index}"):
        return headmap.parse_head(data)


def bodies(tenant: UUID, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Leaves from `start` up to `stop`, with their indexes, in order."""
    while start < stop:
        rows = run(
            'SELECT "index", body FROM audit_glog WHERE tenant = %(tenant)s AND "index" >= %(start)s'
            ' AND "index" < %(stop)s ORDER BY "index"',
            {"tenant": tenant, "start": start, "stop": min(stop, start + READ_BATCH)},
        )
        yield from ((index, bytes(data)) for index, data in rows)
        start += READ_BATCH


def inclusion(tenant: UUID, index: int, size: int) -> list[bytes]:
    """The path from leaf `index` to the root of `size` leaves."""
    with reading("Tiles"):
        return tiles.inclusion_proof(index, size, StoredTiles(tenant))


def consistency(tenant: UUID, old: int, new: int) -> list[bytes]:
    """That the first `old` leaves are a prefix of `new`; empty when there is nothing to prove."""
    with reading("Tiles"):
        return [] if old in (0, new) else tiles.consistency_proof(old, new, StoredTiles(tenant))


def frontier(tenant: UUID, size: int) -> bytes:
    """The frontier of the first `size` leaves, from the tiles."""
    with reading("Tiles"):
        return tiles.frontier(size, StoredTiles(tenant)) if size else b""


def tile(tenant: UUID, level: int, index: int, width: int = WIDTH) -> bytes:
    """The first `width` hashes of a tile (C2SP tlog-tiles). Raises NotThere."""
    return StoredTiles(tenant).read_tiles([Tile(level, index, width)])[0]


def bundle(tenant: UUID, index: int, width: int = WIDTH) -> bytes:
    """A bundle of leaves (C2SP tlog-tiles), 256 to a bundle. Raises NotThere."""
    found = [data for _, data in bodies(tenant, index * WIDTH, index * WIDTH + width)]
    if len(found) < width:
        raise NotThere(f"leaves {index * WIDTH} to {index * WIDTH + width}")
    return tiles.write_bundle(found)


@dataclass(frozen=True, slots=True)
class Gap:
    """A downtime on record: leaf `index` of the global log says that `part` did not run from `since` to `until`."""

    index: int
    part: str
    since: datetime
    until: datetime


def gaps(tenant: UUID) -> list[Gap]:
    """Every downtime of sequencer and signer on record, oldest first: the list for auditors."""
    rows = run(
        'SELECT "index", part, since, until FROM audit_gap WHERE tenant = %(tenant)s ORDER BY "index"',
        {"tenant": tenant},
    )
    return [Gap(*row) for row in rows]


# `agentstate key/1` and a newline; written out, so that the index audit_glog_keys finds them.
_INTRODUCTIONS = r"""
SELECT "index", body FROM audit_glog
  WHERE tenant = %(tenant)s AND substr(body, 1, 17) = '\x6167656e747374617465206b65792f310a'::bytea
  ORDER BY 1"""


def introductions(tenant: UUID) -> list[tuple[int, bytes]]:
    """The leaves that introduce log keys, each a note signed by the key before it, with their indexes, oldest first."""
    return [(index, bytes(note)) for index, note in run(_INTRODUCTIONS, {"tenant": tenant})]


def map_proof(tenant: UUID, log: UUID) -> MapEvidence | None:
    """What the newest head map says of `log`; None when there is no map yet. It may stand in an unsigned head still:
    `audit.sequencer.settle(log, with_map=True)` sees to it that it does not.
    """
    store, key = StoredMap(tenant), headmap.key_of(origin_of(log))
    while True:
        mapped = state(tenant).mapped
        if mapped < 0:
            return None
        try:
            proof = headmap.prove(key, store)
        except headmap.BadMap as error:
            if state(tenant).mapped == mapped:
                raise Altered(f"Head map: {error}.") from None
            continue
        if state(tenant).mapped == mapped:  # else a round came in between, and the parts are of two maps
            return MapEvidence(mapped, map_head(tenant, mapped), proof)


class StoredTiles:
    """The tiles of one tenant's global log, as audit.tlog.tiles reads them."""

    def __init__(self, tenant: UUID) -> None:
        self._tenant = tenant

    def read_tiles(self, tiles: Sequence[Tile]) -> list[bytes]:
        """Full tiles as stored; partial ones are put together from the leaves or the tiles below them."""
        full = self._full([each for each in tiles if each.width == WIDTH])
        found = [full.get((each.level, each.index)) or self._partial(each) for each in tiles]
        for each, data in zip(tiles, found, strict=True):
            if len(data) < each.width * HASH_SIZE:
                raise NotThere(each.path)
        return found

    def _full(self, wanted: Sequence[Tile]) -> dict[tuple[int, int], bytes]:
        if not wanted:
            return {}
        rows = run(
            'SELECT t.level, t."index", t.data FROM unnest(%(levels)s::smallint[], %(indexes)s::bigint[])'
            " AS wanted(level, number) JOIN audit_tile t ON t.tenant = %(tenant)s AND t.level = wanted.level"
            ' AND t."index" = wanted.number',
            {
                "tenant": self._tenant,
                "levels": [each.level for each in wanted],
                "indexes": [each.index for each in wanted],
            },
        )
        return {(level, index): bytes(data) for level, index, data in rows}

    def _partial(self, wanted: Tile) -> bytes:
        first = wanted.index * WIDTH
        if wanted.level == 0:
            found = [tree.leaf_hash(data) for _, data in bodies(self._tenant, first, first + wanted.width)]
        else:
            rows = run(
                'SELECT root FROM audit_tile WHERE tenant = %(tenant)s AND level = %(level)s AND "index" >= %(first)s'
                ' AND "index" < %(end)s ORDER BY "index"',
                {"tenant": self._tenant, "level": wanted.level - 1, "first": first, "end": first + wanted.width},
            )
            found = [bytes(root) for (root,) in rows]
        return b"".join(found)


class StoredMap:
    """The head map of one tenant, as audit.tlog.headmap reads it."""

    def __init__(self, tenant: UUID) -> None:
        self._tenant = tenant

    def read_buckets(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """Buckets of the head map."""
        return self._parts("SELECT bucket, data FROM audit_mapbucket WHERE tenant = %(tenant)s AND bucket", numbers)

    def read_tiles(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """Tiles of the head map."""
        return self._parts("SELECT tile, data FROM audit_maptile WHERE tenant = %(tenant)s AND tile", numbers)

    def _parts(self, select: str, numbers: Sequence[int]) -> dict[int, bytes]:
        rows = run(f"{select} = ANY(%(numbers)s)", {"tenant": self._tenant, "numbers": list(numbers)})
        return {number: bytes(data) for number, data in rows}
