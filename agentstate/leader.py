"""Elects one leader among processes that could do the same work: the sequencer, the clock that sends ticks.

The leader holds an advisory lock on a connection of its own, and the lock ends with the connection. Two processes can
still believe that they lead: one was stopped, and its connection was cut. The fencing number decides between them. Each
election raises it in a row, and a leader whose number is no longer the highest has been deposed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from django.db import connection

HEARTBEAT = 2.0  # seconds between two signs of life


class FenceRow(NamedTuple):
    """Where the fencing number is: a table with the columns `fence` and `alive_at`, and the row's key."""

    table: str
    key: str
    value: UUID | int


@dataclass(frozen=True, slots=True)
class Term:
    """What an election found: the new number, when the last leader gave a sign of life, and the database's time."""

    fence: int
    last_alive_at: datetime | None
    began_at: datetime


class Candidate:
    """A process that stands for election, and leads from `elect` until `resign` or until `is_leader` returns False."""

    def __init__(self, namespace: int, name: str | int, row: FenceRow) -> None:
        """`namespace` and `name` are the keys of the advisory lock; a text counts by its hash."""
        self._keys = (namespace, name)
        self._row = row
        self._lock: psycopg.Connection[tuple[Any, ...]] | None = None
        self._confirmed = 0.0
        self.fence = 0

    @property
    def has_lock(self) -> bool:
        """Whether this process took the lock and did not give it back."""
        return self._lock is not None

    def take_lock(self) -> bool:
        """Takes the lock if it is free; returns whether this process has it. Raises psycopg.Error."""
        if self._lock is None:
            asking = psycopg.connect(**_parameters(), autocommit=True)
            if _is_locked(asking, *self._keys):
                self._lock = asking
            else:
                asking.close()
        return self._lock is not None

    def elect(self) -> Term:
        """Raises the fencing number, with the lock in hand and the row in its table, and returns the new term."""
        table, key, value = self._row
        with connection.cursor() as cursor:
            cursor.execute(
                f'UPDATE "{table}" r SET fence = r.fence + 1, alive_at = now() FROM "{table}" before'
                f" WHERE r.{key} = %s AND before.{key} = r.{key} RETURNING r.fence, before.alive_at, now()",
                [value],
            )
            term = Term(*cursor.fetchone())
        self.fence, self._confirmed = term.fence, time.monotonic()
        return term

    def is_leader(self) -> bool:
        """Returns whether nobody else was elected since. Asks the database at most every HEARTBEAT seconds, and writes
        the sign of life then. Raises psycopg.OperationalError when the lock's connection is gone.
        """
        if self._lock is None:
            return False
        if time.monotonic() - self._confirmed < HEARTBEAT:
            return True
        self._confirmed = time.monotonic()
        self._lock.execute("SELECT 1")
        table, key, value = self._row
        with connection.cursor() as cursor:
            cursor.execute(
                f'UPDATE "{table}" SET alive_at = now() WHERE {key} = %s AND fence = %s',
                [value, self.fence],
            )
            return bool(cursor.rowcount)

    def resign(self) -> None:
        """Gives the lock back."""
        held, self._lock = self._lock, None
        if held is not None:
            held.close()


def _parameters() -> dict[str, Any]:
    """Returns what Django connects with, without what only Django's own cursors need."""
    of_django = ("cursor_factory", "context")
    return {key: value for key, value in connection.get_connection_params().items() if key not in of_django}


def _is_locked(asking: psycopg.Connection[tuple[Any, ...]], namespace: int, name: str | int) -> bool:
    """Tries to take the lock; the server gives it up ten seconds after the network loses this process."""
    asking.execute("SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3")
    key = "hashtext(%s)" if isinstance(name, str) else "%s::int"
    found = asking.execute(f"SELECT pg_try_advisory_lock(%s::int, {key})", [namespace, name]).fetchone()
    return bool(found and found[0])
