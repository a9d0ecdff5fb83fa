"""Who commits, under which lease, and what a commit wrote."""

from __future__ import annotations

from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState
from agentstate.errors import Refused
from audit import ledger
from audit.proofs.making import Receipt, receipt_of
from sessions.core import projections


class LeaseLost(Refused):
    """Another worker has this session now."""

    code = "lease_lost"


class Committed(msgspec.Struct, frozen=True):
    """What a command wrote: entries `first` to `seq` - 1, and the state after them."""

    place: projections.Place
    command: UUID
    first: int
    seq: int
    state: SessionState
    events: tuple[ev.AnyEvent, ...] = ()
    repeated: bool = False  # an earlier command under the same idempotency key wrote them
    head: ledger.Head | None = None  # of the session after them; None: it is read where it is asked for

    @property
    def session(self) -> UUID:
        """The session's id."""
        return self.place.id

    @property
    def receipt(self) -> Receipt:
        """What whoever gave the command can hold against us later; of a repeated one, the same again."""
        if self.head is None or not self.head.leaf or self.head.size != self.seq:
            return receipt_of(self.session, self.seq)
        return Receipt(self.session, self.seq, self.head.root, self.head.leaf)


class Lease(msgspec.Struct, frozen=True):
    """A worker's right to advance one session, by its fencing number; when it was claimed the session had at least
    `seq` entries.
    """

    session: UUID
    fence: int
    seq: int = 0

    def guard(self) -> ledger.Fragment:
        """Finds a row only while nobody has taken the session over.

        It takes no lock: a person's command locks the head and then writes this row, so locking it first would
        deadlock the two. Who is taken over between this look and the append still loses at the head's size, or has
        appended before the new holder reads.
        """
        return ledger.Fragment(
            "SELECT 1 FROM agent_sessions_agentsession WHERE id = %(g_session)s AND fence = %(g_fence)s",
            {"g_session": self.session, "g_fence": self.fence},
        )


class Author(msgspec.Struct, frozen=True):
    """Who commands, and under which idempotency key (empty: none)."""

    actor: str
    key: str = ""


class NotDue(Refused):
    """The deadline has not passed yet."""

    code = "not_due"
