"""Worker processes: how much several do, and how soon one goes on where another was killed."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Sequence
from uuid import UUID

from agentstate.stack import programs
from agentstate.stack.supervisor import Kept
from audit import ledger
from benchmarks.first import decision
from benchmarks.first.decision import NeverStarted
from benchmarks.first.sessions import end_all, opened
from benchmarks.ground import Ground
from benchmarks.runs import agent
from sessions.conversation import commands as conversation_commands
from sessions.core import announcements
from sessions.models.sessions import AgentSession
from sessions.runtime.presence import free_the_dead
from sessions.runtime.sweeper import something_is_due

SESSIONS = 8
RESULT = "tool.returned"  # kind of the entry that ends a step
STARTS = 120.0  # seconds that a worker may take to start
LOOK = 1.0  # seconds between two sweeps, as beat has it


def start(here: Ground, number: int) -> Kept:
    """Worker `number`, as `manage.py up` starts it, with the agents of the benchmarks; ready when this returns."""
    program = programs.worker(here.stack, {"LOG_LEVEL": "INFO"}, number)  # it says when it is ready
    log = here.stack.log_dir / f"{program.name}.log"
    before = log.read_text().count(" ready.") if log.exists() else 0
    kept = here.supervisor.start(dataclasses.replace(program, command=(*program.command, "--include", agent.__name__)))
    deadline = time.monotonic() + STARTS
    while not (log.exists() and log.read_text().count(" ready.") > before):
        if time.monotonic() > deadline:
            raise NeverStarted(program.name)
        here.supervisor.tick(0.05)
    return kept


def start_with_echo(here: Ground) -> None:
    """One worker, and the other process of the raw limit."""
    with here.valkey() as valkey:
        valkey.flushall()  # wake-ups that nobody was there to hear
    start(here, 1)
    here.supervisor.start(decision._echo(here))


def stop(here: Ground, *workers: Kept) -> None:
    """End them; nobody starts them again."""
    for kept in workers:
        here.supervisor.kept.remove(kept)
        kept.child.signal(signal.SIGTERM)
    for kept in workers:
        kept.child.wait(time.monotonic() + 20)


def speed(here: Ground, seconds: float) -> float:
    """Steps a second that the workers commit which run now, over SESSIONS sessions in full run: results recorded."""
    sessions = [opened(here, "steps", f"customer-workers-{number}") for number in range(SESSIONS)]
    for session in sessions:
        conversation_commands.say(here.caller, session, "Go on.")
    time.sleep(0.5)
    before, began = _sizes(sessions), time.perf_counter()
    time.sleep(seconds)
    after, took = _sizes(sessions), time.perf_counter() - began
    end_all(here)
    return sum(_results(session, before[session], after[session]) for session in sessions) / took


def _sizes(sessions: Sequence[UUID]) -> dict[UUID, int]:
    return dict(AgentSession.objects.filter(pk__in=sessions).values_list("pk", "seq"))


def _results(session: UUID, start: int, stop: int) -> int:
    rows = ledger.read_rows(session, start, stop)
    return sum(ledger.parse_envelope(row.envelope).kind == RESULT for row in rows)


def recovery(here: Ground) -> float:
    """Seconds from kill -9 of the worker that runs a tool to the start of the tool in the other worker."""
    first, second = start(here, 1), start(here, 2)
    session = opened(here, "slow", "customer-recovery")
    with here.valkey() as valkey:
        valkey.delete(agent.BEGAN)
        conversation_commands.say(here.caller, session, "Go on.")
        at_work = valkey.blpop([agent.BEGAN], timeout=20)
        if at_work is None:
            raise NeverStarted("the slow tool")
        holder = first if int(at_work[1].split()[2]) == first.child.pid else second
        here.supervisor.kept.remove(holder)
        os.kill(holder.child.pid, signal.SIGKILL)
        began = time.monotonic_ns()
        told = _swept_until(lambda: valkey.lpop(agent.BEGAN))
    conversation_commands.cancel(here.decider, session, "measured")
    stop(here, second if holder is first else first)
    return (int(told.split()[1]) - began) / 1e9


def _swept_until(found: object) -> bytes:
    """What `found` gives, once it gives something, beside a clock that sweeps as beat does."""
    deadline, due = time.monotonic() + 60, time.monotonic() + LOOK
    while time.monotonic() < deadline:
        told = found()  # type: ignore[operator]
        if told:
            return bytes(told)
        if time.monotonic() >= due:
            due += LOOK
            free_the_dead()
            if something_is_due():
                announcements.wake_worker()
        time.sleep(0.005)
    raise NeverStarted("nobody took over")
