"""Conditions on the row of a request, judged by PostgreSQL's clock inside the appending statement."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from agentstate.errors import Refused
from audit import ledger
from sessions.core.committed import NotDue
from sessions.core.guards import Guard


class RequestExpired(Refused):
    """The deadline of this request has passed."""

    code = "request_expired"


class HoldIsOver(Refused):
    """Its time is over: it is being done, or is done."""

    code = "hold_is_over"


def not_expired(request: UUID) -> Guard:
    """Returns the guard that a request is pending and its time has not passed. It fails with RequestExpired."""
    in_time = "state = 'pending' AND greatest(expires_at, held_until) > clock_timestamp()"
    return Guard(_row(request, in_time), RequestExpired())


def delayed(request: UUID) -> Guard:
    """Returns the guard that the delay of a request has not passed. It fails with HoldIsOver."""
    return Guard(_row(request, "held_until > clock_timestamp()"), HoldIsOver())


def overdue(request: UUID) -> Guard:
    """Returns the guard that the deadline of a request has passed. It fails with NotDue."""
    return Guard(_row(request, "expires_at <= clock_timestamp() AND held_until IS NULL"), NotDue())


def due(request: UUID, column: Literal["escalates_at", "held_until"]) -> Guard:
    """Returns the guard that the instant in this column has passed. It fails with NotDue."""
    return Guard(_row(request, f"{column} <= clock_timestamp()"), NotDue())


_ROW = "SELECT 1 FROM agent_sessions_approvalrequest WHERE id = %(g_request)s AND CONDITION"


def _row(request: UUID, condition: str) -> ledger.Fragment:
    return ledger.Fragment(_ROW.replace("CONDITION", condition), {"g_request": request})
