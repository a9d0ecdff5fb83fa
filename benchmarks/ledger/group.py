"""The rows of the group, and the order in which they are taken."""

from __future__ import annotations

from statistics import median

from benchmarks.ground import Ground
from benchmarks.ledger import access, appends, exporting, proofs, scrubbing, sequencing, structures
from benchmarks.rounds import Size, interleaved, paired
from benchmarks.rows import Goal, Row, against

GROUP = "ledger"
FULL, QUICK = Size(9, 1.0, 500), Size(1, 0.2, 10)
COMMITS = {1: Goal(0.5, at_least=True), 8: Goal(0.4, at_least=True)}  # by writers, as a share of raw commits
ENTRIES = Goal(1.2, at_least=True)  # of eight writers, a raw commit being one row
STORED, LOGGED = Goal(4.0, at_least=False), Goal(4.0, at_least=False)


def rows(here: Ground, quick: bool) -> list[Row]:
    """All rows of the group."""
    size = QUICK if quick else FULL
    measured = [row for entries in (len(appends.STEP), appends.BATCH) for row in _appends(here, size, entries)]
    measured += [*access.rows(here, size, GROUP), *_bytes(here, size), *proofs.rows(here, quick, GROUP)]
    measured += [
        *exporting.rows(here, quick, GROUP),
        *scrubbing.rows(here, quick, GROUP),
        *structures.rows(quick, GROUP),
    ]
    return [*measured, *sequencing.rows(here, quick)]  # last: a million sessions are left behind


def _appends(here: Ground, size: Size, entries: int) -> list[Row]:
    what = f"appends of {entries} entries with projection and outbox"
    made = []
    for writers, goal in COMMITS.items():
        speeds = interleaved(appends.cells(here, writers, entries), size)
        ours, raw = speeds["append"], speeds["raw"]
        ratio = paired(ours, raw)
        name = f"{what}, {writers} at once"
        made.append(against(GROUP, name, median(ours), "1/s", median(raw), goal, str(size), ratio))
        if writers == max(COMMITS):
            each = f"entries in {name}"
            value = median(ours) * entries
            made.append(against(GROUP, each, value, "1/s", median(raw), ENTRIES, str(size), ratio * entries))
    return made


def _bytes(here: Ground, size: Size) -> list[Row]:
    entries = len(appends.STEP)
    held = appends.written(here, entries, size.samples)
    of = f"{size.samples} appends of {entries}"
    return [
        against(GROUP, "bytes stored per entry", held.stored / entries, "B", held.clear / entries, STORED, of),
        against(GROUP, "bytes of write-ahead log per append", held.wal, "B", held.raw_wal, LOGGED, of),
    ]
