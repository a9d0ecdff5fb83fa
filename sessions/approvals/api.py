"""Approval requests: list, read, decide."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.decide import AlreadyDecided, UnknownRequest
from agentstate.engine.lifecycle import RequestStatus
from agentstate.people.queries import display_names
from sessions.approvals import claims
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.approvals import schemas as forms
from sessions.core import session_lines
from sessions.http import values
from sessions.http.api import AFTER, LIMIT, MOST, READING, REQUEST, WRITING, answers, page, receipt, shown, valid
from sessions.http.parameters import Parameters, identifier


class Requests(APIView):
    """List approval requests."""

    @extend_schema(
        operation_id="list_requests",
        description="Approval requests of your teams: the pending ones worst first, all others newest first.",
        parameters=[
            OpenApiParameter("state", str, enum=[status.value for status in RequestStatus]),
            OpenApiParameter("mine", bool, description="only those that you may decide now"),
            AFTER,
            LIMIT,
        ],
        responses=answers(200, forms.RequestPage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "state", "mine", "after", "limit")
        limit = given.whole("limit", session_lines.PAGE, 1, MOST)
        state = given.one_of("state", [status.value for status in RequestStatus])
        mine = given.one_of("mine", ["true", "false"]) == "true"
        found = approvals_queries.requests(request.user, state=state, mine=mine, after=given.id("after"), limit=limit)
        lines = approvals_queries.as_listed(found)
        return page("requests", forms.Request, lines, limit)


class OneRequest(APIView):
    """Read one approval request."""

    @extend_schema(
        operation_id="read_request", parameters=[REQUEST], responses=answers(200, forms.OneRequest, *READING)
    )
    def get(self, request: Request, request_id: str) -> Response:
        wanted = identifier(request_id, UnknownRequest)
        line = approvals_queries.request_line(request.user, wanted)
        found = approvals_queries.differences_of_request(request.user, wanted)
        return Response({**shown(forms.Request, line), "differences": found})


class Claims(APIView):
    """Be on an approval request."""

    @extend_schema(
        operation_id="claim_request",
        description="Say that you are on a request, for two minutes unless you keep it. It forbids nobody to decide.",
        parameters=[REQUEST],
        request=forms.Claim,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, request_id: str) -> Response:
        wanted = valid(forms.Claim, request)
        return receipt(claims.claim(request.user, identifier(request_id, UnknownRequest), **wanted))

    @extend_schema(
        operation_id="keep_claim",
        description="The heartbeat of a claim: it lasts two minutes from now. Send it every 30 seconds.",
        parameters=[REQUEST],
        request=forms.KeepClaim,
        responses=answers(200, forms.Kept, *WRITING),
    )
    def put(self, request: Request, request_id: str) -> Response:
        valid(forms.KeepClaim, request)
        return Response({"until": claims.keep(request.user, identifier(request_id, UnknownRequest))})

    @extend_schema(
        operation_id="release_request",
        description="Give a request that you are on back to the queue.",
        parameters=[REQUEST],
        responses=answers(200, values.Receipt, *WRITING),
    )
    def delete(self, request: Request, request_id: str) -> Response:
        return receipt(claims.release(request.user, identifier(request_id, UnknownRequest)), 200)


class Undoing(APIView):
    """Undo what is held."""

    @extend_schema(
        operation_id="undo_request",
        description="Object to a request that is held, or take an approval back: it waits for a decision again.",
        parameters=[REQUEST],
        request=forms.Undo,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, request_id: str) -> Response:
        wanted = valid(forms.Undo, request)
        return receipt(approvals_commands.undo(request.user, identifier(request_id, UnknownRequest), **wanted))


class Decisions(APIView):
    """Decide an approval request."""

    @extend_schema(
        operation_id="decide_request",
        description="Decide a request. Of two decisions one counts; the other is refused with who was first, and when.",
        parameters=[REQUEST],
        request=forms.Decision,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, request_id: str) -> Response:
        wanted = valid(forms.Decision, request)
        key, kind = wanted.pop("key", ""), wanted.pop("decision")
        made = approvals_commands.Decision(kind, **wanted)
        try:
            found = identifier(request_id, UnknownRequest)
            return receipt(approvals_commands.decide(request.user, found, made, key=key))
        except AlreadyDecided as refused:
            by = str(refused.facts.get("by", ""))
            refused.facts["by_name"] = display_names([by]).get(by, "")
            raise
