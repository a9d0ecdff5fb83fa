"""The reads for pages and API. Who may see what is decided here, never in a view or template.

One query each drives the badge, the list and the API: `decidable` is what waits for this person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Min, Q, QuerySet
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from agentstate.engine.state import Request, SessionState
from agentstate.people.models import User
from agentstate.people.permissions import Permission, can, teams_with
from audit import keys, ledger
from sessions import projections, states
from sessions.models import AgentSession, ApprovalRequest

Person = User | AnonymousUser
PAGE = 100
ERASED_NAME = "Erased"
SOON = timedelta(minutes=3)
Deadline = tuple[datetime, datetime]  # asked at, expires at
_DEADLINE = ("session_id", "asked_at", "expires_at")


class SessionLine(msgspec.Struct, frozen=True):
    """One session as a list shows it. Texts are empty for those who may see but not read."""

    id: UUID
    agent: str
    channel: str
    alias: str
    status: str
    waiting_for: str
    seq: int
    tier: int
    open_requests: int
    opened_at: datetime
    last_at: datetime
    ended_at: datetime | None
    team: UUID
    name: str = ""
    topic: str = ""
    last_role: str = ""
    last_words: str = ""
    open_preview: str = ""
    asked_at: datetime | None = None  # of the open request whose deadline is nearest
    expires_at: datetime | None = None  # that deadline

    @property
    def needs_person(self) -> bool:
        """Whether nothing goes on here until a person acts."""
        return self.open_requests > 0 or self.status == SessionStatus.FAILED

    @property
    def reference(self) -> str:
        """The short form of the id that people say aloud: its last six characters."""
        return self.id.hex[-6:].upper()


class RequestLine(msgspec.Struct, frozen=True):
    """One request as the queue and the API show it."""

    id: UUID
    session: UUID
    state: str
    tier: int
    quorum: int
    approvals: int
    tool: str
    rule: str
    policy: str
    asked_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    decided_by: str
    may_decide: bool
    name: str = ""
    preview: str = ""
    arguments: dict[str, Any] = {}
    why: str = ""
    reason: str = ""


class EntryLine(msgspec.Struct, frozen=True):
    """One entry of a session's log, opened. `data` is None once its subject was erased."""

    seq: int
    kind: str
    at: str
    actor: str
    ref: int
    command: str
    data: dict[str, Any] | None


def visible_sessions(user: Person) -> QuerySet[AgentSession]:
    """The sessions of the teams in which `user` may see."""
    return AgentSession.objects.filter(team__in=teams_with(user, Permission.SEE))


def live_sessions(user: Person, only: Sequence[UUID] | None = None) -> list[SessionLine]:
    """The sessions that have not ended, worst first: what needs a person, then the tier, then the nearest deadline."""
    rows = visible_sessions(user).filter(ended_at__isnull=True)
    if only is not None:
        rows = rows.filter(pk__in=only)
    lines = _lines(user, rows.order_by("-tier", "opened_at")[: 5 * PAGE])
    return sorted(lines, key=worst_first)


def worst_first(line: SessionLine) -> tuple[bool, int, float, datetime]:
    """The order of the wall."""
    deadline = line.expires_at.timestamp() if line.expires_at else float("inf")
    return (not line.needs_person, -line.tier, deadline, line.opened_at)


class WallCounts(msgspec.Struct, frozen=True):
    """The figures above the wall."""

    active: int
    failed: int
    decidable: int
    highest: int  # of them, tier 3
    soon: int  # of them, with less than SOON left
    oldest: datetime | None  # since when the one asked first waits
    expired: int  # requests nobody decided in time, since midnight UTC


def wall_counts(user: Person) -> WallCounts:
    """Three indexed queries; what "needs a decision" counts is what `decidable` lists."""
    live = visible_sessions(user).filter(ended_at__isnull=True)
    failed = Count("pk", filter=Q(status=SessionStatus.FAILED))
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    return WallCounts(
        **live.aggregate(active=Count("pk"), failed=failed),
        **decidable(user)
        .order_by()
        .aggregate(
            decidable=Count("pk"),
            highest=Count("pk", filter=Q(tier__gte=3)),
            soon=Count("pk", filter=Q(expires_at__lt=Now() + SOON)),
            oldest=Min("asked_at"),
        ),
        expired=visible_requests(user).filter(state=RequestStatus.EXPIRED, ended_at__gte=midnight).count(),
    )


def sessions(user: Person, *, before: datetime | None = None, status: str = "", limit: int = PAGE) -> list[SessionLine]:
    """Sessions, newest first, from before an instant (keyset paging)."""
    rows = visible_sessions(user)
    if status:
        rows = rows.filter(status=status)
    if before is not None:
        rows = rows.filter(opened_at__lt=before)
    return _lines(user, rows.order_by("-opened_at")[:limit])


def session_line(user: Person, session: UUID) -> SessionLine:
    """One session. Raises UnknownSession to those who may not see it."""
    lines = _lines(user, visible_sessions(user).filter(pk=session))
    if not lines:
        raise states.UnknownSession()
    return lines[0]


def _lines(user: Person, rows: QuerySet[AgentSession]) -> list[SessionLine]:
    readable = set(teams_with(user, Permission.READ))
    found = list(rows)
    deadlines = _deadlines([row.pk for row in found if row.open_requests])
    return [_line(row, row.team_id in readable, deadlines.get(row.pk, (None, None))) for row in found]


def _deadlines(ids: list[UUID]) -> dict[UUID, Deadline]:
    pending = ApprovalRequest.objects.filter(session__in=ids, state="pending").order_by("-expires_at")
    return {session: (asked, until) for session, asked, until in pending.values_list(*_DEADLINE)}


def _line(row: AgentSession, readable: bool, deadline: Deadline | tuple[None, None]) -> SessionLine:
    plain = SessionLine(
        id=row.pk,
        agent=row.agent,
        channel=row.channel,
        alias=row.alias,
        status=row.status,
        waiting_for=row.waiting_for,
        seq=row.seq,
        tier=row.tier,
        open_requests=row.open_requests,
        opened_at=row.opened_at,
        last_at=row.last_at,
        ended_at=row.ended_at,
        team=row.team_id,
        asked_at=deadline[0],
        expires_at=deadline[1],
    )
    if not readable:
        return plain
    try:
        card = projections.open_session_card(row.kid, row.pk, bytes(row.card))
    except keys.Erased:
        return msgspec.structs.replace(plain, name=ERASED_NAME)
    return msgspec.structs.replace(
        plain,
        name=card.name or card.customer,
        topic=card.topic,
        last_role=card.last_role,
        last_words=card.last_words,
        open_preview=card.open_preview,
    )


def visible_requests(user: Person) -> QuerySet[ApprovalRequest]:
    """The requests of the teams in which `user` may read."""
    return ApprovalRequest.objects.filter(team__in=teams_with(user, Permission.READ)).select_related("session")


def decidable(user: Person) -> QuerySet[ApprovalRequest]:
    """The pending requests that this person may decide now: the badge, the list and the API are all this query."""
    usual = Q(team__in=teams_with(user, Permission.DECIDE), tier__lt=3)
    highest = Q(team__in=teams_with(user, Permission.DECIDE_TIER3), tier__gte=3)
    return (
        visible_requests(user)
        .filter(usual | highest, state="pending", expires_at__gt=Now())
        .order_by("-tier", "expires_at")
    )


def requests(user: Person, *, state: str = "pending", mine: bool = False, limit: int = PAGE) -> list[RequestLine]:
    """Requests in one state ("" for all): the open ones worst first, the ended ones newest first."""
    rows = decidable(user) if mine else visible_requests(user)
    if state:
        rows = rows.filter(state=state)
    if state == "pending":
        rows = rows.filter(expires_at__gt=Now())
    order = ("-tier", "expires_at") if state == "pending" else ("-asked_at",)
    return _request_lines(user, rows.order_by(*order)[:limit])


def decided(user: Person, limit: int = PAGE) -> list[RequestLine]:
    """Requests that have ended in any way but expiry, newest first."""
    rows = visible_requests(user).exclude(state__in=["pending", "expired"])
    return _request_lines(user, rows.order_by("-ended_at")[:limit])


def request_line(user: Person, request: UUID) -> RequestLine:
    """One request. Raises UnknownRequest to those who may not read its session."""
    from agentstate.engine.decide import UnknownRequest

    lines = _request_lines(user, visible_requests(user).filter(pk=request))
    if not lines:
        raise UnknownRequest()
    return lines[0]


def _request_lines(user: Person, rows: QuerySet[ApprovalRequest]) -> list[RequestLine]:
    found = list(rows)
    mine = set(decidable(user).filter(pk__in=[row.pk for row in found]).values_list("pk", flat=True))
    return [_request_line(row, row.pk in mine) for row in found]


def _request_line(row: ApprovalRequest, may_decide: bool) -> RequestLine:
    plain = RequestLine(
        id=row.pk,
        session=row.session_id,
        state=row.state,
        tier=row.tier,
        quorum=row.quorum,
        approvals=row.approvals,
        tool=row.tool,
        rule=row.rule,
        policy=row.policy,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        ended_at=row.ended_at,
        decided_by=row.decided_by,
        may_decide=may_decide,
    )
    try:
        card = projections.open_request_card(row.session.kid, row.pk, bytes(row.card))
    except keys.Erased:
        return msgspec.structs.replace(plain, name=ERASED_NAME, may_decide=False)
    return msgspec.structs.replace(
        plain,
        name=card.name,
        preview=card.preview,
        arguments=card.arguments,
        why=card.why,
        reason=card.reason,
    )


def state_of(user: Person, session: UUID) -> SessionState:
    """The folded state. Raises UnknownSession, or PermissionDenied to those who may see but not read."""
    _must_read(user, session)
    return states.load(session).state


def request_of(user: Person, request: UUID) -> tuple[RequestLine, Request, SessionState]:
    """A request with everything its page shows. Raises UnknownRequest."""
    line = request_line(user, request)
    state = states.load(line.session).state
    held = state.requests.get(str(request))
    return line, held if held is not None else _from_ledger(line), state


def _from_ledger(line: RequestLine) -> Request:
    """A request that the bounded state has let go of: folded again from its session's entries."""
    from agentstate.engine.state import evolve

    state = SessionState()
    last: Request | None = None
    for envelope, payload in ledger.open_rows(ledger.read_rows(line.session)):
        state = evolve(state, ev.decode(payload), envelope.at)
        last = state.requests.get(str(line.id), last)
    assert last is not None
    return last


def _must_read(user: Person, session: UUID) -> UUID:
    from agentstate.people.permissions import require

    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not can(user, Permission.SEE, team):
        raise states.UnknownSession()
    require(user, Permission.READ, team)
    return team


def entries(user: Person, session: UUID, *, after: int = -1, limit: int = PAGE) -> list[EntryLine]:
    """Entries with seq above `after`, opened, oldest first. Raises as `state_of`."""
    _must_read(user, session)
    start = after + 1
    return list(_opened(ledger.read_rows(session, start, start + limit)))


def _opened(rows: Iterator[ledger.Row]) -> Iterator[EntryLine]:
    for row in rows:
        envelope = ledger.parse_envelope(row.envelope)
        try:
            _, payload = ledger.open_row(row)
            data = msgspec.json.decode(payload)
            data.pop("kind", None)
        except keys.Erased:
            data = None
        yield EntryLine(row.seq, envelope.kind, envelope.at, envelope.actor, envelope.ref, envelope.cmd, data)
