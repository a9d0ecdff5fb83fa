"""Notifications: one's own notices and wishes; rules, endpoints and deliveries for those who configure a team."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.automation.notifications import commands, queries
from sessions.automation.notifications import schemas as forms
from sessions.automation.notifications.commands import UnknownDelivery
from sessions.automation.notifications.endpoints import STORE as ENDPOINTS
from sessions.automation.notifications.endpoints import NoSuchEndpoint
from sessions.automation.notifications.preferences import Wishes
from sessions.automation.notifications.quiet_hours import Quiet
from sessions.automation.notifications.repository import STORE, UnknownRule
from sessions.automation.rules.api import RuleApi
from sessions.automation.triggers import schemas as trigger_forms
from sessions.core import session_lines
from sessions.http.api import AFTER, LIMIT, MOST, READING, WRITING, answers, page, shown, valid
from sessions.http.parameters import Parameters, identifier

RULE = OpenApiParameter("rule", UUID, OpenApiParameter.PATH)
ENDPOINT = OpenApiParameter("endpoint", UUID, OpenApiParameter.PATH)
DELIVERY = OpenApiParameter("delivery", UUID, OpenApiParameter.PATH)


def _plain(form: Any, request: Request) -> dict[str, Any]:
    wanted = valid(form, request)
    wanted.pop("key")
    return wanted


class Notices(APIView):
    """What one was told."""

    @extend_schema(
        operation_id="list_notices",
        description="Your own notices, newest first.",
        parameters=[OpenApiParameter("unread", bool, description="only those that you have not read"), AFTER, LIMIT],
        responses=answers(200, forms.NoticePage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "unread", "after", "limit")
        limit = given.whole("limit", session_lines.PAGE, 1, MOST)
        unread = given.one_of("unread", ["true", "false"]) == "true"
        lines = queries.notices(request.user, only_unread=unread, after=given.id("after"), limit=limit)
        return page("notices", forms.Notice, lines, limit)


class ReadNotices(APIView):
    """Mark notices as read."""

    @extend_schema(
        operation_id="read_notices",
        description="Mark these of your own notices as read, or without a list all.",
        request=forms.ReadNotices,
        responses=answers(200, forms.NoticesRead, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = _plain(forms.ReadNotices, request)
        return Response({"read": commands.mark_read(commands.known(request.user), wanted.get("notices"))})


class NoticeWishes(APIView):
    """How notices reach one, and when."""

    @extend_schema(operation_id="read_notice_wishes", responses=answers(200, forms.NoticeWishes, *READING))
    def get(self, request: Request) -> Response:
        return Response(_wishes(queries.wishes_of(request.user)))

    @extend_schema(
        operation_id="keep_notice_wishes",
        description="Set all of them. What a rule marks as required reaches you whatever you switch off.",
        request=forms.KeepNoticeWishes,
        responses=answers(200, forms.NoticeWishes, *WRITING),
    )
    def put(self, request: Request) -> Response:
        wanted = _plain(forms.KeepNoticeWishes, request)
        quiet = wanted.pop("quiet", None)
        kept = commands.keep_wishes(
            request.user,
            **{"email": "", "off": [], **wanted},
            quiet_hours=dict(quiet) if quiet else None,
        )
        return Response(_wishes(kept))


def _wishes(found: Wishes) -> dict[str, Any]:
    return {**shown(forms.NoticeWishes, found), "off": list(found.off), "quiet": _quiet(found.quiet)}


def _quiet(found: Quiet | None) -> dict[str, Any] | None:
    return msgspec.to_builtins(found) if found is not None else None


NoticeRules, OneNoticeRule, NoticeRuleSwitch = RuleApi(
    store=STORE,
    name="notice_rule",
    path="rule",
    key="rules",
    line=queries.rule,
    lines=lambda request: queries.rules(request.user),
    form=forms.NoticeRule,
    list_form=forms.NoticeRuleList,
    keep_form=forms.KeepNoticeRule,
    switch_form=trigger_forms.SwitchTrigger,
    listed="The rules of the teams that you configure.",
    kept="Make a rule, or with `seen` the next version of one. It needs `configure`.",
    read="One rule.",
    switched="On or off. What happens while it is off is none of its business afterwards.",
).views()


class ShippedRules(APIView):
    """The rules that come with the product."""

    @extend_schema(
        operation_id="take_shipped_notice_rules",
        description="Give the team those that it lacks. It needs `configure`.",
        request=forms.TakeShipped,
        responses=answers(200, forms.ShippedTaken, *WRITING),
    )
    def post(self, request: Request) -> Response:
        return Response({"taken": commands.take_shipped(request.user, **_plain(forms.TakeShipped, request))})


class RuleNotices(APIView):
    """What a rule heard."""

    @extend_schema(
        operation_id="list_rule_notices",
        description="The newest things that a rule heard, what became of each, and how many it reached.",
        parameters=[RULE],
        responses=answers(200, forms.RuleNoticeList, *READING),
    )
    def get(self, request: Request, rule: str) -> Response:
        lines = queries.history(request.user, identifier(rule, UnknownRule))
        return Response({"notices": [shown(forms.RuleNotice, each) for each in lines]})


class TeamQuiet(APIView):
    """The quiet hours of teams."""

    @extend_schema(operation_id="list_team_quiet", responses=answers(200, forms.TeamQuietList, *READING))
    def get(self, request: Request) -> Response:
        lines = queries.quiet_of_teams(request.user)
        return Response({"teams": [{**shown(forms.TeamQuiet, each), "quiet": _quiet(each.quiet)} for each in lines]})

    @extend_schema(
        operation_id="keep_team_quiet",
        description="Set the quiet hours of a team, or none. It needs `configure`.",
        request=forms.KeepTeamQuiet,
        responses=answers(200, forms.TeamQuietList, *WRITING),
    )
    def put(self, request: Request) -> Response:
        wanted = _plain(forms.KeepTeamQuiet, request)
        quiet = wanted.pop("quiet", None)
        commands.keep_team_quiet(request.user, dict(quiet) if quiet else None, **wanted)
        return self.get(request)


NoticeEndpoints, OneNoticeEndpoint, NoticeEndpointSwitch = RuleApi(
    store=ENDPOINTS,
    name="notice_endpoint",
    path="endpoint",
    key="endpoints",
    line=queries.endpoint,
    lines=lambda request: queries.endpoints(request.user),
    form=forms.NoticeEndpoint,
    list_form=forms.NoticeEndpointList,
    keep_form=forms.KeepNoticeEndpoint,
    switch_form=trigger_forms.SwitchTrigger,
    listed="Where the webhooks of the teams go that you configure.",
    kept="Make an endpoint, or with `seen` change one; it is on then. It needs `configure`.",
    read="One endpoint.",
    switched="Switch an endpoint.",
    of_definition=("url", "secret"),
).views()


class NoticeEndpointTest(APIView):
    """Send a test."""

    @extend_schema(
        operation_id="test_notice_endpoint",
        description="A message that says nothing but that it is a test; also while the endpoint is off.",
        parameters=[ENDPOINT],
        request=forms.Nothing,
        responses=answers(202, forms.DeliveryMade, *WRITING),
    )
    def post(self, request: Request, endpoint: str) -> Response:
        valid(forms.Nothing, request)
        made = commands.test_endpoint(request.user, identifier(endpoint, NoSuchEndpoint))
        return Response({"delivery": made.pk}, status=202)


class NoticeDeliveries(APIView):
    """What an endpoint was sent."""

    @extend_schema(
        operation_id="list_notice_deliveries",
        description="The newest deliveries, each with its tries.",
        parameters=[ENDPOINT],
        responses=answers(200, forms.NoticeDeliveryList, *READING),
    )
    def get(self, request: Request, endpoint: str) -> Response:
        lines = queries.deliveries(request.user, identifier(endpoint, NoSuchEndpoint))
        told = [
            {**shown(forms.NoticeDelivery, each), "tries": [msgspec.structs.asdict(one) for one in each.tries]}
            for each in lines
        ]
        return Response({"deliveries": told})


class NoticeEndpointReplay(APIView):
    """Send again what failed."""

    @extend_schema(
        operation_id="replay_notice_endpoint",
        description="All that failed, or what did since an instant; each as the same message.",
        parameters=[ENDPOINT],
        request=forms.ReplayDeliveries,
        responses=answers(202, forms.DeliveriesReplayed, *WRITING),
    )
    def post(self, request: Request, endpoint: str) -> Response:
        wanted = _plain(forms.ReplayDeliveries, request)
        count = commands.send_failed_again(request.user, identifier(endpoint, NoSuchEndpoint), wanted.get("since"))
        return Response({"deliveries": count}, status=202)


class NoticeDeliveryReplay(APIView):
    """Send one delivery again."""

    @extend_schema(
        operation_id="replay_notice_delivery",
        description="Whatever became of it; as the same message, under the same `webhook-id`.",
        parameters=[DELIVERY],
        request=forms.Nothing,
        responses=answers(202, forms.DeliveryMade, *WRITING),
    )
    def post(self, request: Request, delivery: str) -> Response:
        valid(forms.Nothing, request)
        row = commands.send_again(request.user, identifier(delivery, UnknownDelivery))
        return Response({"delivery": row.pk}, status=202)
