"""Alerts of a session: rules raise, pass on and close them; people acknowledge and close them."""

from __future__ import annotations

from agentstate.engine.alerts import Names, Onward, Severity
from agentstate.engine.decide.commands.base import Command


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
