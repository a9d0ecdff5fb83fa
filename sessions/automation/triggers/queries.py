"""Triggers and what became of what they heard, for those who configure the team."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db.models import Count, F, Q
from django.db.models.functions import Now

from agentstate.people.permissions import teams_required
from agentstate.people.roles import Permission
from sessions.automation.rules.commands import configured
from sessions.automation.rules.queries import lines
from sessions.automation.triggers.definition import SOURCES
from sessions.automation.triggers.repository import STORE
from sessions.core.session_lines import Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words
from sessions.models.triggers import Trigger, TriggerFiring, Watch

MOST = 100  # firings of one answer

TRIGGER_SOURCE = list(SOURCES)
FIRING_STATE = list(TriggerFiring.State.values)


class TriggerLine(msgspec.Struct, frozen=True):
    """One trigger as it stands. `fired`, `waiting` and `refused` count its history of the last day."""

    id: UUID
    name: str
    team: UUID
    team_name: PageOnly[str]
    version: int
    source: Annotated[str, Words(TRIGGER_SOURCE)]
    on: bool
    off_why: Annotated[str, About("by_hand, fires_on_itself, too_often; empty while it is on")]
    next_at: datetime | None
    changed_by: str
    changed_at: datetime
    fired: Annotated[int, About("within a day")]
    waiting: int
    refused: Annotated[int, About("within a day")]
    definition: Annotated[dict[str, Any], About("of the newest version, with all defaults")]


class FiringLine(msgspec.Struct, frozen=True):
    """Something that a trigger heard, and what became of it, with the reason in a word."""

    id: UUID
    version: int
    state: Annotated[str, Words(FIRING_STATE)]
    why: Annotated[str, About("a word: condition_false, rate_limited, too_deep, no_session, ...")]
    about: Annotated[UUID | None, About("the session in which it happened")]
    about_seq: int | None
    session: Annotated[UUID | None, About("the session in which it acted")]
    at: datetime
    due_at: datetime
    ended_at: datetime | None
    attempts: int


class WatchLine(msgspec.Struct, frozen=True):
    """A watched table of another application."""

    name: str
    team: UUID
    database: str
    table: str
    keys: list[str]
    polled_at: datetime | None
    trouble: Annotated[str, About("why it cannot be fetched from; empty: it can")]
    lag: Annotated[int, About("changes that still wait there")]


def triggers(user: Person) -> list[TriggerLine]:
    """All of the teams that the user configures, by name. Raises PermissionDenied to those who configure none."""
    return _lines(Trigger.objects.filter(team__in=teams_required(user, Permission.CONFIGURE)).order_by("name", "pk"))


def trigger(user: Person, pk: UUID) -> TriggerLine:
    """One of them. Raises UnknownTrigger, PermissionDenied."""
    return _lines([configured(STORE, user, pk)])[0]


def _lines(rows: Iterable[Trigger]) -> list[TriggerLine]:
    found = list(rows)
    counts = _counts([row.pk for row in found])
    return lines(STORE, TriggerLine, found, counts, ("fired", "waiting", "refused"), _due)


def _due(row: Trigger) -> dict[str, datetime | None]:
    return {"next_at": row.next_at if row.on else None}


def _counts(triggers: list[UUID]) -> dict[UUID, dict[str, int]]:
    lately = Q(ended_at__gt=Now() - timedelta(days=1))
    rows = (
        TriggerFiring.objects.filter(trigger__in=triggers)
        .values("trigger")
        .annotate(
            fired=Count("id", filter=lately & Q(state="fired")),
            waiting=Count("id", filter=Q(state="due")),
            refused=Count("id", filter=lately & Q(state__in=["refused", "failed"])),
        )
    )
    return {row["trigger"]: {name: row[name] for name in ("fired", "waiting", "refused")} for row in rows}


def firings(user: Person, pk: UUID) -> list[FiringLine]:
    """The newest first, at most MOST. Raises UnknownTrigger, PermissionDenied."""
    configured(STORE, user, pk)
    newest = TriggerFiring.objects.filter(trigger=pk).order_by(F("at").desc(), "-id")[:MOST]
    return [FiringLine(**{name: getattr(each, name) for name in FiringLine.__struct_fields__}) for each in newest]


def watches(user: Person) -> list[WatchLine]:
    """The watched tables of the user's teams. Raises PermissionDenied."""
    rows = Watch.objects.filter(team__in=teams_required(user, Permission.CONFIGURE)).order_by("name")
    return [
        WatchLine(row.name, row.team_id, row.database, row.table, row.keys, row.polled_at, row.trouble, row.lag)
        for row in rows
    ]
