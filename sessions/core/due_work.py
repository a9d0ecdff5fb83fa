"""Work that is due, as rows: the states of such a row, and the queue through which workers take it.

A broker's message says only that something is due. A worker claims a row with a lease and writes the result under that
lease. A worker that is killed leaves the row; another claims it when the lease ends. A worker that sleeps through its
lease writes nothing, for every claim sets another end of the lease, and each write compares it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

from django.conf import settings

from audit.ledger import run
from sessions.core.commit import jitter

log = logging.getLogger(__name__)
RETRY_SECONDS = 1.0  # the first pause; each is twice the one before, up to a minute
_FREE = "(lease_until IS NULL OR lease_until < now())"


class WorkState(Enum):
    """The states of a row of due work, each with its condition in SQL. `due_at` stands for the row's instant."""

    IDLE = f"due_at IS NULL AND {_FREE}"
    """Nothing is due. A commit or a command sets the instant."""
    WAITING = f"due_at > now() AND {_FREE}"
    """Due at a later instant: a deadline, the next step, or a retry after its pause."""
    DUE = f"due_at <= now() AND {_FREE}"
    """A worker may claim it. A row whose worker died is due again when its lease ends."""
    LEASED = "lease_until >= now()"
    """One worker has it and writes its result before the lease ends, or renews the lease."""
    PARKED = "stalled <> ''"
    """A session that no worker can advance now. The row names the reason; it waits, or a person resumes it."""
    ENDED = "ended_at IS NOT NULL"
    """Carried out, refused or given up. The row's own state names which."""

    def where(self, due_at: str = "due_at") -> str:
        """Returns the condition for a table whose instant has this name."""
        return self.value.replace("due_at", due_at)


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease on one row: its key, which attempt this is, and when the lease ends."""

    key: UUID
    attempt: int
    until: datetime


Handler = Callable[[Claim], None]
GiveUp = Callable[[Claim, Exception], None]


@dataclass(frozen=True, slots=True)
class Queue:
    """The due rows of one table, which has the columns `lease_until` and those named here.

    `pending` is the condition of rows that have not ended, `admits` what else a claim demands, `changes` what it sets
    beside the lease. Names and conditions are parts of the source, never input.
    """

    table: str
    order: str
    lease: float = 0.0  # seconds; 0: LEASE_SECONDS of the settings
    attempts: int = 5  # then the row is given up
    key: str = "id"
    due_at: str = "due_at"
    pending: str = "true"
    admits: str = "true"
    counter: str = "attempts"  # of claims, raised by each
    changes: str = ""

    def run(self, handle: Handler, give_up: GiveUp, most: int) -> int:
        """Claims up to `most` rows one after the other and handles each; returns how many."""
        done = 0
        for claims in self.batches(most):
            self.handle(claims[0], handle, give_up)
            done += 1
        return done

    def batches(self, most: int, size: int = 1) -> Iterator[list[Claim]]:
        """Claims `size` rows at a time, until nothing is due or `most` were claimed."""
        left = most
        while left > 0 and (claims := self.claim(min(size, left))):
            left -= len(claims)
            yield claims

    def handle(self, claim: Claim, handle: Handler, give_up: GiveUp) -> None:
        """Calls `handle`. A row that raises does not hold up the others: it is retried, and at last given up."""
        try:
            handle(claim)
        except Exception as error:
            log.warning("%s %s: %s", self.table, claim.key, type(error).__name__)
            if claim.attempt < self.attempts:
                self.postpone(claim, jitter(RETRY_SECONDS, claim.attempt))
            else:
                give_up(claim, error)

    def claim(self, most: int = 1, **params: Any) -> list[Claim]:
        """Leases up to `most` rows that are due, in order. `params` are for `admits` and `changes`."""
        rows = run(
            f"WITH due AS (SELECT {self.key} FROM {self.table} r"
            f"  WHERE {self.pending} AND {self.admits} AND {WorkState.DUE.where(self.due_at)}"
            f"  ORDER BY {self.order} LIMIT %(most)s FOR UPDATE SKIP LOCKED),"
            f" taken AS (UPDATE {self.table} r SET {self.changes} {self.counter} = r.{self.counter} + 1,"
            "  lease_until = clock_timestamp() + make_interval(secs => %(lease)s)"
            f"  FROM due WHERE r.{self.key} = due.{self.key} RETURNING r.*)"
            f" SELECT {self.key}, {self.counter}, lease_until FROM taken ORDER BY {self.order}",
            {"most": most, "lease": float(self.lease or settings.LEASE_SECONDS), **params},
        )
        return [Claim(*row) for row in rows]

    def finish(self, claim: Claim, changes: str, **params: Any) -> bool:
        """Writes `changes` and ends the lease. Returns False, and writes nothing, if another worker claimed since."""
        rows = run(
            f"UPDATE {self.table} r SET {changes}, lease_until = NULL"
            f" WHERE {self.key} = %(key)s AND lease_until = %(until)s AND {self.pending} RETURNING 1",
            {"key": claim.key, "until": claim.until, **params},
        )
        return bool(rows)

    def postpone(self, claim: Claim, pause: float, *, counts: bool = True) -> bool:
        """Lets the row be due again after `pause` seconds; without `counts` the attempts start anew."""
        anew = "" if counts else f", {self.counter} = 0"
        return self.finish(claim, f"{self.due_at} = now() + make_interval(secs => %(pause)s){anew}", pause=float(pause))
