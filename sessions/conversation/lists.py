"""Sessions, newest first: what a supervisor looks for and an auditor starts from."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentstate.engine.lifecycle import SessionStatus
from agentstate.errors import Invalid
from sessions.core import session_lines
from sessions.descriptions import status as descriptions_status
from sessions.http.frame import console

PAGE = 50


@console
@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    """The list, narrowed by status or reference."""
    return _list(request, "sessions")


@console
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """The same list, each leading to its ledger."""
    return _list(request, "audit")


def _list(request: HttpRequest, here: str) -> HttpResponse:
    status, q = request.GET.get("status", ""), request.GET.get("q", "").strip()
    if status not in {"", *(each.value for each in SessionStatus)}:
        raise Invalid(f"got {status[:40]!r}, which is no status", field="status")
    before = _before(request.GET.get("before", ""))
    lines = session_lines.sessions(request.user, before=before, status=status, reference=q, limit=PAGE + 1)
    context = {
        "here": here,
        "lines": lines[:PAGE],
        "q": q,
        "status": status,
        "statuses": [(each.value, descriptions_status.DOING[each].text) for each in SessionStatus],
        "older": lines[PAGE - 1].opened_at.isoformat() if len(lines) > PAGE else "",
        "first_page": before is None,
    }
    return render(request, "agent_sessions/sessions.html", context)


def _before(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        found = None
    if text and (found is None or found.tzinfo is None):
        raise Invalid(f"got {text[:40]!r}, want an instant with its time zone", field="before")
    return found
