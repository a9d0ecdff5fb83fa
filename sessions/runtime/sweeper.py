"""What nobody may forget: deadlines that pass, and sessions that are due although no wake-up arrived."""

from __future__ import annotations

import logging
from uuid import UUID

from agentstate.engine.decide import AlreadyDecided, Expire
from agentstate.errors import Refused
from audit import ledger
from sessions.commit import Author, person_command

log = logging.getLogger(__name__)


class NotDue(Refused):
    """The deadline has not passed yet."""

    code = "not_due"


def expire_due(limit: int = 100) -> int:
    """Expire the requests whose deadline has passed by the database's clock. Gives how many."""
    rows = ledger.run(
        "SELECT id, session_id FROM agent_sessions_approvalrequest r"
        " WHERE state = 'pending' AND expires_at <= now() AND NOT EXISTS"
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
    overdue = ledger.Fragment(
        "SELECT 1 FROM agent_sessions_approvalrequest"
        " WHERE id = %(g_request)s AND expires_at <= clock_timestamp() FOR UPDATE",
        {"g_request": request},
    )
    try:
        person_command(session, Expire(str(request)), Author(ledger.SYSTEM), guard=overdue, refused=NotDue())
    except (AlreadyDecided, NotDue):
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
