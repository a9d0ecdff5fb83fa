"""What happens to the goals of a session: they are taken apart into tasks, by hand, from a template or by a model."""

from __future__ import annotations

from typing import Any, Literal

from agentstate.engine.events.base import Event

GoalSource = Literal["hand", "template", "model"]


class GoalsSet(Event, frozen=True, tag="goals.set"):
    """The tree of tasks as it is from now on, as version `version`. `call` is the model's, if a model made it."""

    version: int
    tree: dict[str, Any]
    by: str
    how: GoalSource
    call: str = ""
    v: int = 1
