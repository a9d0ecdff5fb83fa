"""A great many sessions whose heads stand in the global log, put there by SQL."""

from __future__ import annotations

from uuid import UUID

import psycopg
from django.conf import settings

from audit import globallog, sequencer
from audit.tlog import tiles, tree

_HEADS = """
INSERT INTO audit_head (log, tenant, size, frontier)
  SELECT gen_random_uuid(), %s, 8, sha256(number::text::bytea) FROM generate_series(1, %s) AS number RETURNING log"""
_LEAVES = """
WITH head AS (SELECT log, frontier, row_number() OVER () - 1 + %(base)s AS number FROM audit_head
  WHERE tenant = %(tenant)s AND log = ANY(%(logs)s)),
place AS (INSERT INTO audit_place (log, tenant, "index", size, at, frontier)
  SELECT log, %(tenant)s, number, 8, now(), frontier FROM head)
INSERT INTO audit_glog (tenant, "index", body) SELECT %(tenant)s, number,
  convert_to(%(origin)s || '/s/' || log || E'\n8\n' || encode(frontier, 'base64') || E'\n', 'UTF8') FROM head"""
_HASHES = """
SELECT sha256('\\x00' || body) FROM audit_glog WHERE tenant = %s AND "index" >= %s ORDER BY "index" """
_GROWN = "UPDATE audit_gstate SET size = %s, frontier = %s WHERE tenant = %s"
_TILES = """COPY audit_tile (tenant, level, "index", data, root) FROM STDIN"""


def fill(admin: psycopg.Connection, tenant: UUID, sessions: int) -> list[UUID]:
    """So many sessions of a step of 8 entries each, sequenced, signed and in the head map; their logs. The entries are
    not there: nothing reads what is before the last signed head.
    """
    sequencer.begin(tenant)
    sequencer.run_once(tenant)
    state = globallog.state(tenant)
    with admin.cursor(binary=True) as cursor:
        logs = [log for (log,) in cursor.execute(_HEADS, [tenant, sessions])]
        known = {"tenant": tenant, "base": state.size, "origin": settings.LOG_ORIGIN}
        cursor.execute(_LEAVES, {**known, "logs": logs})
        leaves = [leaf for (leaf,) in cursor.execute(_HASHES, [tenant, state.size])]
        grown = tiles.growth(state.size, leaves, globallog.StoredTiles(tenant))
        with cursor.copy(_TILES) as copy:
            for tile, data in grown:
                if tile.width == tiles.WIDTH:
                    copy.write_row((tenant, tile.level, tile.index, data, tiles.perfect_root(data)))
        frontier = tree.append(state.frontier, state.size, leaves)
        cursor.execute(_GROWN, [state.size + len(leaves), frontier, tenant])
    sequencer.run_once(tenant, with_map=True)
    admin.execute("VACUUM ANALYZE audit_head, audit_place, audit_mapbucket, audit_maptile, audit_glog, audit_tile")
    return logs


STEP = 8  # entries by which a log grows
_ENVELOPES = [bytes([number]) * 400 for number in range(STEP)]
_ENTRIES = """
INSERT INTO audit_entry (log, seq, envelope) SELECT head.log, head.size + entry.number - 1, entry.envelope
  FROM unnest(%s::uuid[], %s::bigint[]) AS head(log, size),
    unnest(%s::bytea[]) WITH ORDINALITY AS entry(envelope, number)"""
_MOVED = """
UPDATE audit_head h SET size = moved.size, frontier = moved.frontier, dirty_since = now()
  FROM unnest(%s::uuid[], %s::bigint[], %s::bytea[]) AS moved(log, size, frontier) WHERE h.log = moved.log"""


def grow(admin: psycopg.Connection, logs: list[UUID]) -> None:
    """Each of these logs grows by a step, as appends of its writers would make it."""
    rows = admin.execute("SELECT log, size, frontier FROM audit_head WHERE log = ANY(%s)", [logs]).fetchall()
    leaves = [tree.leaf_hash(envelope) for envelope in _ENVELOPES]
    admin.execute(_ENTRIES, [[row[0] for row in rows], [row[1] for row in rows], _ENVELOPES])
    grown = [(log, size + STEP, tree.append(bytes(frontier), size, leaves)) for log, size, frontier in rows]
    admin.execute(_MOVED, [list(column) for column in zip(*grown, strict=True)])


_BEGUN = """
INSERT INTO audit_head (log, tenant, size, frontier, dirty_since)
  SELECT gen_random_uuid(), %s, 8, sha256(number::text::bytea), now() FROM generate_series(1, %s) AS number"""


def begin(admin: psycopg.Connection, tenant: UUID, many: int) -> None:
    """So many new logs of a step, of which the signer knows nothing yet."""
    admin.execute(_BEGUN, [tenant, many])
