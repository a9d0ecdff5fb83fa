"""Commands about goals."""

from __future__ import annotations

from typing import Any, Literal

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


class ChangeGoals(Command, frozen=True):
    """Somebody changes one task of the tree. `version` is the one that they saw. `add`: `fields` is the task that comes
    below `task`; `change`: its other fields; `remove`: it goes, with all below it.
    """

    op: Literal["add", "change", "remove"]
    task: str
    by: str
    version: int
    fields: dict[str, Any] = {}
