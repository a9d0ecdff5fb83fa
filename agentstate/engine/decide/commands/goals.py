"""Commands about goals."""

from __future__ import annotations

from typing import Any

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command


class SetGoals(Command, frozen=True):
    """Somebody takes a goal apart, or changes how it was. `version` is the one that they saw. With `inputs` the tree is
    a template, whose references to `input` they fill.
    """

    tree: dict[str, Any]
    by: str
    version: int
    how: ev.GoalSource = "hand"
    inputs: dict[str, Any] | None = None
