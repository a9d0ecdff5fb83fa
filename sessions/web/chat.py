"""Playing a caller: a person who may open sessions and speak as the customer talks to the agent."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from sessions.agents import registry
from sessions.conversation import commands as conversation_commands
from sessions.core import access, entry_lines, session_lines, transcript
from sessions.http.frame import console
from sessions.web.frame import Shell


@console
@require_http_methods(["GET", "HEAD", "POST"])
def chat(request: HttpRequest) -> HttpResponse:
    """Who calls, and about what; POST calls."""
    if not Shell(request).may_play_caller:
        needed = f"{Permission.OPEN_SESSION.value} and {Permission.SPEAK_AS_CUSTOMER.value}"
        raise PermissionDenied(f"Playing a caller needs {needed}.")
    if request.method != "POST":
        return _door(request, {})
    typed = {name: request.POST.get(name, "") for name in ("customer", "agent", "channel", "topic", "team", "key")}
    try:
        opened = conversation_commands.start(request.user, **{**typed, "customer": typed["customer"].strip()})
    except Refused as refusal:
        return _door(request, typed, refusal)
    return redirect("chat_with", opened.session)


def _door(request: HttpRequest, typed: dict[str, str], refusal: Refused | None = None) -> HttpResponse:
    context = {
        "here": "chat",
        "typed": typed,
        "refusal": refusal,
        "agents": registry.names(),
        "teams": session_lines.teams_to_open_in(request.user),
        "key": str(new_id()),
    }
    return render(request, "agent_sessions/chat_door.html", context, status=refusal.status if refusal else 200)


@console
@require_safe
def chat_with(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The conversation as the customer has it."""
    access.live("chat", f"session:{session_id}", goes_on=False)
    return render(request, "agent_sessions/chat.html", _talk(request, session_id))


@console
@require_safe
def chat_changes(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """What was said, as it stands now."""
    access.live("chat", f"session:{session_id}", goes_on=True)
    return render(request, "agent_sessions/chat_changes.html", _talk(request, session_id))


@console
@require_POST
def chat_say(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Say something, or hang up."""
    text = request.POST.get("text", "")
    try:
        if request.POST.get("act") == "end":
            conversation_commands.end(request.user, session_id, "the caller hung up")
        else:
            conversation_commands.say(request.user, session_id, text, key=request.POST.get("key", ""))
    except Refused as refusal:
        if refusal.status == 404 or isinstance(refusal, PermissionDenied):
            raise
        context = {**_talk(request, session_id), "refusal": refusal, "text": text}
        status = 422 if isinstance(refusal, Invalid) else refusal.status
        return render(request, "agent_sessions/chat.html", context, status=status)
    return redirect("chat_with", session_id)


def _talk(request: HttpRequest, session_id: UUID) -> dict[str, Any]:
    line = session_lines.session_line(request.user, session_id)
    start = entry_lines.tail_start(line.seq)
    entries = entry_lines.entries(request.user, session_id, after=start - 1, limit=line.seq - start)
    items = transcript.items(entries)
    said = [item for item in items if item.role in ("customer", "agent", "staff")]
    retried = max((item.retry_until for item in items if item.state == "retrying"), default="")
    until = datetime.fromisoformat(retried) if retried and line.waiting_for == "retry" else None
    return {"here": "chat", "line": line, "items": said, "retry_until": until, "key": str(new_id())}
