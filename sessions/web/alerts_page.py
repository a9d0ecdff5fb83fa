"""The page of alerts: what wants an eye, whose it is, what to do; acknowledging, taking and closing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from sessions.automation.alerts import commands, queries
from sessions.automation.alerts.queries import AlertLine
from sessions.core.stops import StopLine
from sessions.descriptions import alerts as words
from sessions.http.frame import console
from sessions.models.sessions import ApprovalRequest
from sessions.proposals import queries as proposing
from sessions.proposals import workflow
from sessions.stops import commands as stopping
from sessions.stops import queries as stop_lines

SHOWN = 100
VIEWS = ("open", "closed")
DONE = {"acknowledge": "Acknowledged.", "take": "Reassigned to you.", "close": "Closed."}
ABOUT_REQUESTS = ("deadline_near", "expired")


@console
@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    """The list."""
    return render(request, "agent_sessions/alerts.html", _context(request))


@console
@require_safe
def alert_changes(request: HttpRequest) -> HttpResponse:
    """The list alone, for a page that is open."""
    return render(request, "agent_sessions/alert_changes.html", _context(request))


@console
@require_POST
def alert_act(request: HttpRequest, alert_id: UUID, act: str) -> HttpResponse:
    """Acknowledge, take or close one; what is refused is told above the list."""
    post = request.POST
    try:
        if act == "close":
            commands.close_alert(request.user, alert_id, post.get("reason", ""), key=post.get("key", ""))
        elif act in DONE:
            commands.acknowledge_alert(request.user, alert_id, holder=post.get("holder", ""), key=post.get("key", ""))
        else:
            raise Invalid("want acknowledge, take or close", field="act")
    except Refused as refusal:
        if refusal.status == 404 or isinstance(refusal, PermissionDenied):
            raise
        context = {**_context(request), "refusal": refusal}
        status = 422 if isinstance(refusal, Invalid) else refusal.status
        return render(request, "agent_sessions/alerts.html", context, status=status)
    messages.success(request, DONE[act])
    return redirect("alerts")


def _context(request: HttpRequest) -> dict[str, Any]:
    view = request.GET.get("view", "open")
    if view not in VIEWS:
        raise Invalid(f"want one of {', '.join(VIEWS)}", field="view")
    groups = _open(request) if view == "open" else [("", _closed(request))]
    lines = [line for _, group in groups for line in group]
    requests = _requests(lines)
    told = stop_lines.told_by(lines, request.user) if isinstance(request.user, User) else {}
    about = [_proposal(line) for line in lines if line.name == workflow.ALERT]
    titles = proposing.titles(request.user, about) if about else {}
    actors = {name for line in lines for name in (line.held_by, line.closed_by) if name}
    return {
        "here": "alerts",
        "view": view,
        "groups": [(name, [_told(line, requests, told, titles) for line in group]) for name, group in groups if group],
        "names": display_names(actors | {stop.by for stops in told.values() for stop in stops}),
        "slugs": dict(Team.objects.filter(pk__in=teams_with(request.user, Permission.STOP)).values_list("pk", "slug")),
        "key": str(new_id()),
    }


def _open(request: HttpRequest) -> list[tuple[str, list[AlertLine]]]:
    mine = queries.standing(request.user, mine_only=True, limit=SHOWN)
    known = {line.id for line in mine}
    others = [line for line in queries.standing(request.user, mine_only=False, limit=SHOWN) if line.id not in known]
    return [("For you", mine), ("For others", others)]


def _closed(request: HttpRequest) -> list[AlertLine]:
    return queries.alerts(request.user, state="closed", limit=SHOWN)


def _requests(lines: list[AlertLine]) -> set[str]:
    """Which of them are about a request that has a page."""
    named = [line.about for line in lines if line.why in ABOUT_REQUESTS]
    return {str(each) for each in ApprovalRequest.objects.filter(pk__in=named).values_list("pk", flat=True)}


def _proposal(line: AlertLine) -> str:
    return line.about.removeprefix("proposal:")


def _told(
    line: AlertLine, requests: set[str], told: dict[UUID, list[StopLine]], titles: dict[str, str]
) -> dict[str, Any]:
    return {
        "line": line,
        "stops": told.get(line.id, []),
        "of_proposal": line.name == workflow.ALERT,
        "proposal": _proposal(line) if _proposal(line) in titles else "",
        "title": titles.get(_proposal(line), ""),
        "severity": words.SEVERITY[line.severity],
        "why": words.why(line.why),
        "ended": words.cause(line.cause) if line.cause else "",
        "to": words.whom(line.to),
        "way": _way(line, requests),
    }


def _way(line: AlertLine, requests: set[str]) -> tuple[str, str]:
    """What to do, and where."""
    if line.session is None:
        return ("View stop", reverse("stops")) if line.name == stopping.EVERYWHERE else ("", "")
    if line.about in requests:
        return "Open request", reverse("decision", args=[line.about])
    if line.why in ("stuck", "not_recovered"):
        return "Repair", reverse("stuck_session", args=[line.session])
    return ("Take over" if line.why == "wants_person" else "Open session"), reverse("session", args=[line.session])
