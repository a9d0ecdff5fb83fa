"""The commands: people's say what they want, the runtime's say what happened."""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine import events as ev


class Command(msgspec.Struct, frozen=True):
    """The base of all commands."""


class Open(Command, frozen=True):
    """Open a session."""

    customer: str
    team: str
    agent: str
    channel: str
    topic: str = ""
    alias: str = ""


class Say(Command, frozen=True):
    """Somebody says something."""

    role: ev.Role
    text: str
    by: str


class End(Command, frozen=True):
    """End the conversation."""

    reason: str
    by: str


class Ask(Command, frozen=True):
    """The runtime is about to ask the model."""

    step: str
    model: str
    first: int
    last: int
    tools: tuple[str, ...]
    digest: str
    trigger: str = "message"


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


class Begin(Command, frozen=True):
    """The runtime is about to run a call that is ready (or whose result was lost in a crash)."""

    call: str


class Return(Command, frozen=True):
    """A running call returned."""

    call: str
    attempt: int
    result: Any


class Fail(Command, frozen=True):
    """A running call failed. `pause` as in NoAnswer."""

    call: str
    attempt: int
    reason: str
    transient: bool
    pause: float = 1.0


class Decide(Command, frozen=True):
    """A person decides a request. `may` holds the permissions they have at this instant."""

    request: str
    decision: ev.DecisionKind
    by: str
    may: frozenset[str]
    reason: str = ""
    arguments: dict[str, Any] | None = None
    response: str = ""
    seen: str = ""  # digest of what their page showed; required once somebody has edited the request


class Expire(Command, frozen=True):
    """The deadline of a request has passed; the appending statement checks that it has."""

    request: str


class Rest(Command, frozen=True):
    """The runtime found nothing to do."""

    waiting_for: str
