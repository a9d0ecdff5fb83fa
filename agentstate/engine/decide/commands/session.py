"""Commands to a session as a whole: open, say, pause, end, seal, prune, erase."""

from __future__ import annotations

from typing import ClassVar, Literal

from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.versions import Rollback


class Open(Command, frozen=True):
    """Open a session."""

    customer: str
    team: str
    agent: str
    channel: str
    topic: str = ""
    alias: str = ""


class Say(Command, frozen=True):
    """The customer says something, or the system notes it for the agent. `back` puts the session back to before its run
    first, where the agent is set to that.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"back"})

    role: Literal["customer", "note"]
    text: str
    by: str
    back: Rollback | None = None


class ExpireSession(Command, frozen=True):
    """Nothing has happened for as long as the session may idle. The runtime's."""


class Pause(Command, frozen=True):
    """A person stops it for a while; `with_parent`: because they stopped the session whose call it does."""

    reason: str
    by: str
    with_parent: bool = False


class Resume(Command, frozen=True):
    """A person lets it go on."""

    by: str


class Cancel(Command, frozen=True):
    """A person stops it for good."""

    reason: str
    by: str


class End(Command, frozen=True):
    """End the conversation."""

    reason: str
    by: str


class Seal(Command, frozen=True):
    """Let nothing follow in a session that has ended."""

    by: str


class EraseCustomer(Command, frozen=True):
    """The key `kid` of the session's own data subject is about to be destroyed, under erasure request `by`."""

    kid: str
    by: str


class PrunePayloads(Command, frozen=True):
    """The payloads of a session that has ended are about to be deleted: the term of their class was over at `due`."""

    retention: str
    due: str


class PruneHistory(Command, frozen=True):
    """The payloads of the first `upto` entries of a session that goes on are about to be deleted: their term was over
    at `due`. The state after them stands for them, in its `form`, under the SHA-256 (hex) of its sealed bytes.
    """

    upto: int
    digest: str
    form: str
    retention: str
    due: str
