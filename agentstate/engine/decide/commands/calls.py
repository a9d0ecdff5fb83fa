"""Commands to calls: begin, return, fail, intervene, withdraw, undo their effects."""

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


class Intervene(Command, frozen=True):
    """Settle a call that failed for good, or of which nobody knows whether it happened. `result` where `how` is
    `supply` or `happened`.
    """

    call: str
    how: ev.Intervention
    by: str
    reason: str
    result: Any = None


class RetrySession(Command, frozen=True):
    """Try a session again that failed, or that the runtime has parked, `parked` saying why."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"parked"})

    by: str
    reason: str
    parked: str = ""


class Compensate(Command, frozen=True):
    """Undo effects that a rollback left standing, by the calls that had them; none named: all that can be. `lasting` is
    what the entry of the rollback says of them.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"lasting"})

    rollback: int  # seq of its entry
    calls: tuple[str, ...]
    by: str
    reason: str
    lasting: tuple[ev.Lasting, ...] = ()
