"""Steps of a session whose agent says something in every step: with rules about its words, against without."""

from __future__ import annotations

import time
from itertools import count

from benchmarks.first import agent as first
from benchmarks.first.sessions import opened
from benchmarks.ground import Ground
from benchmarks.rounds import Cell
from sessions.conversation import commands as conversation_commands
from sessions.runtime import advance

_numbers = count()


def cells(here: Ground) -> dict[str, Cell]:
    """The two speeds. Policy allows the words of both: the shipped rules read them and find nothing."""
    return {name: lambda seconds, name=name: _speed(here, name, seconds) for name in ("judged", "talking")}


def _speed(here: Ground, agent: str, seconds: float) -> float:
    """Steps per second of one new session of the agent."""
    first.halt.clear()
    session = opened(here, agent, f"customer-spoken-{next(_numbers)}")
    start, began = len(first.ran), time.perf_counter()
    while time.perf_counter() - began < seconds:
        conversation_commands.say(here.caller, session, "Go on.")
        advance.advance_ready()
    return (len(first.ran) - start) / (time.perf_counter() - began)
