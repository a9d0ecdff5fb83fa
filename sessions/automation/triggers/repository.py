"""Keeping triggers: each change is a new version and an entry of the staff log."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from audit import staff
from audit.server_clock import now as database_now
from sessions.automation.triggers import definition as definitions
from sessions.automation.triggers import schedule
from sessions.automation.triggers.definition import Definition
from sessions.library.versions import must_be_named, must_be_seen
from sessions.models.triggers import Trigger, TriggerVersion, Watch

MAX_TRIGGERS = 200  # of one team


class UnknownTrigger(NotFound):
    """There is no such trigger, or you may not see it."""

    code = "unknown_trigger"


class UnknownWatch(Invalid):
    """No table is watched under this name for the team (manage.py watch-table)."""

    code = "unknown_watch"


class TooManyTriggers(Refused):
    """The team has as many triggers as it may have."""

    code = "too_many_triggers"


def version_of(trigger: UUID, version: int) -> Definition:
    """One version's definition."""
    row = TriggerVersion.objects.get(trigger=trigger, version=version)
    return definitions.load(row.definition)


def keep(tenant: UUID, team: UUID, by: str, name: str, data: Any, *, seen: int = 0) -> Trigger:
    """The trigger of that name, made or changed: its next version, on as it was. `seen` is the version that its author
    saw (0: none of it yet). Raises BadTrigger, BadGuard, BadSchedule, UnknownWatch, ChangedMeanwhile.
    """
    must_be_named(name)
    wanted = definitions.load(data)
    _must_be_watched(team, wanted)
    with transaction.atomic():
        row = Trigger.objects.select_for_update().filter(team_id=team, name=name).first()
        must_be_seen(row, seen)
        at = database_now()
        if row is None:
            if Trigger.objects.filter(team_id=team).count() >= MAX_TRIGGERS:
                raise TooManyTriggers(f"{MAX_TRIGGERS} are allowed")
            row = Trigger(id=new_id(), tenant_id=tenant, team_id=team, name=name, version=0, since=at)
        row.version += 1
        row.source = wanted.on.source
        row.watch = wanted.on.row.watch if wanted.on.row is not None else ""
        row.since = at  # intervals begin anew, and what happened before is none of the new version's business
        row.changed_by, row.changed_at = by, at
        row.next_at = _next(wanted, at)
        row.save()
        TriggerVersion.objects.create(
            trigger=row.pk, version=row.version, definition=definitions.dump(wanted), by=by, at=at
        )
        _record(row, "trigger.changed", by, version=row.version)
    return row


def _must_be_watched(team: UUID, wanted: Definition) -> None:
    on = wanted.on.row
    if on is not None and not Watch.objects.filter(team_id=team, name=on.watch).exists():
        raise UnknownWatch(on.watch[:60], field="on.row.watch")


def _next(wanted: Definition, at: datetime) -> datetime | None:
    if wanted.on.schedule is None:
        return None
    return schedule.following(wanted.on.schedule, at - timedelta(microseconds=1), at + _first_wait(wanted))


def _first_wait(wanted: Definition) -> timedelta:
    """An interval passes once before its first time."""
    return timedelta(seconds=wanted.on.schedule.every if wanted.on.schedule is not None else 0)


def switch(trigger: UUID, on: bool, by: str, why: str = "") -> bool:
    """Switch it on or off. Whether that changed anything: it is recorded only then."""
    with transaction.atomic():
        row = Trigger.objects.select_for_update().filter(pk=trigger).first()
        if row is None:
            raise UnknownTrigger()
        if row.on == on:
            return False
        at = database_now()
        row.on, row.off_why = on, "" if on else why
        row.changed_by, row.changed_at = by, at
        if on:
            row.since = at
            row.next_at = _next(version_of(row.pk, row.version), at)
        row.save()
        _record(row, "trigger.switched_on" if on else "trigger.switched_off", by, why=why)
    return True


def _record(row: Trigger, kind: str, by: str, **facts: str | int) -> None:
    known = {"trigger": str(row.pk), "name": row.name, "team": str(row.team_id), **facts}
    staff.record(row.tenant_id, database_now(), kind, by, "", known)
