"""Proofs as a log grows: how long one takes to make and to check, and how many bytes its hashes are, each against the
same in a log of a thousand entries. Logarithmic: ten times the entries cost three or four hashes more.

The path and the range are made from the log's tiles, as the product does; a log's first proof makes the tiles, and is
measured by itself, against hashing its entries from the database.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from statistics import median

from agentstate.ids import new_id
from audit.proofs.sessiontree import LogTiles
from audit.reading import run
from audit.tlog import canonical, subtree, tiles, tree
from benchmarks.ground import Ground
from benchmarks.rows import Goal, Row, against

FEW = 1_000
SIZES = {True: (2_000, 4_000), False: (10_000, 100_000, 1_000_000)}  # by whether it is the quick run
SAMPLES = {True: 10, False: 300}
RANGE = 40  # entries of a range
FIRST = Goal(3.0, at_least=False)  # it writes what it hashes, durably, once for all
FILL = """
INSERT INTO audit_entry (log, seq, envelope) SELECT %(log)s, n, convert_to(
  '{"actor":"system","at":"2026-11-21T10:00:00.000000Z","ct":"' || encode(sha256(n::text::bytea), 'hex') || '","kc":"'
  || encode(sha256((n + 1)::text::bytea), 'hex') || '","kind":"message.added","pc":"'
  || encode(sha256((n + 2)::text::bytea), 'hex') || '","seq":' || n || ',"v":2}', 'UTF8')
FROM generate_series(0, %(size)s - 1) AS n"""
READ = "SELECT envelope FROM audit_entry WHERE log = %(log)s ORDER BY seq"


def rows(here: Ground, quick: bool, group: str) -> list[Row]:
    """For each size a row for bytes, for making and for checking, and for the first proof of all."""
    samples = SAMPLES[quick]
    few = _Log(FEW)
    made = []
    for size in SIZES[quick]:
        log = _Log(size)
        made.append(log.first(group))
        grows = Goal(round(1.25 * math.log2(size) / math.log2(FEW), 2), at_least=False)
        slower = Goal(2 * grows.bound, at_least=False)  # more tiles lie between leaf and root, each a row to be found
        of = f"{samples} of {size} entries"
        for name, unit, ours, base in (
            ("bytes of an entry's path", "B", log.path_bytes(samples), few.path_bytes(samples)),
            (f"bytes of the proof of a range of {RANGE}", "B", log.range_bytes(samples), few.range_bytes(samples)),
        ):
            made.append(against(group, f"{name}, {size} entries", ours, unit, base, grows, of))
        for name, act, other in (
            ("an entry's path made", log.make_path, few.make_path),
            ("an entry's path checked", log.check_path, few.check_path),
            ("a range's proof made", log.make_range, few.make_range),
        ):
            ours, base = _alternating(act, other, samples)
            made.append(against(group, f"{name}, {size} entries", ours, "ms", base, slower, of))
    return made


class _Log:
    """A log of so many entries, and what is done with it."""

    def __init__(self, size: int) -> None:
        self.log, self.size = new_id(), size
        run(FILL, {"log": self.log, "size": size})
        self.held = LogTiles(self.log)
        self._random = random.Random(size)

    def first(self, group: str) -> Row:
        """The first proof, which makes the tiles, against reading and hashing the entries."""
        run("SELECT sum(length(envelope)) FROM audit_entry WHERE log = %(log)s", {"log": self.log})  # both read warm
        begun = time.perf_counter()
        self.make_path()
        ours = time.perf_counter() - begun
        begun = time.perf_counter()
        tree.root_of([tree.leaf_hash(bytes(data)) for (data,) in run(READ, {"log": self.log})])
        raw = time.perf_counter() - begun
        name = f"the first proof of {self.size} entries, beside hashing them all"
        return against(group, name, 1000 * ours, "ms", 1000 * raw, FIRST, "1")

    def index(self) -> int:
        return self._random.randrange(self.size)

    def make_path(self) -> None:
        tiles.inclusion_proof(self.index(), self.size, self.held)

    def make_range(self) -> None:
        start = self._random.randrange(self.size - RANGE)
        subtree.prove_range(start, start + RANGE, self.size, self.held)

    def check_path(self) -> None:
        """The hashing of a check; which hashes they are changes nothing."""
        at = self.index()
        inner = (at ^ (self.size - 1)).bit_length()
        path = [bytes(32)] * (inner + (at >> inner).bit_count())
        tree.root_from_inclusion(at, self.size, bytes(32), path)

    def path_bytes(self, samples: int) -> float:
        return median(32.0 * len(tiles.inclusion_proof(self.index(), self.size, self.held)) for _ in range(samples))

    def range_bytes(self, samples: int) -> float:
        found = []
        for _ in range(samples):
            start = self._random.randrange(self.size - RANGE)
            proof = subtree.prove_range(start, start + RANGE, self.size, self.held)
            found.append(float(len(canonical.dumps(proof.as_json()))))
        return median(found)


def _alternating(ours: Callable[[], None], base: Callable[[], None], samples: int) -> tuple[float, float]:
    """Medians of both in milliseconds, taken in turns."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(samples):
        for act, times in zip((ours, base), taken, strict=True):
            begun = time.perf_counter()
            act()
            times.append(1000 * (time.perf_counter() - begun))
    return median(taken[0]), median(taken[1])
