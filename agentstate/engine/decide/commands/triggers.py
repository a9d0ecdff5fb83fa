"""The command of a trigger."""

from __future__ import annotations

from typing import ClassVar

from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.charts import Signal
from agentstate.engine.decide.commands.session import Open
from agentstate.engine.events.automation import TriggerSource


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
