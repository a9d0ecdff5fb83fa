"""What takes words away or lets nothing follow: sealing, the erasure of the customer, the pruning of payloads."""

from __future__ import annotations

from agentstate.engine.decide.commands.base import Command


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
