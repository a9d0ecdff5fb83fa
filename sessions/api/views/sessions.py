"""Sessions: open, list, read, speak, end, and their entries."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.lifecycle import SessionStatus
from sessions import commands, queries
from sessions.api import shapes
from sessions.api.parameters import Parameters, identifier
from sessions.api.views.base import (
    ABOVE,
    AFTER,
    LAST,
    LIMIT,
    MOST,
    READING,
    SESSION,
    WRITING,
    answer,
    answers,
    page,
    receipt,
    shown,
    valid,
)
from sessions.states import UnknownSession


class Sessions(APIView):
    """Open a session; list sessions."""

    @extend_schema(
        operation_id="list_sessions",
        description="The sessions of your teams, newest first.",
        parameters=[OpenApiParameter("status", str, enum=[status.value for status in SessionStatus]), AFTER, LIMIT],
        responses=answers(200, shapes.SessionPage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "status", "after", "limit")
        limit = given.whole("limit", queries.PAGE, 1, MOST)
        status = given.one_of("status", [status.value for status in SessionStatus])
        lines = queries.sessions(request.user, after=given.id("after"), status=status, limit=limit)
        return page("sessions", shapes.Session, lines, limit)

    @extend_schema(
        operation_id="open_session",
        description="Open a session. The answer shows it as it was opened.",
        request=shapes.OpenSession,
        responses=answers(201, shapes.Session, *WRITING),
    )
    def post(self, request: Request) -> Response:
        committed = commands.start(request.user, **valid(shapes.OpenSession, request))
        response = answer(committed, shown(shapes.Session, queries.opening(committed)), 201)
        response["Location"] = f"{request.path}/{committed.session}"
        return response


class OneSession(APIView):
    """Read one session."""

    @extend_schema(operation_id="read_session", parameters=[SESSION], responses=answers(200, shapes.Session, *READING))
    def get(self, request: Request, session: str) -> Response:
        line = queries.session_line(request.user, identifier(session, UnknownSession))
        return Response(shown(shapes.Session, line))


class Messages(APIView):
    """Post a message of the customer."""

    @extend_schema(
        operation_id="post_message",
        parameters=[SESSION],
        request=shapes.PostMessage,
        responses=answers(201, shapes.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(shapes.PostMessage, request)
        return receipt(commands.say(request.user, identifier(session, UnknownSession), **wanted))


class End(APIView):
    """End a session: the customer hung up, or a supervisor closes it."""

    @extend_schema(
        operation_id="end_session",
        parameters=[SESSION],
        request=shapes.EndSession,
        responses=answers(200, shapes.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(shapes.EndSession, request)
        return receipt(commands.end(request.user, identifier(session, UnknownSession), **wanted), 200)


class Pause(APIView):
    """Stop a session for a while."""

    @extend_schema(
        operation_id="pause_session",
        description="Nothing is begun until it is resumed; people may speak and decide, and what runs is finished.",
        parameters=[SESSION],
        request=shapes.PauseSession,
        responses=answers(200, shapes.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(shapes.PauseSession, request)
        return receipt(commands.pause(request.user, identifier(session, UnknownSession), **wanted), 200)


class Resume(APIView):
    """Let a paused session go on."""

    @extend_schema(
        operation_id="resume_session",
        parameters=[SESSION],
        request=shapes.ResumeSession,
        responses=answers(200, shapes.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(shapes.ResumeSession, request)
        return receipt(commands.resume(request.user, identifier(session, UnknownSession), **wanted), 200)


class Grant(APIView):
    """Let a run that was stopped go on, or grant more ahead of that."""

    @extend_schema(
        operation_id="grant_run",
        description="More of what bounds the agent's loop. A run that was stopped goes on; what is not enough for that"
        " is refused. A run that was stopped because it went in circles needs no more of anything.",
        parameters=[SESSION],
        request=shapes.GrantRun,
        responses=answers(200, shapes.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(shapes.GrantRun, request)
        return receipt(commands.grant(request.user, identifier(session, UnknownSession), **wanted), 200)


class Cancel(APIView):
    """Stop a session for good."""

    @extend_schema(
        operation_id="cancel_session",
        description="What waits for a person is withdrawn; what runs is finished and recorded.",
        parameters=[SESSION],
        request=shapes.CancelSession,
        responses=answers(200, shapes.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(shapes.CancelSession, request)
        return receipt(commands.cancel(request.user, identifier(session, UnknownSession), **wanted), 200)


class Entries(APIView):
    """Read a session's entries, opened."""

    @extend_schema(
        operation_id="list_entries",
        description="The entries of a session's log, oldest first.",
        parameters=[
            SESSION,
            ABOVE,
            LIMIT,
        ],
        responses=answers(200, shapes.EntryPage, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        given = Parameters(request, "after", "limit")
        limit = given.whole("limit", queries.PAGE, 1, MOST)
        after = given.whole("after", -1, -1, LAST)
        lines = queries.entries(request.user, identifier(session, UnknownSession), after=after, limit=limit)
        return page("entries", shapes.Entry, lines, limit, key="seq")
