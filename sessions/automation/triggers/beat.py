"""Celery's clock. Many may run, and the elected one sends ticks.

What is missed while none ticks is not lost: ticks are hints, and what is due stands in rows (`clock`, `sweeper`).
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

import psycopg
from django.db import InterfaceError, OperationalError, connection
from django_celery_beat.schedulers import DatabaseScheduler

from agentstate import leader
from agentstate.leader import Candidate, FenceRow
from sessions.models.triggers import Beat

LOCK = 0x62656174  # namespace of the lock
ROW = 1
log = logging.getLogger(__name__)


class BeatLeader:
    """The right to send ticks. Many clocks ask for it; one has it until it resigns, dies or is deposed."""

    def __init__(self) -> None:
        self.candidate = Candidate(LOCK, ROW, FenceRow(Beat._meta.db_table, "id", ROW))

    def is_ours(self) -> bool:
        """Takes the right if it is free; returns whether this clock has it."""
        try:
            if self.candidate.has_lock and self.candidate.is_leader():
                return True
            if self.candidate.has_lock:
                log.warning("another clock was elected after number %d", self.candidate.fence)
                self.candidate.resign()
                return False
            return self._is_elected()
        except (psycopg.Error, OperationalError, InterfaceError) as error:
            log.warning("the clock lost its place: %s", type(error).__name__)
            self.candidate.resign()
            connection.close()
            return False

    def _is_elected(self) -> bool:
        if not self.candidate.take_lock():
            return False
        Beat.objects.get_or_create(pk=ROW)
        term = self.candidate.elect()
        Beat.objects.filter(pk=ROW, fence=term.fence).update(who=f"{socket.gethostname()[:100]}/{os.getpid()}")
        log.warning("elected, number %d", term.fence)
        return True


class Elected(DatabaseScheduler):  # type: ignore[misc]
    """Django's scheduler on the elected clock; the others wait for their election."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.leader = BeatLeader()
        super().__init__(*args, **options)

    def tick(self, *args: Any, **options: Any) -> float:
        """Sends what is due; returns the seconds until the next look."""
        was_ours = self.leader.candidate.has_lock
        if not self.leader.is_ours():
            self._heap = None  # the leader of that time writes down what was sent
            return leader.HEARTBEAT
        if not was_ours:
            self._initial_read = True
        return min(float(super().tick(*args, **options)), leader.HEARTBEAT)

    def close(self) -> None:
        """Writes down what was sent, and resigns."""
        super().close()
        self.leader.candidate.resign()
