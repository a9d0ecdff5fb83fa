"""Commands of the agent's run: model requests, answers, and its bounds."""

from __future__ import annotations

from typing import Literal

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.looping.settings import Limits


class Ask(Command, frozen=True):
    """The runtime is about to ask the model."""

    step: str
    model: str
    first: int
    last: int
    tools: tuple[str, ...]
    digest: str
    trigger: str = "message"
    shown: ev.Shown | None = None


class Answer(Command, frozen=True):
    """The model answered the open request `step`."""

    step: str
    model: str
    text: str
    calls: tuple[ev.CallProposed, ...]
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0


class NoAnswer(Command, frozen=True):
    """The model failed at the open request `step`. `pause` is the jittered pause before the next try, in seconds."""

    step: str
    reason: str
    transient: bool
    pause: float = 1.0


class Rest(Command, frozen=True):
    """The runtime found nothing to do."""

    waiting_for: str


class Notice(Command, frozen=True):
    """The runtime found that the agent goes in circles."""


class Grant(Command, frozen=True):
    """A person grants more to the run, or to the session; a run that was stopped goes on."""

    by: str
    reason: str
    more: Limits = Limits()
    of: Literal["run", "session"] = "run"
