"""Delegations of authority: lend a colleague your right to decide, see what runs, take it back."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.errors import Invalid
from agentstate.people import delegations, reasons
from agentstate.people.models import Delegation, Team, User
from sessions.delegations import schemas as forms
from sessions.http.api import MOST, READING, WRITING, answers, shown, valid
from sessions.http.parameters import Parameters, identifier

_DELEGATION = OpenApiParameter("delegation", {"type": "string", "format": "uuid"}, OpenApiParameter.PATH)


class Delegations(APIView):
    """Who decides for whom."""

    @extend_schema(
        operation_id="list_delegations",
        description="What you gave and were given, and what runs in teams you configure, newest first; 500 at most.",
        responses=answers(200, forms.DelegationList, *READING),
    )
    def get(self, request: Request) -> Response:
        Parameters(request)
        rows = reasons.with_keys(delegations.known_to(_user(request))[:MOST])
        return Response({"delegations": [_line(each) for each in rows]})

    @extend_schema(
        operation_id="give_delegation",
        description="Lend a colleague your right to decide in a team, until an instant. They cannot lend it on.",
        request=forms.GiveDelegation,
        responses=answers(201, forms.Delegation, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.GiveDelegation, request)
        del wanted["key"]
        receiver = User.objects.filter(pk=wanted.pop("receiver"), is_active=True).first()
        team = Team.objects.filter(pk=wanted.pop("team")).first()
        if receiver is None or team is None:
            raise Invalid("there is no such person or team", field="receiver" if receiver is None else "team")
        return Response(_line(delegations.give(_user(request), receiver, team, **wanted)), status=201)


class OneDelegation(APIView):
    """A delegation."""

    @extend_schema(
        operation_id="revoke_delegation",
        description="Take a delegation back, or give back one of yours: it is worth nothing from now on.",
        parameters=[_DELEGATION],
        responses=answers(200, forms.Delegation, *READING),
    )
    def delete(self, request: Request, delegation: str) -> Response:
        found = identifier(delegation, delegations.UnknownDelegation)
        return Response(_line(delegations.revoke(found, _user(request))))


def _line(each: Delegation) -> dict[str, Any]:
    return {
        **shown(forms.Delegation, each),
        "giver": each.giver_id,
        "receiver": each.receiver_id,
        "team": each.team_id,
    }


def _user(request: Request) -> User:
    assert isinstance(request.user, User)  # nobody comes here without a token
    return request.user
