"""Figures of service levels and alerts by day, team and agent: what reports are made of. Rows and numbers, no words."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.engine.alerts import SEVERITIES
from agentstate.errors import Invalid
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from audit import ledger
from audit.server_clock import now as database_now
from sessions.core.session_lines import Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words

LONGEST = 92  # days


class LevelFigure(msgspec.Struct, frozen=True):
    """How a target was met on one day (UTC, by when each measurement began) by one agent's sessions in one team. `late`
    are those that still run although they are missed; they count as missed. `share`: thousandths of those that have
    ended, or are late, which were met; none: there are none.
    """

    day: date
    team: UUID
    team_name: str
    agent: str
    target: str
    what: str
    met: int
    missed: int
    late: int
    running: int
    void: int
    median: int | None  # milliseconds of open time
    p95: int | None

    @property
    def share(self) -> int | None:
        """Thousandths that were met."""
        counted = self.met + self.missed + self.late
        return self.met * 1000 // counted if counted else None


class AlertFigure(msgspec.Struct, frozen=True):
    """How many alerts a rule raised on one day (UTC) in one team about one agent's sessions (empty: about no session),
    how many were acknowledged, and how long that took, in milliseconds.
    """

    day: Annotated[date, About("UTC, on which they were raised")]
    team: UUID
    team_name: PageOnly[str]
    agent: Annotated[str, About("empty: about no session")]
    rule: str
    severity: Annotated[str, Words(SEVERITIES)]
    raised: int
    acknowledged: int
    by_itself: Annotated[int, About("closed because the cause was over")]
    escalated: int
    median: Annotated[int | None, About("milliseconds until it was acknowledged")]
    p95: int | None


class Figures(msgspec.Struct, frozen=True):
    """All figures of a time, both ends meant."""

    since: date
    until: date
    levels: list[LevelFigure]
    alerts: list[AlertFigure]


_LEVELS = """SELECT (c.started_at AT TIME ZONE 'UTC')::date AS day, c.team, t.name, c.agent, c.name, c.what,
  count(*) FILTER (WHERE c.outcome = 'met'), count(*) FILTER (WHERE c.outcome = 'missed'),
  count(*) FILTER (WHERE c.ended_at IS NULL AND c.missed_at <= now()),
  count(*) FILTER (WHERE c.ended_at IS NULL AND (c.missed_at IS NULL OR c.missed_at > now())),
  count(*) FILTER (WHERE c.outcome = 'void'),
  percentile_cont(0.5) WITHIN GROUP (ORDER BY c.spent) FILTER (WHERE c.outcome IN ('met', 'missed')),
  percentile_cont(0.95) WITHIN GROUP (ORDER BY c.spent) FILTER (WHERE c.outcome IN ('met', 'missed'))
 FROM agent_sessions_levelclock c JOIN people_team t ON t.id = c.team
 WHERE c.team = ANY(%(teams)s::uuid[]) AND c.started_at >= %(since)s AND c.started_at < %(until)s
 GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1 DESC, 3, 5, 4"""

_ALERTS = """SELECT (a.raised_at AT TIME ZONE 'UTC')::date AS day, a.team_id, t.name, coalesce(s.agent, ''), a.name,
  a.severity, count(*), count(a.acknowledged_at),
  count(*) FILTER (WHERE a.state = 'closed' AND a.cause <> 'person'), count(*) FILTER (WHERE a.step > 0),
  percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM a.acknowledged_at - a.raised_at)),
  percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM a.acknowledged_at - a.raised_at))
 FROM agent_sessions_alert a JOIN people_team t ON t.id = a.team_id
 LEFT JOIN agent_sessions_agentsession s ON s.id = a.session
 WHERE a.team_id = ANY(%(teams)s::uuid[]) AND a.raised_at >= %(since)s AND a.raised_at < %(until)s
 GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1 DESC, 3, 5, 4"""


def figures(user: Person, since: date | None = None, until: date | None = None) -> Figures:
    """Of the teams that `user` sees, from one day to another (UTC); by default of the last seven. Raises Invalid."""
    today = database_now().date()
    until = until or today
    since = since or until - timedelta(days=6)
    if not timedelta(0) <= until - since < timedelta(days=LONGEST):
        raise Invalid(f"want a time of at most {LONGEST} days, its end after its beginning", field="since")
    asked: dict[str, Any] = {
        "teams": teams_with(user, Permission.SEE),
        "since": datetime.combine(since, time(), database_now().tzinfo),
        "until": datetime.combine(until + timedelta(days=1), time(), database_now().tzinfo),
    }
    levels = [_level(row) for row in ledger.run(_LEVELS, asked)]
    alerts = [_alert(row) for row in ledger.run(_ALERTS, asked)]
    return Figures(since, until, levels, alerts)


def _level(row: tuple[Any, ...]) -> LevelFigure:
    named = dict(zip(LevelFigure.__struct_fields__, row, strict=True))
    return LevelFigure(**{**named, "median": _from_micros(row[-2]), "p95": _from_micros(row[-1])})


def _alert(row: tuple[Any, ...]) -> AlertFigure:
    named = dict(zip(AlertFigure.__struct_fields__, row, strict=True))
    return AlertFigure(**{**named, "median": _from_seconds(row[-2]), "p95": _from_seconds(row[-1])})


COLUMNS: dict[str, tuple[str, ...]] = {
    "levels": tuple(name for name in (*LevelFigure.__struct_fields__, "share")),
    "alerts": AlertFigure.__struct_fields__,
}


def table(found: Figures, part: str) -> str:
    """One of the lists as CSV (RFC 4180), with a line of names. What could be taken for a formula by a program that
    opens it is told from one by a leading apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS[part])
    writer.writerows([_cell(getattr(line, name)) for name in COLUMNS[part]] for line in getattr(found, part))
    return text.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _from_micros(value: float | None) -> int | None:
    return None if value is None else round(value / 1000)


def _from_seconds(value: Any) -> int | None:
    return None if value is None else round(float(value) * 1000)
