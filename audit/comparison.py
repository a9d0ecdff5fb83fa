"""Finds heads that no mark leads to, and reported heads that nobody signed, in a thread beside the rounds.

A round looks at the heads that are marked. Whoever owns the database can keep a mark from being set, so all heads are
compared with what was sequenced, by size and frontier. What was reported to the signer past the database is asked for
as well: what can be shown to be signed is shown, and what is not signed goes into the next round.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection

from audit import growth, signer
from audit.ledger import run
from audit.signing.reports import WAITS

EVERY = 20.0  # seconds between two comparisons of all heads
LOOK = 5.0  # seconds between two looks at what was reported
MOST = 10_000  # logs
log = logging.getLogger("audit.sequencer")

_DIFFERENT = """
SELECT h.log FROM audit_head h LEFT JOIN audit_place p ON p.log = h.log
  WHERE h.tenant = %(tenant)s AND (h.size IS DISTINCT FROM p.size OR h.frontier IS DISTINCT FROM p.frontier)
  LIMIT %(most)s"""


def different(tenant: UUID) -> list[UUID]:
    """The logs whose head is not the one that was sequenced last, at most MOST. It reads all heads."""
    return [found for (found,) in run(_DIFFERENT, {"tenant": tenant, "most": MOST})]


class Comparison:
    """What the comparisons found: logs for the next round, and logs with a decision that waits for too long."""

    def __init__(self, tenant: UUID) -> None:
        self._tenant = tenant
        self._due: set[UUID] = set()
        self._compared = -EVERY
        self._lock = threading.Lock()
        self.overdue: tuple[UUID, ...] = ()

    def take(self) -> list[UUID]:
        """The logs to look at, once."""
        with self._lock:
            due, self._due = self._due, set()
        return list(due)

    def look(self) -> None:
        """Compare, if it is time, and ask for what was reported. Raises signer.SignerDown and what a query raises."""
        found: list[UUID] = []
        if time.monotonic() - self._compared >= EVERY:
            self._compared = time.monotonic()
            found = different(self._tenant)
        waiting = growth.settle_reports()
        self.overdue = tuple(dict.fromkeys(each.log for each in waiting if each.seconds > WAITS))
        with self._lock:
            self._due |= {*found, *(each.log for each in waiting)}


@contextmanager
def comparing(comparison: Comparison) -> Iterator[None]:
    """While inside, heads are compared."""
    over = threading.Event()
    thread = threading.Thread(target=_compare, args=(comparison, over), name="comparison", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(1.0)


def _compare(comparison: Comparison, over: threading.Event) -> None:
    while not over.is_set():
        try:
            comparison.look()
        except signer.SignerDown:
            pass  # the rounds say so
        except Exception as error:  # whatever it is, the next look may succeed
            log.warning("heads are not compared: %s", error)
            connection.close()
        over.wait(LOOK)
    connection.close()
