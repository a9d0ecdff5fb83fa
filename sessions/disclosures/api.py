"""Disclosures of a session: share a part of it, see what was shared, take a link back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.tlog import canonical
from sessions.core.states import UnknownSession
from sessions.disclosures import commands, queries
from sessions.disclosures import schemas as forms
from sessions.disclosures.content import UnknownLink, What
from sessions.http.api import READING, REPLAYED, SESSION, WRITING, answers, shown, valid
from sessions.http.parameters import identifier

_DISCLOSURE = OpenApiParameter("disclosure", UUID, OpenApiParameter.PATH)


class Disclosures(APIView):
    """What was shared of a session."""

    @extend_schema(
        operation_id="list_disclosures", parameters=[SESSION], responses=answers(200, forms.Disclosures, *READING)
    )
    def get(self, request: Request, session: str) -> Response:
        lines = queries.disclosures(request.user, identifier(session, UnknownSession))
        return Response({"disclosures": [shown(forms.Disclosure, line) for line in lines]})

    @extend_schema(
        operation_id="disclose",
        description="As a link for people, or as a file that stands alone. It shows what is named, its proof, and"
        " nothing else.",
        parameters=[SESSION],
        request=forms.Disclose,
        responses=answers(201, forms.Disclosed, *WRITING, 410),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.Disclose, request)
        what = What(wanted.pop("what"))
        made = commands.disclose(request.user, identifier(session, UnknownSession), what, **wanted)
        body: dict[str, Any] = {"disclosure": shown(forms.Disclosure, queries.line(made.row))}
        address = request.build_absolute_uri(reverse("shared", args=[made.token])) if made.token else None
        file = None if made.token else canonical.loads(made.document)
        headers = {REPLAYED: "true"} if made.repeated else None
        return Response({**body, "address": address, "file": file}, status=201, headers=headers)


class OneDisclosure(APIView):
    """One of them."""

    @extend_schema(
        operation_id="revoke_disclosure",
        parameters=[SESSION, _DISCLOSURE],
        responses=answers(200, forms.Disclosure, *READING),
    )
    def delete(self, request: Request, session: str, disclosure: str) -> Response:
        found = identifier(session, UnknownSession), identifier(disclosure, UnknownLink)
        return Response(shown(forms.Disclosure, queries.line(commands.revoke_disclosure(request.user, *found))))
