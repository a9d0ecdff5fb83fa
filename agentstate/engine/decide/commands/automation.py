"""Commands of timers, triggers, alerts and charts."""

from __future__ import annotations

from typing import Any, ClassVar

from agentstate.engine.alerts import Names, Onward, Severity
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.session import Open
from agentstate.engine.events.automation import TriggerSource
from agentstate.engine.timers import TimerKind


class SetTimer(Command, frozen=True):
    """Something is to happen at the instant `due`, or `after` seconds from now, which the shell has made `due` of by
    the database's clock.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"due"})

    what: TimerKind
    due: str
    by: str
    text: str = ""
    wanted: str = ""  # the instant or the seconds as they were asked for


class CancelTimer(Command, frozen=True):
    """Somebody does not want a timer any more."""

    timer: str
    by: str


class Ring(Command, frozen=True):
    """The runtime found a timer due; `now` is the instant by the database's clock."""

    now: str


class Triggered(Command, frozen=True):
    """A trigger acts: it opens the session (`then` is Open), signals its chart (Signal), says `note` to its agent, or
    with `run` starts a run of the agent, which is told `note` and given `goal` as a task, where there are such.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"chain"})

    trigger: str
    name: str
    version: int
    firing: str
    source: TriggerSource
    chain: tuple[str, ...]
    note: str = ""
    run: bool = False
    goal: str = ""
    then: Open | Signal | None = None

    @property
    def agent(self) -> str:
        """The agent of the session that is opened; empty where none is."""
        return self.then.agent if isinstance(self.then, Open) else ""


class RaiseAlert(Command, frozen=True):
    """A rule has hit; the fields are those of `alert.raised`. The same rule about the same, while an alert of it is
    open, is no second alert.
    """

    alert: str
    rule: str
    name: str
    version: int
    severity: Severity
    why: str
    to: Names
    about: str = ""
    seq: int = -1
    chain: tuple[Onward, ...] = ()


class AcknowledgeAlert(Command, frozen=True):
    """Somebody has it. `holder` is who had it when they looked: taking it from a colleague names them."""

    alert: str
    by: str
    holder: str = ""


class EscalateAlert(Command, frozen=True):
    """Step `step` of its chain has come."""

    alert: str
    step: int


class CloseAlert(Command, frozen=True):
    """It is over: a person says why, or `cause` says what has ended it."""

    alert: str
    by: str
    cause: str
    reason: str = ""


class Signal(Command, frozen=True):
    """Somebody or something outside tells the chart an event that it declares."""

    name: str
    by: str
    data: Any = None


class Wind(Command, frozen=True):
    """The runtime found a timer of the chart due."""
