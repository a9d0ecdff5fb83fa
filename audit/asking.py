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

from audit import globallog, timestamps, witnesses

LOOK = 1.0  # seconds between two looks whether something is due
log = logging.getLogger("audit.asking")


@contextmanager
def outside_parties(tenant: UUID) -> Iterator[None]:
    """While inside, new heads are witnessed and stamped as the settings say. Nothing runs where none is configured."""
    if not settings.WITNESSES and not settings.TIMESTAMP_URL:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_ask, args=(tenant, over), name="outside parties", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(1.0)


class Due:
    """Does something with a new head, at most every so many seconds."""

    def __init__(self, every: float, act: Callable[[UUID], object]) -> None:
        self._every, self._act = every, act
        self._next = time.monotonic()
        self._done: datetime | None = None

    def look(self, tenant: UUID) -> None:
        """Act if it is time and there is a head that was signed since; what fails is tried again at the next time."""
        if time.monotonic() < self._next:
            return
        head = globallog.signed_head(tenant)
        if head is None or head.signed_at == self._done:
            return
        self._next = time.monotonic() + self._every
        self._act(tenant)
        self._done = head.signed_at


def _ask(tenant: UUID, over: threading.Event) -> None:
    every = []
    if settings.WITNESSES:
        every.append(Due(settings.WITNESS_EVERY, witnesses.collect))
    if settings.TIMESTAMP_URL:
        every.append(Due(settings.TIMESTAMP_EVERY, timestamps.stamp))
    while not over.is_set():
        for due in every:
            try:
                due.look(tenant)
            except Exception as error:  # whatever it is, the next one is asked and the thread goes on
                log.warning("%s", error)
                connection.close()
        over.wait(LOOK)
    connection.close()
