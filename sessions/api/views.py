"""The operations of the API, one class each: read the input, call a command or a query, show the answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from agentstate.errors import Invalid
from sessions import commands, queries
from sessions.api import serializers as shapes
from sessions.commit import Committed

_PROBLEMS = dict.fromkeys((400, 401, 403, 404, 409, 413), shapes.Problem)


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def _session(line: queries.SessionLine) -> Any:
    return shapes.Session(_plain(line)).data


def _request(line: queries.RequestLine) -> dict[str, Any]:
    shown = dict(shapes.Request(_plain(line)).data)
    shown["arguments"] = line.arguments  # as they are: a serializer would turn their numbers into text
    return shown


def _receipt(committed: Committed) -> Any:
    return shapes.Receipt(
        {
            "session": committed.session,
            "command": committed.command,
            "first": committed.first,
            "seq": committed.seq,
            "repeated": committed.repeated,
        }
    ).data


def _valid(serializer: type[shapes.Strict], request: Request) -> dict[str, Any]:
    checked = serializer(data=request.data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def _number(request: Request, name: str, default: int, low: int, high: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.lstrip("-").isascii() or not text.lstrip("-").isdigit() or not low <= int(text[:20]) <= high:
        raise Invalid(f"want a whole number from {low} to {high}", field=name)
    return int(text)


def _instant(request: Request, name: str) -> datetime | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise Invalid("want an instant with its time zone, e.g. 2026-11-21T03:25:00Z", field=name)
    return found


def _one_of(request: Request, name: str, allowed: list[str]) -> str:
    text = request.query_params.get(name, "")
    if text and text not in allowed:
        raise Invalid(f"want one of {allowed}", field=name)
    return text


class Sessions(APIView):
    """Open a session; list sessions."""

    @extend_schema(
        operation_id="list_sessions",
        parameters=[
            OpenApiParameter("status", str, enum=[status.value for status in SessionStatus]),
            OpenApiParameter("before", datetime, description="opened before this instant"),
            OpenApiParameter("limit", int),
        ],
        responses={200: shapes.SessionPage, **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        limit = _number(request, "limit", queries.PAGE, 1, 500)
        status = _one_of(request, "status", [status.value for status in SessionStatus])
        lines = queries.sessions(request.user, before=_instant(request, "before"), status=status, limit=limit)
        following = lines[-1].opened_at.isoformat() if len(lines) == limit else None
        return Response({"sessions": [_session(line) for line in lines], "next": following})

    @extend_schema(
        operation_id="open_session",
        request=shapes.OpenSession,
        responses={201: shapes.Session, 200: shapes.Session, **_PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        wanted = _valid(shapes.OpenSession, request)
        key = wanted.pop("idempotency_key", "")
        committed = commands.start(request.user, **wanted, key=key)
        line = queries.session_line(request.user, committed.session)
        return Response(_session(line), status=200 if committed.repeated else 201)


class OneSession(APIView):
    """Read one session."""

    @extend_schema(operation_id="read_session", responses={200: shapes.Session, **_PROBLEMS})
    def get(self, request: Request, session: UUID) -> Response:
        return Response(_session(queries.session_line(request.user, session)))


class Messages(APIView):
    """Post a message of the customer."""

    @extend_schema(
        operation_id="post_message", request=shapes.PostMessage, responses={201: shapes.Receipt, **_PROBLEMS}
    )
    def post(self, request: Request, session: UUID) -> Response:
        wanted = _valid(shapes.PostMessage, request)
        committed = commands.say(request.user, session, wanted["text"], key=wanted.get("idempotency_key", ""))
        return Response(_receipt(committed), status=201)


class End(APIView):
    """End a session."""

    @extend_schema(operation_id="end_session", request=shapes.EndSession, responses={200: shapes.Receipt, **_PROBLEMS})
    def post(self, request: Request, session: UUID) -> Response:
        wanted = _valid(shapes.EndSession, request)
        committed = commands.end(request.user, session, wanted["reason"], key=wanted.get("idempotency_key", ""))
        return Response(_receipt(committed))


class Entries(APIView):
    """Read a session's entries, opened."""

    @extend_schema(
        operation_id="list_entries",
        parameters=[
            OpenApiParameter("after", int, description="seq above this"),
            OpenApiParameter("limit", int),
        ],
        responses={200: shapes.EntryPage, **_PROBLEMS},
    )
    def get(self, request: Request, session: UUID) -> Response:
        after = _number(request, "after", -1, -1, 2**53)
        limit = _number(request, "limit", queries.PAGE, 1, 500)
        lines = queries.entries(request.user, session, after=after, limit=limit)
        following = lines[-1].seq if len(lines) == limit else None
        return Response({"entries": [_plain(line) for line in lines], "next": following})


class Requests(APIView):
    """List approval requests."""

    @extend_schema(
        operation_id="list_requests",
        parameters=[
            OpenApiParameter("state", str, enum=[status.value for status in RequestStatus]),
            OpenApiParameter("mine", bool, description="only those that you may decide now"),
            OpenApiParameter("limit", int),
        ],
        responses={200: shapes.RequestPage, **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        state = _one_of(request, "state", [status.value for status in RequestStatus])
        mine = _one_of(request, "mine", ["true", "false"]) == "true"
        limit = _number(request, "limit", queries.PAGE, 1, 500)
        lines = queries.requests(request.user, state=state, mine=mine, limit=limit)
        return Response({"requests": [_request(line) for line in lines]})


class OneRequest(APIView):
    """Read one approval request."""

    @extend_schema(operation_id="read_request", responses={200: shapes.Request, **_PROBLEMS})
    def get(self, request: Request, request_id: UUID) -> Response:
        return Response(_request(queries.request_line(request.user, request_id)))


class Decisions(APIView):
    """Decide an approval request."""

    @extend_schema(operation_id="decide_request", request=shapes.Decision, responses={201: shapes.Receipt, **_PROBLEMS})
    def post(self, request: Request, request_id: UUID) -> Response:
        wanted = _valid(shapes.Decision, request)
        key = wanted.pop("idempotency_key", "")
        committed = commands.decide(request.user, request_id, **wanted, key=key)
        return Response(_receipt(committed), status=201)
