"""A worker that was asked to stop begins nothing new: what runs may end within DRAIN_SECONDS, then its leases go back
and others carry on.
"""

from __future__ import annotations

import logging
import threading
import time

from django.conf import settings

log = logging.getLogger(__name__)


class _Drain:
    """Whether this process was asked to stop, and until when it waits for what runs."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._deadline = 0.0

    def begin(self, why: str) -> None:
        """From now on nothing new is begun in this process."""
        if not self._asked.is_set():
            self._deadline = time.monotonic() + settings.DRAIN_SECONDS
            self._asked.set()
            log.info("draining (%s): what runs has %g s", why, settings.DRAIN_SECONDS)

    def asked(self) -> bool:
        """Whether this process is to stop."""
        return self._asked.is_set()

    def over(self) -> bool:
        """Whether what still runs is not awaited any longer."""
        return self._asked.is_set() and time.monotonic() >= self._deadline

    def forget(self) -> None:
        """This process goes on after all; for tests."""
        self._asked.clear()


drain = _Drain()
