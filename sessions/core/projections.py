"""The only writer of projection rows: what a session's state amounts to in `AgentSession` and `ApprovalRequest`.

Rows are pure functions of the fold (`session_row`, `request_row`), so `manage.py rebuild --check` can compare them.
They are written by fragments of the appending statement: a commit and its projections are one.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.advance import Action, Nothing, is_task_done, next_action
from agentstate.engine.decide.claims import CLAIM_SECONDS
from agentstate.engine.decide.interventions import is_blocked
from agentstate.engine.decide.reviewing import left_out
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.policy import Terms
from agentstate.engine.state.session import Request, SessionState, digest_of, pending
from audit import keys, ledger
from audit.ledger import Fragment
from sessions.core import alert_rows as alerts

CARD = "agent_sessions/card"
WORDS = 160  # characters of the last words that a row shows

_json = msgspec.json.Encoder(decimal_format="number")


class SessionCard(msgspec.Struct, frozen=True):
    """The personal part of a session's row."""

    customer: str
    name: str
    topic: str
    last_role: str
    last_words: str
    open_preview: str = ""
    alias: str = ""  # `thread_id` of others


class RequestCard(msgspec.Struct, frozen=True):
    """The personal part of a request's row."""

    name: str
    preview: str
    arguments: dict[str, Any]
    why: str
    reason: str = ""
    digest: str = ""  # what an approval would be bound to as the request stands
    terms: Terms = Terms()  # what is asked of those who decide
    because: str = ""  # why it ended without a decision, or why what was approved is not done
    proposed_by: tuple[str, ...] = ()  # actors: people, or the agent
    left_out: dict[str, str] = {}  # the actors who may not approve it, each with what they did


_request_card = msgspec.json.Decoder(RequestCard, float_hook=Decimal)


def session_row(state: SessionState, action: Action | None = None) -> dict[str, Any]:
    """The plain columns of a session's row (without ids, key and lease). `action` is what is next, where it is known
    already.
    """
    action = action or next_action(state, state.last_at)
    waits = pending(state)
    origin = state.versions.origin
    return {
        "status": state.status.value,
        "waiting_for": action.waiting_for if isinstance(action, Nothing) else "agent",
        "seq": state.seq,
        "epoch": state.epoch,
        "tier": max((request.asked.tier for request in waits), default=0),
        "open_requests": len(waits),
        "stuck": stuck_in(state),
        "taken_by": state.taken_by,
        "taken_at": state.desk.taken_at or None,
        "wanted_at": state.desk.wanted_at or None,
        "assigned_to": state.desk.assigned_to,
        "opened_at": state.opened_at,
        "last_at": state.last_at,
        "ended_at": (state.ended_at or state.last_at) if state.ended else None,
        "parent": UUID(state.plans.parent) if state.plans.parent else None,
        "fork_of": UUID(origin.parent) if origin is not None and not origin.promoted else None,
    }


def stuck_in(state: SessionState) -> int:
    """How many things wait for somebody to step in: calls that the runtime cannot settle, and the session itself."""
    waits = sum(is_blocked(state, call) for call in state.calls.values() if call.stuck)
    return waits + bool(state.failure and not state.ended)


def session_card(state: SessionState) -> SessionCard:
    """What a list says of the session in words."""
    said = next(
        (item for item in reversed(state.items) if item.text and item.role in ("customer", "agent", "staff")),
        None,
    )
    customer = state.pad.get("customer")
    waits = [request for request in pending(state) if not request.kid]  # others' words are on their own cards
    return SessionCard(
        customer=state.opened.customer if state.opened else "",
        name=str(customer.get("name", "")) if isinstance(customer, dict) else "",
        topic=state.opened.topic if state.opened else "",
        last_role=said.role if said else "",
        last_words=said.text[:WORDS] if said else "",
        open_preview=waits[0].asked.preview if waits else "",
        alias=state.opened.alias if state.opened else "",
    )


def alias_token(tenant: UUID, alias: str) -> bytes | None:
    """Returns the keyed token by which sessions with this alias are found; None without an alias."""
    return keys.blind_token(tenant, "alias", alias) if alias else None


def request_row(request: Request, state: SessionState) -> dict[str, Any]:
    """The plain columns of a request's row. Of one that has ended nobody asks any more who may not approve it."""
    asked = request.asked
    return {
        "state": request.status.value,
        "execution": request.execution,
        "tier": asked.tier,
        "quorum": asked.quorum,
        "approvals": len(request.approvals),
        "approvers_missing": asked.approvers_missing,
        "tool": asked.tool,
        "rule": asked.rule,
        "policy": asked.policy,
        "asked_seq": request.seq,
        "asked_at": request.at,
        "expires_at": request.expires_at,
        "ended_at": request.ended_at or None,
        "decided_by": request.decided_by if request.status is not RequestStatus.PENDING else "",
        "kid": UUID(request.kid) if request.kid else None,
        "assigned_to": request.assigned_to,
        "claimed_by": request.claimed_by,
        "held_until": request.held_until or None,
        "escalates_at": _escalates_at(request),
        "reviewers": [list(group) for group in request.reviewers],
        "excluded": _excluded(request, state),
        "escalated": request.step,
    }


def _escalates_at(request: Request) -> str | None:
    """When a pending request goes to the next of its chain, if it does."""
    left = request.terms.chain[request.step :]
    if not left or request.held_until or request.status is not RequestStatus.PENDING:
        return None
    return stamp(parse(request.at) + timedelta(seconds=left[0].after))


def _excluded(request: Request, state: SessionState) -> list[str]:
    """Returns the actors who may not approve it: those who have approved it, and those who had a part in it."""
    if request.status is not RequestStatus.PENDING:
        return []
    return sorted({*request.approvals, *request.behalf, *_left_out(request, state)} - {""})


def _left_out(request: Request, state: SessionState) -> dict[str, str]:
    if request.status is not RequestStatus.PENDING:
        return {}
    return left_out(state, request, request.asked.tier)


def kid_of_request(request: str) -> UUID | None:
    """The key of a request's data subject where that is not the session's customer."""
    found = ledger.run("SELECT kid FROM agent_sessions_approvalrequest WHERE id = %(id)s", {"id": UUID(request)})
    return found[0][0] if found else None


def request_card(request: Request, state: SessionState) -> RequestCard:
    """What the queue says of the request in words."""
    asked = request.asked
    return RequestCard(
        name=_whose(request, state),
        preview=asked.preview,
        arguments=request.arguments,
        why=asked.why,
        reason=request.reason,
        digest=digest_of(state, request),
        terms=asked.terms or Terms(),
        because=request.because,
        proposed_by=asked.proposed_by,
        left_out=_left_out(request, state),
    )


def _whose(request: Request, state: SessionState) -> str:
    """The name of the customer whom a request concerns."""
    if not request.kid:
        return session_card(state).name
    call = state.calls.get(request.asked.call)
    part = state.plans.instances.get(call.instance) if call else None
    customer = part.pad.get("customer") if part else None
    return str(customer.get("name", "")) if isinstance(customer, dict) else ""


_OF_REQUESTS = (
    ev.ApprovalRequested,
    ev.DecisionMade,
    ev.RequestEscalated,
    ev.RequestHeld,
    ev.RequestUndone,
    ev.RequestClaimed,
    ev.RequestReleased,
    ev.RequestEnded,
)


def changed_requests(before: SessionState | None, state: SessionState, events: list[ev.AnyEvent]) -> list[Request]:
    """The requests that a commit of `events` changes, as they stand in `state`. `before`: the state before the commit;
    None: it opened the session.
    """
    touched = {event.request: None for event in events if isinstance(event, (*_OF_REQUESTS, ev.WorkAssigned))}
    if before is not None and _people(before) != _people(state):
        touched |= {each.asked.request: None for each in pending(state)}
    ended = (event.call for event in events if isinstance(event, ev.CallWithdrawn | ev.CallRefused))
    touched |= dict.fromkeys(state.calls[call].request for call in ended if call in state.calls)
    touched |= {event.request: None for event in events if isinstance(event, ev.CallWithdrawn)}  # rolled back: no call
    return [state.requests[request] for request in touched if request in state.requests]


def _people(state: SessionState) -> tuple[object, ...]:
    """Returns the people who have the session, took part in it or wrote its plan. They may not approve what waits."""
    involved = state.involved
    spoke = (frozenset(involved.customer), frozenset(involved.agent), frozenset(involved.guidance))
    return *spoke, state.taken_by, state.desk.assigned_to, state.plans.authors, state.plans.parent_authors


_OF_CALLS = (ev.ToolIntended, ev.ToolReturned, ev.ToolFailed, ev.CallDoubted, ev.CallIntervened)


def executed_requests(state: SessionState, events: list[ev.AnyEvent], written: Collection[Request]) -> list[Request]:
    """The requests whose calls `events` begin or end, as they stand in `state`, without those in `written`."""
    calls = (state.calls.get(event.call) for event in events if isinstance(event, _OF_CALLS))
    touched = {call.request: None for call in calls if call is not None}
    touched |= {event.supersedes: None for event in events if isinstance(event, ev.ApprovalRequested)}
    left = touched.keys() - {request.asked.request for request in written}
    return [state.requests[request] for request in touched if request in left and request in state.requests]


def sealed(kid: UUID, row_id: UUID, card: SessionCard | RequestCard) -> bytes:
    """The card as the row holds it, bound to the row."""
    return keys.seal(kid, f"{CARD}/{row_id}", _json.encode(card))


def open_session_card(kid: UUID, row_id: UUID, card: bytes) -> SessionCard:
    """The inverse of `sealed`. Raises audit.keys.Erased, also for a card that went with its payloads."""
    _must_be_there(card)
    return msgspec.json.decode(keys.unseal(kid, f"{CARD}/{row_id}", card), type=SessionCard)


def open_request_card(kid: UUID, row_id: UUID, card: bytes) -> RequestCard:
    """The inverse of `sealed`. Raises audit.keys.Erased, also for a card that went with its payloads."""
    _must_be_there(card)
    return _request_card.decode(keys.unseal(kid, f"{CARD}/{row_id}", card))


def _must_be_there(card: bytes) -> None:
    if not card:
        raise keys.Erased("its words were deleted")


_OPEN = """INSERT INTO agent_sessions_agentsession
  (id, tenant_id, team_id, kid, agent, channel, alias_token, status, waiting_for, seq, epoch, tier, open_requests,
   stuck, opened_at, last_at, ended_at, fork_of, card, ready_at, fence)
  SELECT head.log, %(s_tenant)s, %(s_team)s, %(s_kid)s, %(s_agent)s, %(s_channel)s, %(s_alias_token)s, %(s_status)s,
   %(s_waiting_for)s, %(s_seq)s, %(s_epoch)s, %(s_tier)s, %(s_open_requests)s, %(s_stuck)s,
   %(s_opened_at)s::timestamptz,
   %(s_last_at)s::timestamptz, %(s_ended_at)s::timestamptz, %(s_fork_of)s, %(s_card)s, NULL, 0 FROM head"""

# ready_at: while there is work it keeps its first value, so a busy session's updates touch no index.
_MOVE = """UPDATE agent_sessions_agentsession s SET
   status = %(s_status)s, waiting_for = %(s_waiting_for)s, seq = %(s_seq)s, epoch = %(s_epoch)s, tier = %(s_tier)s,
   open_requests = %(s_open_requests)s, stuck = %(s_stuck)s,
   last_at = %(s_last_at)s::timestamptz, ended_at = %(s_ended_at)s::timestamptz,
   taken_by = %(s_taken_by)s, taken_at = %(s_taken_at)s::timestamptz, wanted_at = %(s_wanted_at)s::timestamptz,
   assigned_to = %(s_assigned_to)s, fork_of = %(s_fork_of)s, parent = %(s_parent)s, card = coalesce(%(s_card)s, s.card),
   stalled = '', stalled_at = NULL, stalls = 0,
   ready_at = CASE %(s_ready)s WHEN 'now' THEN least(coalesce(s.ready_at, now()), now())
                               WHEN 'at' THEN %(s_until)s::timestamptz END{lease}
  FROM head WHERE s.id = head.log"""

_RENEW = ", lease_until = clock_timestamp() + make_interval(secs => %(s_lease)s)"
_RELEASE = ", lease_until = NULL, holder = NULL"
_MOVES = {lease: _MOVE.format(lease=lease) for lease in ("", _RENEW, _RELEASE)}

_REQUEST = """INSERT INTO agent_sessions_approvalrequest
  (assigned_to, id, session_id, tenant_id, team_id, state, tier, quorum, approvals, approvers_missing, tool,
   rule, policy, asked_seq, asked_at, expires_at, ended_at, decided_by, kid, claimed_by, claimed_until,
   held_until, escalates_at, reviewers, excluded, escalated, execution, card)
  SELECT %(r{n}_assigned_to)s, %(r{n}_id)s, head.log, %(r{n}_tenant)s, %(r{n}_team)s, %(r{n}_state)s, %(r{n}_tier)s,
   %(r{n}_quorum)s, %(r{n}_approvals)s, %(r{n}_approvers_missing)s, %(r{n}_tool)s,
   %(r{n}_rule)s, %(r{n}_policy)s, %(r{n}_asked_seq)s,
   %(r{n}_asked_at)s::timestamptz, %(r{n}_expires_at)s::timestamptz, %(r{n}_ended_at)s::timestamptz,
   %(r{n}_decided_by)s, %(r{n}_kid)s, %(r{n}_claimed_by)s, NULL,
   %(r{n}_held_until)s::timestamptz, %(r{n}_escalates_at)s::timestamptz, %(r{n}_reviewers)s::jsonb,
   %(r{n}_excluded)s::varchar[], %(r{n}_escalated)s, %(r{n}_execution)s, %(r{n}_card)s
  FROM head ON CONFLICT (id) DO UPDATE SET
   assigned_to = EXCLUDED.assigned_to, state = EXCLUDED.state, expires_at = EXCLUDED.expires_at,
   approvals = EXCLUDED.approvals, approvers_missing = EXCLUDED.approvers_missing,
   ended_at = EXCLUDED.ended_at, decided_by = EXCLUDED.decided_by,
   held_until = EXCLUDED.held_until, escalates_at = EXCLUDED.escalates_at, reviewers = EXCLUDED.reviewers,
   excluded = EXCLUDED.excluded, escalated = EXCLUDED.escalated, execution = EXCLUDED.execution,
   claimed_by = EXCLUDED.claimed_by, claimed_until = CASE
    WHEN %(r{n}_claim)s::float8 IS NOT NULL THEN clock_timestamp() + make_interval(secs => %(r{n}_claim)s::float8)
    WHEN EXCLUDED.claimed_by <> '' THEN agent_sessions_approvalrequest.claimed_until END,
   card = EXCLUDED.card"""

# What came of the call of an approved request; nothing else of the row changes with it.
_EXECUTED = """UPDATE agent_sessions_approvalrequest r SET execution = %(x{n}_execution)s
  FROM head WHERE r.id = %(x{n}_id)s AND r.session_id = head.log"""

# What was open is withdrawn by its key alone: the requests have left the state with their data subject.
_ERASED = """UPDATE agent_sessions_approvalrequest r SET
   state = CASE r.state WHEN 'pending' THEN 'withdrawn' ELSE r.state END,
   ended_at = CASE r.state WHEN 'pending' THEN %(e_at)s::timestamptz ELSE r.ended_at END,
   execution = CASE r.execution WHEN 'waiting' THEN 'withdrawn' ELSE r.execution END
  FROM head WHERE r.session_id = head.log AND r.kid = ANY(%(e_kids)s)
   AND (r.state = 'pending' OR r.execution = 'waiting')"""

_OUTBOX = """INSERT INTO agent_sessions_outbox (session, team, seq, first, at)
  SELECT head.log, %(o_team)s, %(o_seq)s, %(o_first)s, now() FROM head"""


class Place(msgspec.Struct, frozen=True):
    """The facts of a session that never change, which its rows carry."""

    id: UUID
    tenant: UUID
    team: UUID
    kid: UUID


def fragments(
    place: Place,
    state: SessionState,
    events: list[ev.AnyEvent],
    *,
    before: SessionState | None = None,
    lease: float | None = None,
) -> list[Fragment]:
    """All projection writes of one commit, which led from `before` (None: it opens the session) to `state`. A worker's
    `lease` (seconds) is renewed, or given back when the session rests.
    """
    written = [_session_fragment(place, state, before, lease)]
    claims = {event.request for event in events if isinstance(event, ev.RequestClaimed)}
    changed = changed_requests(before, state, events)
    for number, request in enumerate(changed):
        lasts = CLAIM_SECONDS if request.asked.request in claims else None
        written.append(_request_fragment(place, state, request, number, lasts))
    for number, request in enumerate(executed_requests(state, events, changed)):
        params = {f"x{number}_execution": request.execution, f"x{number}_id": UUID(request.asked.request)}
        written.append(Fragment(_EXECUTED.format(n=number), params))
    erased = [UUID(event.kid) for event in events if isinstance(event, ev.SubjectErased)]
    if erased:
        written.append(Fragment(_ERASED, {"e_kids": erased, "e_at": state.last_at}))
    for number, alert in enumerate(alerts.changed_alerts(state, events)):
        written.append(alerts.fragment(place.tenant, place.team, alert, number))
    o_first = before.seq if before is not None else 0
    written.append(Fragment(_OUTBOX, {"o_team": place.team, "o_seq": state.seq, "o_first": o_first}))
    return written


def _session_fragment(place: Place, state: SessionState, before: SessionState | None, lease: float | None) -> Fragment:
    action = next_action(state, state.last_at)
    row = session_row(state, action)
    params: dict[str, Any] = {f"s_{name}": value for name, value in row.items()}
    params["s_card"] = _changed_card(place, state, before)
    if before is None:
        assert state.opened is not None
        params |= {
            "s_tenant": place.tenant,
            "s_team": place.team,
            "s_kid": place.kid,
            "s_agent": state.opened.agent,
            "s_channel": state.opened.channel,
            "s_alias_token": alias_token(place.tenant, state.opened.alias),
        }
        return Fragment(_OPEN, params)
    del params["s_opened_at"]
    params |= _readiness(state, action)
    if lease is None:
        return Fragment(_MOVES[""], params)
    if params["s_ready"] != "now":
        return Fragment(_MOVES[_RELEASE], params)
    params["s_lease"] = lease
    return Fragment(_MOVES[_RENEW], params)


def _changed_card(place: Place, state: SessionState, before: SessionState | None) -> bytes | None:
    """The sealed card, or None where the row has the right one already: most steps change no word of it."""
    card = session_card(state)
    if before is not None and card == session_card(before):
        return None
    return sealed(place.kid, place.id, card)


def _readiness(state: SessionState, action: Action) -> dict[str, str | None]:
    """When a worker is to look: at once also where a task is done, which ends the session and wakes who asked."""
    if not isinstance(action, Nothing) or is_task_done(state):
        return {"s_ready": "now", "s_until": None}
    if action.until:
        return {"s_ready": "at", "s_until": action.until}
    return {"s_ready": "never", "s_until": None}


def readiness_columns(state: SessionState) -> dict[str, str | None]:
    """The wake-up that the state asks for, as columns: what is due is due since its last entry."""
    ready = _readiness(state, next_action(state, state.last_at))
    return {"ready_at": state.last_at if ready["s_ready"] == "now" else ready["s_until"]}


def _request_fragment(
    place: Place, state: SessionState, request: Request, number: int, lasts: int | None = None
) -> Fragment:
    """The row of a request; `lasts`: the seconds of a claim that begins now, by the database's clock."""
    prefix = f"r{number}_"
    params: dict[str, Any] = {f"{prefix}{name}": value for name, value in request_row(request, state).items()}
    row_id = UUID(request.asked.request)
    params[f"{prefix}reviewers"] = _json.encode(params[f"{prefix}reviewers"]).decode()
    params |= {
        f"{prefix}id": row_id,
        f"{prefix}tenant": place.tenant,
        f"{prefix}team": place.team,
        f"{prefix}claim": lasts,
        f"{prefix}card": sealed(params[f"{prefix}kid"] or place.kid, row_id, request_card(request, state)),
    }
    return Fragment(_REQUEST.format(n=number), params)
