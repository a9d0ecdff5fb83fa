"""Alerts: list, read, acknowledge, close."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.alerts import SEVERITIES
from agentstate.engine.decide.alerts import UnknownAlert
from sessions.automation.alerts import commands, queries
from sessions.automation.alerts import schemas as forms
from sessions.core.session_lines import PAGE
from sessions.http.api import AFTER, LIMIT, MOST, READING, WRITING, answers, page, shown, valid
from sessions.http.parameters import Parameters, identifier
from sessions.models.alerts import Alert as Row

ALERT = OpenApiParameter("alert", UUID, OpenApiParameter.PATH)


class Alerts(APIView):
    """List alerts."""

    @extend_schema(
        operation_id="list_alerts",
        description="The alerts of your teams, newest first. No line holds a word of a conversation.",
        parameters=[
            OpenApiParameter("state", str, enum=Row.Standing.values),
            OpenApiParameter("mine", bool, description="only those that you have, and those for you that nobody has"),
            OpenApiParameter("session", UUID),
            OpenApiParameter("rule", str, description="name of the rule"),
            OpenApiParameter("severity", str, enum=list(SEVERITIES)),
            AFTER,
            LIMIT,
        ],
        responses=answers(200, forms.AlertPage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "state", "mine", "session", "rule", "severity", "after", "limit")
        limit = given.whole("limit", PAGE, 1, MOST)
        found = queries.alerts(
            request.user,
            state=given.one_of("state", Row.Standing.values),
            mine_only=given.one_of("mine", ["true", "false"]) == "true",
            session=given.id("session"),
            rule=given.text("rule", 60),
            severity=given.one_of("severity", list(SEVERITIES)),
            after=given.id("after"),
            limit=limit,
        )
        return page("alerts", forms.Alert, found, limit)


class OneAlert(APIView):
    """Read one alert."""

    @extend_schema(operation_id="read_alert", parameters=[ALERT], responses=answers(200, forms.Alert, *READING))
    def get(self, request: Request, alert: str) -> Response:
        return Response(shown(forms.Alert, queries.alert(request.user, identifier(alert, UnknownAlert))))


class Acknowledging(APIView):
    """Have an alert."""

    @extend_schema(
        operation_id="acknowledge_alert",
        description="You have it: it goes no further along its chain. With `holder` you take it from a colleague. It"
        " needs `take_over`; of an alert about no session, `configure` does too.",
        parameters=[ALERT],
        request=forms.AcknowledgeAlert,
        responses=answers(200, forms.Alert, *WRITING),
    )
    def post(self, request: Request, alert: str) -> Response:
        wanted = valid(forms.AcknowledgeAlert, request)
        row = commands.acknowledge_alert(request.user, identifier(alert, UnknownAlert), **wanted)
        return Response(shown(forms.Alert, queries.alert(request.user, row.pk)))


class Closing(APIView):
    """Close an alert."""

    @extend_schema(
        operation_id="close_alert",
        description="It is over, and why. It needs what acknowledging needs.",
        parameters=[ALERT],
        request=forms.CloseAlert,
        responses=answers(200, forms.Alert, *WRITING),
    )
    def post(self, request: Request, alert: str) -> Response:
        wanted = valid(forms.CloseAlert, request)
        row = commands.close_alert(request.user, identifier(alert, UnknownAlert), **wanted)
        return Response(shown(forms.Alert, queries.alert(request.user, row.pk)))
