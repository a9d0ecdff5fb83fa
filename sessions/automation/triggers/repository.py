"""The triggers of a team: rules that open a session, or tell or signal one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from agentstate.errors import Invalid, NotFound, Refused
from audit.server_clock import now as database_now
from sessions.automation.rules.store import RuleStore
from sessions.automation.triggers import definition as definitions
from sessions.automation.triggers import schedule
from sessions.automation.triggers.definition import Definition
from sessions.models.triggers import Trigger, TriggerVersion, Watch

__all__ = ["database_now", "keep", "switch", "version_of"]


class UnknownTrigger(NotFound):
    """There is no such trigger, or you may not see it."""

    code = "unknown_trigger"


class UnknownWatch(Invalid):
    """No table is watched under this name for the team (manage.py watch-table)."""

    code = "unknown_watch"


class TooManyTriggers(Refused):
    """The team has as many triggers as it may have."""

    code = "too_many_triggers"


class Triggers(RuleStore[Trigger]):
    """Triggers. A new version begins its intervals anew."""

    rows, versions, label, event, most = Trigger, TriggerVersion, "trigger", "trigger", 200
    unknown, too_many = UnknownTrigger, TooManyTriggers

    def checked(self, team: UUID, data: Any, **_: Any) -> tuple[Definition, dict[str, Any]]:
        """Raises BadTrigger, BadGuard, BadSchedule, UnknownWatch."""
        found = definitions.load(data)
        on = found.on.row
        if on is not None and not Watch.objects.filter(team_id=team, name=on.watch).exists():
            raise UnknownWatch(on.watch[:60], field="on.row.watch")
        return found, definitions.dump(found)

    def fill(self, row: Trigger, definition: Definition, at: datetime) -> None:
        """What it waits for, and the first time of its schedule."""
        row.source = definition.on.source
        row.watch = definition.on.row.watch if definition.on.row is not None else ""
        row.next_at = _next(definition, at)

    def switched(self, row: Trigger) -> None:
        """Its schedule begins anew when it is switched on."""
        if row.on:
            row.next_at = _next(version_of(row.pk, row.version), row.changed_at)


STORE = Triggers()
keep, switch = STORE.keep, STORE.switch


def version_of(trigger: UUID, version: int) -> Definition:
    """Returns one version's definition."""
    return definitions.load(STORE.definition(trigger, version))


def _next(wanted: Definition, at: datetime) -> datetime | None:
    if wanted.on.schedule is None:
        return None
    return schedule.following(wanted.on.schedule, at - timedelta(microseconds=1), at + _first_wait(wanted))


def _first_wait(wanted: Definition) -> timedelta:
    """An interval passes once before its first time."""
    return timedelta(seconds=wanted.on.schedule.every if wanted.on.schedule is not None else 0)
