"""The head map made from the leaves of the global log alone, to check or replace the kept one."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction

from audit import globallog
from audit.blobs import Blobs
from audit.globallog import StoredMap
from audit.ledger import run
from audit.tlog import headmap

_BUCKETS = """
INSERT INTO audit_mapbucket (tenant, bucket, data) SELECT %(tenant)s, part.number, part.data
  FROM unnest(%(numbers)s::int[], %(parts)b) AS part(number, data)"""
_TILES = """
INSERT INTO audit_maptile (tenant, tile, data) SELECT %(tenant)s, part.number, part.data
  FROM unnest(%(numbers)s::smallint[], %(parts)b) AS part(number, data)"""


@dataclass(frozen=True, slots=True)
class Found:
    """What the comparison says: of a map over so many logs, stated by the leaf at `position` (-1: none yet)."""

    position: int
    count: int
    differences: list[str]


def check(tenant: UUID) -> Found:
    """Compare the newest stated map, and the parts that are kept of it, with what the leaves before it make."""
    position = globallog.state(tenant).mapped
    made = replayed(tenant, position)
    return Found(position, made.count, [*_stated(tenant, position, made), *_kept(tenant, made)])


def rebuild(tenant: UUID) -> Found:
    """Put the parts that follow from the leaves in place of the kept ones. What a leaf states is never changed."""
    with transaction.atomic():
        run("SELECT 1 FROM audit_gstate WHERE tenant = %(tenant)s FOR UPDATE", {"tenant": tenant})
        position = globallog.state(tenant).mapped
        made = replayed(tenant, position)
        run("DELETE FROM audit_mapbucket WHERE tenant = %(tenant)s", {"tenant": tenant})
        run("DELETE FROM audit_maptile WHERE tenant = %(tenant)s", {"tenant": tenant})
        _write(tenant, _BUCKETS, made.buckets)
        _write(tenant, _TILES, made.tiles)
    return Found(position, made.count, _stated(tenant, position, made))


def replayed(tenant: UUID, position: int) -> headmap.MemoryMap:
    """The map over the leaves before `position`. About 0.3 KB of memory a log."""
    made, latest = headmap.MemoryMap(), {}
    prefix = f"{settings.LOG_ORIGIN}/s/".encode()
    for index, body in globallog.bodies(tenant, 0, position):
        if body.startswith(prefix):
            origin, size, _ = body.split(b"\n", 2)
            latest[headmap.key_of(origin.decode())] = headmap.value_of(index, int(size))
    made.set(latest)
    return made


def _stated(tenant: UUID, position: int, made: headmap.MemoryMap) -> list[str]:
    if position < 0:
        return []
    right = headmap.MapHead(settings.LOG_ORIGIN, position, made.count, headmap.root(made)).body()
    if globallog.body(tenant, position) == right:
        return []
    return [f"leaf {position} states another head map than the leaves before it make"]


def _kept(tenant: UUID, made: headmap.MemoryMap) -> list[str]:
    kept, differences = StoredMap(tenant), []
    for what, right, read, many in (
        ("bucket", made.buckets, kept.read_buckets, 2**16),
        ("tile", made.tiles, kept.read_tiles, 257),
    ):
        held = read(range(many))
        wrong = [number for number in sorted(held.keys() | right.keys()) if held.get(number) != right.get(number)]
        if wrong:
            differences.append(
                f"{len(wrong)} {what}s of the head map are not as the leaves say, the first is {wrong[0]}"
            )
    return differences


def _write(tenant: UUID, insert: str, parts: dict[int, bytes]) -> None:
    run(insert, {"tenant": tenant, "numbers": list(parts), "parts": Blobs(parts.values())})
