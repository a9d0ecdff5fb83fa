"""Commands about a session's timers."""

from __future__ import annotations

from typing import ClassVar

from agentstate.engine.decide.commands.base import Command
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
