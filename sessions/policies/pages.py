"""Pages of policies: what is installed, one version in words, what would have stopped, and grants of a session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.clock import now
from agentstate.errors import Invalid, Refused
from agentstate.people.queries import display_names
from sessions.core import session_lines
from sessions.descriptions.policies import MOVES, asks
from sessions.http.frame import console
from sessions.policies import dry_runs
from sessions.policies import queries as policies
from sessions.standing_approvals import commands
from sessions.standing_approvals import queries as lists

DAYS = (1, 7, 30, 90)


@console
@require_safe
def policy_list(request: HttpRequest) -> HttpResponse:
    """The policies, with what their cases say."""
    context = {
        "here": "policies",
        "policies": policies.policy_lines(request.user),
        "may_dry_run": dry_runs.may_dry_run(request.user),
    }
    return render(request, "agent_sessions/policies.html", context)


@console
@require_safe
def policy(request: HttpRequest, reference: str) -> HttpResponse:
    """One version: its rules in words, its cases, and what changed."""
    view = policies.policy_view(request.user, reference)
    rules = [
        (rule, asks(rule), [each for each in view.results if each.said.rule == rule.name]) for rule in view.policy.rules
    ]
    return render(request, "agent_sessions/policy.html", {"here": "policies", "view": view, "rules": rules})


@console
@require_safe
def policy_dry_run(request: HttpRequest) -> HttpResponse:
    """What a version would have stopped in the last days; without one, the form."""
    typed = {name: request.GET.get(name, "") for name in ("policy", "days", "agent")}
    context: dict[str, Any] = {
        "here": "policies",
        "typed": typed,
        "days": DAYS,
        "known": [
            f"{line.name}@{version}" for line in policies.policy_lines(request.user) for version in line.versions
        ],
        "may_dry_run": dry_runs.may_dry_run(request.user),
    }
    status = 200
    if typed["policy"]:
        try:
            found = context["found"] = _found(request, typed)
            context["counts"] = [(MOVES[move], count) for move, count in found.counts.items() if count]
            context["calls"] = [(call, MOVES[call.move]) for call in found.calls]
        except Invalid as refusal:
            context["refusal"], status = refusal, 422
    return render(request, "agent_sessions/policy_dry_run.html", context, status=status)


def _found(request: HttpRequest, typed: dict[str, str]) -> dry_runs.DryRun:
    if typed["days"] not in {str(each) for each in DAYS}:
        raise Invalid(f"got {typed['days'][:20]!r}, want one of {', '.join(map(str, DAYS))}", field="days")
    chosen = dry_runs.policy_given(typed["policy"])
    until = now()
    since = until - timedelta(days=int(typed["days"]))
    return dry_runs.dry_run(request.user, chosen, since=since, until=until, agent=typed["agent"])


@console
@require_http_methods(["GET", "HEAD", "POST"])
def session_grants(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """What is let through from now on in a session; POST lets something through."""
    refusal: Refused | None = None
    if request.method == "POST":
        try:
            commands.grant_same(request.user, session_id, **_wanted(request))
        except Refused as error:
            if error.status == 404:
                raise
            refusal = error
        else:
            messages.success(request, "Standing approval given.")
            return redirect("session_grants", session_id)
    return _grants_page(request, session_id, refusal)


def _wanted(request: HttpRequest) -> dict[str, Any]:
    try:
        asked = UUID(request.POST.get("request", ""))
        minutes, uses = (int(request.POST.get(name, "")) for name in ("minutes", "uses"))
    except ValueError:
        raise Invalid("want whole numbers of minutes and times", field="minutes") from None
    reason = request.POST.get("reason", "")
    return {"request": asked, "seconds": minutes * 60, "uses": uses, "reason": reason}


def _grants_page(request: HttpRequest, session_id: UUID, refusal: Refused | None = None) -> HttpResponse:
    line = session_lines.session_line(request.user, session_id)
    view = lists.grants_of(request.user, session_id)
    people = {each.by for each in view.grants} | {each.revoked_by for each in view.grants if each.revoked_by}
    context = {"here": "sessions", "line": line, "view": view, "names": display_names(people), "refusal": refusal}
    status = (422 if isinstance(refusal, Invalid) else refusal.status) if refusal else 200
    return render(request, "agent_sessions/grants.html", context, status=status)


@console
@require_POST
def grant_revoke(request: HttpRequest, session_id: UUID, grant_id: str) -> HttpResponse:
    """Ask again from now on."""
    try:
        commands.revoke_grant(request.user, session_id, grant_id, reason=request.POST.get("reason", ""))
    except Refused as refusal:
        if refusal.status == 404:
            raise
        return _grants_page(request, session_id, refusal)
    messages.success(request, "Standing approval ended.")
    return redirect("session_grants", session_id)
