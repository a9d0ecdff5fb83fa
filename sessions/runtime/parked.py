"""Sessions that the runtime leaves alone, each with a word that says why.

`limit SCOPE`: a call waits for a place. `unknown_… NAME`: this process is older or newer than what wrote the session,
and leaves it to others. `failing ERROR`: advancing it raised; it is tried again later and later, and after MAX_STALLS
times in a row it is parked: nothing is due in it until a person retries it or somebody acts in it.
"""

from __future__ import annotations

import threading
import time
from uuid import UUID

from audit import ledger
from sessions.core.committed import Lease
from sessions.core.due_work import WorkState

MAX_STALLS = 8  # in a row, about two minutes; then it is parked
LONGEST = 60.0  # seconds between two tries
ELSEWHERE = 30.0  # seconds for which a process leaves a session to others that it cannot read
MAX_ELSEWHERE = 1_000  # sessions that one process remembers so


class _Elsewhere:
    """The sessions that this process leaves to others, and until when."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[UUID, float] = {}

    def add(self, session: UUID) -> None:
        with self._lock:
            if len(self._until) >= MAX_ELSEWHERE:
                self._until.pop(next(iter(self._until)))
            self._until[session] = time.monotonic() + ELSEWHERE

    def all(self) -> list[UUID]:
        now = time.monotonic()
        with self._lock:
            if self._until:
                self._until = {session: until for session, until in self._until.items() if until > now}
            return list(self._until)

    def clear(self) -> None:
        with self._lock:
            self._until.clear()


_elsewhere = _Elsewhere()


def left_to_others() -> list[UUID]:
    """The sessions that this process does not claim for now."""
    return _elsewhere.all()


def forget_all() -> None:
    """Leave nothing to others any more."""
    _elsewhere.clear()


def leave_to_others(lease: Lease, why: str) -> None:
    """Let go of a session of which this process does not know something. It stays due, for who does."""
    _elsewhere.add(lease.session)
    ledger.run(
        "UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL, stalled = %(why)s,"
        "  stalled_at = coalesce(stalled_at, now())"
        " WHERE id = %(session)s AND fence = %(fence)s",
        {"session": lease.session, "fence": lease.fence, "why": why[:120]},
    )


def wait_for_place(lease: Lease, scope: str, pause: float) -> None:
    """Let go of a session whose next call has no place. Whoever gives one back wakes it."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL, stalled = %(why)s::text,"
        "  stalled_at = CASE WHEN stalled = %(why)s::text THEN stalled_at ELSE now() END,"
        "  ready_at = now() + make_interval(secs => %(pause)s)"
        " WHERE id = %(session)s AND fence = %(fence)s",
        {"session": lease.session, "fence": lease.fence, "why": f"limit {scope}", "pause": pause},
    )


def failing(lease: Lease, error: str) -> bool:
    """Let go of a session that could not be advanced: later again, or parked. Whether it is parked."""
    rows = ledger.run(
        "UPDATE agent_sessions_agentsession SET lease_until = NULL, holder = NULL, stalls = stalls + 1,"
        "  stalled = %(why)s, stalled_at = CASE WHEN stalls > 0 THEN stalled_at ELSE now() END,"
        "  ready_at = CASE WHEN stalls + 1 < %(most)s"
        "   THEN now() + make_interval(secs => least(%(longest)s, 2 ^ stalls)) END"
        " WHERE id = %(session)s AND fence = %(fence)s RETURNING stalls",
        {
            "session": lease.session,
            "fence": lease.fence,
            "why": f"failing {error}"[:120],
            "most": MAX_STALLS,
            "longest": LONGEST,
        },
    )
    return bool(rows) and rows[0][0] >= MAX_STALLS


def unpark(session: UUID) -> None:
    """A parked session is tried again, at once and as often as at first."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET stalls = 0, stalled = '', stalled_at = NULL, ready_at = now()"
        f" WHERE id = %(session)s AND {WorkState.PARKED.value} AND NOT ({WorkState.ENDED.value})",
        {"session": session},
    )
