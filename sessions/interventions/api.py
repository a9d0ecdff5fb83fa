"""What is stuck, and stepping in."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.approvals import withdrawal
from sessions.core import session_lines
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import LIMIT, MOST, READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import Parameters, identifier
from sessions.interventions import commands as interventions_commands
from sessions.interventions import queries as interventions_queries
from sessions.interventions import schemas as forms


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


class Stuck(APIView):
    """Sessions in which somebody must step in."""

    @extend_schema(
        operation_id="list_stuck",
        description="Sessions of your teams with a call that the runtime cannot settle, that failed, or that it leaves"
        " alone, with the reason; what waits longest comes first.",
        parameters=[LIMIT],
        responses=answers(200, forms.StuckList, *READING),
    )
    def get(self, request: Request) -> Response:
        limit = Parameters(request, "limit").whole("limit", session_lines.PAGE, 1, MOST)
        lines = interventions_queries.stuck(request.user, limit=limit)
        return Response({"sessions": [shown(forms.StuckSession, line) for line in lines]})


class Interventions(APIView):
    """Settle a call that the runtime cannot."""

    @extend_schema(
        operation_id="list_stuck_calls",
        description="The calls of a session that a person may settle, and how each may be.",
        parameters=[SESSION],
        responses=answers(200, forms.StuckCalls, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        lines = interventions_queries.stuck_calls(request.user, _session(session))
        return Response({"calls": [shown(forms.StuckCall, line) for line in lines]})

    @extend_schema(
        operation_id="intervene",
        description="`retry` or `skip` a call, `supply` its result, or say of one whose effect is in doubt that it"
        " `happened` (with its result) or `not_happened` (then it may run again).",
        parameters=[SESSION],
        request=forms.Intervention,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.Intervention, request)
        return receipt(interventions_commands.intervene(request.user, _session(session), **wanted))


class Withdrawals(APIView):
    """Withdraw a call."""

    @extend_schema(
        operation_id="withdraw_call",
        description="Withdraw a call before it begins: one that waits for a person, or that is allowed already. The"
        " request says `withdrawn`, or approved with the execution `withdrawn`; who approved it is told.",
        parameters=[SESSION],
        request=forms.Withdrawal,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.Withdrawal, request)
        return receipt(withdrawal.withdraw(request.user, _session(session), **wanted))


class Retry(APIView):
    """Try a session again."""

    @extend_schema(
        operation_id="retry_session",
        description="Have a session tried again that failed, or that the runtime has parked.",
        parameters=[SESSION],
        request=forms.RetrySession,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.RetrySession, request)
        return receipt(interventions_commands.retry_session(request.user, _session(session), **wanted))
