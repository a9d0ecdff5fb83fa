"""What nobody may forget: deadlines that pass, and sessions that are due although no wake-up arrived."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final
from uuid import UUID

from agentstate.engine.decide import AlreadyDecided, Escalate, Expire, HoldOver, NotHeld, Outdated
from audit import ledger
from sessions.approvals import guards
from sessions.core.commit import person_command
from sessions.core.committed import Author, NotDue
from sessions.core.guards import Guard

log = logging.getLogger(__name__)


def expire_due(limit: int = 100) -> int:
    """Expire the requests whose deadline has passed by the database's clock. Gives how many."""
    rows = ledger.run(
        "SELECT id, session_id FROM agent_sessions_approvalrequest r"
        " WHERE state = 'pending' AND expires_at <= now() AND held_until IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM audit_subjectkey k WHERE k.kid = r.kid AND k.destroyed_at IS NOT NULL)"
        " ORDER BY expires_at LIMIT %(limit)s",
        {"limit": limit},
    )
    return sum(_expired(session, request) for request, session in rows)


def _expired(session: UUID, request: UUID) -> bool:
    """`expire`, with a session that is broken told to the log: it must not keep the others from their deadlines."""
    try:
        return expire(session, request)
    except Exception:
        log.exception("request %s of session %s could not be expired", request, session)
        return False


def expire(session: UUID, request: UUID) -> bool:
    """Append the expiry of one request, unless a decision was faster or the deadline is still to come."""
    try:
        person_command(session, Expire(str(request)), Author(ledger.SYSTEM), guard=guards.overdue(request))
    except (AlreadyDecided, NotDue, Outdated):
        return False
    return True


def escalate_due(limit: int = 100) -> int:
    """Pass requests on to the next of their chain whose time has come. Gives how many. Nothing here approves."""
    return sum(_passed(escalate, *row) for row in _due(ESCALATES, limit))


def end_holds(limit: int = 100, session: UUID | None = None) -> int:
    """Let through what was held and whose time is over, of one session or all. Gives how many."""
    return sum(_passed(end_hold, *row) for row in _due(HELD, limit, session))


_DUE = """SELECT session_id, id, escalated FROM agent_sessions_approvalrequest r
  WHERE state = 'pending' AND COLUMN <= now() AND (session_id = %(session)s OR %(session)s::uuid IS NULL)
   AND NOT EXISTS (SELECT 1 FROM audit_subjectkey k WHERE k.kid = r.kid AND k.destroyed_at IS NOT NULL)
  ORDER BY COLUMN LIMIT %(limit)s"""
ESCALATES: Final = "escalates_at"
HELD: Final = "held_until"


def _due(column: str, limit: int, session: UUID | None = None) -> list[tuple[UUID, UUID, int]]:
    rows = ledger.run(_DUE.replace("COLUMN", column), {"limit": limit, "session": session})
    return [(row[0], row[1], row[2]) for row in rows]


def _passed(end: Callable[[UUID, UUID, int], bool], session: UUID, request: UUID, step: int) -> bool:
    """As `_expired`: a session that is broken must not keep the others waiting."""
    try:
        return end(session, request, step)
    except Exception:
        log.exception("request %s of session %s could not go on", request, session)
        return False


def escalate(session: UUID, request: UUID, step: int) -> bool:
    """Append that a request goes on from `step` of its chain, unless somebody was faster or its time is to come."""
    return _timed(session, Escalate(str(request), step + 1), request, guards.due(request, ESCALATES))


def end_hold(session: UUID, request: UUID, step: int = 0) -> bool:
    """Append that the time of a held request is over, unless somebody objected before or it is still to come."""
    return _timed(session, HoldOver(str(request)), request, guards.due(request, HELD))


def _timed(session: UUID, command: Escalate | HoldOver, request: UUID, guard: Guard) -> bool:
    try:
        person_command(session, command, Author(ledger.SYSTEM), guard=guard)
    except (AlreadyDecided, NotDue, NotHeld, Outdated):
        return False
    return True


def something_is_due() -> bool:
    """Whether a session has work that no worker holds."""
    return bool(
        ledger.run(
            "SELECT 1 FROM people_team team CROSS JOIN LATERAL (SELECT 1 FROM agent_sessions_agentsession"
            "  WHERE team_id = team.id AND ready_at <= now() AND (lease_until IS NULL OR lease_until < now())"
            "  LIMIT 1) s LIMIT 1",
            {},
        )
    )
