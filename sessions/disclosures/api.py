"""Disclosures of a session: share a part of it, see what was shared, take a link back."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.people.models import User
from audit.tlog import canonical
from sessions.disclosures import commands, queries
from sessions.disclosures import schemas as forms
from sessions.disclosures.content import UnknownLink, What
from sessions.http.answers import REPLAYED, answer
from sessions.http.bodies import arguments
from sessions.http.operations import READING, WRITING, delete, get, post
from sessions.http.parameters import Id, SessionId


@get()
def list_disclosures(user: User, session: SessionId) -> forms.Disclosures:
    """What was shared of a session."""
    return forms.Disclosures(queries.disclosures(user, session))


@post(codes=(*WRITING, 410), shape=forms.Disclosed)
def disclose(user: User, session: SessionId, request: Request, body: forms.Disclose) -> Response:
    """As a link for people, or as a file that stands alone. It shows what is named, its proof, and nothing else."""
    wanted = arguments(body)
    made = commands.disclose(user, session, What(wanted.pop("what")), **wanted)
    address = request.build_absolute_uri(reverse("shared", args=[made.token])) if made.token else None
    file = None if made.token else canonical.loads(made.document)
    told = {"disclosure": queries.line(made.row), "address": address, "file": file}
    return answer(told, 201, {REPLAYED: "true"} if made.repeated else None)


@delete(codes=READING)
def revoke_disclosure(
    user: User, session: SessionId, disclosure: Annotated[UUID, Id(UnknownLink)]
) -> queries.DisclosureLine:
    """One of them."""
    return queries.line(commands.revoke_disclosure(user, session, disclosure))
