"""Data messages of a session."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.core.states import UnknownSession
from sessions.data import commands as data_commands
from sessions.data import queries as data_queries
from sessions.data import schemas as forms
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier


class Data(APIView):
    """Read the data messages beside the state, and add one."""

    @extend_schema(operation_id="read_data", parameters=[SESSION], responses=answers(200, forms.DataObjects, *READING))
    def get(self, request: Request, session: str) -> Response:
        found = data_queries.data_of(request.user, identifier(session, UnknownSession))
        return Response({"seq": found.seq, "objects": [shown(forms.DataObject, each) for each in found.objects]})

    @extend_schema(
        operation_id="add_data",
        description="A patch of the object of its kind: the newest message that holds a path provides its value.",
        parameters=[SESSION],
        request=forms.AddData,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.AddData, request)
        key = wanted.pop("key")
        return receipt(data_commands.add_data(request.user, identifier(session, UnknownSession), wanted, key=key))
