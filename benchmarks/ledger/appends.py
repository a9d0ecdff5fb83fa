"""Appends per second, against raw commits of one row with as many bytes as the append writes into its entries.

An append is what the runtime commits for a step: entries encrypted and chained, the head moved under the fence of a
lease, the session's row, the outbox row, all in one statement. The state is not decided or folded here, and the rows'
values are worked out before: that is the engine's, and `durable steps` has it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import psycopg
from django.db import connection

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.instants import stamp
from agentstate.ids import new_id
from audit import ledger
from benchmarks.first import agent  # noqa: F401 - registers the agent `steps`
from benchmarks.first.sessions import opened
from benchmarks.ground import INSERT_RAW, Ground
from benchmarks.rounds import Cell, Writer, speed
from sessions.core import projections, states
from sessions.core.committed import Lease

CALL = str(new_id())
SAID = "I have moved the nine hundred dollars from your savings account to your checking account, as you asked. " * 4
STEP = (  # what a step of an agent that speaks appends: the last call's result, words, the next call's intent
    ev.ToolReturned(CALL, 1, {"number": 7, "balance": {"minor": 1250_00, "currency": "USD"}}, "state.step"),
    ev.MessageAdded("agent", SAID[:400], "agent:steps"),
    ev.ToolIntended(
        CALL, "bench_step", 1, {"number": 8}, ev.digest({"number": 8}), "pure", f"{CALL}.0", 1, 0,
        "default.read_only", "bank@1",
    ),
    ev.ToolReturned(CALL, 2, {"number": 8, "balance": {"minor": 1240_00, "currency": "USD"}}, "state.step"),
)  # fmt: skip
BATCH = 10


def drafts(entries: int) -> list[ledger.Draft]:
    """So many entries to be, the step's events in turn."""
    chosen = (STEP[number % len(STEP)] for number in range(entries))
    return [ledger.Draft(ev.kind_of(event), ev.encode(event)) for event in chosen]


@dataclass
class Log:
    """A session that is appended to, and everything of an append but its place in the log."""

    head: ledger.Head
    batch: ledger.Batch

    @classmethod
    def fresh(cls, here: Ground, customer: str, entries: int) -> Log:
        """A new session with the fence of a lease."""
        loaded = states.load(opened(here, "steps", customer))
        extra_writes = projections.fragments(loaded.place, loaded.state, [], before=loaded.state, lease=6.0)
        guard = Lease(loaded.place.id, 0).guard()
        batch = ledger.Batch(
            drafts(entries),
            loaded.place.kid,
            "agent:steps",
            stamp(now()),
            new_id(),
            guard=guard,
            extra_writes=extra_writes,
        )
        return cls(loaded.head, batch)

    def append(self) -> None:
        """One append, the rows' seq as it will be."""
        size = self.head.size + len(self.batch.drafts)
        for fragment, name in zip(self.batch.extra_writes, ("s_seq", "o_seq"), strict=True):
            fragment.params[name] = size
        head = ledger.append(self.head, self.batch)
        assert head is not None
        self.head = head


def cells(here: Ground, writers: int, entries: int) -> dict[str, Cell]:
    """Ours and the raw limit, in commits per second of so many writers."""
    bytes_each = written(here, entries, 1).stored
    return {
        "raw": lambda seconds: speed(writers, seconds, _raw(here, os.urandom(bytes_each))),
        "append": lambda seconds: speed(writers, seconds, appending(here, entries)),
    }


def appending(here: Ground, entries: int) -> Writer:
    """A writer that appends so many entries at a time to a session of its own."""

    def write(number: int, over: threading.Event, start: threading.Barrier) -> int:
        log, done = Log.fresh(here, f"customer-{number}", entries), 0
        try:
            log.append()
            start.wait()
            while not over.is_set():
                log.append()
                done += 1
        finally:
            connection.close()
        return done

    return write


def _raw(here: Ground, payload: bytes) -> Writer:
    """One row of those bytes a commit."""

    def write(number: int, over: threading.Event, start: threading.Barrier) -> int:
        done = 0
        with here.raw_connection() as raw, raw.cursor() as cursor:
            cursor.execute(INSERT_RAW, (number, payload))
            start.wait()
            while not over.is_set():
                cursor.execute(INSERT_RAW, (number, payload))
                done += 1
        return done

    return write


@dataclass(frozen=True)
class Written:
    """Bytes of one append: of its events in clear, of its envelopes and ciphertexts, and in the write-ahead log; and
    those of a raw commit of as many bytes.
    """

    clear: int
    stored: int
    wal: float
    raw_wal: float


def written(here: Ground, entries: int, samples: int) -> Written:
    """What an append writes, on a log that has some entries."""
    log = Log.fresh(here, "customer-bytes", entries)
    log.append()
    rows = list(ledger.read_rows(log.head.log, log.head.size - entries))
    stored = sum(len(row.envelope) + len(row.ciphertext or b"") for row in rows)
    payload = os.urandom(stored)
    with here.raw_connection() as raw:
        wal = _wal(here, log.append, samples)
        raw_wal = _wal(here, lambda: raw.execute(INSERT_RAW, (0, payload)), samples)
    connection.close()
    return Written(sum(len(draft.payload) for draft in log.batch.drafts), stored, wal, raw_wal)


def _wal(here: Ground, write: Callable[[], object], samples: int) -> float:
    """Bytes of write-ahead log of one `write`: the median, so pages logged whole after a checkpoint do not count."""
    with psycopg.connect(here.stack.dsn(here.stack.superuser, here.stack.database), autocommit=True) as admin:
        marks = [_position(admin)]
        for _ in range(samples):
            write()
            marks.append(_position(admin))
    return median(after - before for before, after in pairwise(marks))


def _position(admin: psycopg.Connection) -> int:
    row = admin.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    assert row is not None
    return int(row[0])
