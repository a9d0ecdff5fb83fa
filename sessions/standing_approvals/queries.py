"""What approvers granted for what follows in a session, and what may be granted now."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine.decide.grants import offered
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.policy import Sticky
from agentstate.engine.policy.granted import Grant, holds_at
from agentstate.engine.state.session import Request, SessionState
from sessions.core import standing_approvals, states
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.http.bodies import About
from sessions.models.sessions import StandingGrant


class GrantLine(msgspec.Struct, frozen=True):
    """A grant. `standing`: open, used up, over (its time is), revoked, rolled back. `session`: in which it was
    given.
    """

    id: str
    session: Annotated[str, About("in which it was given", format="uuid")]
    request: str
    tool: str
    rule: str
    scope: Annotated[str, About("session; customer: in all of theirs; agent: in all of its in the team")]
    until: str
    uses: int
    used: int
    limit: str
    by: str
    at: str
    revoked_by: str
    revoked_at: str
    standing: Annotated[str, About("open, used up, over, revoked, rolled back")]


class OfferLine(msgspec.Struct, frozen=True):
    """What somebody may grant: `approvers` approved the request."""

    request: str
    tool: str
    rule: str
    scope: str
    seconds: int
    uses: int
    limit: str
    approvers: tuple[str, ...]


class GrantsView(msgspec.Struct, frozen=True):
    """Both, the newest grant first."""

    grants: list[GrantLine]
    offers: Annotated[list[OfferLine], About("what who approved may grant for what follows")]


def grants_of(user: Person, session: UUID) -> GrantsView:
    """The grants of a session. Raises as `state_of`."""
    must_read(user, session, "state")
    loaded = states.load(session)
    state = loaded.state
    wider = [
        _line(found, row.given_in, rolled_back=row.rolled_back)
        for row in _rows(loaded)
        if (found := standing_approvals.grant_of(row)) is not None
    ]
    own = [_line(grant, session) for grant in reversed(state.grants.values()) if grant.scope == "session"]
    newest = sorted([*wider, *own], key=lambda line: line.at, reverse=True)
    taken = {line.request for line in newest if line.standing == "open"}
    return GrantsView(newest, [_offer(request, found) for request, found in _offers(state, taken)])


def _rows(loaded: states.Loaded) -> list[StandingGrant]:
    """Of grants that hold in this session among others."""
    opened = loaded.state.opened
    return (
        list(standing_approvals.rows_for(loaded.place, opened.agent)[: standing_approvals.MOST])
        if opened is not None
        else []
    )


def _line(grant: Grant, session: UUID, *, rolled_back: bool = False) -> GrantLine:
    own = ("session", "standing")
    fields = {name: getattr(grant, name) for name in GrantLine.__struct_fields__ if name not in own}
    return GrantLine(**fields, session=str(session), standing="rolled back" if rolled_back else _standing(grant))


def _standing(grant: Grant) -> str:
    if grant.revoked_by:
        return "revoked"
    if not holds_at(grant, now()):
        return "over"
    return "open" if grant.used < grant.uses else "used up"


def _offers(state: SessionState, taken: Collection[str]) -> list[tuple[Request, Sticky]]:
    through = (RequestStatus.APPROVED, RequestStatus.EDITED)
    waiting = [each for key, each in state.requests.items() if each.status in through and key not in taken]
    return [(each, found) for each in waiting if not state.ended and (found := offered(state, each)) is not None]


def _offer(request: Request, found: Sticky) -> OfferLine:
    asked = request.asked
    return OfferLine(
        asked.request,
        asked.tool,
        asked.rule,
        found.scope,
        found.seconds,
        found.uses,
        found.limit,
        approvers=request.approvals,
    )
