"""Events through a statechart, and the raw cost of reading back the state it is kept as."""

from __future__ import annotations

import time

import msgspec

from agentstate.engine.charts import Chart, Happening, start, step

ROUND = ("new_task", "plan_ready", "step_complete", "needs_input", "input_received")
AT = "2026-11-21T09:00:00.000000Z"


def speeds(chart: Chart, events: int, rounds: int) -> tuple[list[float], list[float]]:
    """Transitions per second and decoded states per second, in each round."""
    ours, raw = [], []
    for _ in range(rounds):
        ours.append(_transitions(chart, events))
        raw.append(_decoded(chart, 100 * events))
    return ours, raw


def _transitions(chart: Chart, events: int) -> float:
    state, _ = start(chart, at=AT)
    state, _ = step(chart, state, Happening(ROUND[0]), at=AT)
    state, _ = step(chart, state, Happening(ROUND[1]), at=AT)
    taken = 0
    began = time.process_time()
    for number in range(events):
        state, moved = step(chart, state, Happening(ROUND[2 + number % 3]), at=AT)
        taken += len(moved.taken)
    seconds = time.process_time() - began
    if taken < events:
        raise AssertionError(f"{taken} transitions of {events} events: the chart has other events")
    return taken / seconds


def _decoded(chart: Chart, events: int) -> float:
    state, _ = start(chart, at=AT)
    data = msgspec.json.encode(state)
    began = time.process_time()
    for _ in range(events):
        msgspec.json.decode(data)
    return events / (time.process_time() - began)
