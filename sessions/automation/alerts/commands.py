"""What people do with alerts: they acknowledge one, take it from a colleague, close it with a reason.

It needs `take_over` in the alert's team; of an alert that is about no session, `configure` does too. An alert of a
proposal closes with the team's answer alone, so that it reaches who decides for late teams.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine import decide as core
from agentstate.engine.decide.alerts import PERSON, UnknownAlert
from agentstate.errors import Refused
from agentstate.people.permissions import can, require
from agentstate.people.roles import Permission
from sessions.core.commit import person_command
from sessions.core.person import Person, author_of
from sessions.events import team_alerts
from sessions.models.alerts import Alert
from sessions.proposals import workflow


class WaitsForAnswer(Refused):
    """This alert stays open until the team answers the proposal."""

    code = "waits_for_answer"
    remedy = "Open the proposal."


def acknowledge_alert(user: Person, alert: UUID, *, holder: str = "", key: str = "") -> Alert:
    """They have it. `holder` names the colleague from whom they take it, by actor. Raises UnknownAlert,
    PermissionDenied, AlertOver, HasChanged, WaitsForAnswer.
    """
    row = _theirs(user, alert)
    author = author_of(user, key)
    if row.session is None:
        team_alerts.acknowledge(alert, author.actor, holder)
    else:
        command = core.AcknowledgeAlert(str(alert), author.actor, holder)
        person_command(row.session, command, author, recheck=lambda: _may(user, row))
    row.refresh_from_db()
    return row


def close_alert(user: Person, alert: UUID, reason: str, *, key: str = "") -> Alert:
    """It is over, and why. Raises UnknownAlert, PermissionDenied, AlertOver, Invalid, WaitsForAnswer."""
    row = _theirs(user, alert)
    author = author_of(user, key)
    if row.session is None:
        team_alerts.close(alert, author.actor, PERSON, reason)
    else:
        command = core.CloseAlert(str(alert), author.actor, PERSON, reason)
        person_command(row.session, command, author, recheck=lambda: _may(user, row))
    row.refresh_from_db()
    return row


def _theirs(user: Person, alert: UUID) -> Alert:
    row = Alert.objects.filter(pk=alert).first()
    if row is None or not can(user, Permission.SEE, row.team_id):
        raise UnknownAlert()
    _may(user, row)
    if row.session is None and row.name == workflow.ALERT:
        raise WaitsForAnswer()
    return row


def _may(user: Person, row: Alert) -> None:
    if row.session is None and can(user, Permission.CONFIGURE, row.team_id):
        return
    require(user, Permission.TAKE_OVER, row.team_id)
