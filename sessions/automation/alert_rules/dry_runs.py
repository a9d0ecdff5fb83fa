"""What a rule would have found in the last days: "would have raised so many alerts, in these sessions".

Bounded in sessions, entries and seconds; what was not looked at is said. The answer holds no words, and is in the
reader's access log with the sessions that it is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.engine.instants import stamp
from agentstate.errors import Invalid
from agentstate.people.permissions import teams_required
from agentstate.people.roles import Permission
from audit.server_clock import now as database_now
from sessions.automation.alerts import definition as rules
from sessions.automation.alerts import dry_run
from sessions.automation.alerts import repository as keeping
from sessions.automation.alerts.dry_run import Would
from sessions.automation.service_levels.clocks import Measure, Session
from sessions.core import access
from sessions.core.session_lines import Person
from sessions.http.bodies import About
from sessions.models.sessions import AgentSession
from sessions.versions import replays
from sessions.versions.replays import Bounds, Entry, Judge

BOUNDS = Bounds(sessions=300, entries=30_000, seconds=15.0)
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
    sessions: Annotated[int, About("that were looked at")]
    entries: int
    alerts: Annotated[int, About("that would have been raised")]
    in_sessions: int
    lines: list[TrialLine]
    left_out: Annotated[dict[str, int], About("sessions that were not looked at, by why")]


def trial(user: Person, definition: Any, days: int) -> Trial:
    """Over the sessions of the teams that `user` configures. Raises BadRule, BadGuard, PermissionDenied, Invalid."""
    if not 1 <= days <= LONGEST:
        raise Invalid(f"want 1 to {LONGEST} days", field="days")
    teams = teams_required(user, Permission.CONFIGURE)
    rule = rules.load(definition)
    until = database_now()
    since = until - timedelta(days=days)
    rows = AgentSession.objects.filter(team__in=teams, last_at__gte=since, fork_of__isnull=True)
    tally = _Tally()
    covered = replays.dry_run(rows.order_by("-last_at", "pk"), BOUNDS, _judge(rule, since, until), tally.take)
    access.note(user, "dry run", covered.seen, since=stamp(since), until=stamp(until), rule=rule.on.kind)
    return Trial(
        since=since,
        until=until,
        sessions=len(covered.seen),
        entries=covered.entries,
        alerts=tally.alerts,
        in_sessions=len(tally.hit),
        lines=sorted(tally.lines, key=lambda line: line.at, reverse=True),
        left_out=dict(covered.left_out),
    )


def _judge(rule: rules.Definition, since: datetime, until: datetime) -> Judge[Would]:
    """Returns what finds the alerts of `rule` in a session."""

    @cache
    def measures(team: UUID) -> list[Measure]:
        """The team's targets as they are now, as if they had always been."""
        kept = keeping.setting_of(team).measures if rule.on.kind == "level" else ()
        return [msgspec.structs.replace(each, since=ALWAYS) for each in kept]

    def judge(row: AgentSession, entries: Iterator[Entry]) -> list[Would]:
        session = Session(row.pk, row.agent, row.channel, row.opened_at)
        return dry_run.tried(rule, entries, session, measures(row.team_id), since, until)

    return judge


class _Tally:
    def __init__(self) -> None:
        self.alerts = 0
        self.lines: list[TrialLine] = []
        self.hit: set[UUID] = set()

    def take(self, row: AgentSession, found: list[Would]) -> None:
        self.alerts += len(found)
        if found:
            self.hit.add(row.pk)
        for each in found[: MOST_ALERTS - len(self.lines)]:
            self.lines.append(TrialLine(row.pk, row.agent, each.at, each.why, each.about, each.seq))
