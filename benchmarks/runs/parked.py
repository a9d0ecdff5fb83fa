"""Sessions that rest for months: what a hundred thousand of them cost a claim, a process and the disk."""

from __future__ import annotations

import resource
import time
from statistics import median

from django.db import connection

from benchmarks.ground import Ground
from sessions.runtime import leases

INSERT = """INSERT INTO agent_sessions_agentsession
 (id, tenant_id, team_id, kid, agent, channel, status, waiting_for, seq, epoch, tier, open_requests, opened_at,
  last_at, card, ready_at, fence)
 SELECT gen_random_uuid(), t.tenant_id, t.id, t.id, %s, 'phone', 'idle', 'customer', 9, 0, 0, 0, now(), now(),
  decode(repeat('00', 300), 'hex'), CASE WHEN %s THEN now() WHEN n %% 2 = 0 THEN now() + interval '90 days' END, 0
 FROM people_team t, generate_series(1, %s) n"""
CLAIMS = 40


def costs(here: Ground, number: int) -> dict[str, tuple[float, float]]:
    """Ours beside the base: ms of a claim with and without them, MB of this process after and before, bytes a row
    beside the kibibyte of a raw one.
    """
    alone, memory, size = _claim(), _memory(), _size()
    _insert("parked", False, number)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agent_sessions_agentsession")
    beside = _claim()
    found = {"claim": (beside, alone), "memory": (_memory(), memory), "bytes": ((_size() - size) / number, 1024.0)}
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM agent_sessions_agentsession WHERE agent IN ('parked', 'due')")
    return found


def _claim() -> float:
    """Milliseconds from a row that is due to its lease."""
    took = []
    for _ in range(CLAIMS):
        _insert("due", True, 1)
        began = time.perf_counter()
        lease = leases.claim()
        took.append((time.perf_counter() - began) * 1000)
        assert lease is not None
        leases.drop(lease)
    return median(took)


def _insert(agent: str, due: bool, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [agent, due, number])


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _size() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('agent_sessions_agentsession')")
        return float(cursor.fetchone()[0])
