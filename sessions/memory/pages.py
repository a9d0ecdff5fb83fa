"""What an agent remembers of a session and what its model was shown at a step; people pin, unpin and rate there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.people.permissions import can
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from sessions.core import session_lines
from sessions.http.frame import console
from sessions.memory import commands
from sessions.memory.queries import Memory, memory_of
from sessions.memory.steps import NotRebuilt, StepRequest, UnknownStep, step_request

PARTS = ("instructions", "tools", "state", "summaries", "messages")
TEXT = 2_000  # characters of one message that the page shows


@console
@require_safe
def memory(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """What is remembered, and beside it what the model was shown at `step` (the last one)."""
    return _page(request, session_id)


@console
@require_POST
def mind(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Pin, unpin or rate one message; a refusal is told on the same page."""
    try:
        _minded(request, session_id)
    except Refused as refusal:
        if refusal.status in (403, 404) and refusal.code in ("permission_denied", "unknown_session"):
            raise
        return _page(request, session_id, refusal)
    return redirect("memory", session_id)


def _minded(request: HttpRequest, session_id: UUID) -> None:
    sent = request.POST
    seq = _whole(sent.get("seq", ""), "seq")
    act, why = sent.get("act", ""), sent.get("why", "")
    if act == "pin":
        commands.pin(request.user, session_id, seq, why=why)
    elif act == "unpin":
        commands.unpin(request.user, session_id, seq, why=why)
    elif act == "rate":
        commands.rate(request.user, session_id, seq, _whole(sent.get("rating", ""), "rating"), why=why)
    else:
        raise Invalid("want pin, unpin or rate", field="act")


def _whole(text: str, field: str) -> int:
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 16):
        raise Invalid("want a whole number", field=field)
    return int(text)


def _page(request: HttpRequest, session_id: UUID, refusal: Refused | None = None) -> HttpResponse:
    line = session_lines.session_line(request.user, session_id)
    found = memory_of(request.user, session_id)
    shown = _shown(request, session_id)
    context: dict[str, Any] = {
        "here": "sessions",
        "line": line,
        "memory": found,
        "shown": shown,
        "parts": _parts(shown),
        "text": TEXT,
        "names": display_names({pin.by for pin in found.pins}),
        "may_mind": can(request.user, Permission.WHISPER, line.team) and line.ended_at is None,
        "refusal": refusal,
        "used": _percent(found),
    }
    return render(request, "agent_sessions/memory.html", context, status=refusal.status if refusal else 200)


def _shown(request: HttpRequest, session_id: UUID) -> StepRequest | None:
    """The request of the wished step; None where no model was asked yet, or the step is from before they were kept."""
    step = request.GET.get("step", "")
    try:
        return step_request(request.user, session_id, step)
    except (UnknownStep, NotRebuilt):
        if step:
            raise
        return None


def _parts(shown: StepRequest | None) -> list[tuple[str, int]]:
    return [(part, shown.tokens[part]) for part in PARTS] if shown and shown.tokens else []


def _percent(found: Memory) -> int:
    return found.tokens * found.factor // (10 * found.budget)
