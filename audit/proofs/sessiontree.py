"""The tree of one log as tiles: full ones of 256 hashes are kept once they were needed, the edge is hashed anew.

What is kept is a cache, `audit_logtile`: it follows from the entries. Whoever uses a hash from it compares the root
that comes of it with the log's head; `forget` drops what is wrong. So a proof reads a handful of rows, whatever the
size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from audit.blobs import Blobs
from audit.reading import run
from audit.tlog import tiles, tree
from audit.tlog.tiles import WIDTH, Tile
from audit.tlog.tree import HASH_SIZE

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
                data = self._made(each.level, each.index, WIDTH)
                self._keep(each.level, {each.index: data})
                held[each.level, each.index] = data
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

    def _made(self, level: int, index: int, width: int) -> bytes:
        first = index * WIDTH
        if level == 0:
            return b"".join(self._leaves(first, first + width))
        return b"".join(self._roots(level - 1, first, first + width))

    def _leaves(self, start: int, stop: int) -> list[bytes]:
        rows = run(
            "SELECT envelope FROM audit_entry WHERE log = %(log)s AND seq >= %(start)s AND seq < %(stop)s ORDER BY seq",
            {"log": self._log, "start": start, "stop": stop},
        )
        return [tree.leaf_hash(bytes(envelope)) for (envelope,) in rows]

    def _roots(self, level: int, start: int, stop: int) -> list[bytes]:
        """The roots of full tiles, one after another; those that were never needed are made, some at a time."""
        rows = run(
            'SELECT "index", root FROM audit_logtile WHERE log = %(log)s AND level = %(level)s'
            ' AND "index" >= %(start)s AND "index" < %(stop)s',
            {"log": self._log, "level": level, "start": start, "stop": stop},
        )
        held = {index: bytes(root) for index, root in rows}
        missing = [index for index in range(start, stop) if index not in held]
        for at in range(0, len(missing), FILL):
            held |= self._fill(level, missing[at : at + FILL])
        return [held[index] for index in range(start, stop)]

    def _fill(self, level: int, indexes: Sequence[int]) -> dict[int, bytes]:
        """Make full tiles and keep them; their roots."""
        if level == 0:
            made = self._leaf_tiles(indexes)
        else:
            made = {index: b"".join(self._roots(level - 1, index * WIDTH, (index + 1) * WIDTH)) for index in indexes}
        return self._keep(level, made)

    def _leaf_tiles(self, indexes: Sequence[int]) -> dict[int, bytes]:
        """Tiles of leaves, made in one go."""
        first = indexes[0]
        leaves = self._leaves(first * WIDTH, (indexes[-1] + 1) * WIDTH)
        return {index: b"".join(leaves[(index - first) * WIDTH :][:WIDTH]) for index in indexes}

    def _keep(self, level: int, made: Mapping[int, bytes]) -> dict[int, bytes]:
        """Keep full tiles; their roots. Raises BadTile where entries are missing."""
        roots = {index: tiles.perfect_root(data) for index, data in made.items()}
        if any(len(data) != WIDTH * HASH_SIZE for data in made.values()):
            raise tiles.BadTile("entries are missing")
        run(
            'INSERT INTO audit_logtile (log, level, "index", data, root) SELECT %(log)s, %(level)s, row.* FROM'
            " unnest(%(indexes)s::bigint[], %(data)b, %(roots)b) AS row ON CONFLICT DO NOTHING",
            {
                "log": self._log,
                "level": level,
                "indexes": list(made),
                "data": Blobs(made.values()),
                "roots": Blobs(roots.values()),
            },
        )
        return roots


def forget(log: UUID) -> None:
    """Drop the kept tiles of a log."""
    run("DELETE FROM audit_logtile WHERE log = %(log)s", {"log": log})
