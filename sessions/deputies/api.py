"""Deputies of teams: see where a team has too few approvers, name a deputy, remove one."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.people import deputies
from agentstate.people.models import Deputy, User
from sessions.deputies import queries
from sessions.deputies import schemas as forms
from sessions.http.api import READING, WRITING, answers, shown, valid
from sessions.http.parameters import Parameters, identifier

_DEPUTY = OpenApiParameter("deputy", {"type": "string", "format": "uuid"}, OpenApiParameter.PATH)


class Deputies(APIView):
    """Who decides where a team has too few people."""

    @extend_schema(
        operation_id="list_deputies",
        description="By team that you take over in or set up: where rules ask for more people than may approve, and "
        "the team's deputies.",
        responses=answers(200, forms.TeamApproversList, *READING),
    )
    def get(self, request: Request) -> Response:
        Parameters(request)
        return Response({"teams": [_team(each) for each in queries.team_approvers(request.user)]})

    @extend_schema(
        operation_id="name_deputy",
        description="Name a person who may decide the team's requests that too few of its people can approve. Needs "
        "`configure` in the team; nobody names themselves.",
        request=forms.NameDeputy,
        responses=answers(201, forms.Deputy, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.NameDeputy, request)
        return Response(_line(deputies.name(wanted["user"], wanted["team"], _user(request))), status=201)


class OneDeputy(APIView):
    """A deputy of a team."""

    @extend_schema(
        operation_id="remove_deputy",
        description="End what a deputy may decide in the team. Needs `configure` in it.",
        parameters=[_DEPUTY],
        responses=answers(200, forms.Deputy, *READING),
    )
    def delete(self, request: Request, deputy: str) -> Response:
        return Response(_line(deputies.remove(identifier(deputy, deputies.UnknownDeputy), _user(request))))


def _team(each: queries.TeamApprovers) -> dict[str, Any]:
    return {
        "team": each.team.pk,
        "gaps": [shown(forms.ApproverGap, gap) for gap in each.gaps],
        "deputies": [_line(deputy) for deputy in each.deputies],
    }


def _line(deputy: Deputy) -> dict[str, Any]:
    return {"id": deputy.pk, "user": deputy.user_id, "team": deputy.team_id}


def _user(request: Request) -> User:
    assert isinstance(request.user, User)  # the API requires a token
    return request.user
