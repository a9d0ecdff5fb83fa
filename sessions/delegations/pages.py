"""Who decides for whom: a plain table and a form, without a script."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from agentstate.clock import now
from agentstate.errors import Invalid, Refused
from agentstate.people import delegations as people
from agentstate.people import reasons
from agentstate.people.models import Delegation, Membership, Team, User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import DELEGABLE, Permission, roles_with
from sessions.http.frame import as_id, console, me

PAGE = 50


@console
@require_http_methods(["GET", "HEAD", "POST"])
def delegations(request: HttpRequest) -> HttpResponse:
    """What was given and taken, and until when; POST lends one's own authority to a colleague."""
    if request.method != "POST":
        return _page(request)
    typed = {name: request.POST.get(name, "").strip() for name in ("receiver", "team", "until", "reason")}
    try:
        _give(request, typed)
    except Refused as refusal:
        return _page(request, typed, refusal)
    messages.success(request, "Delegated. The delegation ends automatically.")
    return redirect("delegations")


@console
@require_POST
def delegation_revoke(request: HttpRequest, delegation_id: UUID) -> HttpResponse:
    """Take one back, or give one back."""
    people.revoke(delegation_id, me(request))
    messages.success(request, "Delegation ended.")
    return redirect("delegations")


def _give(request: HttpRequest, typed: dict[str, str]) -> None:
    receiver = User.objects.filter(pk=as_id(typed["receiver"], "receiver"), is_active=True).first()
    team = Team.objects.filter(pk=as_id(typed["team"], "team")).first()
    if receiver is None or team is None:
        raise Invalid("choose a colleague and a team", field="receiver")
    try:
        until = datetime.fromisoformat(typed["until"]).replace(tzinfo=UTC)
    except ValueError:
        raise Invalid("say until when", field="until") from None
    wanted = request.POST.getlist("permissions")
    people.give(me(request), receiver, team, until=until, reason=typed["reason"], permissions=wanted)


def _page(request: HttpRequest, typed: dict[str, str] | None = None, refusal: Refused | None = None) -> HttpResponse:
    user = me(request)
    teams = teams_with(user, Permission.DECIDE)
    reading = Membership.objects.filter(team__in=teams, role__in=roles_with(Permission.READ), user__is_active=True)
    colleagues = {each.user for each in reading.select_related("user")} - {user}
    context = {
        "here": "decisions",
        "lines": [(each, _standing(each)) for each in reasons.with_keys(people.known_to(user)[:PAGE])],
        "colleagues": sorted(colleagues, key=lambda each: each.display_name),
        "teams": Team.objects.filter(pk__in=teams).order_by("name"),
        "permissions": [each.value for each in DELEGABLE],
        "typed": typed or {},
        "refusal": refusal,
    }
    status = 200 if refusal is None else 422 if refusal.status == 400 else refusal.status
    return render(request, "agent_sessions/delegations.html", context, status=status)


def _standing(each: Delegation) -> str:
    if each.revoked_at is not None:
        return "Revoked"
    return "Ended" if each.until <= now() else "Runs"
