"""That this process lives, as the database sees it: an advisory lock on a connection of its own.

The kernel closes a killed process's connection and PostgreSQL lets go of the lock, at once: what such a process held
is free within a second of its death, whatever its leases say. A process that only hangs keeps its lock, and loses its
leases when they are over. The lock decides nothing by itself: whoever lost a lease wrongly loses at the fence.
"""

from __future__ import annotations

import logging
import random
import threading

import psycopg
from django.db import connection

from audit import ledger

log = logging.getLogger(__name__)
LOCK = 0x72756E01  # namespace of the locks, one for each process


class Presence:
    """The number by which this process's leases are known, once its lock is held."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._number = 0

    @property
    def number(self) -> int:
        """This process's number; 0 before it ever held a lease."""
        return self._number

    def shown(self) -> int:
        """The number, its lock held. Raises psycopg.OperationalError where the database is away."""
        with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = None
                self._number, self._connection = _locked(self._number)
            return self._number

    def look(self) -> None:
        """Whether the connection still stands; a new one with the next lease if not."""
        with self._lock:
            if self._connection is not None:
                try:
                    self._connection.execute("SELECT 1")
                    return
                except psycopg.Error as error:
                    log.warning("the connection that shows this process alive is gone: %s", type(error).__name__)
                    self._connection.close()
        if self._number:
            self.shown()


def _locked(wanted: int) -> tuple[int, psycopg.Connection[tuple[object, ...]]]:
    params = connection.get_connection_params()
    for of_django in ("cursor_factory", "context"):
        params.pop(of_django, None)
    held = psycopg.connect(**params, autocommit=True)
    held.execute("SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3")
    number = wanted or random.randrange(1, 2**31)
    while not held.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, number]).fetchone()[0]:  # type: ignore[index]
        number = random.randrange(1, 2**31)
    return number, held


presence = Presence()

_FREE = """WITH held AS MATERIALIZED (
   SELECT DISTINCT holder FROM agent_sessions_agentsession WHERE holder IS NOT NULL AND holder <> %(mine)s
   UNION SELECT DISTINCT holder FROM agent_sessions_slot WHERE holder <> %(mine)s),
 dead AS MATERIALIZED (SELECT holder FROM held WHERE holder::oid NOT IN (
   SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND classid = %(lock)s::int8::oid AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))),
 places AS (DELETE FROM agent_sessions_slot WHERE holder IN (SELECT holder FROM dead))
 UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL
 WHERE holder IN (SELECT holder FROM dead) RETURNING id"""


def free_the_dead() -> int:
    """Give back what processes held that are not there any more: leases and places. Gives how many sessions."""
    rows = ledger.run(_FREE, {"lock": LOCK, "mine": presence.number})
    if rows:
        log.warning("%d sessions of a worker that died are free again", len(rows))
    return len(rows)
