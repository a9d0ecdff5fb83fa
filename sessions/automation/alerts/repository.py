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
from agentstate.people.models import Team
from audit import ledger, staff
from audit.server_clock import now as database_now
from sessions.automation.alerts import definition as rules
from sessions.automation.alerts.definition import Definition
from sessions.automation.alerts.documents import WHATS, checked, shipped
from sessions.automation.alerts.session_alerts import Raising
from sessions.automation.rules.store import RuleStore
from sessions.automation.service_levels.clocks import Measure
from sessions.automation.service_levels.definition import Target
from sessions.library.versions import ChangedMeanwhile
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


class AlertRules(RuleStore[TeamRule]):
    """Alert rules, targets and calendars, each kind (`what`) with names of its own."""

    rows, versions, most = TeamRule, TeamRuleVersion, max(MOST.values())
    unknown, too_many = UnknownRule, TooManyRules

    def checked(self, team: UUID, data: Any, *, what: str = RULE, **_: Any) -> tuple[Any, dict[str, Any]]:
        """Raises as `documents.checked`, and UnknownCalendar."""
        if what not in WHATS:
            raise Invalid(f"want one of {', '.join(WHATS)}", field="what")
        found = checked(what, data)
        if what == TARGET and found["calendar"]:
            named = TeamRule.objects.filter(team_id=team, what=CALENDAR, name=found["calendar"])
            if not named.exists():
                raise UnknownCalendar(found["calendar"][:60], field="calendar")
        return found, found

    def prepare(self, team: UUID) -> None:
        """What is shipped comes before the first of a team's own."""
        teams_at_work({team})

    def limit(self, *, what: str = RULE, **_: Any) -> int:
        """Returns how many of this kind a team may have."""
        return MOST[what]

    def switched(self, row: TeamRule) -> None:
        """Raises InUse for a calendar by which a target is measured."""
        row.since = row.changed_at
        if row.what == CALENDAR and not row.on:
            targets = list(TeamRule.objects.filter(team_id=row.team_id, what=TARGET, on=True))
            kept = self.definitions(targets)
            measured = [each.name for each in targets if kept[each.pk]["calendar"] == row.name]
            if measured:
                raise InUse(", ".join(measured)[:200])

    def record(self, row: TeamRule, done: str, by: str, **_: str | int) -> None:
        """Appends what was done to the staff log, with the version."""
        known = {"id": str(row.pk), "name": row.name, "team": str(row.team_id), "version": row.version}
        staff.record(row.tenant_id, database_now(), f"alert_{row.what}.{done}", by, "", known)

    def saved(self, row: TeamRule) -> None:
        """What is on now may concern sessions in which nothing happens, and what is off leaves alerts behind."""
        if row.what != CALENDAR:
            _look_again(row.team_id)


STORE = AlertRules()
switch, definition_of = STORE.switch, STORE.definition


def keep(
    tenant: UUID, team: UUID, by: str, what: str, name: str, data: Any, *, seen: int = 0, since: datetime | None = None
) -> TeamRule:
    """Makes or changes the rule, target or calendar of that name. Raises as AlertRules.checked, and TooManyRules,
    ChangedMeanwhile, Invalid.
    """
    return STORE.keep(tenant, team, by, name, data, seen=seen, since=since, what=what)


def _look_again(team: UUID) -> None:
    ledger.run(
        "INSERT INTO agent_sessions_alertwatch (session, tenant, team, seen, upto, due_at, attempts)"
        " SELECT s.id, s.tenant_id, s.team_id, s.seq, s.seq, now(), 0 FROM agent_sessions_agentsession s"
        " WHERE s.team_id = %(team)s AND s.fork_of IS NULL AND (s.ended_at IS NULL OR EXISTS"
        "  (SELECT 1 FROM agent_sessions_alert a WHERE a.session = s.id AND a.state <> 'closed'))"
        " ON CONFLICT (session) DO UPDATE SET due_at = now() RETURNING 1",
        {"team": team},
    )


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
