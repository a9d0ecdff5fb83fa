"""Alert rules, targets and calendars: list, make, change, switch, try; and the figures of service levels."""

from __future__ import annotations

from datetime import date
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes

from agentstate.errors import NotFound
from agentstate.people.models import User
from sessions.automation.alert_rules import dry_runs, queries
from sessions.automation.alerts import schemas as forms
from sessions.automation.alerts.repository import STORE, UnknownRule
from sessions.automation.rules import commands
from sessions.automation.service_levels import queries as service_levels
from sessions.http.answers import filled
from sessions.http.bodies import arguments
from sessions.http.operations import get, post
from sessions.http.parameters import Day, Id, OneOf

RuleId = Annotated[UUID, Id(UnknownRule)]
Since = Annotated[date | None, Day("a day (UTC); six days before `until` if none")]
Until = Annotated[date | None, Day("a day (UTC), meant too; today if none")]
DEFAULT_DAYS = 7


class UnknownPart(NotFound):
    """There is no such table of service levels."""

    code = "unknown_part"


class Part(OneOf, frozen=True):
    """A table of service levels, in a path."""

    def read(self, name: str, text: str) -> str:
        if text not in self.allowed:
            raise UnknownPart()
        return text


@get()
def list_alert_rules(user: User, *, what: Annotated[str, OneOf(queries.RULE_WHAT)] = "") -> forms.AlertRuleList:
    """The alert rules, targets and calendars of the teams that you see."""
    return forms.AlertRuleList(queries.rules(user, what))


@post()
def keep_alert_rule(user: User, body: forms.KeepAlertRule) -> queries.RuleLine:
    """Make one, or with `seen` the next version of one. It needs `configure`."""
    return queries.rule(user, commands.keep(STORE, user, **arguments(body)).pk)


@get()
def read_alert_rule(user: User, rule: RuleId) -> queries.RuleLine:
    """One of them."""
    return queries.rule(user, rule)


@post(200)
def switch_alert_rule(user: User, rule: RuleId, body: forms.SwitchAlertRule) -> queries.RuleLine:
    """On or off. The open alerts of a rule that is switched off are closed."""
    return queries.rule(user, commands.switch(STORE, user, rule, body.on).pk)


@post(200)
def try_alert_rule(user: User, body: forms.TryAlertRule) -> dry_runs.Trial:
    """Which alerts a rule would have raised in the last days. Nothing is written but that you looked. It needs
    `configure`.
    """
    return dry_runs.trial(user, body.definition, body.days or DEFAULT_DAYS)


@get()
def read_service_levels(user: User, *, since: Since = None, until: Until = None) -> forms.ServiceLevels:
    """By day, team and agent: how far each target was met, how many alerts each rule raised, and how long it took until
    somebody had them.
    """
    return filled(forms.ServiceLevels, service_levels.figures(user, since, until))


@get(shape=OpenApiTypes.STR, media="text/csv")
def read_service_level_table(
    user: User, part: Annotated[str, Part(("levels", "alerts"))], *, since: Since = None, until: Until = None
) -> HttpResponse:
    """One of the two lists as CSV (RFC 4180), with a line of names: `levels` or `alerts`."""
    found = service_levels.figures(user, since, until)
    return HttpResponse(service_levels.table(found, part), content_type="text/csv; charset=utf-8")
