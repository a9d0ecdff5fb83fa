"""The only writer of the global log: rounds that put dirty heads into it, have it signed, and keep the head map.

A round reads state, not a stream: which heads are not those that were sequenced last, whoever committed them in
whatever order. It reads without a lock, has the signer say which heads continue what it signed (audit.growth), and
writes leaves, tiles, places and map in ONE statement that compares the log's size, so that two rounds at once, a
sequencer that slept, and one killed anywhere leave nothing half done or twice. A head is marked clean afterwards, if it
is still the one that was read and nobody holds its row: a stalled writer waits for no round and no round for it. The
mark only says where to look first: audit.comparing compares all heads.

Anybody may run a round, on demand; `audit.sequencer_leader` keeps one sequencer running.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from agentstate.errors import Broken
from audit import globallog, growth, ledger, signer
from audit.blobs import Blobs
from audit.globallog import Place, State, origin_of
from audit.ledger import run
from audit.reading import run_together
from audit.signer import Growth
from audit.tlog import growth as grown
from audit.tlog import headleaf, headmap, tiles, tree
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.downtime import Downtime

CAP = 10_000  # heads in one round
CLEARED = 500  # heads marked clean in one statement: the longest that a writer may wait for one
TRIES = 20

log = logging.getLogger("audit.sequencer")
_refusals = growth.Refusals()


class Deposed(Broken):
    """Another sequencer was elected meanwhile."""

    code = "deposed"


class Unsettled(Broken):
    """The global log moved on at every try."""

    code = "unsettled"
    status = 503
    remedy = "Try again."


@dataclass(frozen=True, slots=True)
class Dirty:
    """A head to be put into the global log. `since`: it changed then or later (PostgreSQL's clock)."""

    log: UUID
    size: int
    frontier: bytes
    since: datetime
    sealed: bool


@dataclass(frozen=True, slots=True)
class Round:
    """What a round did: leaves `first` to `size` are new; `mapped`: whether a head map is among them.

    `read_at`: when it looked (PostgreSQL's clock); `whole`: it took all that it saw. `sealed`: whether one of the heads
    is of a log that ends with it. `lags` are seconds for each head, from when it changed, or a little before, to when
    it was signed. `altered` are logs whose head row cannot be, or does not continue what was signed: they are left out.
    """

    first: int
    size: int
    read_at: datetime
    whole: bool = True
    heads: int = 0
    mapped: bool = False
    sealed: bool = False
    lags: tuple[float, ...] = ()
    altered: tuple[UUID, ...] = ()


@dataclass(slots=True)
class _Batch:
    """Leaves to be, and what is written with them."""

    state: State
    heads: list[Dirty]
    bodies: list[bytes]
    altered: dict[UUID, str] = field(default_factory=dict)  # and why
    downtimes: list[tuple[int, Downtime]] = field(default_factory=list)
    mapped: headmap.Change | None = None


def run_once(
    tenant: UUID,
    *,
    with_map: bool = False,
    extra: Sequence[bytes | Downtime] = (),
    wanted: Sequence[UUID] = (),
    fence: int | None = None,
) -> Round:
    """One round, as `advance`; then all heads that stand in the log are marked clean."""
    done = advance(tenant, with_map=with_map, extra=extra, wanted=wanted, fence=fence)
    while not mark_clean(tenant):
        pass
    return done


def advance(
    tenant: UUID,
    *,
    with_heads: bool = True,
    with_map: bool = False,
    extra: Sequence[bytes | Downtime] = (),
    wanted: Sequence[UUID] = (),
    fence: int | None = None,
    seen: datetime | None = None,
) -> Round:
    """Append what is dirty (at most CAP heads, the logs `wanted` first) and `extra` leaves, and have them signed.

    Without heads, for a map over what is there, the round takes none. What an earlier round left unsigned is signed
    first, and nothing is added to it. `seen`: what had changed by then was taken by earlier rounds, so lags are counted
    from then at the earliest. Raises signer.HeadRefused or signer.SignerDown; with `fence`, a sequencer's number,
    Deposed once it is no longer the highest.
    """
    with transaction.atomic(durable=True):
        pass  # what is signed must be committed: a round inside somebody's transaction could be rolled back after it
    for _ in range(TRIES):
        state, rows = _look(tenant, with_heads, wanted)
        if not state.size:
            begin(tenant)
        if state.signed != state.size:
            growth.sign(tenant)
        batch = _Batch(state, [], [])
        try:
            _gather(batch, rows)
        except signer.HeadRefused:
            if globallog.state(tenant).size == state.size:
                raise
            continue  # another round came first, and the signer has signed more than this one read
        _add(batch, extra)
        if with_map:
            _add_map(batch)
        if not batch.bodies:
            return _done(batch, None, seen)
        leaves = [tree.leaf_hash(body) for body in batch.bodies]
        frontier = tree.append(state.frontier, state.size, leaves)
        if _append(batch, leaves, frontier, fence):
            root = tree.root(frontier, state.size + len(leaves))
            return _done(batch, growth.sign_grown(state, batch.bodies, root), seen)
        if fence is not None:
            _must_be_highest(tenant, fence)
    raise Unsettled("Rounds of others came first.")


def settle(log: UUID, with_map: bool = False) -> Place:
    """Where the log's head stands in the global log, once the present one (or a later) is in a signed head of it.

    `with_map`: and in a head map that stands in a signed head. Raises ledger.UnknownLog, signer.HeadRefused when the
    log is smaller or another than what was sequenced before, signer.SignerDown.
    """
    head = ledger.read_head(log)
    for _ in range(TRIES):
        place = globallog.latest_place(log)
        if place is not None and place.size >= head.size and _is_settled(head.tenant, place, with_map):
            _compare(ledger.read_head(log), place)
            return place
        if log in run_once(head.tenant, with_map=with_map, wanted=[log]).altered:
            _compare(ledger.read_head(log), globallog.latest_place(log))
            raise signer.HeadRefused(f"The head row of log {log} was altered or cut off.")  # mended in between
    _compare(head, globallog.latest_place(log))
    raise Unsettled(str(log))


def begin(tenant: UUID) -> None:
    """Give a tenant's global log the row that rounds compare with, unless it has it."""
    run(
        "INSERT INTO audit_gstate (tenant, size, frontier, fence, mapped) VALUES (%(tenant)s, 0, '', 0, -1)"
        " ON CONFLICT DO NOTHING",
        {"tenant": tenant},
    )


def _is_settled(tenant: UUID, place: Place, with_map: bool) -> bool:
    state = globallog.state(tenant)
    if not with_map:
        return state.signed > place.index
    return state.signed > state.mapped > place.index


def _compare(head: ledger.Head, place: Place | None) -> None:
    """Raises signer.HeadRefused when a log's head row is none, or contradicts what the global log has of it."""
    try:
        root = head.root
    except tree.BadTree:
        raise signer.HeadRefused(
            f"The head row of log {head.log} says {head.size} entries and holds no tree of so many."
        ) from None
    if place is None:
        return
    if head.size < place.size:
        raise signer.HeadRefused(f"Got {head.size} entries; signed {place.size} before.")
    if head.size == place.size and globallog.head_body(head.tenant, place).root != root:
        raise signer.HeadRefused(f"Got root {root.hex()} at {head.size} entries; signed another before.")


# With each head what shows the signer that its log grew: the frontier that was sequenced last, and the hashes of the
# entries since. `before` is the log's leaf of the global log.
_READ = """
SELECT h.log, h.size, h.frontier, greatest(h.dirty_since, p.at), h.sealed, p."index", p.size, p.frontier,
  (SELECT sha256('\\x00'::bytea || g.body) FROM audit_glog g WHERE g.tenant = p.tenant AND g."index" = p."index"),
  (SELECT string_agg(sha256('\\x00'::bytea || e.envelope), ''::bytea ORDER BY e.seq) FROM audit_entry e
    WHERE e.log = h.log AND e.seq >= p.size AND e.seq < h.size)
  FROM audit_head h LEFT JOIN audit_place p ON p.log = h.log
  WHERE h.tenant = %(tenant)s AND {which} AND (h.size IS DISTINCT FROM p.size OR h.frontier IS DISTINCT FROM p.frontier)
  ORDER BY h.dirty_since LIMIT %(cap)s"""
_READ_DIRTY = _READ.format(which="h.dirty_since IS NOT NULL")
_READ_WANTED = _READ.format(which="h.log = ANY(%(wanted)s)")


def _look(tenant: UUID, with_heads: bool, wanted: Sequence[UUID]) -> tuple[State, list[tuple[Any, ...]]]:
    """The state, then the heads: a round that comes in between changes the size, and ours then writes nothing."""
    params = {"tenant": tenant, "cap": CAP}
    asked: list[tuple[str, dict[str, Any]]] = [(globallog.STATE, {"tenant": tenant})]
    if wanted:
        asked.append((_READ_WANTED, {**params, "wanted": list(wanted)}))
    if with_heads:
        asked.append((_READ_DIRTY, params))
    (state,), *heads = run_together(asked)
    rows = {row[0]: row for found in heads for row in found}
    return globallog.state_of(tenant, state), list(rows.values())[:CAP]


def _gather(batch: _Batch, rows: Sequence[tuple[Any, ...]]) -> None:
    """Take in heads, as they were read: those that the signer admits."""
    shown: dict[UUID, Growth] = {}
    heads: list[Dirty] = []
    for log, size, frontier, since, sealed, index, sequenced, before, leaf, added in rows:
        try:
            head = Checkpoint(origin_of(log), size, tree.root(bytes(frontier), size))
        except tree.BadTree:
            _leave_out(batch, log, bytes(frontier), "Its head row holds no tree of its size.")
            continue
        body = headleaf.body(head, None if leaf is None else headleaf.Before(index, bytes(leaf)))
        if why := _refusals.why(log, body):
            batch.altered[log] = why
            continue
        heads.append(Dirty(log, size, bytes(frontier), since or batch.state.read_at, sealed))
        shown[log] = Growth(
            body, sequenced or 0, bytes(before or b""), grown.nodes(sequenced or 0, bytes(added or b""))
        )
    refused = growth.admit(batch.state, shown) if shown else {}
    for log, why in refused.items():
        _leave_out(batch, log, shown[log].body, why)
    for dirty in heads:
        if dirty.log not in refused:
            batch.heads.append(dirty)
            batch.bodies.append(shown[dirty.log].body)


def _leave_out(batch: _Batch, which: UUID, head: bytes, why: str) -> None:
    """Takes this head of a log into no round. Said once: every round finds it again."""
    batch.altered[which] = why
    if _refusals.keep(which, head, why):
        log.error("the head row of log %s was altered or cut off; it is not sequenced: %s", which, why)


def _add(batch: _Batch, extra: Sequence[bytes | Downtime]) -> None:
    for leaf in extra:
        if isinstance(leaf, Downtime):
            batch.downtimes.append((batch.state.size + len(batch.bodies), leaf))
        batch.bodies.append(leaf.body() if isinstance(leaf, Downtime) else leaf)


def _add_map(batch: _Batch) -> None:
    """The head map over all leaves before it, as the last leaf; nothing when the present map says the same."""
    state, prefix = batch.state, f"{settings.LOG_ORIGIN}/s/".encode()
    latest: dict[bytes, bytes] = {}
    with globallog.reading("Leaves since the newest head map"):
        for index, body in globallog.bodies(state.tenant, state.mapped + 1, state.size):
            if body.startswith(prefix):
                origin, size, _ = body.split(b"\n", 2)
                latest[headmap.key_of(origin.decode())] = headmap.value_of(index, int(size))
    for number, head in enumerate(batch.heads):
        latest[headmap.key_of(origin_of(head.log))] = headmap.value_of(state.size + number, head.size)
    if not latest:
        return
    before = globallog.map_head(state.tenant, state.mapped).count if state.mapped >= 0 else 0
    with globallog.reading("Head map"):
        batch.mapped = headmap.update(latest, globallog.StoredMap(state.tenant))
    position = state.size + len(batch.bodies)
    batch.bodies.append(
        headmap.MapHead(settings.LOG_ORIGIN, position, before + batch.mapped.added, batch.mapped.root).body()
    )


_APPEND = """
WITH moved AS (UPDATE audit_gstate SET size = %(size)s, frontier = %(frontier)s, mapped = %(mapped)s,
  mapped_at = CASE WHEN mapped = %(mapped)s THEN mapped_at ELSE now() END,
  alive_at = CASE WHEN %(fence)s::bigint IS NULL THEN alive_at ELSE now() END
  WHERE tenant = %(tenant)s AND size = %(base)s AND (%(fence)s::bigint IS NULL OR fence = %(fence)s)
  RETURNING tenant),
leaf AS (INSERT INTO audit_glog (tenant, "index", body)
  SELECT moved.tenant, %(base)s + leaf.number - 1, leaf.body
  FROM moved, unnest(%(bodies)b) WITH ORDINALITY AS leaf(body, number)),
place AS (INSERT INTO audit_place (log, tenant, "index", size, at, frontier)
  SELECT place.log, moved.tenant, %(base)s + place.number - 1, place.size, %(read_at)s, place.frontier
  FROM moved, unnest(%(logs)s::uuid[], %(sizes)s::bigint[], %(frontiers)b)
    WITH ORDINALITY AS place(log, size, frontier, number)
  ON CONFLICT (log) DO UPDATE SET "index" = EXCLUDED."index", size = EXCLUDED.size, at = EXCLUDED.at,
    frontier = EXCLUDED.frontier),
tile AS (INSERT INTO audit_tile (tenant, level, "index", data, root)
  SELECT moved.tenant, tile.level, tile.number, tile.data, tile.root
  FROM moved, unnest(%(levels)s::smallint[], %(numbers)s::bigint[], %(tiles)b, %(roots)b)
    AS tile(level, number, data, root)){more}
SELECT 1 FROM moved"""

_DOWNTIMES = """,
gap AS (INSERT INTO audit_gap (tenant, "index", part, since, until)
  SELECT moved.tenant, gap.number, gap.part, gap.since, gap.until
  FROM moved, unnest(%(gaps)s::bigint[], %(parts)s::text[], %(sinces)s::timestamptz[], %(untils)s::timestamptz[])
    AS gap(number, part, since, until))"""

_MAP = """,
bucket AS (INSERT INTO audit_mapbucket (tenant, bucket, data)
  SELECT moved.tenant, part.number, part.data
  FROM moved, unnest(%(bucket_numbers)s::int[], %(buckets)b) AS part(number, data)
  ON CONFLICT (tenant, bucket) DO UPDATE SET data = EXCLUDED.data),
maptile AS (INSERT INTO audit_maptile (tenant, tile, data)
  SELECT moved.tenant, part.number, part.data
  FROM moved, unnest(%(maptile_numbers)s::smallint[], %(maptiles)b) AS part(number, data)
  ON CONFLICT (tenant, tile) DO UPDATE SET data = EXCLUDED.data)"""


def _append(batch: _Batch, leaves: Sequence[bytes], frontier: bytes, fence: int | None) -> bool:
    """Whether the batch was written: all of it, in one statement, or nothing because somebody else was faster."""
    state = batch.state
    full = _full_tiles(state, leaves)
    size = state.size + len(leaves)
    params: dict[str, Any] = {
        "tenant": state.tenant,
        "base": state.size,
        "size": size,
        "frontier": frontier,
        "mapped": size - 1 if batch.mapped else state.mapped,
        "fence": fence,
        "read_at": state.read_at,
        "bodies": Blobs(batch.bodies),
        "logs": [head.log for head in batch.heads],
        "sizes": [head.size for head in batch.heads],
        "frontiers": Blobs([head.frontier for head in batch.heads]),
        "levels": [tile.level for tile, _ in full],
        "numbers": [tile.index for tile, _ in full],
        "tiles": Blobs([data for _, data in full]),
        "roots": Blobs([tiles.perfect_root(data) for _, data in full]),
    }
    more = ""
    if batch.downtimes:
        more += _DOWNTIMES
        params |= {
            "gaps": [index for index, _ in batch.downtimes],
            "parts": [gap.part for _, gap in batch.downtimes],
            "sinces": [gap.since for _, gap in batch.downtimes],
            "untils": [gap.until for _, gap in batch.downtimes],
        }
    if batch.mapped is not None:
        more += _MAP
        params |= {
            "bucket_numbers": list(batch.mapped.buckets),
            "buckets": Blobs(batch.mapped.buckets.values()),
            "maptile_numbers": list(batch.mapped.tiles),
            "maptiles": Blobs(batch.mapped.tiles.values()),
        }
    return bool(run(_APPEND.format(more=more), params))


def _full_tiles(state: State, leaves: Sequence[bytes]) -> list[tuple[tiles.Tile, bytes]]:
    """The tiles that these leaves fill. Most rounds fill none, and then nothing is read."""
    if state.size % tiles.WIDTH + len(leaves) < tiles.WIDTH:
        return []
    grown = tiles.growth(state.size, leaves, globallog.StoredTiles(state.tenant))
    return [(tile, data) for tile, data in grown if tile.width == tiles.WIDTH]


# Losing this at a power cut costs nothing: the next round finds the place and marks the head again. So nobody waits
# for the disk while the rows are locked. A row that moved on while it was waited for is not at its place any more, or
# not of that size, and stays marked.
_CLEAN = """
UPDATE audit_head SET dirty_since = NULL
  FROM (SELECT set_config('synchronous_commit', 'off', true)) AS unhurried
  WHERE ctid = ANY(ARRAY(SELECT h.ctid FROM audit_head h JOIN audit_place p ON p.log = h.log
    WHERE h.tenant = %(tenant)s AND h.dirty_since IS NOT NULL AND h.size = p.size
      AND p.at <= clock_timestamp() - make_interval(secs => %(quiet)s)
    LIMIT %(many)s FOR UPDATE OF h SKIP LOCKED))
  RETURNING 1"""


def mark_clean(tenant: UUID, quiet: float = 0.0) -> bool:
    """Mark heads clean that stand in the log, and have for `quiet` seconds: at most CLEARED; whether all were.

    No head whose row somebody holds, and none that moved on, is touched: the next round finds them. A head that is
    written to all the time is best left marked, for its updates touch no index as long as the mark stays.
    """
    return len(run(_CLEAN, {"tenant": tenant, "many": CLEARED, "quiet": quiet})) < CLEARED


def _must_be_highest(tenant: UUID, fence: int) -> None:
    rows = run("SELECT fence FROM audit_gstate WHERE tenant = %(tenant)s", {"tenant": tenant})
    if rows and rows[0][0] != fence:
        raise Deposed(f"fence {fence}, now {rows[0][0]}")


def _done(batch: _Batch, signed_at: datetime | None, seen: datetime | None) -> Round:
    first, heads = batch.state.size, batch.heads
    lags: tuple[float, ...] = ()
    if signed_at:
        lags = tuple((signed_at - (max(head.since, seen) if seen else head.since)).total_seconds() for head in heads)
    return Round(
        first,
        first + len(batch.bodies),
        batch.state.read_at,
        len(heads) + len(batch.altered) < CAP,
        len(heads),
        batch.mapped is not None,
        any(head.sealed for head in heads),
        lags,
        tuple(batch.altered),
    )
