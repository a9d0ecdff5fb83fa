"""Chart transitions per second: the bank's chart, a whole transfer over and over, from stored state to stored state.

The base is what the same bytes cost to read: decoding the JSON of the state that each transition begins with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from agentstate.engine import charts
from agentstate.engine.charts import ChartState, Happening

CHART = Path(__file__).resolve().parent.parent / "demo" / "bank_agent" / "library" / "charts" / "bank-transfer.1.json"
AT = "2026-11-21T03:00:00.000000Z"
CLEARED = {"state": {"authorization": {"allowed": True}}}
STORY = (
    "call.returned.load_customer",
    "call.returned.authorize",
    "call.waiting.transfer",
    "request.approved.transfer",
    "call.returned.transfer",
)
_decoder = msgspec.json.Decoder(ChartState)


class Figures(msgspec.Struct, frozen=True):
    """Per second; `ratio` is transitions over reads of their states."""

    transitions: float
    reads: float

    @property
    def ratio(self) -> float:
        return self.transitions / self.reads


def transitions_per_second(seconds: float = 1.0) -> Figures:
    """Measured for about `seconds` each."""
    chart = charts.load(CHART.read_bytes())
    states = [msgspec.json.encode(state) for state in _story(chart)]
    return Figures(_rate(lambda: _tell(chart, states), seconds), _rate(lambda: _read(states), seconds))


def _story(chart: charts.Chart) -> list[ChartState]:
    """Where the chart stands before each event."""
    state, _ = charts.start(chart, CLEARED, AT)
    before = []
    for event in STORY:
        before.append(state)
        state, _ = charts.step(chart, state, Happening(event), CLEARED, AT)
    return before


def _tell(chart: charts.Chart, states: list[bytes]) -> int:
    for event, stored in zip(STORY, states, strict=True):
        charts.step(chart, _decoder.decode(stored), Happening(event), CLEARED, AT)
    return len(STORY)


def _read(states: list[bytes]) -> int:
    for stored in states:
        _decoder.decode(stored)
    return len(states)


def _rate(work: Callable[[], int], seconds: float) -> float:
    work()
    begun, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - begun) < seconds:
        done += work()
    return done / spent


if __name__ == "__main__":
    figures = transitions_per_second()
    print(f"{figures.transitions:.0f} chart transitions/s, {figures.reads:.0f} reads/s, ratio {figures.ratio:.3f}")
