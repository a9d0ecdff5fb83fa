"""Keeping what a team has set up: alert rules, targets of service levels, calendars. Each change is a new version and
an entry of the staff log. A team that has set up nothing yet begins with what is shipped (`shipped/*.json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef

from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from agentstate.people.models import Team
from audit import ledger, staff
from audit.server_clock import now as database_now
from sessions.automation.alerts import definition as rules
from sessions.automation.alerts.definition import Definition
from sessions.automation.alerts.documents import checked, shipped
from sessions.automation.alerts.session_alerts import Raising
from sessions.automation.service_levels.clocks import Measure
from sessions.automation.service_levels.definition import Target
from sessions.library.versions import ChangedMeanwhile, must_be_named, must_be_seen
from sessions.models.alerts import TeamRule, TeamRuleVersion
from sessions.text.calendars import Calendar

MOST: Mapping[str, int] = {"rule": 200, "target": 50, "calendar": 20}  # of one team
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)  # what is shipped was there before all that happens
RULE, TARGET, CALENDAR = TeamRule.What.RULE, TeamRule.What.TARGET, TeamRule.What.CALENDAR


class UnknownRule(NotFound):
    """There is no such rule, target or calendar, or you may not see it."""

    code = "unknown_alert_rule"


class UnknownCalendar(Invalid):
    """The team has no calendar of this name."""

    code = "unknown_calendar"


class TooManyRules(Refused):
    """The team has as many of these as it may have."""

    code = "too_many_alert_rules"


class InUse(Refused):
    """A target is measured by this calendar."""

    code = "calendar_in_use"
    remedy = "Change or switch off the targets named here first."


class Kept(msgspec.Struct, frozen=True):
    """An alert rule of a team that is on."""

    id: UUID
    name: str
    version: int
    since: datetime
    definition: Definition

    @property
    def raising(self) -> Raising:
        """What it says of its alerts."""
        found = self.definition
        return Raising(str(self.id), self.name, self.version, found.severity, found.to, found.chain)


class Setting(msgspec.Struct, frozen=True):
    """All that a team has set up and that is on."""

    rules: tuple[Kept, ...] = ()
    measures: tuple[Measure, ...] = ()


def keep(
    tenant: UUID, team: UUID, by: str, what: str, name: str, data: Any, *, seen: int = 0, since: datetime | None = None
) -> TeamRule:
    """The rule, target or calendar of that name, made or changed: its next version, on as it was. `seen` is the version
    that its author saw (0: none of it yet); what happened before `since` (now) is none of its business. Raises as
    `checked`, and UnknownCalendar, TooManyRules, ChangedMeanwhile.
    """
    must_be_named(name)
    wanted = checked(what, data)
    if what == TARGET and wanted["calendar"]:
        _must_have_calendar(team, wanted["calendar"])
    with transaction.atomic():
        row = TeamRule.objects.select_for_update().filter(team_id=team, what=what, name=name).first()
        must_be_seen(row, seen)
        at = database_now()
        if row is None:
            if TeamRule.objects.filter(team_id=team, what=what).count() >= MOST[what]:
                raise TooManyRules(f"{MOST[what]} are allowed")
            row = TeamRule(id=new_id(), tenant_id=tenant, team_id=team, what=what, name=name, version=0)
        row.version += 1
        row.since, row.changed_at, row.changed_by = since or at, at, by
        row.save()
        TeamRuleVersion.objects.create(rule=row.pk, version=row.version, definition=wanted, by=by, at=at)
        _record(row, "changed", by)
        _look_again(row)
    return row


def _must_have_calendar(team: UUID, name: str) -> None:
    if not TeamRule.objects.filter(team_id=team, what=CALENDAR, name=name).exists():
        raise UnknownCalendar(name[:60], field="calendar")


def switch(rule: UUID, on: bool, by: str) -> bool:
    """Switch it on or off. Whether that changed anything: it is recorded only then. Raises UnknownRule, InUse."""
    with transaction.atomic():
        row = TeamRule.objects.select_for_update().filter(pk=rule).first()
        if row is None:
            raise UnknownRule()
        if row.on == on:
            return False
        if row.what == CALENDAR and not on:
            _must_be_free(row)
        row.on = on
        row.since = row.changed_at = database_now()
        row.changed_by = by
        row.save()
        _record(row, "switched_on" if on else "switched_off", by)
        _look_again(row)
    return True


def _must_be_free(calendar: TeamRule) -> None:
    measured = [
        each.name
        for each in TeamRule.objects.filter(team_id=calendar.team_id, what=TARGET, on=True)
        if definition_of(each.pk, each.version)["calendar"] == calendar.name
    ]
    if measured:
        raise InUse(", ".join(measured)[:200])


def _record(row: TeamRule, done: str, by: str) -> None:
    known = {"id": str(row.pk), "name": row.name, "team": str(row.team_id), "version": row.version}
    staff.record(row.tenant_id, database_now(), f"alert_{row.what}.{done}", by, "", known)


def _look_again(row: TeamRule) -> None:
    """What is on now may concern sessions in which nothing happens, and what is off leaves alerts behind."""
    if row.what == CALENDAR:
        return
    ledger.run(
        "INSERT INTO agent_sessions_alertwatch (session, tenant, team, seen, upto, due_at, attempts)"
        " SELECT s.id, s.tenant_id, s.team_id, s.seq, s.seq, now(), 0 FROM agent_sessions_agentsession s"
        " WHERE s.team_id = %(team)s AND s.fork_of IS NULL AND (s.ended_at IS NULL OR EXISTS"
        "  (SELECT 1 FROM agent_sessions_alert a WHERE a.session = s.id AND a.state <> 'closed'))"
        " ON CONFLICT (session) DO UPDATE SET due_at = now() RETURNING 1",
        {"team": row.team_id},
    )


def definition_of(rule: UUID, version: int) -> dict[str, Any]:
    """One version, as it was stored."""
    found: dict[str, Any] = TeamRuleVersion.objects.get(rule=rule, version=version).definition
    return found


def setting_of(team: UUID) -> Setting:
    """What is on in a team. One query."""
    rows = ledger.run(
        "SELECT r.id, r.what, r.name, r.version, r.since, v.definition FROM agent_sessions_teamrule r"
        " JOIN agent_sessions_teamruleversion v ON v.rule = r.id AND v.version = r.version"
        " WHERE r.team_id = %(team)s AND r.on ORDER BY r.name",
        {"team": team},
    )
    hours = {row[2]: msgspec.convert(row[5], Calendar) for row in rows if row[1] == CALENDAR}
    kept = [Kept(row[0], row[2], row[3], row[4], rules.load(row[5])) for row in rows if row[1] == RULE]
    return Setting(tuple(kept), tuple(_measure(row, hours) for row in rows if row[1] == TARGET))


def _measure(row: tuple[Any, ...], hours: Mapping[str, Calendar]) -> Measure:
    target = msgspec.convert(row[5], Target)
    return Measure(row[0], row[2], row[3], row[4], target, hours.get(target.calendar))


def teams_at_work(teams: set[UUID]) -> set[UUID]:
    """Those of `teams` in which something is on. A team that has set up nothing yet gets what is shipped first."""
    known = TeamRule.objects.filter(team_id__in=teams)
    for team in Team.objects.filter(pk__in=teams).exclude(Exists(TeamRule.objects.filter(team=OuterRef("pk")))):
        begin(team.tenant_id, team.pk)
    return set(known.filter(on=True).exclude(what=CALENDAR).values_list("team_id", flat=True).distinct())


def begin(tenant: UUID, team: UUID) -> None:
    """Set up what is shipped, unless somebody was faster."""
    try:
        with transaction.atomic():
            for what, name, data in shipped():
                keep(tenant, team, ledger.SYSTEM, what, name, data, since=ALWAYS)
    except (ChangedMeanwhile, IntegrityError):
        return
