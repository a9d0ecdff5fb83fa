"""An alert of a session: that something in it wants a person's eye, since when, for whom, and who has it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

import msgspec

from agentstate.engine.instants import parse, stamp

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")  # the lightest first
Standing = Literal["open", "acknowledged", "closed"]
MAX_OPEN = 20  # alerts of one session at a time
KEPT_CLOSED = 5  # that the state remembers; all of them are in the log

# Whom it is for: "owner" (who has the session, or whom it is assigned to), "role:...", "team:...", "user:...".
Names = tuple[str, ...]


class Onward(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`after` so many seconds without an acknowledgement since it was raised, an alert is for these too."""

    after: int
    to: Names


class Alert(msgspec.Struct, frozen=True):
    """As `alert.raised` says, and what became of it since. `raised_seq` is that entry."""

    id: str
    rule: str
    name: str
    version: int
    severity: Severity
    about: str
    seq: int
    why: str
    to: Names
    chain: tuple[Onward, ...]
    raised_seq: int
    raised_at: str
    step: int = 0  # of its chain that it has come to
    held_by: str = ""  # who has it
    acknowledged_at: str = ""  # when somebody had it first
    closed_at: str = ""
    closed_by: str = ""
    cause: str = ""

    @property
    def standing(self) -> Standing:
        """Where it stands, in a word."""
        if self.closed_at:
            return "closed"
        return "acknowledged" if self.held_by else "open"

    @property
    def escalates_at(self) -> str:
        """When it goes to the next of its chain; empty: never, or somebody has it."""
        if self.standing != "open" or self.step >= len(self.chain):
            return ""
        return stamp(parse(self.raised_at) + timedelta(seconds=self.chain[self.step].after))

    @property
    def for_whom(self) -> Names:
        """Whom it is for now: those it was raised for, and those it has gone on to."""
        onward = (name for each in self.chain[: self.step] for name in each.to)
        return tuple(dict.fromkeys((*self.to, *onward)))


def open_alerts(alerts: Mapping[str, Alert]) -> list[Alert]:
    """Those that are not closed, oldest first."""
    return [alert for alert in alerts.values() if not alert.closed_at]


def standing_for(alerts: Mapping[str, Alert], rule: str, about: str) -> Alert | None:
    """The open alert of this rule about this, if there is one: there is never a second."""
    return next((each for each in open_alerts(alerts) if (each.rule, each.about) == (rule, about)), None)
