"""Asks witnesses and the time-stamp authority beside the rounds, in a thread of its own: no round waits for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection

from audit import globallog, restamping, timestamps, witnesses

DAILY = 86_400.0  # seconds between two looks for stamps that end soon
LOOK = 1.0  # seconds between two looks whether something is due
log = logging.getLogger("audit.asking")


@contextmanager
def outside_parties(tenant: UUID) -> Iterator[threading.Event]:
    """While inside, new heads are witnessed and stamped as the settings say. Nothing runs where none is configured.

    Set the event, and the newest head is stamped at once: a log was sealed.
    """
    over, sealed = threading.Event(), threading.Event()
    if not settings.WITNESSES and not settings.TIMESTAMP_URL:
        yield sealed
        return
    thread = threading.Thread(target=_ask, args=(tenant, over, sealed), name="outside parties", daemon=True)
    thread.start()
    try:
        yield sealed
    finally:
        over.set()
        thread.join(1.0)


class Due:
    """Does something with a new head, at most every so many seconds; with `anyway`, also where there is no new one."""

    def __init__(self, every: float, act: Callable[[UUID], object], *, anyway: bool = False) -> None:
        self._every, self._act, self._anyway = every, act, anyway
        self._next = time.monotonic()
        self._done: datetime | None = None

    def look(self, tenant: UUID, now: bool = False) -> None:
        """Act if it is time (or `now`) and there is a head that was signed since; what fails is tried again later."""
        if time.monotonic() < self._next and not now:
            return
        head = globallog.signed_head(tenant)
        if head is None or (head.signed_at == self._done and not self._anyway):
            return
        self._next = time.monotonic() + self._every
        self._act(tenant)
        self._done = head.signed_at


def _ask(tenant: UUID, over: threading.Event, sealed: threading.Event) -> None:
    every = []
    if settings.WITNESSES:
        every.append((Due(settings.WITNESS_EVERY, witnesses.collect), False))
    if settings.TIMESTAMP_URL:
        every.append((Due(settings.TIMESTAMP_EVERY, timestamps.stamp), True))
        every.append((Due(DAILY, restamping.restamp, anyway=True), False))
    while not over.is_set():
        at_once = sealed.is_set()
        sealed.clear()
        for due, at_seals in every:
            try:
                due.look(tenant, at_once and at_seals)
            except Exception as error:  # whatever it is, the next one is asked and the thread goes on
                log.warning("%s", error)
                connection.close()
        over.wait(LOOK)
    connection.close()
