"""Durable steps per second of the whole runtime, and of the bare ledger, against raw single-row commits.

A step is what the runtime commits for one tool call: `tool.returned` of the last and `tool.intended` of the next,
decided, judged by policy, folded, encrypted, chained, projected, put into the outbox and announced, under a real
lease. The model's own commits (one for sixteen calls), snapshots and the tool's thread are in the time and not in the
count.
"""

from __future__ import annotations

import threading

from django.db import connection

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.instants import stamp
from agentstate.ids import new_id
from audit import keys, ledger
from benchmarks.first import agent
from benchmarks.first.sessions import opened
from benchmarks.ground import INSERT_RAW, KIBIBYTE, Ground
from benchmarks.rounds import Cell, Writer, race, speed
from sessions.conversation import commands as conversation_commands
from sessions.runtime import advance

# What a step of `bench_step` appends.
CALL = str(new_id())
EVENTS = (
    ev.ToolReturned(CALL, 1, {"number": 7, "balance": {"minor": 1250_00, "currency": "USD"}}, "state.step"),
    ev.ToolIntended(
        CALL, "bench_step", 1, {"number": 8}, ev.digest({"number": 8}), "pure", f"{CALL}.0", 1, 0,
        "default.read_only", "bank@1",
    ),
)  # fmt: skip


def cells(here: Ground, writers: int) -> dict[str, Cell]:
    """The three speeds for so many writers at once."""
    return {
        "raw": lambda seconds: speed(writers, seconds, _raw(here)),
        "step": lambda seconds: _steps(here, writers, seconds),
        "append": lambda seconds: speed(writers, seconds, _append(here)),
    }


def _raw(here: Ground) -> Writer:
    """One row of 1 KiB a commit."""

    def write(number: int, over: threading.Event, start: threading.Barrier) -> int:
        done = 0
        with here.raw_connection() as raw, raw.cursor() as cursor:
            cursor.execute("SELECT 1")
            start.wait()
            while not over.is_set():
                cursor.execute(INSERT_RAW, (number, KIBIBYTE))
                done += 1
        return done

    return write


def _steps(here: Ground, writers: int, seconds: float) -> float:
    """As many sessions as writers, advanced by the runtime as a worker with so many threads does."""

    def work(number: int, over: threading.Event, start: threading.Barrier) -> int:
        session = opened(here, "steps", f"customer-{number}")
        try:
            start.wait()
            while not over.is_set():
                conversation_commands.say(here.caller, session, "Go on.")
                advance.advance_ready()
        finally:
            connection.close()
        return 0

    agent.halt.clear()
    before = len(agent.ran)
    _, took = race(writers, seconds, work, agent.halt)
    return (len(agent.ran) - before) / took


def _append(here: Ground) -> Writer:
    """Only `ledger.append`, the head in memory: the two entries of a step, encrypted and chained, and nothing else."""
    team = here.caller.tenant_id
    drafts = [ledger.Draft(ev.kind_of(event), ev.encode(event)) for event in EVENTS]

    def write(number: int, over: threading.Event, start: threading.Barrier) -> int:
        done, kid = 0, keys.subject_kid(team, f"customer-{number}")
        batch = ledger.Batch(drafts, kid, "agent:steps", stamp(now()), new_id())
        head = ledger.create(new_id(), team, batch)
        try:
            start.wait()
            while not over.is_set():
                assert head is not None
                head = ledger.append(head, batch)
                done += 1
        finally:
            connection.close()
        return done

    return write
