"""What nobody can be told is itself an alert of the team: one open alert for each person, endpoint or rule, however
much was meant for them, closed by itself when the next message arrives.

Its own notices cannot loop: what cannot be delivered of them raises nothing.
"""

from __future__ import annotations

import logging
from uuid import UUID

from agentstate.engine.decide.alerts import TooManyAlerts
from agentstate.people.models import Team
from sessions.automation.notifications.subjects import ALERT, NOBODY
from sessions.events import team_alerts
from sessions.events.team_alerts import TeamAlert
from sessions.models.alerts import Alert
from sessions.models.notifications import Notice, NoticeDelivery

NAME = "undeliverable"
log = logging.getLogger(__name__)


def notice(found: Notice, why: str) -> None:
    """A notice that reached nobody at all; in the caller's transaction, so that it is not lost."""
    if not is_of_itself(found):
        raise_(found.team, f"rule:{found.rule}", why)


def delivery(row: NoticeDelivery, why: str) -> None:
    """A delivery that was given up, and has no other way left."""
    found = Notice.objects.filter(pk=row.notice).first()
    if found is not None and not is_of_itself(found):
        raise_(row.team, key_of(row), why)


def key_of(row: NoticeDelivery) -> str:
    """What its alert is about: the endpoint or the person, by id."""
    return f"endpoint:{row.endpoint}" if row.endpoint else f"person:{row.person}"


def raise_(team: UUID, key: str, why: str) -> None:
    """The open alert of that key, raised now or found again; where the team has as many as it may, the log says so."""
    tenant = Team.objects.values_list("tenant", flat=True).get(pk=team)
    try:
        team_alerts.raise_for_team(tenant, team, TeamAlert(NAME, key, why=why))
    except TooManyAlerts:
        log.warning("%s of team %s is undeliverable (%s), and the team has too many open alerts", key, team, why)


def over(row: NoticeDelivery) -> None:
    """Something has arrived there: its alert, if there is one, is over."""
    team_alerts.close_of_team(row.team, NAME, key_of(row), "delivered")


def is_of_itself(found: Notice) -> bool:
    """Whether a notice tells of an alert about what could not be delivered."""
    if found.thing != ALERT:
        return False
    return Alert.objects.filter(pk=found.thing_id or NOBODY, name=NAME, session=None).exists()
