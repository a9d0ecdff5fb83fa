"""A great many sessions whose heads stand in the global log, put there by SQL."""

from __future__ import annotations

from uuid import UUID

import psycopg
from django.conf import settings

from audit import globallog, sequencer
from audit.tlog import tiles, tree

_HEADS = """
INSERT INTO audit_head (log, tenant, size, frontier)
  SELECT gen_random_uuid(), %s, 1, sha256(number::text::bytea) FROM generate_series(1, %s) AS number RETURNING log"""
_LEAVES = """
WITH head AS (SELECT log, frontier, row_number() OVER () - 1 + %(base)s AS number FROM audit_head
  WHERE tenant = %(tenant)s AND log = ANY(%(logs)s)),
place AS (INSERT INTO audit_place (log, tenant, "index", size, at)
  SELECT log, %(tenant)s, number, 1, now() FROM head)
INSERT INTO audit_glog (tenant, "index", body) SELECT %(tenant)s, number,
  convert_to(%(origin)s || '/s/' || log || E'\n1\n' || encode(frontier, 'base64') || E'\n', 'UTF8') FROM head"""
_HASHES = """
SELECT sha256('\\x00' || body) FROM audit_glog WHERE tenant = %s AND "index" >= %s ORDER BY "index" """
_GROWN = "UPDATE audit_gstate SET size = %s, frontier = %s WHERE tenant = %s"
_TILES = """COPY audit_tile (tenant, level, "index", data, root) FROM STDIN"""


def fill(admin: psycopg.Connection, tenant: UUID, sessions: int) -> list[UUID]:
    """So many sessions of one entry each, sequenced, signed and in the head map; their logs."""
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
