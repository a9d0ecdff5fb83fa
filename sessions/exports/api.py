"""Exports of many sessions: asked for, watched, fetched, cancelled."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.people.models import User
from sessions.exports import archive, selection
from sessions.exports import schemas as forms
from sessions.exports.pages import streamed
from sessions.http.answers import answer, filled
from sessions.http.bodies import arguments
from sessions.http.operations import READING, delete, get, post
from sessions.http.parameters import Id

ExportId = Annotated[UUID, Id(selection.UnknownExport)]


@get()
def list_exports(user: User) -> forms.ExportList:
    """The exports that you asked for, newest first."""
    return filled(forms.ExportList, exports=list(selection.asked_for(user)))


@post(202, shape=forms.Export)
def ask_export(user: User, request: Request, body: forms.AskExport) -> Response:
    """Begin an export of all sessions that fit and that you may export. It is built in the background."""
    wanted = arguments(body)
    unmask, reason = wanted.pop("unmask", False), wanted.pop("reason", "")
    made = selection.ask(user, selection.filtered(user.tenant_id, **wanted), unmask=unmask, reason=reason)
    return answer(filled(forms.Export, made), 202, {"Location": f"{request.path}/{made.pk}"})


@get()
def read_export(user: User, export: ExportId) -> forms.Export:
    """An export of yours, and how far it is."""
    return filled(forms.Export, selection.own(user, export))


@delete()
def cancel_export(user: User, export: ExportId) -> forms.Export:
    """Stop an export of yours, or delete one that is done. Nothing of it is kept but its line."""
    return filled(forms.Export, selection.cancel(user, export))


@get(codes=(*READING, 409), shape=OpenApiTypes.BINARY, media="application/zip")
def fetch_export(user: User, export: ExportId) -> HttpResponseBase:
    """The archive of an export that is done: a zip that `audit/verify.py` checks as a whole."""
    return streamed(*archive.download(user, export), name=f"exports-{export.hex[-6:].upper()}")
