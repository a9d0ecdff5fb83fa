"""What a rule would have found in the last days: "would have raised so many alerts, in these sessions".

Bounded in sessions, entries and seconds; what was not looked at is said. The answer holds no words, and is in the
reader's access log with the sessions that it is about.
"""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine.instants import stamp
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from audit import keys
from audit.server_clock import now as database_now
from sessions.automation.alerts import definition as rules
from sessions.automation.alerts import dry_run
from sessions.automation.alerts import repository as keeping
from sessions.automation.alerts.dry_run import Would
from sessions.automation.service_levels.clocks import Measure, Session
from sessions.core import access
from sessions.core.access import Seen
from sessions.core.session_lines import Person
from sessions.models.sessions import AgentSession
from sessions.versions.replays import history

MOST_SESSIONS = 300
MOST_ENTRIES = 30_000
MOST_SECONDS = 15.0
MOST_ALERTS = 500  # that are told one by one
LONGEST = 31  # days
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


class TrialLine(msgspec.Struct, frozen=True):
    """An alert that would have been raised."""

    session: UUID
    agent: str
    at: datetime
    why: str
    about: str
    seq: int

    @property
    def reference(self) -> str:
        """The short form of its session's id."""
        return self.session.hex[-6:].upper()


class Trial(msgspec.Struct, frozen=True):
    """All of it. `alerts` counts all of them, `lines` holds the first, `sessions` those that were looked at."""

    since: datetime
    until: datetime
    sessions: int
    entries: int
    alerts: int
    in_sessions: int
    lines: list[TrialLine]
    left_out: dict[str, int]


def trial(user: Person, definition: Any, days: int) -> Trial:
    """Over the sessions of the teams that `user` configures. Raises BadRule, BadGuard, PermissionDenied, Invalid."""
    if not 1 <= days <= LONGEST:
        raise Invalid(f"want 1 to {LONGEST} days", field="days")
    teams = teams_with(user, Permission.CONFIGURE)
    if not teams:
        needed = Permission.CONFIGURE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    rule = rules.load(definition)
    until = database_now()
    since = until - timedelta(days=days)
    found = _Looking(rule, since, until)
    rows = AgentSession.objects.filter(team__in=teams, last_at__gte=since, fork_of__isnull=True).order_by(
        "-last_at", "pk"
    )
    for row in rows[:MOST_SESSIONS]:
        found.take(row)
    if (beyond := rows.count() - MOST_SESSIONS) > 0:
        found.left[f"more than {MOST_SESSIONS} sessions"] = beyond
    access.note(user, "dry run", found.seen, since=stamp(since), until=stamp(until), rule=rule.on.kind)
    return found.told()


class _Looking:
    def __init__(self, rule: rules.Definition, since: datetime, until: datetime) -> None:
        self.rule, self.since, self.until = rule, since, until
        self.stop = time.monotonic() + MOST_SECONDS
        self.entries = self.alerts = 0
        self.left = Counter[str]()
        self.seen: list[Seen] = []
        self.lines: list[TrialLine] = []
        self.hit: set[UUID] = set()
        self.measures: dict[UUID, list[Measure]] = {}

    def take(self, row: AgentSession) -> None:
        if self.entries + row.seq > MOST_ENTRIES:
            self.left[f"more than {MOST_ENTRIES} entries"] += 1
            return
        if time.monotonic() > self.stop:
            self.left[f"more than {MOST_SECONDS:.0f} seconds"] += 1
            return
        try:
            found = self._tried(row)
        except keys.Erased:
            self.left["its words are gone"] += 1
            return
        self.entries += row.seq
        self.seen.append(Seen(row.pk, row.team_id))
        self._keep(row, found)

    def _tried(self, row: AgentSession) -> list[Would]:
        session = Session(row.pk, row.agent, row.channel, row.opened_at)
        entries = history(row.pk, row.seq)
        return dry_run.tried(self.rule, entries, session, self._measures(row.team_id), self.since, self.until)

    def _measures(self, team: UUID) -> list[Measure]:
        """The team's targets as they are now, as if they had always been."""
        if team not in self.measures:
            kept = keeping.setting_of(team).measures if self.rule.on.kind == "level" else ()
            self.measures[team] = [msgspec.structs.replace(each, since=ALWAYS) for each in kept]
        return self.measures[team]

    def _keep(self, row: AgentSession, found: list[Would]) -> None:
        self.alerts += len(found)
        if found:
            self.hit.add(row.pk)
        for each in found[: MOST_ALERTS - len(self.lines)]:
            self.lines.append(TrialLine(row.pk, row.agent, each.at, each.why, each.about, each.seq))

    def told(self) -> Trial:
        return Trial(
            since=self.since,
            until=self.until,
            sessions=len(self.seen),
            entries=self.entries,
            alerts=self.alerts,
            in_sessions=len(self.hit),
            lines=sorted(self.lines, key=lambda line: line.at, reverse=True),
            left_out=dict(self.left),
        )
