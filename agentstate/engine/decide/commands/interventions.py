"""Commands of people who step in where the runtime cannot go on by itself."""

from __future__ import annotations

from typing import Any, ClassVar

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command


class Intervene(Command, frozen=True):
    """Settle a call that failed for good, or of which nobody knows whether it happened. `result` where `how` is
    `supply` or `happened`.
    """

    call: str
    how: ev.Intervention
    by: str
    reason: str
    result: Any = None


class RetrySession(Command, frozen=True):
    """Try a session again that failed, or that the runtime has parked, `parked` saying why."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"parked"})

    by: str
    reason: str
    parked: str = ""
