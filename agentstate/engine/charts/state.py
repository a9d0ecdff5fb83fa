"""Where a chart stands: a small frozen value that goes into a session's state and through JSON.

Bounded: at most MAX_TIMERS timers, MAX_DATA bytes of data nested MAX_NESTED deep, MAX_INVOKED charts inside it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

MAX_DATA = 16_384  # bytes of a chart's data, about, and of what one event carries
MAX_NESTED = 24
MAX_TIMERS = 32
MAX_INVOKED = 8
PROCESSOR = "http://www.w3.org/TR/scxml/#SCXMLEventProcessor"

EventType = Literal["external", "internal", "platform"]


class Happening(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event as a chart reads it (`_event`). `data` is null when nothing came with it."""

    name: str
    data: Any = None
    type: EventType = "external"
    sendid: str = ""
    origin: str = ""
    origintype: str = ""
    invokeid: str = ""


class Timer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event that was sent to arrive at `due`; `number` says which of two of one instant was sent first."""

    due: str
    number: int
    target: str
    happening: Happening
    id: str = ""


class Invoked(msgspec.Struct, frozen=True):
    """A chart that runs inside: by which state's invoke it was begun, and where it stands itself."""

    state: str
    index: int
    inside: ChartState


class ChartState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The configuration (all states that are held, outermost first), what histories remember, data and timers."""

    chart: str
    id: str = ""
    configuration: tuple[str, ...] = ()
    history: dict[str, tuple[str, ...]] = {}
    data: dict[str, Any] = {}
    timers: tuple[Timer, ...] = ()
    invoked: dict[str, Invoked] = {}
    sent: int = 0  # numbers the ids that are made
    running: bool = True
    result: Any = None  # what the final state's done event carries


class Logged(msgspec.Struct, frozen=True):
    """A value that a chart noted."""

    label: str
    value: Any = None


class Moved(msgspec.Struct, frozen=True):
    """What one call of start, step or tick did, in order. `handled` tells an event that found no transition."""

    exited: tuple[str, ...] = ()
    entered: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()  # transitions: `ask#2` is the second one of state ask
    changed: dict[str, Any] = {}  # data that has another value than before
    timers_set: tuple[Timer, ...] = ()
    timers_cancelled: tuple[str, ...] = ()
    logs: tuple[Logged, ...] = ()
    errors: tuple[str, ...] = ()
    handled: bool = False

    @property
    def anything(self) -> bool:
        """Whether anything is different from before."""
        return bool(self.taken or self.entered or self.changed or self.timers_set or self.timers_cancelled)


def due_next(state: ChartState) -> str:
    """The instant of the next timer, here or in an invoked chart; empty when nothing is timed."""
    if not state.running:
        return ""
    inside = [due_next(invoked.inside) for invoked in state.invoked.values()]
    return min(filter(None, (*(timer.due for timer in state.timers), *inside)), default="")
