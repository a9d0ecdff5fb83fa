"""The operations of the API, one class each: read the input, call a command or a query, show the answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from agentstate.engine.decide import AlreadyDecided, UnknownRequest
from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from agentstate.people.queries import display_names
from sessions import commands, queries
from sessions.api import problems
from sessions.api import serializers as shapes
from sessions.api.parameters import Parameters, identifier
from sessions.commit import Committed
from sessions.states import UnknownSession

MOST = 500  # rows of one page
LAST = 2**53  # no log is longer
REPLAYED = "Idempotency-Replayed"
_SESSION = OpenApiParameter("session", UUID, OpenApiParameter.PATH)
_REQUEST = OpenApiParameter("request_id", UUID, OpenApiParameter.PATH)
_AFTER = OpenApiParameter("after", UUID, description="`next` of the page before")
_LIMIT = OpenApiParameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": MOST, "default": queries.PAGE}, description="rows of a page"
)
_ABOVE = OpenApiParameter(
    "after", {"type": "integer", "minimum": -1, "maximum": LAST, "default": -1}, description="seq above this"
)
_READING = (400, 401, 403, 404, 406, 429, 503)
_WRITING = (*_READING, 409, 411, 413, 415)


def _answers(status: int, shape: type, *codes: int) -> dict[Any, Any]:
    refusals = {(code, problems.MEDIA_TYPE): shapes.Problem for code in sorted(codes)}
    return {(status, "application/json"): shape, **refusals}


def _shown(shape: type[Serializer[Any]], line: object) -> dict[str, Any]:
    """The fields of `shape` from `line`, as they are: a serializer would turn numbers into text."""
    return {name: getattr(line, name) for name in shape._declared_fields}


def _page(name: str, shape: type[Serializer[Any]], lines: list[Any], limit: int, key: str = "id") -> Response:
    following = getattr(lines[-1], key) if len(lines) == limit else None
    return Response({name: [_shown(shape, line) for line in lines], "next": following})


def _valid(serializer: type[shapes.Strict], request: Request) -> dict[str, Any]:
    """The body as keyword arguments of a command, its idempotency key as `key`."""
    checked = serializer(data=request.data)
    checked.is_valid(raise_exception=True)
    wanted = dict(checked.validated_data)
    key = wanted.pop("idempotency_key", "")
    return {**wanted, "key": key}


def _answer(committed: Committed, body: dict[str, Any], status: int) -> Response:
    """The first answer again for a repeated command, and a header that says so."""
    return Response(body, status=status, headers={REPLAYED: "true"} if committed.repeated else None)


def _receipt(committed: Committed, status: int = 201) -> Response:
    return _answer(committed, _shown(shapes.Receipt, committed), status)


class Sessions(APIView):
    """Open a session; list sessions."""

    @extend_schema(
        operation_id="list_sessions",
        description="The sessions of your teams, newest first.",
        parameters=[OpenApiParameter("status", str, enum=[status.value for status in SessionStatus]), _AFTER, _LIMIT],
        responses=_answers(200, shapes.SessionPage, *_READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "status", "after", "limit")
        limit = given.whole("limit", queries.PAGE, 1, MOST)
        status = given.one_of("status", [status.value for status in SessionStatus])
        lines = queries.sessions(request.user, after=given.id("after"), status=status, limit=limit)
        return _page("sessions", shapes.Session, lines, limit)

    @extend_schema(
        operation_id="open_session",
        description="Open a session. The answer shows it as it was opened.",
        request=shapes.OpenSession,
        responses=_answers(201, shapes.Session, *_WRITING),
    )
    def post(self, request: Request) -> Response:
        committed = commands.start(request.user, **_valid(shapes.OpenSession, request))
        response = _answer(committed, _shown(shapes.Session, queries.opening(committed)), 201)
        response["Location"] = f"{request.path}/{committed.session}"
        return response


class OneSession(APIView):
    """Read one session."""

    @extend_schema(
        operation_id="read_session", parameters=[_SESSION], responses=_answers(200, shapes.Session, *_READING)
    )
    def get(self, request: Request, session: str) -> Response:
        line = queries.session_line(request.user, identifier(session, UnknownSession))
        return Response(_shown(shapes.Session, line))


class Messages(APIView):
    """Post a message of the customer."""

    @extend_schema(
        operation_id="post_message",
        parameters=[_SESSION],
        request=shapes.PostMessage,
        responses=_answers(201, shapes.Receipt, *_WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = _valid(shapes.PostMessage, request)
        return _receipt(commands.say(request.user, identifier(session, UnknownSession), **wanted))


class End(APIView):
    """End a session: the customer hung up, or a supervisor closes it."""

    @extend_schema(
        operation_id="end_session",
        parameters=[_SESSION],
        request=shapes.EndSession,
        responses=_answers(200, shapes.Receipt, *_WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = _valid(shapes.EndSession, request)
        return _receipt(commands.end(request.user, identifier(session, UnknownSession), **wanted), 200)


class Entries(APIView):
    """Read a session's entries, opened."""

    @extend_schema(
        operation_id="list_entries",
        description="The entries of a session's log, oldest first.",
        parameters=[
            _SESSION,
            _ABOVE,
            _LIMIT,
        ],
        responses=_answers(200, shapes.EntryPage, *_READING),
    )
    def get(self, request: Request, session: str) -> Response:
        given = Parameters(request, "after", "limit")
        limit = given.whole("limit", queries.PAGE, 1, MOST)
        after = given.whole("after", -1, -1, LAST)
        lines = queries.entries(request.user, identifier(session, UnknownSession), after=after, limit=limit)
        return _page("entries", shapes.Entry, lines, limit, key="seq")


class Requests(APIView):
    """List approval requests."""

    @extend_schema(
        operation_id="list_requests",
        description="Approval requests of your teams: the pending ones worst first, all others newest first.",
        parameters=[
            OpenApiParameter("state", str, enum=[status.value for status in RequestStatus]),
            OpenApiParameter("mine", bool, description="only those that you may decide now"),
            _AFTER,
            _LIMIT,
        ],
        responses=_answers(200, shapes.RequestPage, *_READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "state", "mine", "after", "limit")
        limit = given.whole("limit", queries.PAGE, 1, MOST)
        state = given.one_of("state", [status.value for status in RequestStatus])
        mine = given.one_of("mine", ["true", "false"]) == "true"
        lines = queries.requests(request.user, state=state, mine=mine, after=given.id("after"), limit=limit)
        return _page("requests", shapes.Request, lines, limit)


class OneRequest(APIView):
    """Read one approval request."""

    @extend_schema(
        operation_id="read_request", parameters=[_REQUEST], responses=_answers(200, shapes.Request, *_READING)
    )
    def get(self, request: Request, request_id: str) -> Response:
        line = queries.request_line(request.user, identifier(request_id, UnknownRequest))
        return Response(_shown(shapes.Request, line))


class Decisions(APIView):
    """Decide an approval request."""

    @extend_schema(
        operation_id="decide_request",
        description="Decide a request. Of two decisions one counts; the other is refused with who was first, and when.",
        parameters=[_REQUEST],
        request=shapes.Decision,
        responses=_answers(201, shapes.Receipt, *_WRITING),
    )
    def post(self, request: Request, request_id: str) -> Response:
        wanted = _valid(shapes.Decision, request)
        try:
            return _receipt(commands.decide(request.user, identifier(request_id, UnknownRequest), **wanted))
        except AlreadyDecided as refused:
            by = str(refused.facts.get("by", ""))
            refused.facts["by_name"] = display_names([by]).get(by, "")
            raise
