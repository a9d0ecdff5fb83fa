"""Sessions: open, list, read, speak, end, and their entries."""

from __future__ import annotations

from typing import Annotated

from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.people.models import User
from sessions.conversation import commands
from sessions.conversation import schemas as forms
from sessions.core import entry_lines, session_lines
from sessions.core.session_lines import PAGE
from sessions.http.answers import answer, filled, following, receipt_headers
from sessions.http.bodies import arguments
from sessions.http.operations import command, get, post
from sessions.http.parameters import Above, After, Limit, OneOf, SessionId


@get()
def list_sessions(
    user: User,
    *,
    status: Annotated[str, OneOf(forms.SESSION_STATUS)] = "",
    after: After = None,
    limit: Limit = PAGE,
) -> forms.SessionPage:
    """The sessions of your teams, newest first."""
    lines = session_lines.sessions(user, after=after, status=status, limit=limit)
    return filled(forms.SessionPage, sessions=lines, next=following(lines, limit))


@post(shape=forms.Session)
def open_session(user: User, request: Request, body: forms.OpenSession) -> Response:
    """Open a session. The answer shows it as it was opened."""
    committed = commands.start(user, **arguments(body))
    place = {"Location": f"{request.path}/{committed.session}"}
    line = filled(forms.Session, session_lines.opening(committed))
    return answer(line, 201, receipt_headers(committed) | place)


@get()
def read_session(user: User, session: SessionId) -> forms.Session:
    """Read one session."""
    return filled(forms.Session, session_lines.session_line(user, session))


@get()
def list_entries(user: User, session: SessionId, *, after: Above = -1, limit: Limit = PAGE) -> forms.EntryPage:
    """The entries of a session's log, oldest first."""
    lines = entry_lines.entries(user, session, after=after, limit=limit)
    return forms.EntryPage(lines, following(lines, limit, "seq"))


post_message = command("post_message", commands.say, forms.PostMessage, "Post a message of the customer.")
end_session = command(
    "end_session",
    commands.end,
    forms.EndSession,
    "End a session: the customer hung up, or a supervisor closes it.",
    status=200,
)
pause_session = command(
    "pause_session",
    commands.pause,
    forms.PauseSession,
    "Nothing is begun until it is resumed; people may speak and decide, and what runs is finished.",
    status=200,
)
resume_session = command(
    "resume_session", commands.resume, forms.ResumeSession, "Let a paused session go on.", status=200
)
grant_run = command(
    "grant_run",
    commands.grant,
    forms.GrantRun,
    "More of what bounds the agent's loop. A run that was stopped goes on; what is not enough for that is refused. A"
    " run that was stopped because it went in circles needs no more of anything.",
    status=200,
)
cancel_session = command(
    "cancel_session",
    commands.cancel,
    forms.CancelSession,
    "What waits for a person is withdrawn; what runs is finished and recorded.",
    status=200,
)
