"""A person's decision on a request."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.state.session import digest_of
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from sessions.approvals import guards, reviewer_view
from sessions.approvals.customer_turns import customer_turns, differences_of
from sessions.approvals.differences import as_data, withheld
from sessions.core import authority
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of
from sessions.core.states import Loaded
from sessions.models.sessions import ApprovalRequest

_DECIDED = ("session_id", "team_id", "state", "decided_by", "ended_at", "approvers_missing")


def decide(
    user: Person,
    request: UUID,
    decision: ev.DecisionKind,
    *,
    reason: str = "",
    arguments: dict[str, Any] | None = None,
    response: str = "",
    seen: str = "",
    code: str = "",
    retyped: dict[str, Any] | None = None,
    view: str = "",
    key: str = "",
) -> Committed:
    """A person's decision on exactly what the request shows: `seen` is the digest of what they were shown, needed once
    somebody has edited the request. `view` is what their page showed, as signed by `reviewer_view.signed`; a program
    that names `seen` has seen what the API shows under that digest. Either is recorded with the decision.

    Its deadline is judged by the database's clock in the appending statement. Raises UnknownRequest, AlreadyDecided
    (with who and when), RequestExpired, DecisionNotAllowed, Invalid.
    """
    row = _readable(user, request)
    team, too_few = row["team_id"], row["approvers_missing"] > 0
    mine, others = authority.own(user, team, too_few), authority.lent(user, team)
    author = author_of(user, key)
    page = reviewer_view.read(author.actor, request, view) if view else None

    def command(loaded: Loaded) -> core.Decide:
        return core.Decide(
            request=str(request),
            decision=decision,
            by=author.actor,
            may=mine.may,
            names=mine.names,
            lent=others,
            sharing=authority.sharing(team).get(author.actor, frozenset()),
            deputy=mine.deputy,
            reason=reason,
            arguments=arguments,
            response=response,
            seen=seen,
            code=code,
            retyped=retyped or {},
            shown=page or _over_the_api(loaded, str(request), seen),
        )

    def recheck() -> None:
        if (authority.own(user, team, too_few), authority.lent(user, team)) != (mine, others):
            raise core.DecisionNotAllowed("your permissions have just changed")

    try:
        return person_command(row["session_id"], command, author, guard=guards.not_expired(request), recheck=recheck)
    except core.UnknownRequest:  # ended so long ago that the bounded state has let go of it
        raise _already_decided(row) from None


def _readable(user: Person, request: UUID) -> dict[str, Any]:
    """Returns the row of a request that the user may read. Raises UnknownRequest."""
    row = ApprovalRequest.objects.filter(pk=request).values(*_DECIDED).first()
    if row is None or not can(user, Permission.READ, row["team_id"]):
        raise core.UnknownRequest()
    return row


def _already_decided(row: dict[str, Any]) -> core.AlreadyDecided:
    how, at = row["state"], row["ended_at"].isoformat() if row["ended_at"] else ""
    return core.AlreadyDecided(f"{how} at {at}", outcome=how, by=row["decided_by"], at=at)


def _over_the_api(loaded: Loaded, request: str, seen: str) -> ev.View | None:
    """What a program has read that names the digest of the request as it stands; None where it names none, or
    another.
    """
    held = loaded.state.requests.get(request)
    if held is None or not seen or digest_of(loaded.state, held) != seen:
        return None
    turns = customer_turns(loaded.place.id, loaded.state.seq)
    found = withheld(differences_of(held, turns), held.terms.retype)
    return reviewer_view.shown(reviewer_view.view(held, seen, surface="api", differences=as_data(found)))


def undo(user: Person, request: UUID, *, reason: str = "", key: str = "") -> Committed:
    """Object to a request that is held, or take back an approval while it is: it waits for a decision again.

    Whether its time is over is judged by the database's clock. Raises UnknownRequest, AlreadyDecided, NotHeld,
    HoldIsOver, DecisionNotAllowed.
    """
    row = _readable(user, request)
    author, team, too_few = author_of(user, key), row["team_id"], row["approvers_missing"] > 0

    def command(_: Loaded) -> core.Undo:
        may = authority.own(user, team, too_few).may
        return core.Undo(str(request), author.actor, may, reason, authority.lent(user, team))

    return person_command(row["session_id"], command, author, guard=guards.delayed(request))
