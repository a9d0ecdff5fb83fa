"""The tree of one log as tiles: full ones of 256 hashes are kept once they were needed, the edge is hashed anew.

What is kept is a cache, `audit_logtile`: it follows from the entries. Whoever uses a hash from it compares the root
that comes of it with the log's head; `forget` drops what is wrong. So a proof reads a handful of rows, whatever the
size.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from audit.blobs import Blobs
from audit.reading import run
from audit.tlog import tiles, tree
from audit.tlog.tiles import WIDTH, Tile

FILL = 64  # tiles that are made at a time


class LogTiles:
    """The tiles of one log, as audit.tlog.tiles reads them. Its log must have as many entries as are asked about."""

    def __init__(self, log: UUID) -> None:
        self._log = log

    def read_tiles(self, tiles: Sequence[Tile]) -> list[bytes]:
        """Full tiles as they are kept, else made and kept; partial ones as they stand."""
        full = [each for each in tiles if each.width == WIDTH]
        held = self._kept(full)
        for each in full:
            if (each.level, each.index) not in held:
                held[each.level, each.index] = self._made(each.level, each.index, WIDTH, keep=True)
        return [
            held[each.level, each.index] if each.width == WIDTH else self._made(each.level, each.index, each.width)
            for each in tiles
        ]

    def _kept(self, wanted: Sequence[Tile]) -> dict[tuple[int, int], bytes]:
        if not wanted:
            return {}
        rows = run(
            'SELECT t.level, t."index", t.data FROM unnest(%(levels)s::smallint[], %(indexes)s::bigint[])'
            " AS wanted(level, number) JOIN audit_logtile t ON t.log = %(log)s AND t.level = wanted.level"
            ' AND t."index" = wanted.number',
            {
                "log": self._log,
                "levels": [each.level for each in wanted],
                "indexes": [each.index for each in wanted],
            },
        )
        return {(level, index): bytes(data) for level, index, data in rows}

    def _made(self, level: int, index: int, width: int, *, keep: bool = False) -> bytes:
        first = index * WIDTH
        if level == 0:
            data = b"".join(self._leaves(first, first + width))
        else:
            data = b"".join(self._roots(level - 1, first, first + width))
        if keep:
            self._keep([(level, index, data)])
        return data

    def _leaves(self, start: int, stop: int) -> list[bytes]:
        rows = run(
            "SELECT envelope FROM audit_entry WHERE log = %(log)s AND seq >= %(start)s AND seq < %(stop)s ORDER BY seq",
            {"log": self._log, "start": start, "stop": stop},
        )
        return [tree.leaf_hash(bytes(envelope)) for (envelope,) in rows]

    def _roots(self, level: int, start: int, stop: int) -> list[bytes]:
        """The roots of full tiles, one after another; those that were never needed are made, some at a time."""
        found: list[bytes] = []
        for first in range(start, stop, FILL):
            wanted = [Tile(level, index, WIDTH) for index in range(first, min(stop, first + FILL))]
            found += [tiles.perfect_root(data) for data in self._many(wanted)]
        return found

    def _many(self, wanted: Sequence[Tile]) -> list[bytes]:
        held = self._kept(wanted)
        missing = [each for each in wanted if (each.level, each.index) not in held]
        if missing and wanted[0].level == 0:
            made = self._leaf_tiles(missing)
            self._keep([(0, index, data) for index, data in made.items()])
            held |= {(0, index): data for index, data in made.items()}
        for each in missing:
            if (each.level, each.index) not in held:
                held[each.level, each.index] = self._made(each.level, each.index, WIDTH, keep=True)
        return [held[each.level, each.index] for each in wanted]

    def _leaf_tiles(self, wanted: Sequence[Tile]) -> dict[int, bytes]:
        """Tiles of leaves, made in one go."""
        first, last = wanted[0].index, wanted[-1].index
        leaves = self._leaves(first * WIDTH, (last + 1) * WIDTH)
        ours = {each.index for each in wanted}
        return {
            first + at // WIDTH: b"".join(leaves[at : at + WIDTH])
            for at in range(0, len(leaves), WIDTH)
            if first + at // WIDTH in ours and len(leaves) >= at + WIDTH
        }

    def _keep(self, made: Sequence[tuple[int, int, bytes]]) -> None:
        run(
            'INSERT INTO audit_logtile (log, level, "index", data) SELECT %(log)s, row.* FROM'
            " unnest(%(levels)s::smallint[], %(indexes)s::bigint[], %(data)b) AS row ON CONFLICT DO NOTHING",
            {
                "log": self._log,
                "levels": [level for level, _, _ in made],
                "indexes": [index for _, index, _ in made],
                "data": Blobs([data for _, _, data in made]),
            },
        )


def forget(log: UUID) -> None:
    """Drop the kept tiles of a log."""
    run("DELETE FROM audit_logtile WHERE log = %(log)s", {"log": log})
