"""PostgreSQL's clock, as this process knows it: what is written and promised must not hang on a worker's own.

Asking the server for every instant would cost a round trip a commit. So it is asked once, and then again every half
minute, or at once when this machine's clock was set or slept; in between the monotonic clock counts on from its answer.
What decides between a decision and a deadline is still the appending statement itself.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from audit import ledger

FRESH_SECONDS = 30.0
SET_SECONDS = 1.0  # wall clock and monotonic clock of this machine have parted by more: one of them was set, or slept


class _Asked(NamedTuple):
    """What the server answered, and what the clocks of this machine showed at that moment."""

    server: datetime
    wall: float
    monotonic: float


class _ServerClock:
    def __init__(self) -> None:
        self._asked: _Asked | None = None
        self._lock = threading.Lock()

    def now(self) -> datetime:
        known = self._asked
        if known is None or not _holds(known):
            with self._lock:  # one thread asks, and none goes on with what no longer holds
                known = self._asked
                if known is None or not _holds(known):
                    known = self._asked = _ask()
        return known.server + timedelta(seconds=time.monotonic() - known.monotonic)


def _holds(known: _Asked) -> bool:
    passed = time.monotonic() - known.monotonic
    return passed < FRESH_SECONDS and abs(time.time() - known.wall - passed) < SET_SECONDS


def _ask() -> _Asked:
    """Half the round trip is taken for the answer's age."""
    before = time.monotonic()
    ((server,),) = ledger.run("SELECT clock_timestamp()", {})
    after = time.monotonic()
    return _Asked(server.astimezone(UTC), time.time(), (before + after) / 2)


_clock = _ServerClock()


def now() -> datetime:
    """The present instant by PostgreSQL's clock, aware, in UTC, to the microsecond; it may step back by as much as the
    last answer took. Raises what the database does when it must be asked and is not there.
    """
    return _clock.now()
