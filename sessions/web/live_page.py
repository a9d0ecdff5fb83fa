"""The wall: every session that runs, worst first, and the fragments that keep it current."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentstate.people.permissions import teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from sessions.approvals import counts
from sessions.core import access, session_lines
from sessions.http.frame import as_id, console
from sessions.supervision import queries as work

MAX_CHANGES = 200  # rows in one answer


@console
@require_safe
def wall(request: HttpRequest) -> HttpResponse:
    """The whole page."""
    access.live("wall", "wall", goes_on=False)
    lines = session_lines.live_sessions(request.user)
    groups = {
        "need": [line for line in lines if line.needs_person],
        "calm": [line for line in lines if not line.needs_person],
    }
    context = {
        **_people(request, lines),
        "here": "live",
        "groups": groups,
        "total": len(lines),
        "counts": counts.wall_counts(request.user),
    }
    return render(request, "agent_sessions/wall.html", context)


def _people(request: HttpRequest, lines: list[session_lines.SessionLine]) -> dict[str, Any]:
    """Who of the house has which session, and whose customers wait for a person."""
    return {
        "names": display_names(line.taken_by for line in lines),
        "wanted": work.wanted_sessions(request.user),
        "may_take": set(teams_with(request.user, Permission.TAKE_OVER)),
    }


@console
@require_safe
def wall_changes(request: HttpRequest) -> HttpResponse:
    """The rows of the sessions named by `s` as they stand now, which of them left the wall, and the counts."""
    access.live("wall", "wall", goes_on=True)
    asked = [as_id(text, "s") for text in request.GET.getlist("s")[:MAX_CHANGES]]
    lines = session_lines.live_sessions(request.user, only=asked) if asked else []
    shown = {line.id for line in lines}
    context = {
        **_people(request, lines),
        "lines": lines,
        "gone": [session for session in asked if session not in shown],
        "counts": counts.wall_counts(request.user),
    }
    return render(request, "agent_sessions/wall_changes.html", context)
