"""What a trigger does in a session begins with an entry that says which, and by what chain of triggers."""

from __future__ import annotations

from typing import Literal

from agentstate.engine.events.base import Event

TriggerSource = Literal["entry", "row", "schedule", "hook"]


class TriggerFired(Event, frozen=True, tag="trigger.fired"):
    """Trigger `trigger`, in this `version`, acts here. What it acts with follows in the same commit; with `run` a
    run of the agent begins, unless one is under way. `chain` are the triggers that led here, this one last.
    """

    trigger: str
    name: str
    version: int
    firing: str
    source: TriggerSource
    chain: tuple[str, ...]
    run: bool = False
    v: int = 1
