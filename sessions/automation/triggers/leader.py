"""Which clock ticks: elected by an advisory lock on a connection of its own, with a number by which a deposed one
notices. Pure of Celery: `beat` is what ticks.
"""

from __future__ import annotations

import logging
import os
import socket
import time

import psycopg
from django.db import InterfaceError, OperationalError, connection

from audit import ledger

LOCK = 0x62656174  # namespace of the lock
ROW = 1
HEARTBEAT = 2.0  # seconds between two signs of life
log = logging.getLogger("sessions.automation.triggers.beat")


class Office:
    """The place of the clock that ticks. Many may ask for it; one has it, until it gives it back, dies, or another was
    elected because its connection was gone.
    """

    def __init__(self) -> None:
        self._lock: psycopg.Connection[tuple[object, ...]] | None = None
        self.fence = 0
        self._beaten = 0.0

    @property
    def held(self) -> bool:
        """Whether we have it, as far as we know."""
        return self._lock is not None

    def is_ours(self) -> bool:
        """Take it if it is free; whether it is ours now. Asks the database at most every HEARTBEAT seconds."""
        try:
            if self._lock is None:
                return self._elected()
            if time.monotonic() - self._beaten < HEARTBEAT:
                return True
            return self._is_still_ours()
        except (psycopg.Error, OperationalError, InterfaceError) as error:
            log.warning("the clock lost its place: %s", type(error).__name__)
            self.leave()
            connection.close()
            return False

    def leave(self) -> None:
        """Give it back."""
        held, self._lock = self._lock, None
        if held is not None:
            held.close()

    def _elected(self) -> bool:
        params = connection.get_connection_params()
        for of_django in ("cursor_factory", "context"):
            params.pop(of_django, None)
        asking = psycopg.connect(**params, autocommit=True)
        found = asking.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, ROW]).fetchone()
        if not (found and found[0]):
            asking.close()
            return False
        self._lock = asking
        ((self.fence,),) = ledger.run(
            "INSERT INTO agent_sessions_beat (id, fence, alive_at, who) VALUES (%(id)s, 1, now(), %(who)s)"
            " ON CONFLICT (id) DO UPDATE SET fence = agent_sessions_beat.fence + 1, alive_at = now(),"
            " who = EXCLUDED.who RETURNING fence",
            {"id": ROW, "who": f"{socket.gethostname()[:100]}/{os.getpid()}"},
        )
        self._beaten = time.monotonic()
        log.warning("elected, number %d", self.fence)
        return True

    def _is_still_ours(self) -> bool:
        assert self._lock is not None
        self._lock.execute("SELECT 1")
        if not ledger.run(
            "UPDATE agent_sessions_beat SET alive_at = now() WHERE id = %(id)s AND fence = %(fence)s RETURNING 1",
            {"id": ROW, "fence": self.fence},
        ):
            log.warning("another clock was elected after number %d", self.fence)
            self.leave()
            return False
        self._beaten = time.monotonic()
        return True
