"""A person's decision on a request."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.errors import Refused
from agentstate.people.permissions import Permission, can
from audit import ledger
from sessions.commands.person import Person, author_of
from sessions.commit import Committed, person_command
from sessions.models import ApprovalRequest

_DECIDED = ("session_id", "team_id", "state", "decided_by", "ended_at")


class RequestExpired(Refused):
    """The deadline of this request has passed."""

    code = "request_expired"


def decide(
    user: Person,
    request: UUID,
    decision: ev.DecisionKind,
    *,
    reason: str = "",
    arguments: dict[str, Any] | None = None,
    response: str = "",
    seen: str = "",
    key: str = "",
) -> Committed:
    """A person's decision on exactly what the request shows: `seen` is the digest of what they were shown, needed once
    somebody has edited the request.

    Its deadline is judged by the database's clock in the appending statement. Raises UnknownRequest, AlreadyDecided
    (with who and when), RequestExpired, DecisionNotAllowed, Invalid.
    """
    row = ApprovalRequest.objects.filter(pk=request).values(*_DECIDED).first()
    if row is None or not can(user, Permission.READ, row["team_id"]):
        raise core.UnknownRequest()
    may = may_decide(user, row["team_id"])
    author = author_of(user, key)
    command = core.Decide(
        request=str(request),
        decision=decision,
        by=author.actor,
        may=may,
        reason=reason,
        arguments=arguments,
        response=response,
        seen=seen,
    )

    def still() -> None:
        if may_decide(user, row["team_id"]) != may:
            raise core.DecisionNotAllowed("your permissions have just changed")

    in_time = ledger.Fragment(
        "SELECT 1 FROM agent_sessions_approvalrequest"
        " WHERE id = %(g_request)s AND state = 'pending' AND expires_at > clock_timestamp() FOR UPDATE",
        {"g_request": request},
    )
    try:
        return person_command(row["session_id"], command, author, guard=in_time, refused=RequestExpired(), still=still)
    except core.UnknownRequest:  # ended so long ago that the bounded state has let go of it
        how, at = row["state"], row["ended_at"].isoformat() if row["ended_at"] else ""
        raise core.AlreadyDecided(f"{how} at {at}", outcome=how, by=row["decided_by"], at=at) from None


def may_decide(user: Person, team: UUID) -> frozenset[str]:
    return frozenset(p.value for p in (Permission.DECIDE, Permission.DECIDE_TIER3) if can(user, p, team))
