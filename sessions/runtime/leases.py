"""Leases: one worker at a time advances a session, and a worker that was taken over can commit nothing.

A lease is a few columns of the session's row: until when, whose, and a fencing number that each claim raises. Every
append of a worker compares the number in the appending statement, so a worker that slept through its lease loses
there, whatever it believes.

Claims go round the teams: each process remembers whose turn it was last, and takes the session of the next team that
has been ready longest. So a team with ten thousand due sessions delays another by one claim, and a claim costs one look
into an index for each team before it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.conf import settings
from django.db import connection

from audit import ledger
from sessions.core.committed import Lease
from sessions.core.due_work import WorkState
from sessions.runtime import limits, parked
from sessions.runtime.presence import presence

log = logging.getLogger(__name__)
MOMENT = 0.1  # seconds


class _Turns:
    """Which team had the last turn in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = UUID(int=0)

    def last(self) -> UUID:
        with self._lock:
            return self._last

    def had(self, team: UUID) -> None:
        with self._lock:
            self._last = team


_turns = _Turns()

_CLAIM = f"""WITH due AS (SELECT turn.id
  FROM (SELECT id FROM people_team WHERE id <> ALL(%(full)s::uuid[]) ORDER BY id <= %(last)s, id) team
  CROSS JOIN LATERAL (SELECT id FROM agent_sessions_agentsession
    WHERE team_id = team.id AND {WorkState.DUE.where("ready_at")}
     AND id <> ALL(%(others)s::uuid[]) AND agent <> ALL(%(busy)s::text[])
    ORDER BY ready_at LIMIT 1 FOR UPDATE SKIP LOCKED) turn LIMIT 1)
 UPDATE agent_sessions_agentsession s SET fence = s.fence + 1, holder = %(holder)s,
  lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
 FROM due WHERE s.id = due.id RETURNING s.id, s.fence, s.seq, s.team_id, s.agent"""


def claim() -> Lease | None:
    """A lease on the session whose turn it is and that nobody holds, within the limits of its team and agent; None when
    there is none.
    """
    while True:
        full = limits.full()
        rows = ledger.run(
            _CLAIM,
            {
                "last": _turns.last(),
                "full": list(full.teams),
                "busy": list(full.agents),
                "others": parked.left_to_others(),
                "holder": presence.shown(),
                "seconds": settings.LEASE_SECONDS,
            },
        )
        if not rows:
            return None
        session, fence, seq, team, agent = rows[0]
        _turns.had(team)
        lease = Lease(session, fence, seq)
        if limits.enter(session, team, agent):
            return lease
        give_back(lease)


def release(lease: Lease, seq: int, until: str = "") -> None:
    """Give the lease back, found with nothing to do at `seq` before the instant `until` (empty: before somebody acts).

    If more was appended since, the session stays due. What this process's clock takes for the future may be the past
    for the database's: then it is due again in a moment, never forgotten.
    """
    ledger.run(
        "UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL, stalled = '', stalled_at = NULL,"
        "  stalls = 0, ready_at = CASE WHEN seq <> %(seq)s THEN ready_at"
        "  WHEN %(until)s::timestamptz IS NULL THEN NULL"
        "  ELSE greatest(%(until)s::timestamptz, now() + make_interval(secs => %(moment)s)) END"
        " WHERE id = %(session)s AND fence = %(fence)s",
        {"session": lease.session, "fence": lease.fence, "seq": seq, "until": until or None, "moment": MOMENT},
    )


def give_up(lease: Lease, pause: float) -> None:
    """Let go of a session for others to have their turn; it is due again after `pause` seconds."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL,"
        "  ready_at = now() + make_interval(secs => %(pause)s)"
        " WHERE id = %(session)s AND fence = %(fence)s",
        {"session": lease.session, "fence": lease.fence, "pause": pause},
    )


def due_now(session: UUID) -> None:
    """Let a session that rests until an instant be due at once, unless a worker has it."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET ready_at = now() WHERE id = %(session)s"
        f" AND {WorkState.WAITING.where('ready_at')}",
        {"session": session},
    )


def give_back(lease: Lease) -> None:
    """Let go of a session as it was found: due since when it was."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL"
        " WHERE id = %(session)s AND fence = %(fence)s",
        {"session": lease.session, "fence": lease.fence},
    )


def drop(lease: Lease) -> None:
    """Let go of a session that nobody can advance any more: its words are gone."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL, ready_at = NULL"
        " WHERE id = %(session)s AND fence = %(fence)s",
        {"session": lease.session, "fence": lease.fence},
    )


class _Heartbeat:
    """Renews the leases that this process holds while their tools and models take their time. One thread a process."""

    def __init__(self) -> None:
        self._held: dict[UUID, int] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def keeping(self, lease: Lease) -> Iterator[None]:
        with self._lock:
            self._held[lease.session] = lease.fence
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                if self._held.get(lease.session) == lease.fence:  # else another thread has taken the session over
                    del self._held[lease.session]

    def _beat(self) -> None:
        while not self._wake.wait(settings.LEASE_SECONDS / 3):
            with self._lock:
                held = dict(self._held)
            if held:
                self._renew(held)

    def _renew(self, held: dict[UUID, int]) -> None:
        try:
            ledger.run(
                "UPDATE agent_sessions_agentsession s"
                " SET lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)"
                " FROM unnest(%(ids)s::uuid[], %(fences)s::int8[]) AS mine(id, fence)"
                " WHERE s.id = mine.id AND s.fence = mine.fence AND s.lease_until IS NOT NULL",
                {"seconds": settings.LEASE_SECONDS, "ids": list(held), "fences": list(held.values())},
            )
            limits.renew()
            presence.look()
        except Exception as error:
            log.warning("leases were not renewed: %s", type(error).__name__)
            connection.close()


heartbeat = _Heartbeat()
