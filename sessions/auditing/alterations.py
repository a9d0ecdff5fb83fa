"""Alerts, the banner and the list about sessions that were altered in the database."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from agentstate.engine.decide.alerts import TooManyAlerts
from agentstate.people.models import Membership, Team, User
from agentstate.people.roles import Role
from audit import condition, ledger
from audit.models import Alteration
from audit.scrub import altered, schedule
from audit.scrub.altered import Found
from sessions.events import team_alerts
from sessions.models.alerts import Alert
from sessions.models.sessions import AgentSession

ALERT = "altered"


TOLD = (Role.SUPERVISOR, Role.AUDITOR, Role.ADMIN)  # who sees the alert and the banner


RIGHT_AGAIN = "right_again"


log = logging.getLogger(__name__)


class Altered(msgspec.Struct, frozen=True):
    """What the banner says: how many open alerts there are, and the first session that one of them is about."""

    count: int
    session: UUID | None


def scrub(tenant: UUID) -> None:
    """Lets the scrubber work for its share, and tells people what it found."""
    _watch_the_ledger(tenant)
    schedule.work(tenant, lambda found, right: tell(tenant, found, right), sessions_without_rows)


def _watch_the_ledger(tenant: UUID) -> None:
    """What the signer or the sequencer found altered is an alteration as well, for as long as they say so."""
    present = condition.read(tenant)
    trouble = present.told
    if trouble is not None and trouble.code in condition.TAMPERED:
        tell(tenant, altered.report(tenant, [Found(altered.LEDGER, trouble.code, detail=trouble.detail)]), set())
    elif trouble is None and present.sequencing:
        tell(tenant, [], altered.right_again(tenant, condition.TAMPERED, present.read_at))


_WITHOUT_ROWS = """
SELECT e.log FROM audit_entry e WHERE e.log = ANY(%(logs)s) AND e.seq = 0
  AND position(convert_to('"kind":"session.opened"', 'UTF8') IN e.envelope) > 0
  AND NOT EXISTS (SELECT 1 FROM agent_sessions_agentsession s WHERE s.id = e.log)"""


def sessions_without_rows(logs: Sequence[UUID]) -> Iterable[Found]:
    """Of these logs the sessions that no page can show, since their row is gone."""
    return [Found(each, "session_missing") for (each,) in ledger.run(_WITHOUT_ROWS, {"logs": list(logs)})]


def tell(tenant: UUID, found: Sequence[Found], right: set[UUID]) -> None:
    """Raises an alert in the teams concerned for each log with new alterations, and closes those that are over."""
    for each in {each.log: each for each in reversed(found)}.values():
        for team in _teams(tenant, each.log):
            alert = team_alerts.TeamAlert(
                ALERT, _key(each.log), "critical", each.what, tuple(f"role:{role.value}" for role in TOLD)
            )
            try:
                team_alerts.raise_for_team(tenant, team, alert)
            except TooManyAlerts:  # the health of the ledger counts it all the same
                log.error("team %s was not alerted of %s: it has too many open alerts", team, each)
    for each_log in right:
        for team in Alert.objects.filter(_about(each_log)).exclude(state="closed").values_list("team_id", flat=True):
            team_alerts.close_of_team(team, ALERT, _key(each_log), RIGHT_AGAIN)


def _key(about: UUID) -> str:
    return "ledger" if about == altered.LEDGER else str(about)


def _about(about: UUID) -> Q:
    return Q(name=ALERT, about=_key(about), session=None)


def _teams(tenant: UUID, about: UUID) -> list[UUID]:
    """The team of the session; of what is no session that is there, all."""
    rows: QuerySet[Any] = AgentSession.objects.filter(pk=about).values_list("team_id", flat=True)
    return list(rows) or list(Team.objects.filter(tenant=tenant).order_by("pk").values_list("pk", flat=True))


def banner(user: User) -> Altered | None:
    """What a supervisor, auditor or admin of a team is told on every page, until somebody of the team acknowledges it.
    What the ledger's health tells them anyway is left out.
    """
    teams = Membership.objects.filter(user=user, role__in=[role.value for role in TOLD]).values("team")
    rows = Alert.objects.filter(team__in=teams, session=None, name=ALERT, state="open")
    keys = list(rows.exclude(why__in=condition.TAMPERED).order_by("raised_at").values_list("about", flat=True)[:100])
    if not keys:
        return None
    return Altered(len(set(keys)), None if keys[0] == "ledger" else UUID(keys[0]))


def is_told(user: User) -> bool:
    """Whether the person is told when the ledger was altered."""
    return Membership.objects.filter(user=user, role__in=[role.value for role in TOLD]).exists()


_OPEN = """
SELECT count(*) FROM audit_alteration f WHERE f.tenant = %(tenant)s AND f.right_at IS NULL AND (
  NOT EXISTS (SELECT 1 FROM agent_sessions_alert a WHERE a.session IS NULL AND a.name = %(name)s
    AND a.about = CASE WHEN f.log = %(ledger)s THEN 'ledger' ELSE f.log::text END)
  OR EXISTS (SELECT 1 FROM agent_sessions_alert a WHERE a.session IS NULL AND a.name = %(name)s AND a.state = 'open'
    AND a.about = CASE WHEN f.log = %(ledger)s THEN 'ledger' ELSE f.log::text END))"""


def open_count(tenant: UUID) -> int:
    """How many alterations stand that nobody has acknowledged."""
    return int(ledger.run(_OPEN, {"tenant": tenant, "name": ALERT, "ledger": altered.LEDGER})[0][0])


class AlterationLine(msgspec.Struct, frozen=True):
    """An alteration as the page of the ledger's health lists it. `by`: who acknowledged or closed the alert of it."""

    place: Alteration
    words: str
    session: bool
    by: tuple[str, ...]


def lines(user: User, teams: Sequence[UUID]) -> list[AlterationLine]:
    """The alterations that stand, as somebody who audits these teams may see them: those of their sessions, and of all
    that belongs to no team.
    """
    rows = altered.standing(user.tenant_id)
    known = dict(AgentSession.objects.filter(pk__in=[row.log for row in rows]).values_list("pk", "team_id"))
    alerts = Alert.objects.filter(session=None, name=ALERT, about__in=[_key(row.log) for row in rows])
    by: dict[str, list[str]] = {}
    for about, holder, closer in alerts.filter(team__in=teams).values_list("about", "held_by", "closed_by"):
        by.setdefault(about, []).extend(name for name in (closer or holder,) if name)
    return [
        AlterationLine(row, _words(row), row.log in known, tuple(dict.fromkeys(by.get(_key(row.log), ()))))
        for row in rows
        if row.log not in known or known[row.log] in teams
    ]


def _words(row: Alteration) -> str:
    title = altered.WORDS.get(row.what) or condition.TITLES.get(row.what, row.what)
    return f"{title} {row.detail}".strip()
