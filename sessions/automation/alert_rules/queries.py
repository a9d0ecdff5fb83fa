"""Alert rules, targets and calendars as they stand: to see for whoever sees the team."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db.models import Count, Q
from django.db.models.functions import Now

from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from sessions.automation.alerts import repository as keeping
from sessions.automation.alerts.documents import WHATS
from sessions.automation.alerts.repository import STORE
from sessions.automation.rules.commands import found
from sessions.automation.rules.queries import lines
from sessions.automation.rules.store import VersionLine
from sessions.core.session_lines import Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words
from sessions.models.alerts import Alert, LevelClock, TeamRule

MOST = 500
LATELY = timedelta(days=7)

RULE_WHAT = list(WHATS)


class RuleLine(msgspec.Struct, frozen=True):
    """One of them. `raised` counts the alerts of a rule, or the measurements of a target, of the last seven days;
    `open` those alerts that are not closed, or measurements that run.
    """

    id: UUID
    what: Annotated[str, Words(RULE_WHAT)]
    name: str
    team: UUID
    team_name: PageOnly[str]
    version: int
    on: bool
    since: Annotated[datetime, About("what happened before is none of its business")]
    changed_by: str
    changed_at: datetime
    raised: Annotated[int, About("alerts, or measurements, of the last seven days")]
    open: Annotated[int, About("alerts that are not closed, or measurements that run")]
    may_change: bool
    definition: Annotated[dict[str, Any], About("of the newest version, with all defaults")]


def rules(user: Person, what: str = "") -> list[RuleLine]:
    """All of the teams that the user sees, by kind and name. A team without any gets what is shipped."""
    teams = set(teams_with(user, Permission.SEE))
    keeping.teams_at_work(teams)
    rows = TeamRule.objects.filter(team__in=teams)
    return _lines(
        user, list((rows.filter(what=what) if what else rows).order_by("what", "team__name", "name", "pk")[:MOST])
    )


def rule(user: Person, pk: UUID) -> RuleLine:
    """One of them. Raises UnknownRule."""
    return _lines(user, [found(STORE, user, pk)])[0]


def versions(user: Person, pk: UUID) -> list[VersionLine]:
    """Its versions, newest first. Raises UnknownRule."""
    return STORE.history(found(STORE, user, pk).pk)


def _lines(user: Person, rows: list[TeamRule]) -> list[RuleLine]:
    changing = set(teams_with(user, Permission.CONFIGURE))
    raised, standing = _counts([row.pk for row in rows])
    counts = {row.pk: {"raised": raised[str(row.pk)], "open": standing[str(row.pk)]} for row in rows}
    return lines(STORE, RuleLine, rows, counts, more=lambda row: {"may_change": row.team_id in changing})


def _counts(ids: list[UUID]) -> tuple[Counter[str], Counter[str]]:
    raised, standing = Counter[str](), Counter[str]()
    alerts = Alert.objects.filter(rule__in=[str(each) for each in ids]).values("rule")
    counted = alerts.annotate(
        lately=Count("pk", filter=Q(raised_at__gt=Now() - LATELY)), now=Count("pk", filter=~Q(state="closed"))
    )
    for row in counted:
        raised[row["rule"]], standing[row["rule"]] = row["lately"], row["now"]
    clocks = LevelClock.objects.filter(target__in=ids).values("target")
    running = Q(ended_at=None, since__isnull=False)
    for row in clocks.annotate(
        lately=Count("pk", filter=Q(started_at__gt=Now() - LATELY)), now=Count("pk", filter=running)
    ):
        raised[str(row["target"])], standing[str(row["target"])] = row["lately"], row["now"]
    return raised, standing
