"""A thread as it grows: what a step costs late in it, how much is written for it, how soon it is there again.

The session says 400 bytes and calls one tool in every step. A run of it, early and late, is taken in turns with a new
session's first, so that what the machine does meanwhile hits both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple
from uuid import UUID

from audit import keys, ledger
from benchmarks.first import agent as first
from benchmarks.first.sessions import opened
from benchmarks.ground import Ground
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.runtime import advance

ROUNDS = 5  # runs of a new session and of the long one, in turns
LOADS = 20


class Cost(NamedTuple):
    """Of a step: seconds, and bytes of its entries as they are stored."""

    seconds: float
    stored: float


class Grown(NamedTuple):
    """A thread of so many steps and entries. `late` and `early` are runs in turns; `load` and `history` are ms."""

    early: list[Cost]
    late: list[Cost]
    load: float
    history: float
    steps: int
    entries: int


class Thread:
    """One session that goes on and on."""

    def __init__(self, here: Ground) -> None:
        self._here, self._new = here, 0
        first.halt.clear()
        self._run(self._opened())  # connections, statements and caches come into being
        self.session = self._opened()
        self.steps, self.written = 0, 0

    def grow(self, steps: int) -> Grown:
        """Let it grow to so many steps, and look at it then."""
        before = _written()
        while self.steps < steps:
            self._go_on()
        self.written += _written() - before
        load, history = _median_ms(self._load, LOADS), _median_ms(self._history, 3)
        steps, entries = self.steps, _size(self.session)
        early, late = list[Cost](), list[Cost]()
        for _ in range(ROUNDS):
            early.append(self._run(self._opened())[0])
            late.append(self._go_on())
        return Grown(early, late, load, history, steps, entries)

    def _opened(self) -> UUID:
        self._new += 1
        return opened(self._here, "talking", f"customer-growing-{self._new}")

    def _go_on(self) -> Cost:
        cost, steps = self._run(self.session)
        self.steps += steps
        return cost

    def _run(self, session: UUID) -> tuple[Cost, int]:
        """One run, as many steps as an agent may take in one; what a step cost, and how many they were."""
        start, size = len(first.ran), _size(session)
        began = time.perf_counter()
        conversation_commands.say(self._here.caller, session, "Go on.")
        advance.advance_ready()
        took, steps = time.perf_counter() - began, len(first.ran) - start
        return Cost(took / steps, _stored(session, size) / steps), steps

    def _load(self) -> None:
        """As in a process that knows nothing of the session or its subject."""
        states.forget_all()
        keys.forget_all()
        states.load(self.session)

    def _history(self) -> None:
        """Every entry, opened, and held to what its envelope commits to."""
        for _ in ledger.open_rows(ledger.read_rows(self.session)):
            pass


def _median_ms(do: Callable[[], None], times: int) -> float:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        do()
        took.append((time.perf_counter() - began) * 1000)
    return median(took)


def _size(session: UUID) -> int:
    return ledger.read_head(session).size


def _stored(session: UUID, since: int) -> int:
    rows = ledger.run(
        "SELECT coalesce(sum(octet_length(e.envelope) + octet_length(p.ciphertext)), 0)::int8 FROM audit_entry e"
        " JOIN audit_payload p USING (log, seq) WHERE e.log = %(log)s AND e.seq >= %(since)s",
        {"log": session, "since": since},
    )
    return int(rows[0][0])


def _written() -> int:
    """Bytes of write-ahead log so far."""
    return int(ledger.run("SELECT (pg_current_wal_insert_lsn() - '0/0')::int8", {})[0][0])
