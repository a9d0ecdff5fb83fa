"""Approval requests: list, read, decide."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from agentstate.engine import events as ev
from agentstate.engine.decide import AlreadyDecided, UnknownRequest
from agentstate.people.models import User
from agentstate.people.queries import display_names
from sessions.approvals import claims, commands, queries
from sessions.approvals import schemas as forms
from sessions.core.committed import Committed
from sessions.core.session_lines import PAGE
from sessions.http.answers import filled, following
from sessions.http.operations import command, get, put
from sessions.http.parameters import After, Flag, Id, Limit, OneOf

REQUEST = Id(UnknownRequest)
RequestId = Annotated[UUID, REQUEST]


@get()
def list_requests(
    user: User,
    *,
    state: Annotated[str, OneOf(queries.REQUEST_STATE)] = "",
    mine: Annotated[bool, Flag("only those that you may decide now")] = False,
    after: After = None,
    limit: Limit = PAGE,
) -> forms.RequestPage:
    """Approval requests of your teams: the pending ones worst first, all others newest first."""
    found = queries.requests(user, state=state, mine=mine, after=after, limit=limit)
    lines = queries.as_listed(found)
    return forms.RequestPage(lines, following(lines, limit))


@get()
def read_request(user: User, request_id: RequestId) -> forms.OneRequest:
    """Read one approval request."""
    line = queries.request_line(user, request_id)
    return filled(forms.OneRequest, line, differences=queries.differences_of_request(user, request_id))


claim_request = command(
    "claim_request",
    claims.claim,
    forms.Claim,
    "Say that you are on a request, for two minutes unless you keep it. It forbids nobody to decide.",
    path={"request_id": REQUEST},
)


@put()
def keep_claim(user: User, request_id: RequestId, body: forms.KeepClaim) -> forms.Kept:
    """The heartbeat of a claim: it lasts two minutes from now. Send it every 30 seconds."""
    return forms.Kept(claims.keep(user, request_id))


release_request = command(
    "release_request",
    claims.release,
    None,
    "Give a request that you are on back to the queue.",
    path={"request_id": REQUEST},
    method="delete",
    status=200,
)
undo_request = command(
    "undo_request",
    commands.undo,
    forms.Undo,
    "Object to a request that is held, or take an approval back: it waits for a decision again.",
    path={"request_id": REQUEST},
)


def _decide(user: User, request_id: UUID, decision: ev.DecisionKind, key: str = "", **wanted: Any) -> Committed:
    try:
        return commands.decide(user, request_id, commands.Decision(decision, **wanted), key=key)
    except AlreadyDecided as refused:
        by = str(refused.facts.get("by", ""))
        refused.facts["by_name"] = display_names([by]).get(by, "")
        raise


decide_request = command(
    "decide_request",
    _decide,
    forms.Decision,
    "Decide a request. Of two decisions one counts; the other is refused with who was first, and when.",
    path={"request_id": REQUEST},
)
