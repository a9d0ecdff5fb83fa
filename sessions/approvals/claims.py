"""Who is on a request: claim it, stay on it, give it back, take it from a colleague.

The lease's end is a column of the request's row that a heartbeat moves, by the database's clock; the ledger holds who
claimed, released and took, and no entry for each beat.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.engine.decide.claims import CLAIM_SECONDS
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from audit import ledger
from sessions.core import authority
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of
from sessions.core.states import Loaded
from sessions.models.sessions import ApprovalRequest

_LASTS = (
    "SELECT 1 FROM agent_sessions_approvalrequest"
    " WHERE id = %(request)s AND state = 'pending' AND claimed_until > clock_timestamp()"
)
_KEEP = (
    "UPDATE agent_sessions_approvalrequest SET claimed_until = clock_timestamp() + make_interval(secs => %(lasts)s)"
    " WHERE id = %(request)s AND claimed_by = %(by)s AND state = 'pending' AND claimed_until > clock_timestamp()"
    " RETURNING claimed_until"
)


def claim(user: Person, request: UUID, *, take: bool = False, key: str = "") -> Committed:
    """`user` is on the request until their lease runs out; `take`: also where a colleague is, which is recorded. One
    who is on it already stays on it. Raises UnknownRequest, ClaimedByOther, AlreadyDecided, DecisionNotAllowed.
    """
    session, team, too_few = _place(user, request)
    author = author_of(user, key)

    def command(_: Loaded) -> core.Claim:
        lasts = bool(ledger.run(_LASTS, {"request": request}))
        held = authority.reviewer(user, team, too_few)
        return core.Claim(str(request), author.actor, held.may, take, lasts, held.names, held.lent)

    committed = person_command(session, command, author)
    if not committed.events and not committed.repeated:
        keep(user, request)
    return committed


def keep(user: Person, request: UUID) -> datetime:
    """The heartbeat of a claim; gives until when it lasts now. Raises UnknownRequest, NotYours when it has run out or
    somebody has taken it.
    """
    _place(user, request)
    by = author_of(user).actor
    rows = ledger.run(_KEEP, {"request": request, "by": by, "lasts": CLAIM_SECONDS})
    if not rows:
        raise core.NotYours()
    until: datetime = rows[0][0]
    return until


def release(user: Person, request: UUID, *, key: str = "") -> Committed:
    """Give the request back to the queue. Raises UnknownRequest, NotYours, AlreadyDecided."""
    session, *_ = _place(user, request)
    author = author_of(user, key)
    return person_command(session, core.Release(str(request), author.actor), author)


def _place(user: Person, request: UUID) -> tuple[UUID, UUID, bool]:
    """Session and team of a request that `user` may read, and whether too few people can approve it. Raises
    UnknownRequest.
    """
    row = ApprovalRequest.objects.filter(pk=request).values("session_id", "team_id", "approvers_missing").first()
    if row is None or not can(user, Permission.READ, row["team_id"]):
        raise core.UnknownRequest()
    return row["session_id"], row["team_id"], row["approvers_missing"] > 0
