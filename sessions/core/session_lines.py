"""Sessions as lists show them: one line each, with the words only for those who may read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from django.db.models import Case, CharField, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Cast

from agentstate.engine.lifecycle import SessionStatus
from agentstate.engine.state.participants import QUEUE
from agentstate.people.models import Team, User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from audit import keys
from audit.models import SubjectKey
from sessions.core import access, alterations, projections, states
from sessions.core.access import Seen
from sessions.core.account_numbers import shortened
from sessions.core.committed import Committed
from sessions.core.paging import behind
from sessions.models.alerts import LevelClock
from sessions.models.sessions import URGENT, AgentSession, ApprovalRequest

Person = access.Person
PAGE = 100
MAX_LIVE = 5 * PAGE  # sessions on the live board
ERASED_NAME = "Erased"
Deadline = tuple[datetime, datetime]  # asked at, expires at
_HEX = re.compile(r"[0-9a-f]{4,32}")
_DEADLINE = ("session_id", "asked_at", "expires_at")


class SessionLine(msgspec.Struct, frozen=True):
    """One session as a list shows it. Texts are empty for those who may see but not read."""

    id: UUID
    agent: str
    channel: str
    status: str
    waiting_for: str
    seq: int
    tier: int
    open_requests: int
    opened_at: datetime
    last_at: datetime
    ended_at: datetime | None
    team: UUID
    parent: UUID | None = None  # the session whose task this one does
    fork_of: UUID | None = None  # the session that it is a fork of, while nobody has promoted it
    customer: UUID | None = None  # the id of the data subject's key; None for those who may not read
    name: str = ""
    topic: str = ""
    alias: str = ""
    last_role: str = ""
    last_words: str = ""
    open_preview: str = ""
    asked_at: datetime | None = None  # of the open request whose deadline is nearest
    expires_at: datetime | None = None  # that deadline
    missed_at: datetime | None = None  # when a service level is missed, if its clock runs on; on the wall
    measured_from: datetime | None = None  # since when that clock runs
    taken_by: str = ""  # who speaks instead of the agent, by actor; `queue`: nobody yet
    taken_at: datetime | None = None
    wanted_at: datetime | None = None  # since when the customer asks for a person
    assigned_to: str = ""  # who is to see to it, by actor
    stuck: int = 0  # calls that a person must settle, and the session itself if it failed
    stalled: str = ""  # why the runtime leaves it alone (sessions.runtime.parked)
    stalled_at: datetime | None = None

    @property
    def needs_person(self) -> bool:
        """Whether nothing goes on here until a person acts."""
        return self.open_requests > 0 or self.status == SessionStatus.FAILED or self.waits_for_person

    @property
    def waits_for_person(self) -> bool:
        """Whether the customer asks for a person, or one has left it, and nobody has it."""
        return self.wanted_at is not None and self.taken_by in ("", QUEUE) and self.ended_at is None

    @property
    def reference(self) -> str:
        """The short form of the id that people say aloud: its last six characters."""
        return self.id.hex[-6:].upper()


def waits_for_person() -> Q:
    """The sessions whose customer waits for a person, or that one has left, and nobody has."""
    nobody = Q(taken_by="") | Q(taken_by=QUEUE)
    return nobody & Q(wanted_at__isnull=False, ended_at__isnull=True)


def needs_person() -> Q:
    """The sessions in which nothing goes on until a person acts: as `SessionLine.needs_person`."""
    return Q(open_requests__gt=0) | Q(status=SessionStatus.FAILED) | waits_for_person()


_PENDING = ApprovalRequest.objects.filter(session=OuterRef("pk"), state="pending")
_OPEN_KEY = Exists(SubjectKey.objects.filter(pk=OuterRef("kid"), closing_at=None, destroyed_at=None))
_NEAREST = Subquery(_PENDING.order_by("expires_at").values("expires_at")[:1])


def visible_sessions(user: Person) -> QuerySet[AgentSession]:
    """The sessions that `user` may see: of their teams, and what a grant opens to them."""
    return AgentSession.objects.filter(access.within(user, Permission.SEE))


def live_sessions(user: Person, only: Sequence[UUID] | None = None) -> list[SessionLine]:
    """The most urgent of the sessions that have neither ended nor expired, at most MAX_LIVE: first what needs a person,
    then by tier and deadline.
    """
    rows = visible_sessions(user).filter(ended_at__isnull=True, fork_of__isnull=True)
    rows = rows.exclude(status=SessionStatus.EXPIRED)
    if only is not None:
        rows = rows.filter(pk__in=only)
    urgent = rows.filter(URGENT).filter(needs_person()).annotate(due=_NEAREST)
    lines = _lines(user, urgent.order_by("-tier", F("due").asc(nulls_last=True), "opened_at")[:MAX_LIVE], "wall")
    if len(lines) < MAX_LIVE:
        calm = rows.exclude(pk__in=urgent.values("pk")).order_by("opened_at")
        lines += _lines(user, calm[: MAX_LIVE - len(lines)], "wall")
    clocks = _clocks([line.id for line in lines])
    return sorted((msgspec.structs.replace(line, **clocks.get(line.id, {})) for line in lines), key=worst_first)


def _clocks(ids: list[UUID]) -> dict[UUID, dict[str, datetime | None]]:
    """Of each session the clock of a service level that is missed first."""
    running = LevelClock.objects.filter(session__in=ids, ended_at=None, missed_at__isnull=False).order_by("-missed_at")
    rows = running.values_list("session", "since", "missed_at")
    return {session: {"measured_from": since, "missed_at": missed} for session, since, missed in rows if since}


def worst_first(line: SessionLine) -> tuple[bool, int, float, datetime]:
    """The order of the wall."""
    deadline = line.expires_at.timestamp() if line.expires_at else float("inf")
    return (not line.needs_person, -line.tier, deadline, line.opened_at)


def teams_to_open_in(user: Person) -> list[Team]:
    """The teams in which this person may open sessions and speak as the customer, by name."""
    opens = teams_with(user, Permission.OPEN_SESSION)
    speaks = teams_with(user, Permission.SPEAK_AS_CUSTOMER)
    return list(Team.objects.filter(pk__in=opens).filter(pk__in=speaks).order_by("name"))


def sessions(
    user: Person,
    *,
    before: datetime | None = None,
    after: UUID | None = None,
    status: str = "",
    reference: str = "",
    limit: int = PAGE,
) -> list[SessionLine]:
    """Sessions, newest first, from before an instant or behind the row `after`. A reference is the end of an id, an
    alias, or a customer's. Raises Invalid when there is no such row to go on from.
    """
    rows, what = visible_sessions(user), "sessions"
    facts: dict[str, object] = {"status": status, "after": str(after or ""), "limit": limit}
    if status:
        rows = rows.filter(status=status)
    if reference:
        rows, what = _referred(user, rows, reference), "search"
        facts["search"] = access.searched(user, reference) if isinstance(user, User) else ""
    if before is not None:
        rows = rows.filter(opened_at__lt=before)
        facts["before"] = before.isoformat()
    found = behind(rows, visible_sessions(user), after, ("-opened_at", "-pk"))[:limit]
    return _lines(user, found, what, **facts)


def _referred(user: Person, rows: QuerySet[AgentSession], reference: str) -> QuerySet[AgentSession]:
    """Returns those whose id ends so. People who may read the sessions also find those with this alias, by its token
    while their customer's key is open, and those of the customer of that reference, by its blind index.
    """
    fits = Q()
    if isinstance(user, User):
        token = projections.alias_token(user.tenant_id, reference)
        fits = Q(_OPEN_KEY, access.within(user, Permission.READ), alias_token=token)
    tail = reference.lower().replace("-", "")
    if _HEX.fullmatch(tail):
        hexes = Func(Cast("pk", CharField()), Value("-"), Value(""), function="replace")
        rows, fits = rows.annotate(hexes=hexes), fits | Q(hexes__endswith=tail)
    if isinstance(user, User) and (readable := teams_with(user, Permission.READ)):
        kid = keys.known_kid(user.tenant_id, reference)
        fits |= Q(kid=kid, team__in=readable) if kid else Q()
    return rows.filter(fits)


def session_line(user: Person, session: UUID) -> SessionLine:
    """One session. Raises UnknownSession to those who may not see it, SessionAltered."""
    rows = visible_sessions(user).filter(pk=session)
    lines = _lines(user, rows.exclude(alterations.standing_in("pk")), "line")
    if not lines:
        raise alterations.refusal(session) if rows.exists() else states.UnknownSession()
    return lines[0]


def opening(committed: Committed, reader: Person | None = None) -> SessionLine:
    """A session as its opening left it, for the person who opened it; to a `reader` the words in it are new."""
    place, state = committed.place, committed.state
    if reader is not None:
        access.note(reader, "line", [Seen(place.id, place.team)])
    assert state.opened is not None
    row = projections.session_row(state)
    del row["epoch"]
    row |= {name: datetime.fromisoformat(row[name]) for name in ("opened_at", "last_at")}
    said = projections.session_card(state)
    return SessionLine(
        id=place.id,
        customer=place.kid,
        team=place.team,
        agent=state.opened.agent,
        channel=state.opened.channel,
        alias=said.alias,
        name=said.name or said.customer,
        topic=said.topic,
        **row,
    )


def lines_of(user: Person, rows: QuerySet[AgentSession], what: str) -> list[SessionLine]:
    """The lines of `rows` as this person may see them, recorded as `what` of `access.READS`."""
    return _lines(user, rows, what)


def _lines(user: Person, rows: QuerySet[AgentSession], what: str, **facts: object) -> list[SessionLine]:
    readable = access.within(user, Permission.READ)
    found = list(rows.annotate(readable=Case(When(readable, then=Value(True)), default=Value(False))))
    keys.warm({row.kid for row in found if row.readable})
    access.note(user, what, [Seen(row.pk, row.team_id) for row in found if row.readable], **facts)
    deadlines = _deadlines([row.pk for row in found if row.open_requests])
    return [_line(row, row.readable, deadlines.get(row.pk, (None, None))) for row in found]


def _deadlines(ids: list[UUID]) -> dict[UUID, Deadline]:
    pending = ApprovalRequest.objects.filter(session__in=ids, state="pending").order_by("-expires_at")
    return {session: (asked, until) for session, asked, until in pending.values_list(*_DEADLINE)}


def _line(row: AgentSession, readable: bool, deadline: Deadline | tuple[None, None]) -> SessionLine:
    plain = SessionLine(
        id=row.pk,
        agent=row.agent,
        channel=row.channel,
        status=row.status,
        waiting_for=row.waiting_for,
        seq=row.seq,
        tier=row.tier,
        open_requests=row.open_requests,
        opened_at=row.opened_at,
        last_at=row.last_at,
        ended_at=row.ended_at,
        team=row.team_id,
        parent=row.parent,
        fork_of=row.fork_of,
        taken_by=row.taken_by,
        taken_at=row.taken_at,
        wanted_at=row.wanted_at,
        assigned_to=row.assigned_to,
        stuck=row.stuck,
        stalled=row.stalled,
        stalled_at=row.stalled_at,
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
        customer=row.kid,
        name=card.name or card.customer,
        topic=shortened(card.topic),
        alias=card.alias,
        last_role=card.last_role,
        last_words=shortened(card.last_words),
        open_preview=shortened(card.open_preview),
    )
