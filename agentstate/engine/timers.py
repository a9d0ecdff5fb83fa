"""A timer of a session that has not fired yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

TimerKind = Literal["remind", "follow_up", "expire"]


class Timer(msgspec.Struct, frozen=True):
    """At `due` the session is to do `what`; `seq` is the entry that set it."""

    id: str
    what: TimerKind
    due: str
    by: str
    seq: int
    text: str = ""


def first_due(timers: Mapping[str, Timer]) -> Timer | None:
    """The one that is due first; of two, the one that was set first."""
    return min(timers.values(), key=lambda timer: (timer.due, timer.seq), default=None)


def next_due(timers: Mapping[str, Timer]) -> str:
    """When the first timer is due, or empty."""
    timer = first_due(timers)
    return timer.due if timer is not None else ""
