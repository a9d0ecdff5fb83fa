"""Pages of statecharts: where a session stands, the charts of this installation, and one chart in full.

Readable without a script: a chart is a nested list, the states that are held are marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentstate.engine.charts.standing import Awaited
from agentstate.people.permissions import PermissionDenied
from sessions.charts import queries as charts
from sessions.core import session_lines
from sessions.descriptions import values
from sessions.http.frame import console


@console
@require_safe
def session_chart(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Where the session stands, what it waits for, and what its agent is told and may call here."""
    line = session_lines.session_line(request.user, session_id)
    try:
        standing = charts.standing_of(request.user, session_id)
    except PermissionDenied:
        return render(request, "agent_sessions/session_closed.html", {"here": "sessions", "line": line})
    context = {
        "here": "sessions",
        "line": line,
        "standing": standing,
        "states": nested(standing.outline),
        "lifecycle": nested(standing.lifecycle_outline),
        "data": values.rows(standing.data),
    }
    return render(request, "agent_sessions/chart_of_session.html", context)


@console
@require_safe
def chart_list(request: HttpRequest) -> HttpResponse:
    """The charts, with what their checks and cases say."""
    return render(request, "agent_sessions/charts.html", {"here": "charts", "charts": charts.chart_lines(request.user)})


@console
@require_safe
def chart(request: HttpRequest, name: str) -> HttpResponse:
    """One chart: its states, findings, cases and coverage."""
    view = charts.chart_view(request.user, name)
    return render(
        request, "agent_sessions/chart.html", {"here": "charts", "view": view, "states": nested(view.outline)}
    )


def nested(outline: Sequence[Awaited]) -> list[dict[str, Any]]:
    """The states in each other, for a list in lists."""
    top: list[dict[str, Any]] = []
    levels = [top]
    for each in outline:
        del levels[each.depth + 1 :]
        node: dict[str, Any] = {"each": each, "inside": []}
        levels[-1].append(node)
        levels.append(node["inside"])
    return top
