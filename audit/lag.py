"""How long heads wait for their signature: told in the log, a line a minute, for whoever runs the sequencer."""

from __future__ import annotations

import logging
import time

from audit.sequencer import Round

EVERY = 60.0  # seconds
log = logging.getLogger("audit.sequencer")


class Lags:
    """Takes in rounds, and says now and then how long their heads had waited."""

    def __init__(self) -> None:
        self._seconds: list[float] = []
        self._rounds = 0
        self._next = time.monotonic() + EVERY

    def told(self, done: Round) -> None:
        """A round was done."""
        self._rounds += 1
        self._seconds += done.lags
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY
            if self._seconds:
                log.info("%s", self.said())
            self._seconds, self._rounds = [], 0

    def said(self) -> str:
        """The summary in words."""
        ordered = sorted(self._seconds)
        p50, p99 = (ordered[int((len(ordered) - 1) * share)] * 1000 for share in (0.5, 0.99))
        return (
            f"{len(ordered)} heads in {self._rounds} rounds;"
            f" from dirty to signed: half within {p50:.0f} ms, 99 of 100 within {p99:.0f} ms"
        )
