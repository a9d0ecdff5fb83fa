"""Commands about the bounds of the loop: the runtime notices a circle, a person grants more."""

from __future__ import annotations

from typing import Literal

from agentstate.engine.decide.commands.base import Command
from agentstate.engine.looping.settings import Limits


class Notice(Command, frozen=True):
    """The runtime found that the agent goes in circles."""


class Grant(Command, frozen=True):
    """A person grants more to the run, or to the session; a run that was stopped goes on."""

    by: str
    reason: str
    more: Limits = Limits()
    of: Literal["run", "session"] = "run"
