"""A person's decision on a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import OuterRef

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.state.session import digest_of
from agentstate.people.permissions import may_in
from agentstate.people.roles import Permission
from sessions.approvals import guards, reviewer_view
from sessions.approvals.customer_turns import customer_turns, differences_of
from sessions.approvals.differences import as_data, withheld
from sessions.core import authority
from sessions.core.authority import Reviewer
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of
from sessions.core.states import Loaded
from sessions.models.sessions import ApprovalRequest

_DECIDED = ("session_id", "team_id", "state", "decided_by", "ended_at", "approvers_missing")


class Decision(msgspec.Struct, frozen=True):
    """What a person decides. `seen` is the digest of what they were shown: it is needed once somebody has edited the
    request. `view` is what their page showed, as signed by `reviewer_view.signed`; a program that names `seen` has seen
    what the API shows under that digest. Either is recorded with the decision.
    """

    kind: ev.DecisionKind
    reason: str = ""
    arguments: dict[str, Any] | None = None
    response: str = ""
    seen: str = ""
    code: str = ""
    retyped: dict[str, Any] = {}
    view: str = ""


# A decision that is read from a form needs the request as it is once nobody else can append.
DecisionFactory = Callable[[Loaded, Reviewer], Decision]


def decide(user: Person, request: UUID, decision: Decision | DecisionFactory, *, key: str = "") -> Committed:
    """Appends a person's decision on exactly what the request shows.

    Their authority is read once nobody else can append; the database's clock judges the deadline in the appending
    statement. Raises UnknownRequest, AlreadyDecided (with who and when), RequestExpired, DecisionNotAllowed, Invalid.
    """
    row, author = _readable(user, request), author_of(user, key)

    def command(loaded: Loaded) -> core.Decide:
        held = authority.reviewer(user, row["team_id"], row["approvers_missing"] > 0)
        made = decision if isinstance(decision, Decision) else decision(loaded, held)
        return _command(request, made, held, loaded)

    try:
        return person_command(row["session_id"], command, author, guard=guards.not_expired(request))
    except core.UnknownRequest:  # ended so long ago that the bounded state has let go of it
        raise _already_decided(row) from None


def _command(request: UUID, made: Decision, held: Reviewer, loaded: Loaded) -> core.Decide:
    page = reviewer_view.read(held.by, request, made.view) if made.view else None
    return core.Decide(
        request=str(request),
        decision=made.kind,
        by=held.by,
        may=held.may,
        names=held.names,
        lent=held.lent,
        sharing=held.sharing,
        deputy=held.own.deputy,
        reason=made.reason,
        arguments=made.arguments,
        response=made.response,
        seen=made.seen,
        code=made.code,
        retyped=made.retyped,
        shown=page or _over_the_api(loaded, str(request), made.seen),
    )


def _readable(user: Person, request: UUID) -> dict[str, Any]:
    """Returns the row of a request that the user may read. Raises UnknownRequest."""
    readable = may_in(user, Permission.READ, OuterRef("team_id"))
    row = ApprovalRequest.objects.filter(readable, pk=request).values(*_DECIDED).first()
    if row is None:
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
    author = author_of(user, key)

    def command(_: Loaded) -> core.Undo:
        held = authority.reviewer(user, row["team_id"], row["approvers_missing"] > 0)
        return core.Undo(str(request), author.actor, held.may, reason, held.lent)

    return person_command(row["session_id"], command, author, guard=guards.delayed(request))
