"""The command to undo what was done outside."""

from __future__ import annotations

from typing import ClassVar

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command


class Compensate(Command, frozen=True):
    """Undo effects that a rollback left standing, by the calls that had them; none named: all that can be. `lasting` is
    what the entry of the rollback says of them.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"lasting"})

    rollback: int  # seq of its entry
    calls: tuple[str, ...]
    by: str
    reason: str
    lasting: tuple[ev.Lasting, ...] = ()
