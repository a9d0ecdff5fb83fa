"""What the runtime says of calls, and their withdrawal."""

from __future__ import annotations

from typing import Any, ClassVar

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.base import Command


class Begin(Command, frozen=True):
    """The runtime is about to run a call that is ready (or whose result was lost in a crash)."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"authorities"})

    call: str
    authorities: dict[str, tuple[Authority, ...]] | None = None  # of the approvers, as of now; None: not looked up


class Withdraw(Command, frozen=True):
    """A person, a caller or the agent withdraws `call`, or the call of `request`, before it begins. The call may wait
    for a person or be allowed already.
    """

    by: str
    reason: str
    call: str = ""
    request: str = ""


class Return(Command, frozen=True):
    """A running call returned."""

    call: str
    attempt: int
    result: Any
    outcome: int = 0  # which of the alternatives of its output path
    answered: ev.Answered | None = None  # where the model gave it
    authors: tuple[str, ...] = ()  # the people who wrote what it is made of, where another session gave it


class Fail(Command, frozen=True):
    """A running call failed. `pause` as in NoAnswer; `code` names the reason for programs, where there is a name."""

    call: str
    attempt: int
    reason: str
    transient: bool
    pause: float = 1.0
    code: str = ""
