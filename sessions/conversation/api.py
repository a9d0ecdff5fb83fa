"""Sessions: open, list, read, speak, end, and their entries."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.lifecycle import SessionStatus
from sessions.conversation import commands as conversation_commands
from sessions.conversation import schemas
from sessions.core import entry_lines, session_lines
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import (
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
from sessions.http.parameters import Parameters, identifier


class Sessions(APIView):
    """Open a session; list sessions."""

    @extend_schema(
        operation_id="list_sessions",
        description="The sessions of your teams, newest first.",
        parameters=[OpenApiParameter("status", str, enum=[status.value for status in SessionStatus]), AFTER, LIMIT],
        responses=answers(200, schemas.SessionPage, *READING),
    )
    def get(self, request: Request) -> Response:
        given = Parameters(request, "status", "after", "limit")
        limit = given.whole("limit", session_lines.PAGE, 1, MOST)
        status = given.one_of("status", [status.value for status in SessionStatus])
        lines = session_lines.sessions(request.user, after=given.id("after"), status=status, limit=limit)
        return page("sessions", schemas.Session, lines, limit)

    @extend_schema(
        operation_id="open_session",
        description="Open a session. The answer shows it as it was opened.",
        request=schemas.OpenSession,
        responses=answers(201, schemas.Session, *WRITING),
    )
    def post(self, request: Request) -> Response:
        committed = conversation_commands.start(request.user, **valid(schemas.OpenSession, request))
        response = answer(committed, shown(schemas.Session, session_lines.opening(committed)), 201)
        response["Location"] = f"{request.path}/{committed.session}"
        return response


class OneSession(APIView):
    """Read one session."""

    @extend_schema(operation_id="read_session", parameters=[SESSION], responses=answers(200, schemas.Session, *READING))
    def get(self, request: Request, session: str) -> Response:
        line = session_lines.session_line(request.user, identifier(session, UnknownSession))
        return Response(shown(schemas.Session, line))


class Messages(APIView):
    """Post a message of the customer."""

    @extend_schema(
        operation_id="post_message",
        parameters=[SESSION],
        request=schemas.PostMessage,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(schemas.PostMessage, request)
        return receipt(conversation_commands.say(request.user, identifier(session, UnknownSession), **wanted))


class End(APIView):
    """End a session: the customer hung up, or a supervisor closes it."""

    @extend_schema(
        operation_id="end_session",
        parameters=[SESSION],
        request=schemas.EndSession,
        responses=answers(200, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(schemas.EndSession, request)
        return receipt(conversation_commands.end(request.user, identifier(session, UnknownSession), **wanted), 200)


class Pause(APIView):
    """Stop a session for a while."""

    @extend_schema(
        operation_id="pause_session",
        description="Nothing is begun until it is resumed; people may speak and decide, and what runs is finished.",
        parameters=[SESSION],
        request=schemas.PauseSession,
        responses=answers(200, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(schemas.PauseSession, request)
        return receipt(conversation_commands.pause(request.user, identifier(session, UnknownSession), **wanted), 200)


class Resume(APIView):
    """Let a paused session go on."""

    @extend_schema(
        operation_id="resume_session",
        parameters=[SESSION],
        request=schemas.ResumeSession,
        responses=answers(200, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(schemas.ResumeSession, request)
        return receipt(conversation_commands.resume(request.user, identifier(session, UnknownSession), **wanted), 200)


class Grant(APIView):
    """Let a run that was stopped go on, or grant more ahead of that."""

    @extend_schema(
        operation_id="grant_run",
        description="More of what bounds the agent's loop. A run that was stopped goes on; what is not enough for that"
        " is refused. A run that was stopped because it went in circles needs no more of anything.",
        parameters=[SESSION],
        request=schemas.GrantRun,
        responses=answers(200, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(schemas.GrantRun, request)
        return receipt(conversation_commands.grant(request.user, identifier(session, UnknownSession), **wanted), 200)


class Cancel(APIView):
    """Stop a session for good."""

    @extend_schema(
        operation_id="cancel_session",
        description="What waits for a person is withdrawn; what runs is finished and recorded.",
        parameters=[SESSION],
        request=schemas.CancelSession,
        responses=answers(200, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(schemas.CancelSession, request)
        return receipt(conversation_commands.cancel(request.user, identifier(session, UnknownSession), **wanted), 200)


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
        responses=answers(200, schemas.EntryPage, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        given = Parameters(request, "after", "limit")
        limit = given.whole("limit", session_lines.PAGE, 1, MOST)
        after = given.whole("after", -1, -1, LAST)
        lines = entry_lines.entries(request.user, identifier(session, UnknownSession), after=after, limit=limit)
        return page("entries", schemas.Entry, lines, limit, key="seq")
