"""The rows of the group: each beside the raw cost of the same bytes, or beside itself at the beginning.

Everything is timed in the process's own CPU time: nothing here waits, and what else the machine does is not ours. A
base that is far faster than what stands beside it is repeated, so that both are seen for about as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import mean, median
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.charts.lifecycle import lifecycle_chart
from agentstate.engine.state.evolution import fold
from benchmarks.engine import machines, plans
from benchmarks.engine.talks import Talk, grown, opened, seconds_a_turn, seconds_by_kind
from benchmarks.rounds import paired
from benchmarks.rows import Goal, Row, against
from benchmarks.sets import LONG, long_talk

GROUP = "engine"
FLAT = Goal(1.3, at_least=False)
Timed = tuple[list[dict[str, float]], int]  # turns of a conversation by kind of step, and how long it is
STEPS = {"message": "a customer's message", "tool": "a step of a tool", "model": "a step of a model", "turn": "a turn"}


class Size(msgspec.Struct, frozen=True):
    """How much is measured: events of the conversations, turns of each cell, calls of the plans, rounds."""

    lengths: tuple[int, ...]
    turns: int
    calls: tuple[int, ...]
    rounds: int
    folded: int


FULL = Size((10, 1_000, LONG), 140, (625, 1_250, 2_500, 5_000, 10_000), 7, 3_000)
QUICK = Size((10, 500, 1_000), 6, (100, 200, 400), 1, 200)


def rows(quick: bool) -> list[Row]:
    """All rows of the group. No server, no network."""
    size = QUICK if quick else FULL
    talks = [_talk(length) for length in size.lengths]
    return [
        *_folding(size),
        *_steps(size, talks),
        *_bytes(size, talks),
        *_contexts(size, talks),
        *_plans(size),
        _charts(size),
    ]


def _talk(length: int) -> Talk:
    return long_talk(length) if length == LONG else grown(opened(), length)


def _folding(size: Size) -> Iterator[Row]:
    talk = opened()
    while talk.state.seq < size.folded:
        talk.turn()
    kept = talk.kept
    speeds: dict[str, list[float]] = {"fold": [], "raw": []}
    for _ in range(size.rounds):
        speeds["fold"].append(_a_second(len(kept), lambda: fold((ev.decode(data), at) for data, at in kept)))
        speeds["raw"].append(_a_second(20 * len(kept), lambda: _decoded(kept, 20)))
    yield against(
        GROUP, "events folded, against decoding their JSON", median(speeds["fold"]), "1/s", median(speeds["raw"]),
        Goal(0.02, at_least=True), f"{len(kept)} events, {size.rounds} rounds", paired(speeds["fold"], speeds["raw"]),
    )  # fmt: skip


def _decoded(kept: list[tuple[bytes, str]], times: int) -> None:
    for _ in range(times):
        for data, _ in kept:
            msgspec.json.decode(data)


def _a_second(count: int, work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return count / (time.process_time() - began)


def _steps(size: Size, talks: list[Talk]) -> Iterator[Row]:
    """What each kind of step costs at each length, against the beginning, where the window is nearly empty, and against
    event 1,000, where it is as full as later. The conversations take turns, so that a noisy neighbour hits all alike.
    """
    taken: list[list[dict[str, float]]] = [[] for _ in talks]
    for talk in talks[1:]:
        seconds_by_kind(talk, 3)  # the first after reading back is slower: caches fill
    for _ in range(size.rounds):
        for times, talk, length in zip(taken, talks, size.lengths, strict=True):
            turns = max(1, size.turns // size.rounds)
            if length < 100:  # short ones must stay short
                times += [one for _ in range(turns) for one in seconds_by_kind(grown(opened(), length), 1)]
            else:
                times += seconds_by_kind(talk, turns)
    measured = list(zip(taken, size.lengths, strict=True))
    early, full, late = measured
    for kind, what in STEPS.items():
        for one, base in ((full, early), (late, early), (late, full)):
            yield _step(what, one, base, kind, median)
    # The median leaves out the few turns that make room in the window; they count in the mean.
    for base in (early, full):
        yield _step("a turn on average", late, base, "turn", mean)


def _step(what: str, one: Timed, base: Timed, kind: str, of: Callable[[list[float]], float]) -> Row:
    times, raw = (1000 * of([each[kind] for each in timed[0]]) for timed in (one, base))
    name = f"{what} at event {one[1]:,}, against event {base[1]:,}"
    return against(GROUP, name, times, "ms", raw, FLAT, f"{len(one[0])} turns")


def _bytes(size: Size, talks: list[Talk]) -> Iterator[Row]:
    """What a turn appends, against the same turn early on and against its words alone."""
    early, late = _bytes_a_turn(grown(opened(), 300), size.turns), _bytes_a_turn(talks[-1], size.turns)
    what = f"bytes of a turn at event {size.lengths[-1]:,}, against"
    yield against(GROUP, f"{what} event 300", late[0], "B", early[0], Goal(1.1, at_least=False), f"{size.turns} turns")
    yield against(
        GROUP, f"{what} its words and results", late[0], "B", late[1], Goal(20.0, at_least=False), f"{size.turns} turns"
    )


def _bytes_a_turn(talk: Talk, turns: int) -> tuple[float, float]:
    talk.kept.clear()
    seconds_a_turn(talk, turns)
    events = [msgspec.json.decode(data) for data, _ in talk.kept]
    words = [
        event.get("text") or event.get("result")
        for event in events
        if event["kind"] in ("message.added", "tool.returned")
    ]
    return sum(len(data) for data, _ in talk.kept) / turns, len(msgspec.json.encode(words)) / turns


def _contexts(size: Size, talks: list[Talk]) -> Iterator[Row]:
    """Assembling a request, late against early, and against decoding the bytes of what the model is given."""
    early, late = grown(opened(), 1_000), talks[-1]
    taken: dict[str, list[float]] = {"early": [], "late": [], "raw": []}
    data = msgspec.json.encode(late.request())
    for _ in range(size.turns):
        taken["early"].append(_seconds(early.request))
        taken["late"].append(_seconds(late.request))
        taken["raw"].append(_seconds(lambda: msgspec.json.decode(data)))
    what = f"a request's context at event {size.lengths[-1]:,}, against"
    times = {name: 1000 * median(each) for name, each in taken.items()}
    yield against(GROUP, f"{what} event 1,000", times["late"], "ms", times["early"], FLAT, f"{size.turns} each")
    yield against(
        GROUP,
        f"{what} decoding its JSON",
        times["late"],
        "ms",
        times["raw"],
        Goal(150.0, at_least=False),
        f"{len(data)} B",
    )


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _plans(size: Size) -> Iterator[Row]:
    taken = [plans.check_and_order(calls, size.rounds) for calls in size.calls]
    most = size.calls[-1]
    exponent = plans.exponent(size.calls, taken)
    yield against(
        GROUP, f"exponent of checking and ordering {size.calls[0]:,} to {most:,} calls, against linear", exponent, "",
        1.0, Goal(1.2, at_least=False), f"{size.rounds} each",
    )  # fmt: skip
    yield against(
        GROUP, f"a plan of {most:,} calls read, checked and ordered, against decoding its JSON", 1000 * taken[-1], "ms",
        1000 * plans.decode(most, size.rounds), Goal(200.0, at_least=False), f"{size.rounds} each",
    )  # fmt: skip


def _charts(size: Size) -> Row:
    ours, raw = machines.speeds(lifecycle_chart(), size.turns * 20, size.rounds)
    return against(
        GROUP, "transitions of the lifecycle chart, against decoding its state's JSON", median(ours), "1/s",
        median(raw), Goal(0.005, at_least=True), f"{size.turns * 20} events, {size.rounds} rounds", paired(ours, raw),
    )  # fmt: skip
