"""A step at the beginning of a session and at its thousandth, where each step appends a message."""

from __future__ import annotations

import time

from benchmarks.first import agent as first
from benchmarks.first.sessions import opened
from benchmarks.ground import Ground
from sessions import commands
from sessions.runtime import advance

BATCH = 100  # steps that are timed together


def seconds(here: Ground, steps: int) -> tuple[float, float]:
    """Seconds a step of the first BATCH after a warm start, and of the BATCH after `steps`."""
    first.halt.clear()
    session = opened(here, "talking", "customer-growing")
    _go(here, session, BATCH)
    early = _go(here, session, BATCH)
    _go(here, session, max(0, steps - 2 * BATCH))
    return early, _go(here, session, BATCH)


def _go(here: Ground, session: object, steps: int) -> float:
    """Let it take about so many steps; seconds for each that it took. The tool counts them."""
    if not steps:
        return 0.0
    before, began = len(first.ran), time.perf_counter()
    while len(first.ran) - before < steps:
        commands.say(here.caller, session, "Go on.")  # type: ignore[arg-type]
        advance.advance_ready()  # a run is bounded; the next word begins another
    return (time.perf_counter() - began) / (len(first.ran) - before)
