"""What auditors read: who read what, staff's log, samples, downtimes; and the grants that let them in."""

from __future__ import annotations

from datetime import date
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people import grants, reasons
from agentstate.people.models import AccessGrant, Team, User
from sessions.auditing import queries
from sessions.auditing import schemas as forms
from sessions.core import session_lines
from sessions.core.access import Kind
from sessions.http.api import LAST, LIMIT, MOST, READING, WRITING, answers, shown, valid
from sessions.http.parameters import Parameters, identifier

_BEFORE = OpenApiParameter("before", {"type": "integer", "minimum": 0, "maximum": LAST}, description="`next`")
_DAY = OpenApiParameter("day", {"type": "string", "format": "date"}, description="UTC")
_GRANT = OpenApiParameter("grant", {"type": "string", "format": "uuid"}, OpenApiParameter.PATH)


class AccessEntries(APIView):
    """Who read what."""

    @extend_schema(
        operation_id="list_access_entries",
        description="Entries of access logs about the sessions that you audit, newest first.",
        parameters=[
            OpenApiParameter("reader", str, description="`user:<id>`"),
            OpenApiParameter("session", {"type": "string", "format": "uuid"}),
            _DAY,
            OpenApiParameter("kind", str, enum=[kind.value for kind in Kind]),
            OpenApiParameter("by", str, enum=list(queries.READERS), description="a kind of readers"),
            OpenApiParameter("after", str, description="`next` of the page before"),
            LIMIT,
        ],
        responses=answers(200, forms.AccessPage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "reader", "session", "day", "kind", "by", "after", "limit")
        limit = given.whole("limit", session_lines.PAGE, 1, MOST)
        lines = queries.reads(
            request.user,
            reader=given.text("reader"),
            session=given.id("session"),
            day=_day(given),
            kind=given.one_of("kind", [kind.value for kind in Kind]),
            by=given.one_of("by", list(queries.READERS)),
            after=given.text("after"),
            limit=limit,
        )
        following = lines[-1].cursor if len(lines) == limit else None
        return Response({"entries": [shown(forms.AccessEntry, line) for line in lines], "next": following})


class StaffEntries(APIView):
    """What staff and accounts did."""

    @extend_schema(
        operation_id="list_staff_entries",
        description="The staff log of a day (UTC; without one, today), newest first.",
        parameters=[_DAY, _BEFORE, LIMIT],
        responses=answers(200, forms.StaffPage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "day", "before", "limit")
        limit = given.whole("limit", session_lines.PAGE, 1, MOST)
        lines = queries.staff_entries(request.user, _day(given) or now().date(), before=_before(given), limit=limit)
        following = lines[-1].seq if len(lines) == limit else None
        return Response({"entries": [shown(forms.StaffEntry, line) for line in lines], "next": following})


class Samples(APIView):
    """Random entries that can be drawn again."""

    @extend_schema(
        operation_id="draw_sample",
        description="Random entries of the sessions that you audit and read, out of the sizes under the newest signed"
        " head. The same seed over the same sizes draws the same entries; how, is in docs/audit-log.md.",
        parameters=[
            OpenApiParameter("seed", str, required=True),
            OpenApiParameter("n", {"type": "integer", "minimum": 1, "maximum": queries.MOST_SAMPLED, "default": 20}),
            OpenApiParameter("session", {"type": "string", "format": "uuid"}, description="only this one"),
        ],
        responses=answers(200, forms.DrawnSample, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "seed", "n", "session")
        one = given.id("session")
        found = queries.sample(
            request.user,
            seed=given.text("seed"),
            wanted=given.whole("n", 20, 1, queries.MOST_SAMPLED),
            sessions=(one,) if one else (),
        )
        body = shown(forms.DrawnSample, found)
        body["population"] = [{"session": session, "size": size} for session, size in found.population]
        body["entries"] = [shown(forms.SampledEntry, line) for line in found.entries]
        return Response(body)


class Downtimes(APIView):
    """When the log was not kept up."""

    @extend_schema(
        operation_id="list_downtimes",
        description="When sequencer or signer did not run, newest first.",
        parameters=[_BEFORE, LIMIT],
        responses=answers(200, forms.DowntimePage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "before", "limit")
        limit = given.whole("limit", session_lines.PAGE, 1, MOST)
        lines = queries.gaps(request.user, before=_before(given), limit=limit)
        following = lines[-1].index if len(lines) == limit else None
        return Response({"downtimes": [shown(forms.Downtime, line) for line in lines], "next": following})


class Grants(APIView):
    """Who may audit what, and until when."""

    @extend_schema(
        operation_id="list_grants",
        description="Your own grants, and those of the teams that you configure or audit, newest first; 500 at most.",
        responses=answers(200, forms.GrantList, *READING),
    )
    def get(self, request: Request) -> Response:
        Parameters(request)
        return Response({"grants": [_grant(each) for each in reasons.with_keys(grants.given(_user(request))[:MOST])]})

    @extend_schema(
        operation_id="give_grant",
        description="Let somebody with the role auditor look at a team's sessions for a time. It ends by itself.",
        request=forms.GiveGrant,
        responses=answers(201, forms.Grant, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.GiveGrant, request)
        del wanted["key"]
        user = User.objects.filter(pk=wanted.pop("user")).first()
        team = Team.objects.filter(pk=wanted.pop("team")).first()
        if user is None or team is None:
            raise Invalid("there is no such person or team", field="user" if user is None else "team")
        return Response(_grant(grants.give(user, team, by=_user(request), **wanted)), status=201)


class OneGrant(APIView):
    """A grant."""

    @extend_schema(
        operation_id="revoke_grant",
        description="Take a grant back: it opens nothing from now on, and the auditor's live pages end.",
        parameters=[_GRANT],
        responses=answers(200, forms.Grant, *READING),
    )
    def delete(self, request: Request, grant: str) -> Response:
        return Response(_grant(grants.revoke(identifier(grant, grants.UnknownGrant), _user(request))))


def _grant(grant: AccessGrant) -> dict[str, Any]:
    return {**shown(forms.Grant, grant), "user": grant.user_id, "team": grant.team_id}


def _user(request: Request) -> User:
    assert isinstance(request.user, User)  # nobody comes here without a token
    return request.user


def _before(given: Parameters) -> int | None:
    found = given.whole("before", -1, -1, LAST)
    return None if found < 0 else found


def _day(given: Parameters) -> date | None:
    text = given.text("day")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid("want a day such as 2026-11-21", field="day") from None
