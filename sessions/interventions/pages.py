"""The page of what is stuck: sessions in which somebody must step in; and a page for each, with a form for each way."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.permissions import PermissionDenied
from sessions.core import session_lines, session_status
from sessions.descriptions import values
from sessions.http.frame import console
from sessions.interventions import commands as interventions_commands
from sessions.interventions import queries as interventions_queries

SHOWN = 50
LABELS = {
    "happened": "It happened",
    "not_happened": "It did not happen: do it now",
    "retry": "Try it again",
    "supply": "This is its result",
    "skip": "Leave it out",
}
WITH_RESULT = ("happened", "supply")
DONE = {
    "happened": "Recorded: it happened.",
    "not_happened": "The call will run now.",
    "retry": "The call will be retried.",
    "supply": "The session continues with this result.",
    "skip": "Call skipped.",
    "session": "The session will be retried.",
}


@console
@require_safe
def stuck(request: HttpRequest) -> HttpResponse:
    """The list."""
    lines = interventions_queries.stuck(request.user, limit=SHOWN + 1)
    told = [(line, session_status.stalled(line)) for line in lines[:SHOWN]]
    return render(request, "agent_sessions/stuck.html", {"here": "stuck", "lines": told, "more": len(lines) > SHOWN})


@console
@require_safe
def stuck_session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """What is stuck in one session."""
    return render(request, "agent_sessions/stuck_session.html", _context(request, session_id))


@console
@require_POST
def stuck_step_in(request: HttpRequest, session_id: UUID, how: str) -> HttpResponse:
    """One intervention, then the page again; a refusal is told at its top."""
    post = request.POST
    reason, key = post.get("reason", ""), post.get("key", "")
    try:
        if how == "session":
            interventions_commands.retry_session(request.user, session_id, reason, key=key and f"{key}-session")
        else:
            call, result = post.get("call", ""), _result(post, how)
            interventions_commands.intervene(
                request.user, session_id, call, how, reason, result=result, key=key and f"{key}-{how}"
            )
    except Refused as refusal:
        if refusal.status == 404 or isinstance(refusal, PermissionDenied):
            raise
        context = {**_context(request, session_id), "refusal": refusal}
        status = 422 if isinstance(refusal, Invalid) else refusal.status
        return render(request, "agent_sessions/stuck_session.html", context, status=status)
    messages.success(request, DONE[how])
    return redirect("stuck_session", session_id)


def _result(post: QueryDict, how: str) -> Any:
    """The result that was typed, as JSON; numbers keep their text. Raises Invalid."""
    text = post.get("result", "").strip()
    if how not in WITH_RESULT or not text:
        return None
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Invalid("want JSON, as the tool would give it", field="result") from None


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _context(request: HttpRequest, session_id: UUID) -> dict[str, Any]:
    line = session_lines.session_line(request.user, session_id)
    calls = interventions_queries.stuck_calls(request.user, session_id)
    return {
        "here": "stuck",
        "line": line,
        "stalled": session_status.stalled(line),
        "may_retry": not line.ended_at and (line.status == "failed" or bool(line.stalled)),
        "calls": [_told(each) for each in calls],
        "key": str(new_id()),
    }


def _told(call: interventions_queries.StuckCall) -> dict[str, Any]:
    ways = [(how, LABELS[how], how in WITH_RESULT) for how in call.ways]
    return {"call": call, "title": values.plain(call.tool), "ways": ways, "facts": values.facts(call.arguments)}
