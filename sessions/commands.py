"""The writes that people and callers can ask for. Nothing else changes a session (but the runtime, through
`sessions.commit`).

Each checks the permission, loads, decides, appends and projects in one transaction, then announces and wakes.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from django.contrib.auth.models import AnonymousUser

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.state import SessionState, evolve
from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.models import Team, User
from agentstate.people.permissions import Permission, PermissionDenied, can, require, teams_with
from audit import keys, ledger
from sessions import states
from sessions.agents import registry
from sessions.commit import Author, Committed, open_session, person_command
from sessions.models import AgentSession, ApprovalRequest
from sessions.projections import Place

CHANNELS = ("phone", "chat")
MAX_REFERENCE = 200  # characters of a customer's reference, a topic, an alias
KEYS = UUID("7a0d1d5e-2f6b-5a57-9a3a-0d2a4b7a4c11")  # namespace: the id of a session that is opened under a key

_DECIDED = ("session_id", "team_id", "state", "decided_by", "ended_at")

Person = User | AnonymousUser


class RequestExpired(Refused):
    """The deadline of this request has passed."""

    code = "request_expired"


class OtherSessionUnderKey(Refused):
    """This idempotency key was used to open another session."""

    code = "idempotency_key_reused"
    remedy = "Use a new key for a new session."


def start(
    user: Person,
    *,
    customer: str,
    agent: str,
    channel: str,
    topic: str = "",
    alias: str = "",
    team: str = "",
    key: str = "",
) -> Committed:
    """Open a session. The same key gives the same session. Raises Invalid, UnknownAgent, PermissionDenied."""
    _bounded("customer", customer, required=True)
    _bounded("topic", topic)
    _bounded("alias", alias)
    if channel not in CHANNELS:
        raise Invalid(f"got {channel!r}, want one of {list(CHANNELS)}", field="channel")
    registry.find(agent)
    chosen = _team(user, team)
    author = _author(user, key)
    session = uuid5(KEYS, f"{user.pk}/{key}") if key else new_id()
    command = core.Open(customer, str(chosen.pk), agent, channel, topic, alias)
    if key and AgentSession.objects.filter(pk=session).exists():
        return _opened_before(session, command)
    place = Place(session, chosen.tenant_id, chosen.pk, keys.subject_kid(chosen.tenant_id, customer))
    committed = open_session(place, command, author)
    return committed if committed is not None else _opened_before(session, command)


def _opened_before(session: UUID, command: core.Open) -> Committed:
    """The first answer again: the session as its opening left it. Raises OtherSessionUnderKey."""
    place = states.load(session).place
    envelope, payload = next(ledger.open_rows(ledger.read_rows(session, 0, 1)))
    opened = ev.decode(payload)
    if not isinstance(opened, ev.SessionOpened) or _wish(opened) != _wish(command):
        raise OtherSessionUnderKey()
    state = evolve(SessionState(), opened, envelope.at)
    return Committed(place, UUID(envelope.cmd), 0, 1, state, repeated=True)


def _wish(opening: ev.SessionOpened | core.Open) -> tuple[str, ...]:
    return tuple(getattr(opening, name) for name in core.Open.__struct_fields__)


def _bounded(name: str, text: str, *, required: bool = False) -> None:
    if required and not text.strip():
        raise Invalid("must not be empty", field=name)
    if len(text) > MAX_REFERENCE:
        raise Invalid(f"got {len(text)} characters, at most {MAX_REFERENCE}", field=name)


def _team(user: Person, slug: str) -> Team:
    """The team named, or the only one in which `user` may open sessions."""
    allowed = Team.objects.filter(pk__in=teams_with(user, Permission.OPEN_SESSION))
    if slug:
        allowed = allowed.filter(slug=slug)
    found = list(allowed[:2])
    if not found:
        named = {"field": "team"} if slug else {}
        needed = Permission.OPEN_SESSION.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed, **named)
    if len(found) > 1:
        raise Invalid("you belong to several teams: say which", field="team")
    return found[0]


def say(user: Person, session: UUID, text: str, *, key: str = "") -> Committed:
    """A message of the customer. Raises UnknownSession, PermissionDenied, Invalid, SessionOver."""
    _may(user, session, Permission.SPEAK_AS_CUSTOMER)
    return person_command(session, core.Say("customer", text, "customer"), _author(user, key))


def end(user: Person, session: UUID, reason: str, *, key: str = "") -> Committed:
    """The conversation is over: what waits is withdrawn, what runs is finished and recorded."""
    _bounded("reason", reason, required=True)
    team = _team_of(user, session)
    if not can(user, Permission.TAKE_OVER, team):
        require(user, Permission.SPEAK_AS_CUSTOMER, team)
    return person_command(session, core.End(reason, _author(user).actor), _author(user, key))


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
    may = _may_decide(user, row["team_id"])
    author = _author(user, key)
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
        if _may_decide(user, row["team_id"]) != may:
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


def _may_decide(user: Person, team: UUID) -> frozenset[str]:
    return frozenset(p.value for p in (Permission.DECIDE, Permission.DECIDE_TIER3) if can(user, p, team))


def _author(user: Person, key: str = "") -> Author:
    if len(key) > MAX_REFERENCE:
        raise Invalid(f"got {len(key)} characters, at most {MAX_REFERENCE}", field="idempotency_key")
    return Author(actor=user.actor if isinstance(user, User) else "anonymous", key=key)


def _team_of(user: Person, session: UUID) -> UUID:
    """The session's team. Raises UnknownSession to those who may not even see that it exists."""
    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not can(user, Permission.SEE, team):
        raise states.UnknownSession()
    return team


def _may(user: Person, session: UUID, permission: Permission) -> None:
    require(user, permission, _team_of(user, session))
