"""Triggers, their history, watched tables, and the timers of a session."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.automation.rules.api import RuleApi
from sessions.automation.triggers import queries
from sessions.automation.triggers import schemas as forms
from sessions.automation.triggers.repository import STORE, UnknownTrigger
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.timers import commands as timing
from sessions.timers import queries as timed

TRIGGER = OpenApiParameter("trigger", UUID, OpenApiParameter.PATH)
TIMER = OpenApiParameter("timer", str, OpenApiParameter.PATH)


Triggers, OneTrigger, TriggerSwitch = RuleApi(
    store=STORE,
    name="trigger",
    path="trigger",
    key="triggers",
    line=queries.trigger,
    lines=lambda request: queries.triggers(request.user),
    form=forms.Trigger,
    list_form=forms.TriggerList,
    keep_form=forms.KeepTrigger,
    switch_form=forms.SwitchTrigger,
    listed="The triggers of the teams that you configure.",
    kept="Make a trigger, or with `seen` the next version of one. It needs `configure`.",
    read="One trigger.",
    switched="On or off. What happens while it is off is none of its business afterwards.",
).views()


class Firings(APIView):
    """What a trigger heard."""

    @extend_schema(
        operation_id="list_firings",
        description="The newest things that a trigger heard, and whether it acted on each, or why not.",
        parameters=[TRIGGER],
        responses=answers(200, forms.FiringList, *READING),
    )
    def get(self, request: Request, trigger: str) -> Response:
        lines = queries.firings(request.user, identifier(trigger, UnknownTrigger))
        return Response({"firings": [shown(forms.Firing, each) for each in lines]})


class Watches(APIView):
    """Watched tables of other applications."""

    @extend_schema(
        operation_id="list_watches",
        description="`manage.py watch-table` installs them.",
        responses=answers(200, forms.WatchList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"watches": [shown(forms.Watch, each) for each in queries.watches(request.user)]})


class Timers(APIView):
    """What a session is to do by itself, and when."""

    @extend_schema(operation_id="list_timers", parameters=[SESSION], responses=answers(200, forms.TimerList, *READING))
    def get(self, request: Request, session: str) -> Response:
        found = timed.timers_of(request.user, identifier(session, UnknownSession))
        return Response({"seq": found.seq, "timers": [shown(forms.Timer, each) for each in found.timers]})

    @extend_schema(
        operation_id="set_timer",
        description="`remind` tells the agent; `follow_up` does unless the customer has come back; `expire` lets the"
        " session expire if it idles then. It needs `change_state`.",
        parameters=[SESSION],
        request=forms.SetTimer,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.SetTimer, request)
        return receipt(timing.set_timer(request.user, identifier(session, UnknownSession), **wanted))


class OneTimer(APIView):
    """Cancel a timer."""

    @extend_schema(
        operation_id="cancel_timer",
        parameters=[SESSION, TIMER],
        responses=answers(201, values.Receipt, *WRITING),
    )
    def delete(self, request: Request, session: str, timer: str) -> Response:
        return receipt(timing.cancel_timer(request.user, identifier(session, UnknownSession), timer))
