"""Undoing what a rollback left standing."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.compensation import commands as compensation_commands
from sessions.compensation import queries as compensation_queries
from sessions.compensation import schemas as forms
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


class Compensation(APIView):
    """Effects that a call can undo."""

    @extend_schema(
        operation_id="list_undoable",
        description="What the latest rollback left standing outside and a call could undo, the newest first.",
        parameters=[SESSION],
        responses=answers(200, forms.UndoableEffects, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        line = compensation_queries.undoable_of(request.user, _session(session))
        effects = [shown(forms.UndoableEffect, each) for each in line.effects]
        return Response({"rollback": line.rollback if line.rollback >= 0 else None, "effects": effects})

    @extend_schema(
        operation_id="compensate",
        description="Order that effects be undone: the newest first, one after the other, each call judged by policy as"
        " any other. Without `calls` all that can be.",
        parameters=[SESSION],
        request=forms.Compensate,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.Compensate, request)
        return receipt(compensation_commands.compensate(request.user, _session(session), **wanted))
