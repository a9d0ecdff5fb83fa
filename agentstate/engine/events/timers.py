"""Timers of a session: something is to happen at an instant unless somebody cancels it before."""

from __future__ import annotations

from typing import Literal

from agentstate.engine.events.base import Event
from agentstate.engine.timers import TimerKind

TimerOutcome = Literal["told", "expired", "passed"]


class TimerSet(Event, frozen=True, tag="timer.set"):
    """At `due` the agent is reminded of `text` (remind), or only if the customer has said nothing until then
    (follow_up), or the session expires if it idles then (expire).
    """

    timer: str
    what: TimerKind
    due: str
    by: str
    text: str = ""
    v: int = 1


class TimerCancelled(Event, frozen=True, tag="timer.cancelled"):
    """Somebody does not want it any more. A rollback cancels all timers without saying it of each."""

    timer: str
    by: str
    v: int = 1


class TimerFired(Event, frozen=True, tag="timer.fired"):
    """Its instant has come. `told`: the agent is told next; `expired`: the session expires next; `passed`: what it was
    set for did not apply any more.
    """

    timer: str
    outcome: TimerOutcome
    v: int = 1
