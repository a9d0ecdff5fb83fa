"""Alerts: list, read, acknowledge, close."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from agentstate.engine.decide.alerts import UnknownAlert
from agentstate.people.models import User
from sessions.automation.alerts import commands, queries
from sessions.automation.alerts import schemas as forms
from sessions.core.session_lines import PAGE
from sessions.http.answers import following
from sessions.http.bodies import arguments
from sessions.http.operations import get, post
from sessions.http.parameters import After, Flag, Id, Limit, OneOf, Text

AlertId = Annotated[UUID, Id(UnknownAlert)]


@get()
def list_alerts(
    user: User,
    *,
    state: Annotated[str, OneOf(queries.ALERT_STATE)] = "",
    mine: Annotated[bool, Flag("only those that you have, and those for you that nobody has")] = False,
    session: Annotated[UUID | None, Id()] = None,
    rule: Annotated[str, Text("name of the rule", 60)] = "",
    severity: Annotated[str, OneOf(queries.ALERT_SEVERITY)] = "",
    after: After = None,
    limit: Limit = PAGE,
) -> forms.AlertPage:
    """The alerts of your teams, newest first. No line holds a word of a conversation."""
    lines = queries.alerts(
        user,
        state=state,
        mine_only=mine,
        session=session,
        rule=rule,
        severity=severity,
        after=after,
        limit=limit,
    )
    return forms.AlertPage(lines, following(lines, limit))


@get()
def read_alert(user: User, alert: AlertId) -> queries.AlertLine:
    """Read one alert."""
    return queries.alert(user, alert)


@post(200)
def acknowledge_alert(user: User, alert: AlertId, body: forms.AcknowledgeAlert) -> queries.AlertLine:
    """You have it: it goes no further along its chain. With `holder` you take it from a colleague. It needs
    `take_over`; of an alert about no session, `configure` does too.
    """
    return queries.alert(user, commands.acknowledge_alert(user, alert, **arguments(body)).pk)


@post(200)
def close_alert(user: User, alert: AlertId, body: forms.CloseAlert) -> queries.AlertLine:
    """It is over, and why. It needs what acknowledging needs."""
    return queries.alert(user, commands.close_alert(user, alert, **arguments(body)).pk)
