"""The desk: who can do what, has what in hand, and how far they have come; which work wants which skill."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Refused
from agentstate.people import deputies
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from sessions.agents import registry
from sessions.deputies import queries as approvers
from sessions.http.frame import as_id, console, me
from sessions.models.sessions import SkillWanted
from sessions.supervision import assignments
from sessions.supervision import workload as lines
from sessions.tools import registry as tools

KEPT = "Saved. The rules apply to new work."
SPARE = 2  # empty rows for new rules
CHANNELS = ("phone", "chat")


@console
@require_safe
def desk(request: HttpRequest) -> HttpResponse:
    """Who sees to what, and the forms of those who set a team up."""
    return _page(request)


def _page(request: HttpRequest, refusal: Refused | None = None) -> HttpResponse:
    context = {
        "here": "desk",
        "lines": lines.desk(request.user),
        "approvers": approvers.team_approvers(request.user),
        "wanted": lines.wanted(request.user),
        "sets": lines.sets_skills_of(request.user),
        "configures": set(teams_with(request.user, Permission.CONFIGURE)),
        "may_hand_over": bool(teams_with(request.user, Permission.TAKE_OVER)),
        "by": SkillWanted.By.choices,
        "spare": range(SPARE),
        "known": [*sorted(tools.names()), *registry.names(), *CHANNELS],
        "refusal": refusal,
    }
    return render(request, "agent_sessions/desk.html", context, status=refusal.status if refusal else 200)


@console
@require_POST
def desk_skills(request: HttpRequest) -> HttpResponse:
    """What somebody can do, in place of what was known; then the page again."""
    sent = request.POST
    return _done(
        request, lambda: assignments.set_skills(request.user, sent.get("of", ""), sent.get("skills", "").split(","))
    )


@console
@require_POST
def desk_wanted(request: HttpRequest) -> HttpResponse:
    """Which skills a team's work wants, row by row; a row without a skill is left out. Then the page again."""
    sent = request.POST
    rows = zip(sent.getlist("by"), sent.getlist("value"), sent.getlist("skill"), strict=False)
    rules = [{"by": by, "value": value.strip(), "skill": skill} for by, value, skill in rows if skill.strip()]
    return _done(request, lambda: assignments.set_wanted_skills(request.user, sent.get("team", ""), rules))


@console
@require_POST
def desk_deputy(request: HttpRequest) -> HttpResponse:
    """A person becomes a deputy of a team; then the page again."""
    user, team = as_id(request.POST.get("user", ""), "user"), as_id(request.POST.get("team", ""), "team")
    return _done(request, lambda: deputies.name(user, team, me(request)), "The deputy is named.")


@console
@require_POST
def desk_deputy_remove(request: HttpRequest, deputy_id: UUID) -> HttpResponse:
    """A person is no deputy any more; then the page again."""
    return _done(request, lambda: deputies.remove(deputy_id, me(request)), "The deputy is removed.")


def _done(request: HttpRequest, act: Any, done: str = KEPT) -> HttpResponse:
    try:
        act()
    except PermissionDenied:
        raise
    except Refused as refusal:
        return _page(request, refusal)
    messages.success(request, done)
    return redirect("desk")
