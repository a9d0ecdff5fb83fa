"""Alerts that nobody acknowledged in time go on along their chain, by their rows and the database's clock."""

from __future__ import annotations

import logging
from uuid import UUID

from audit import ledger
from sessions.automation.alerts import session_alerts
from sessions.events import team_alerts

log = logging.getLogger(__name__)


def escalate_due(limit: int = 100) -> int:
    """Pass on those whose time has come, oldest first. Gives how many."""
    rows = ledger.run(
        "SELECT id, session, step FROM agent_sessions_alert a WHERE escalates_at <= now() AND state = 'open'"
        " AND NOT EXISTS (SELECT 1 FROM agent_sessions_agentsession s JOIN audit_subjectkey k ON k.kid = s.kid"
        "  WHERE s.id = a.session AND k.destroyed_at IS NOT NULL)"
        " ORDER BY escalates_at LIMIT %(limit)s",
        {"limit": limit},
    )
    return sum(_passed(*row) for row in rows)


def _passed(alert: UUID, session: UUID | None, step: int) -> bool:
    """One that cannot go on must not keep the others waiting."""
    try:
        return team_alerts.escalate(alert) if session is None else session_alerts.escalate(session, alert, step)
    except Exception:
        log.exception("alert %s could not be passed on", alert)
        return False
