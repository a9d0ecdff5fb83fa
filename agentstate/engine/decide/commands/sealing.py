"""What brings a session to a close for good: sealing, the erasure of its customer, the pruning of its payloads."""

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
