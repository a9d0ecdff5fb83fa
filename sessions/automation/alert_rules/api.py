"""Alert rules, targets and calendars: list, make, change, switch, try; and the figures of service levels."""

from __future__ import annotations

from datetime import date

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.errors import Invalid, NotFound
from sessions.automation.alert_rules import dry_runs, queries
from sessions.automation.alerts import schemas as forms
from sessions.automation.alerts.documents import WHATS
from sessions.automation.alerts.repository import STORE
from sessions.automation.rules.api import RuleApi
from sessions.automation.service_levels import queries as service_levels
from sessions.http import problems
from sessions.http import schemas as http_schemas
from sessions.http.api import READING, WRITING, answers, shown, valid
from sessions.http.parameters import Parameters

PARTS = {"levels": forms.LevelFigure, "alerts": forms.AlertFigure}
DAYS = [
    OpenApiParameter("since", date, description="a day (UTC); six days before `until` if none"),
    OpenApiParameter("until", date, description="a day (UTC), meant too; today if none"),
]
DEFAULT_DAYS = 7
YEARS = range(2000, 2300)


class UnknownPart(NotFound):
    """There is no such table of service levels."""

    code = "unknown_part"


def _rules(request: Request) -> list[queries.RuleLine]:
    what = Parameters(request, "what").one_of("what", list(WHATS))
    return queries.rules(request.user, what)


AlertRules, OneAlertRule, AlertRuleSwitch = RuleApi(
    store=STORE,
    name="alert_rule",
    path="rule",
    key="rules",
    line=queries.rule,
    lines=_rules,
    form=forms.AlertRule,
    list_form=forms.AlertRuleList,
    keep_form=forms.KeepAlertRule,
    switch_form=forms.SwitchAlertRule,
    listed="The alert rules, targets and calendars of the teams that you see.",
    kept="Make one, or with `seen` the next version of one. It needs `configure`.",
    read="One of them.",
    switched="On or off. The open alerts of a rule that is switched off are closed.",
    parameters=(OpenApiParameter("what", str, enum=list(WHATS)),),
).views()


class AlertTrial(APIView):
    """Try a rule on what is past."""

    @extend_schema(
        operation_id="try_alert_rule",
        description="Which alerts a rule would have raised in the last days. Nothing is written but that you looked. It"
        " needs `configure`.",
        request=forms.TryAlertRule,
        responses=answers(200, forms.AlertTrial, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.TryAlertRule, request)
        found = dry_runs.trial(request.user, wanted["definition"], wanted.get("days", DEFAULT_DAYS))
        lines = [shown(forms.WouldAlert, each) for each in found.lines]
        return Response({**shown(forms.AlertTrial, found), "lines": lines})


class ServiceLevels(APIView):
    """Figures of service levels and alerts."""

    @extend_schema(
        operation_id="read_service_levels",
        description="By day, team and agent: how far each target was met, how many alerts each rule raised, and how"
        " long it took until somebody had them.",
        parameters=DAYS,
        responses=answers(200, forms.ServiceLevels, *READING),
    )
    def get(self, request: Request) -> Response:
        found = service_levels.figures(request.user, *_days(request))
        lists = {name: [shown(shape, each) for each in getattr(found, name)] for name, shape in PARTS.items()}
        return Response({"since": found.since, "until": found.until, **lists})


class ServiceLevelTable(APIView):
    """The same as a table."""

    @extend_schema(
        operation_id="read_service_level_table",
        description="One of the two lists as CSV (RFC 4180), with a line of names: `levels` or `alerts`.",
        parameters=[OpenApiParameter("part", str, OpenApiParameter.PATH, enum=list(PARTS)), *DAYS],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            **{(code, problems.MEDIA_TYPE): http_schemas.Problem for code in sorted(READING)},
        },
    )
    def get(self, request: Request, part: str) -> HttpResponse:
        if part not in PARTS:
            raise UnknownPart()
        found = service_levels.figures(request.user, *_days(request))
        return HttpResponse(service_levels.table(found, part), content_type="text/csv; charset=utf-8")


def _days(request: Request) -> tuple[date | None, date | None]:
    given = Parameters(request, "since", "until")
    return day_of(given.text("since", 10), "since"), day_of(given.text("until", 10), "until")


def day_of(text: str, field: str) -> date | None:
    """A day as 2026-11-21; None for an empty text. Raises Invalid."""
    if not text:
        return None
    try:
        if len(text) != len("2026-11-21"):
            raise ValueError
        found = date.fromisoformat(text)
    except ValueError:
        raise Invalid("want a day, as 2026-11-21", field=field) from None
    if found.year not in YEARS:
        raise Invalid(f"want a day of the years {YEARS.start} to {YEARS.stop - 1}", field=field)
    return found
