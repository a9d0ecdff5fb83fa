"""The rows of the group, and the order in which they are taken; beside others where they are installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from typing import Literal

from agentstate.stack.supervisor import Kept
from benchmarks.first import decision, steps
from benchmarks.first.sessions import end_all
from benchmarks.ground import Ground
from benchmarks.peers.asked import Peer, installed, peers
from benchmarks.rounds import Size, interleaved, paired
from benchmarks.rows import Goal, Row, against, times
from benchmarks.runs import beside, bursts, growing, parked, spoken, workers

GROUP = "runs"
FULL, QUICK = Size(7, 1.0, 500), Size(1, 0.8, 10)
RECOVERY = 5.0  # seconds that going on after kill -9 may take
COLD = 3.0  # ms that loading a session into a process that knows nothing of it may take, at any length
HISTORY = 100.0  # ms that reading all entries of 1,000 steps may take
WRITTEN = 5.0  # MB of write-ahead log that a thread of 1,000 messages may take


def rows(here: Ground, quick: bool) -> list[Row]:
    """All rows of the group. What runs in this process comes first, so that it has the machine alone."""
    size = QUICK if quick else FULL
    with ExitStack() as stack:
        if installed():
            return _rows(here, quick, size, stack.enter_context(peers(here)))
        print("LangGraph and DBOS are not in this run: PEERS=1 installs them, apart", file=sys.stderr)
        return _rows(here, quick, size, {})


def _rows(here: Ground, quick: bool, size: Size, others: dict[str, Peer]) -> list[Row]:
    measured = [_speed(here, size, 1, 0.35), _speed(here, size, 8, 0.30), _spoken(here, size)]
    measured += _growth(here, (100, 300) if quick else (1_000, 10_000))
    end_all(here)
    if others:
        for writers in (1, 8):
            measured += beside.speeds(here, GROUP, size, writers, others)
        measured += beside.grown(here, GROUP, 300 if quick else 1_000, others)
        end_all(here)
    measured += _parked(here, 1_000 if quick else 100_000)
    measured += _several(here, size)
    taken = [workers.recovery(here) for _ in range(1 if quick else 5)]
    measured.append(
        _row("kill -9 to the step in another worker", median(taken), "s", RECOVERY, Goal(1.0, False), taken)
    )
    end_all(here)
    workers.start_with_echo(here)
    one = decision.times(here, size.samples)
    measured += times(GROUP, "decision committed to effect started", one, {50: 10.0, 99: 10.0})
    if others:
        measured += beside.decisions(GROUP, "decision to effect", one[0], 1, others)
    end_all(here)
    decided = bursts.times(here, 1 if quick else 10)
    measured += times(GROUP, f"the same, {bursts.AT_ONCE} at once", decided, {50: 10.0, 99: 10.0})
    if others:
        measured += beside.decisions(GROUP, f"the same, {bursts.AT_ONCE} at once", decided[0], bursts.AT_ONCE, others)
    return measured


def _speed(here: Ground, size: Size, writers: int, goal: float) -> Row:
    cells = {name: cell for name, cell in steps.cells(here, writers).items() if name != "append"}
    speeds = interleaved(cells, size)
    ours, raw = speeds["step"], speeds["raw"]
    name = f"durable steps, {writers} session{'s' if writers > 1 else ''}"
    ratio = paired(ours, raw)
    return against(GROUP, name, median(ours), "1/s", median(raw), Goal(goal, at_least=True), str(size), ratio)


def _spoken(here: Ground, size: Size) -> Row:
    speeds = interleaved(spoken.cells(here), size)
    judged, talking = speeds["judged"], speeds["talking"]
    name, goal = "steps that say 400 bytes, with rules about words against without", Goal(0.9, at_least=True)
    return against(GROUP, name, median(judged), "1/s", median(talking), goal, str(size), paired(judged, talking))


def _growth(here: Ground, lengths: tuple[int, int]) -> list[Row]:
    """A thread at each of the lengths: its next steps against a new one's, what was written until then, and how soon it
    is there again.
    """
    thread, made = growing.Thread(here), list[Row]()
    for number in lengths:
        grown = thread.grow(number)
        made += [_late(grown, number, "seconds"), _late(grown, number, "stored"), _loaded(grown, number)]
        if number == lengths[0]:
            made += [_written(thread, grown), _told(grown)]
    return made


def _late(grown: growing.Grown, number: int, of: Literal["seconds", "stored"]) -> Row:
    late, early = ([getattr(cost, of) for cost in costs] for costs in (grown.late, grown.early))
    what, unit, scale = ("a step", "ms", 1000.0) if of == "seconds" else ("bytes stored by a step", "B", 1.0)
    goal, size = Goal(1.2, at_least=False), f"{len(late)} runs each"
    name = f"{what} at {number}, of a session that says something a step, against its first"
    return against(GROUP, name, median(late) * scale, unit, median(early) * scale, goal, size, paired(late, early))


def _loaded(grown: growing.Grown, number: int) -> Row:
    what, size = f"cold load of a session of {number} steps", f"{growing.LOADS} loads"
    return against(GROUP, what, grown.load, "ms", COLD, Goal(1.0, at_least=False), size)


def _written(thread: growing.Thread, grown: growing.Grown) -> Row:
    what, size = f"written for a thread of {grown.steps} messages", f"{grown.entries} entries"
    written, most = thread.written / 1e6, WRITTEN * grown.steps / 1_000
    return against(GROUP, what, written, "MB", most, Goal(1.0, at_least=False), size)


def _told(grown: growing.Grown) -> Row:
    what, most = f"the whole history of {grown.steps} steps", HISTORY * grown.steps / 1_000
    return against(GROUP, what, grown.history, "ms", most, Goal(1.0, at_least=False), f"{grown.entries} entries")


def _parked(here: Ground, number: int) -> list[Row]:
    found, size = parked.costs(here, number), f"{number} rows"
    return [
        against(
            GROUP, f"a claim beside {number} parked sessions", *_pair(found["claim"], "ms"), Goal(2.0, False), size
        ),
        against(
            GROUP, f"memory beside {number} parked sessions", *_pair(found["memory"], "MB"), Goal(1.1, False), size
        ),
        against(GROUP, "a parked session on the disk", *_pair(found["bytes"], "B"), Goal(4.0, False), size),
    ]


def _pair(both: tuple[float, float], unit: str) -> tuple[float, str, float]:
    return both[0], unit, both[1]


def _several(here: Ground, size: Size) -> list[Row]:
    """Steps a second at 1, 2 and 4 workers; two cores bound it, so more must at least not be slower."""
    running, base, made = list[Kept](), 0.0, list[Row]()
    for number in (1, 2, 4):
        running += [workers.start(here, each) for each in range(len(running) + 1, number + 1)]
        speed = workers.speed(here, 4 * size.seconds)
        base = base or speed
        name = f"durable steps of {workers.SESSIONS} sessions, {number} worker{'s' if number > 1 else ''}"
        goal = Goal(1.0 if number == 1 else 0.8, at_least=True)
        made.append(against(GROUP, name, speed, "1/s", base, goal, f"{4 * size.seconds:g} s"))
    workers.stop(here, *running)
    return made


def _row(name: str, value: float, unit: str, base: float, goal: Goal, taken: Sequence[float]) -> Row:
    return against(GROUP, name, value, unit, base, goal, f"{len(taken)} each")
