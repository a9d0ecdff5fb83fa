"""From a decision committed to the next step started in another process, against a raw commit and a hop over Valkey.

Ours: `commands.decide` in this process; the clock starts when its transaction has committed. Wake-up over Celery, a
real worker claims the session, loads it, judges policy anew, commits the intent and starts the tool, which tells the
instant. Raw: a single-row commit (which the intent is), LPUSH, and the instant at which another process leaves BLPOP.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable
from uuid import UUID

import redis

from agentstate.stack import programs
from agentstate.stack.children import Program
from benchmarks.first import agent
from benchmarks.first.committing import committing
from benchmarks.first.sessions import opened
from benchmarks.ground import INSERT_RAW, KIBIBYTE, Ground
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AgentSession, ApprovalRequest

IN, OUT = "bench:in", "bench:out"
PATIENCE = 90.0  # seconds, a start of the worker among them, until a step that does not start fails the benchmark


class NeverStarted(Exception):
    """The worker did not do what it was woken for."""


def start_others(here: Ground) -> None:
    """The worker, as `manage.py up` starts it and with the benchmark's agents beside the bank's; and the echo."""
    with here.valkey() as valkey:
        valkey.flushall()  # wake-ups that nobody was there to hear
    worker = programs.worker(here.stack, {})
    here.supervisor.start(dataclasses.replace(worker, command=(*worker.command, "--include", agent.__name__)))
    here.supervisor.start(_echo(here))


def _echo(here: Ground) -> Program:
    module = "benchmarks.first.echo"
    command = (sys.executable, "-m", module, here.stack.cache_url, IN, OUT)
    return Program("echo", command, module, cwd=here.stack.base_dir)


def times(here: Ground, samples: int) -> tuple[list[float], list[float]]:
    """Milliseconds of ours and of the raw limit, taken in turns."""
    session = opened(here, "gated", "customer-decision")
    conversation_commands.say(here.caller, session, "Go on.")
    ours, raw = [], []
    with here.valkey() as valkey, here.raw_connection() as connection:
        for number in range(-WARM, samples):
            one, other = _decision(here, session, valkey), _raw(connection, valkey)
            if number >= 0:
                ours.append(one)
                raw.append(other)
    return ours, raw


WARM = 5  # decisions that are not counted: connections and prepared statements come into being


def _decision(here: Ground, session: UUID, valkey: redis.Redis) -> float:
    request = _parked(session)
    with committing() as committed:
        approvals_commands.decide(here.decider, request, approvals_commands.Decision("approve"))
    return _milliseconds(valkey, agent.STARTED, committed[-1])


def _raw(connection: object, valkey: redis.Redis) -> float:
    began = time.monotonic_ns()
    connection.execute(INSERT_RAW, (0, KIBIBYTE))  # type: ignore[attr-defined]
    valkey.lpush(IN, b"x")
    return _milliseconds(valkey, OUT, began)


def _milliseconds(valkey: redis.Redis, key: str, began: int) -> float:
    told = valkey.blpop([key], timeout=PATIENCE)
    if told is None:
        raise NeverStarted(key)
    return (int(told[1]) - began) / 1e6


def _parked(session: UUID) -> UUID:
    """The request that waits, once nobody holds the session any more."""

    def resting() -> bool:
        return AgentSession.objects.filter(pk=session, open_requests=1, lease_until=None, ready_at=None).exists()

    _until(resting)
    return ApprovalRequest.objects.get(session=session, state="pending").pk


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise NeverStarted("the session does not rest")
        time.sleep(0.005)
