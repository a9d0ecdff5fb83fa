"""Fifty decisions at once: from each commit to the start of its effect in a worker, and a raw commit and a hop in the
same shape: eight threads, one process at the other end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from django.db import connection

from benchmarks.first.committing import committing
from benchmarks.first.decision import IN, OUT, PATIENCE, NeverStarted, _until
from benchmarks.first.sessions import opened
from benchmarks.ground import INSERT_RAW, KIBIBYTE, Ground
from benchmarks.runs.agent import BEGAN
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AgentSession, ApprovalRequest

AT_ONCE, THREADS = 50, 8


def times(here: Ground, bursts: int) -> tuple[list[float], list[float]]:
    """Milliseconds of ours and of the raw limit, burst by burst in turns."""
    sessions = [opened(here, "burst", f"customer-burst-{number}") for number in range(AT_ONCE)]
    for session in sessions:
        conversation_commands.say(here.caller, session, "Go on.")
    ours, raw = list[float](), list[float]()
    for number in range(bursts + 1):
        one, other = _ours(here, sessions), _raw(here)
        if number:  # the first warms connections
            ours += one
            raw += other
    return ours, raw


def _ours(here: Ground, sessions: Sequence[UUID]) -> list[float]:
    waiting = AgentSession.objects.filter(pk__in=sessions, open_requests=1, lease_until=None, ready_at=None)
    _until(lambda: waiting.count() == len(sessions))
    found = ApprovalRequest.objects.filter(session__in=sessions, state="pending").values_list("pk", "session_id")

    def decide(request: UUID, session: UUID) -> tuple[str, int]:
        try:
            with committing() as committed:
                approvals_commands.decide(here.decider, request, approvals_commands.Decision("approve"))
            return str(session), committed[-1]
        finally:
            connection.close()

    with here.valkey() as valkey:
        valkey.delete(BEGAN)
        decided = dict(_side_by_side([lambda pair=pair: decide(*pair) for pair in found]))
        took = []
        for _ in found:
            told = valkey.blpop([BEGAN], timeout=PATIENCE)
            if told is None:
                raise NeverStarted(BEGAN)
            session, began, _ = told[1].decode().split()
            took.append((int(began) - decided[session]) / 1e6)
    return took


def _raw(here: Ground) -> list[float]:
    """So many commits and words, each answered by the other process; in order, as it takes them in order."""

    def write() -> int:
        with here.raw_connection() as raw, here.valkey() as client:
            raw.execute(INSERT_RAW, (0, KIBIBYTE))
            began = time.monotonic_ns()
            client.lpush(IN, b"x")
            return began

    with here.valkey() as valkey:
        began = sorted(_side_by_side([write] * AT_ONCE))
        seen = [valkey.blpop([OUT], timeout=PATIENCE) for _ in began]
    return [(int(each[1]) - start) / 1e6 for each, start in zip(seen, began, strict=True) if each is not None]


def _side_by_side(work: Sequence[Callable[[], object]]) -> list:  # type: ignore[type-arg]
    with ThreadPoolExecutor(THREADS) as pool:
        return [each.result() for each in [pool.submit(one) for one in work]]
