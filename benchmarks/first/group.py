"""The rows of the group, and the order in which they are taken."""

from __future__ import annotations

from statistics import median

from benchmarks.first import decision, frame, steps
from benchmarks.first.sessions import end_all
from benchmarks.ground import Ground
from benchmarks.rounds import Size, interleaved, paired
from benchmarks.rows import Goal, Row, against, times

GROUP = "first"
FULL, QUICK = Size(7, 1.0, 500), Size(1, 0.8, 10)
SPEEDS = (  # cell, what it is, goal with one writer and with eight, as a share of raw commits
    ("step", "durable steps", 0.35, 0.30),
    ("append", "ledger.append of a step's entries", 0.5, 0.4),
)


def rows(here: Ground, quick: bool) -> list[Row]:
    """All rows of the group. Programs start when they are needed, so that the steps have the machine alone."""
    size = QUICK if quick else FULL
    measured = [*_speeds(here, size, 1), *_speeds(here, size, 8)]
    frames = times(GROUP, "event committed to frame received", frame.times(here, size.samples), {50: 3.0})
    end_all(here)
    decision.start_others(here)
    decided = times(
        GROUP, "decision committed to step started", decision.times(here, size.samples), {50: 10.0, 99: 10.0}
    )
    return [*measured, *decided, *frames]


def _speeds(here: Ground, size: Size, writers: int) -> list[Row]:
    speeds = interleaved(steps.cells(here, writers), size)
    raw = speeds["raw"]
    return [
        against(
            GROUP,
            f"{what}, {writers} at once",
            median(speeds[cell]),
            "1/s",
            median(raw),
            Goal(one if writers == 1 else eight, at_least=True),
            str(size),
            paired(speeds[cell], raw),
        )
        for cell, what, one, eight in SPEEDS
    ]
