"""What was done outside of the session before it was put back is undone by calls of their own."""

from __future__ import annotations

import msgspec

from agentstate.engine.events.base import Arguments, Event


class Undoing(msgspec.Struct, frozen=True):
    """A call that undoes an effect: `effect` is the entry of that effect's intent, `call` its call."""

    id: str
    tool: str
    arguments: Arguments
    effect: int
    call: str


class CompensationOrdered(Event, frozen=True, tag="compensation.ordered"):
    """A person orders that effects be undone, which the rollback in entry `rollback` had left standing: the newest
    first, each by a call that policy judges as any other, and that begins when the one before it has ended.
    """

    rollback: int
    calls: tuple[Undoing, ...]
    by: str
    reason: str
    v: int = 1
