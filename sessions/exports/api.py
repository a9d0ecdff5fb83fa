"""Exports of many sessions: asked for, watched, fetched, cancelled."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from sessions.exports import archive, selection
from sessions.exports import schemas as forms
from sessions.exports.pages import streamed
from sessions.http import problems
from sessions.http import schemas as http_schemas
from sessions.http.api import READING, WRITING, answers, shown, valid
from sessions.http.parameters import identifier

EXPORT = OpenApiParameter("export", UUID, OpenApiParameter.PATH)


class Exports(APIView):
    """Ask for an export; list one's own."""

    @extend_schema(
        operation_id="list_exports",
        description="The exports that you asked for, newest first.",
        responses=answers(200, forms.ExportList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"exports": [shown(forms.Export, each) for each in selection.asked_for(request.user)]})

    @extend_schema(
        operation_id="ask_export",
        description="Begin an export of all sessions that fit and that you may export. It is built in the background.",
        request=forms.AskExport,
        responses=answers(202, forms.Export, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.AskExport, request)
        wanted.pop("key")
        unmask, reason = wanted.pop("unmask", False), wanted.pop("reason", "")
        if not isinstance(request.user, User):
            raise PermissionDenied(permission=Permission.EXPORT.value)
        made = selection.ask(
            request.user, selection.filtered(request.user.tenant_id, **wanted), unmask=unmask, reason=reason
        )
        response = Response(shown(forms.Export, made), status=202)
        response["Location"] = f"{request.path}/{made.pk}"
        return response


class OneExport(APIView):
    """How far an export is; an end to it."""

    @extend_schema(
        operation_id="read_export",
        description="An export of yours, and how far it is.",
        parameters=[EXPORT],
        responses=answers(200, forms.Export, *READING),
    )
    def get(self, request: Request, export: str) -> Response:
        return Response(shown(forms.Export, selection.own(request.user, identifier(export, selection.UnknownExport))))

    @extend_schema(
        operation_id="cancel_export",
        description="Stop an export of yours, or delete one that is done. Nothing of it is kept but its line.",
        parameters=[EXPORT],
        responses=answers(200, forms.Export, *WRITING),
    )
    def delete(self, request: Request, export: str) -> Response:
        ended = selection.cancel(request.user, identifier(export, selection.UnknownExport))
        return Response(shown(forms.Export, ended))


class ExportArchive(APIView):
    """The file."""

    @extend_schema(
        operation_id="fetch_export",
        description="The archive of an export that is done: a zip that `audit/verify.py` checks as a whole.",
        parameters=[EXPORT],
        responses={
            (200, "application/zip"): OpenApiTypes.BINARY,
            **{(code, problems.MEDIA_TYPE): http_schemas.Problem for code in (*READING, 409)},
        },
    )
    def get(self, request: Request, export: str) -> HttpResponseBase:
        found = identifier(export, selection.UnknownExport)
        return streamed(*archive.download(request.user, found), name=f"exports-{found.hex[-6:].upper()}")
