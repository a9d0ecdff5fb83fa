"""Notifications as pages and API show them: one's own notices, and for those who configure a team its rules, endpoints
and what became of what they told.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from agentstate.engine.alerts import SEVERITIES
from agentstate.people.models import Team, User
from agentstate.people.permissions import teams_required, teams_with
from agentstate.people.roles import Permission
from sessions.automation.notifications import endpoints as endpoint_store
from sessions.automation.notifications import preferences
from sessions.automation.notifications import texts as wording
from sessions.automation.notifications.commands import known
from sessions.automation.notifications.definition import IN_APP, WEBHOOK
from sessions.automation.notifications.quiet_hours import Quiet
from sessions.automation.notifications.repository import STORE
from sessions.automation.notifications.texts import Told
from sessions.automation.rules.commands import configured
from sessions.automation.rules.queries import lines
from sessions.core.paging import behind
from sessions.core.session_lines import PAGE, Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words
from sessions.models.notifications import (
    Notice,
    NoticeAttempt,
    NoticeDelivery,
    NoticeEndpoint,
    NoticeRule,
)
from sessions.outside import secrets

MOST = 100  # rows of a history
COUNTED = 100  # unread notices that the bell counts; it says 99+ then

NOTICE_STATE = list(Notice.State.values)
DELIVERY_STATE = list(NoticeDelivery.State.values)


class NoticeLine(msgspec.Struct, frozen=True):
    """One notice of one's own. `more` counts what is summed up in it beyond what is shown in an hour."""

    id: UUID
    at: datetime
    read_at: datetime | None
    silent: bool
    more: int
    told: Told

    @property
    def kind(self) -> str:
        return self.told.kind

    @property
    def title(self) -> str:
        return self.told.title

    @property
    def severity(self) -> str:
        return self.told.severity

    @property
    def rule(self) -> str:
        return self.told.rule

    @property
    def team(self) -> str:
        return self.told.team

    @property
    def reference(self) -> str:
        return self.told.reference

    @property
    def count(self) -> int:
        return self.told.count

    @property
    def session(self) -> UUID | None:
        return self.told.session

    @property
    def path(self) -> str:
        return self.told.path


class RuleLine(msgspec.Struct, frozen=True):
    """A rule as it stands. `told`, `merged` and `failed` count the last day."""

    id: UUID
    name: str
    team: UUID
    team_name: PageOnly[str]
    version: int
    on: bool
    kinds: list[str]
    changed_by: str
    changed_at: datetime
    told: Annotated[int, About("within a day")]
    merged: Annotated[int, About("within a day: the same as another")]
    waiting: int
    definition: Annotated[dict[str, Any], About("of the newest version, with all defaults")]


class HistoryLine(msgspec.Struct, frozen=True):
    """One notice of a rule, and whom it reached by which way."""

    id: UUID
    kind: str
    version: int
    at: datetime
    state: Annotated[str, Words(NOTICE_STATE)]
    why: Annotated[str, About("a word: told, seen, acted, merged, condition_false, nobody, ...")]
    step: Annotated[int, About("of its steps that were taken")]
    count: Annotated[int, About("of what was the same")]
    session: UUID | None
    seq: int | None
    next_at: Annotated[datetime | None, About("of the next step")]
    sent: int
    failed: int
    due: int
    seen: int


class EndpointLine(msgspec.Struct, frozen=True):
    """An endpoint as it stands, and what it was sent within a day."""

    id: UUID
    name: str
    team: UUID
    team_name: PageOnly[str]
    url: str
    secret: Annotated[str, About("its name")]
    secret_is_there: bool
    version: int
    on: bool
    off_why: Annotated[str, About("by_hand, gone, failing; empty while it is on")]
    failing_since: datetime | None
    well_at: datetime | None
    changed_by: str
    changed_at: datetime
    sent: Annotated[int, About("within a day")]
    failed: Annotated[int, About("within a day")]
    due: int


class AttemptLine(msgspec.Struct, frozen=True):
    """One try: when, how long, and what was answered."""

    at: datetime
    took: Annotated[int, About("milliseconds")]
    status: Annotated[int, About("of HTTP; 0: there was no answer")]
    why: Annotated[str, About("a word; empty: it went well")]
    answer: Annotated[str, About("its beginning")]


class DeliveryLine(msgspec.Struct, frozen=True):
    """One delivery to an endpoint, with its tries."""

    id: UUID
    message: Annotated[UUID | None, About("the `webhook-id`, the same for every try")]
    kind: str
    title: str
    state: Annotated[str, Words(DELIVERY_STATE)]
    why: str
    at: datetime
    due_at: datetime
    ended_at: datetime | None
    attempts: int
    tries: list[AttemptLine]


def mine(user: User) -> QuerySet[NoticeDelivery]:
    """What this person is shown in the app, of teams whose sessions they may see now: badge, list and API are this."""
    teams = teams_with(user, Permission.SEE)
    return NoticeDelivery.objects.filter(person=user.pk, way=IN_APP, team__in=teams)


def unread(user: User) -> QuerySet[NoticeDelivery]:
    """Those that were not read."""
    return mine(user).filter(read_at__isnull=True)


def notices(
    user: Person, *, only_unread: bool = False, after: UUID | None = None, limit: int = PAGE
) -> list[NoticeLine]:
    """One's own, newest first. Raises Invalid when there is no row to go on from, PermissionDenied."""
    person = known(user)
    rows = unread(person) if only_unread else mine(person)
    return _lines(list(behind(rows, mine(person), after, ("-at", "-pk"))[:limit]))


def _lines(rows: Sequence[NoticeDelivery]) -> list[NoticeLine]:
    told = wording.told(list(Notice.objects.filter(pk__in={row.notice for row in rows})))
    return [
        NoticeLine(row.pk, row.at, row.read_at, row.silent, row.count - 1, told[row.notice])
        for row in rows
        if row.notice in told
    ]


class Bell(msgspec.Struct, frozen=True):
    """What the top bar shows: how many (COUNTED at most), the worst of them, and the newest. `mark` changes whenever
    there is something else to show.
    """

    count: int
    worst: str
    mark: str
    newest: list[NoticeLine] = []


SILENT = Bell(0, "", "")


def bell(user: User, newest: int = 10) -> Bell:
    """Of one person, now, with so many of the newest in words."""
    rows = list(unread(user).order_by("-at", "-pk")[:COUNTED])
    if not rows:
        return SILENT
    worst = next(each for each in reversed(SEVERITIES) if any(row.severity == each for row in rows))
    mark = f"{len(rows)}.{rows[0].pk.hex[:12]}.{rows[0].count}"
    return Bell(len(rows), worst, mark, _lines(rows[:newest]) if newest else [])


def wishes_of(user: Person) -> preferences.Wishes:
    """What one wants. Raises PermissionDenied."""
    person = known(user)
    return preferences.of([person.pk]).get(person.pk, preferences.NONE)


def required(teams: Sequence[UUID]) -> list[NoticeRule]:
    """The rules of these teams that nobody can switch off for themselves."""
    rows = list(NoticeRule.objects.filter(team__in=teams, on=True).order_by("name"))
    texts = STORE.definitions(rows)
    return [row for row in rows if texts[row.pk]["required"]]


def rules(user: Person) -> list[RuleLine]:
    """All of the teams that the user configures, by name. Raises PermissionDenied to those who configure none."""
    return _rules(NoticeRule.objects.filter(team__in=teams_required(user, Permission.CONFIGURE)).order_by("name", "pk"))


def rule(user: Person, pk: UUID) -> RuleLine:
    """One of them. Raises UnknownRule, PermissionDenied."""
    configured(STORE, user, pk)
    return _rules(NoticeRule.objects.filter(pk=pk))[0]


def _rules(rows: QuerySet[NoticeRule]) -> list[RuleLine]:
    found = list(rows)
    lately = Q(at__gt=Now() - timedelta(days=1))
    merged = Q(why="merged")
    ended = Q(why__in=("told", "seen", "acted")) | Q(state="open")
    counts = {
        row["rule"]: row
        for row in Notice.objects.filter(rule__in=[each.pk for each in found])
        .values("rule")
        .annotate(
            told=Count("id", filter=lately & ended),
            merged=Count("id", filter=lately & merged),
            waiting=Count("id", filter=Q(state="new")),
        )
    }
    return lines(STORE, RuleLine, found, counts, ("told", "merged", "waiting"))


def history(user: Person, pk: UUID) -> list[HistoryLine]:
    """What became of what a rule heard, newest first, at most MOST. Raises UnknownRule, PermissionDenied."""
    configured(STORE, user, pk)
    found = list(Notice.objects.filter(rule=pk).order_by("-at", "-pk")[:MOST])
    reached = {
        each["notice"]: each
        for each in NoticeDelivery.objects.filter(notice__in=[notice.pk for notice in found])
        .values("notice")
        .annotate(
            sent=Count("id", filter=Q(state="sent")),
            failed=Count("id", filter=Q(state="failed")),
            due=Count("id", filter=Q(state="due")),
            seen=Count("id", filter=Q(read_at__isnull=False)),
        )
    }
    names = ("sent", "failed", "due", "seen")
    return [
        HistoryLine(
            id=each.pk,
            kind=each.kind,
            version=each.version,
            at=each.at,
            state=each.state,
            why=each.why,
            step=each.step,
            count=each.count,
            session=each.about,
            seq=each.about_seq,
            next_at=each.next_at,
            **{name: reached[each.pk][name] if each.pk in reached else 0 for name in names},
        )
        for each in found
    ]


def endpoints(user: Person) -> list[EndpointLine]:
    """All of the teams that the user configures, by name. Raises PermissionDenied to those who configure none."""
    return _endpoints(
        NoticeEndpoint.objects.filter(team__in=teams_required(user, Permission.CONFIGURE)).order_by("name", "pk")
    )


def endpoint(user: Person, pk: UUID) -> EndpointLine:
    """One of them. Raises NoSuchEndpoint, PermissionDenied."""
    configured(endpoint_store.STORE, user, pk)
    return _endpoints(NoticeEndpoint.objects.filter(pk=pk))[0]


def _endpoints(rows: QuerySet[NoticeEndpoint]) -> list[EndpointLine]:
    found = list(rows)
    lately = Q(at__gt=Now() - timedelta(days=1))
    counts = {
        row["endpoint"]: row
        for row in NoticeDelivery.objects.filter(endpoint__in=[each.pk for each in found])
        .values("endpoint")
        .annotate(
            sent=Count("id", filter=lately & Q(state="sent")),
            failed=Count("id", filter=lately & Q(state="failed")),
            due=Count("id", filter=Q(state="due")),
        )
    }
    return lines(endpoint_store.STORE, EndpointLine, found, counts, ("sent", "failed", "due"), _secret)


def _secret(row: NoticeEndpoint) -> dict[str, bool]:
    return {"secret_is_there": secrets.is_there(row.secret)}


def deliveries(user: Person, pk: UUID) -> list[DeliveryLine]:
    """What an endpoint was sent, newest first, at most MOST, each with its tries. Raises NoSuchEndpoint,
    PermissionDenied.
    """
    configured(endpoint_store.STORE, user, pk)
    rows = list(NoticeDelivery.objects.filter(endpoint=pk, way=WEBHOOK).order_by("-at", "-pk")[:MOST])
    told = wording.told(list(Notice.objects.filter(pk__in={row.notice for row in rows})))
    tries: dict[UUID, list[AttemptLine]] = {}
    for each in NoticeAttempt.objects.filter(message__in={row.message for row in rows}).order_by("at", "pk"):
        tries.setdefault(each.message, []).append(AttemptLine(each.at, each.took, each.status, each.why, each.answer))
    own = ("message", "state", "why", "at", "due_at", "ended_at", "attempts")
    return [
        DeliveryLine(
            id=row.pk,
            kind=told[row.notice].kind if row.notice in told else "",
            title=told[row.notice].title if row.notice in told else "",
            tries=tries.get(row.message, []) if row.message else [],
            **{name: getattr(row, name) for name in own},
        )
        for row in rows
    ]


class TeamQuietLine(msgspec.Struct, frozen=True):
    """A team and its quiet hours."""

    slug: str
    name: str
    quiet: Quiet | None


def quiet_of_teams(user: Person) -> list[TeamQuietLine]:
    """Of the teams that the user configures. Raises PermissionDenied."""
    teams = Team.objects.filter(pk__in=teams_required(user, Permission.CONFIGURE)).order_by("name")
    return [TeamQuietLine(team.slug, team.name, preferences.of_team(team.pk)) for team in teams]
