"""Taking part in a session from its page; the pages of stops and of handover; the next thing to see to."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from agentstate.errors import Invalid, Refused
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied, holds_any, teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission, roles_with
from sessions.agents import registry
from sessions.approvals import assignment
from sessions.approvals.assignment import TEAM, colleague_named
from sessions.descriptions.values import plain
from sessions.http.frame import console
from sessions.stops import commands as stops_commands
from sessions.stops import queries as stop_lines
from sessions.supervision import assignments
from sessions.supervision import commands as supervision_commands
from sessions.supervision import queries as work_lines
from sessions.tools import registry as tools


@console
@require_POST
def session_supervise(request: HttpRequest, session_id: UUID, act: str) -> HttpResponse:
    """A person takes the session over, speaks, barges in, whispers, hands it back, passes it on, assigns it, or says
    that no person is needed; then its page again.
    """
    sent, user = request.POST, request.user
    key = f"{sent['key']}-{act}" if sent.get("key") else ""
    match act:
        case "take-over":
            supervision_commands.take_over(
                user, session_id, sent.get("reason", ""), holder=sent.get("holder", ""), key=key
            )
        case "speak":
            supervision_commands.speak(user, session_id, sent.get("text", ""), key=key)
        case "barge-in":
            supervision_commands.barge_in(user, session_id, sent.get("text", ""), key=key)
        case "whisper":
            supervision_commands.whisper(user, session_id, sent.get("text", ""), now=sent.get("now") == "yes", key=key)
        case "hand-back":
            summary = sent.get("summary", "").replace("\r\n", "\n")
            supervision_commands.hand_back(user, session_id, summary, speaks=sent.get("speaks") == "yes", key=key)
        case "pass-on":
            supervision_commands.pass_on(user, session_id, sent.get("to", ""), sent.get("reason", ""), key=key)
        case "no-person":
            supervision_commands.no_person_needed(user, session_id, sent.get("reason", ""), key=key)
        case "assign":
            assignment.assign(user, session_id, sent.get("to", ""), holder=sent.get("holder", ""), key=key)
        case _:
            raise Invalid(
                f"got {act[:50]!r}, want take-over, speak, barge-in, whisper, hand-back, pass-on, assign or no-person"
            )
    return redirect("session", session_id)


def colleagues(user: User, team: UUID | None = None) -> list[User]:
    """Those who may take sessions over in the team, or in teams where `user` may, by name."""
    teams = [team] if team is not None else teams_with(user, Permission.TAKE_OVER)
    role = roles_with(Permission.TAKE_OVER)
    found = User.objects.filter(is_active=True, memberships__team__in=teams, memberships__role__in=role)
    return list(found.distinct().order_by("display_name"))


def to_assign(user: User, team: UUID) -> list[tuple[str, str]]:
    """To whom a session of the team may be given, as it is sent and as people read it: colleagues, and their teams."""
    found = colleagues(user, team)
    teams = Team.objects.filter(memberships__user__in=found).distinct().order_by("name")
    people = [(each.username, each.display_name) for each in found]
    return people + [(f"{TEAM}{each.slug}", f"Team {each.name}") for each in teams]


@console
@require_http_methods(["GET", "HEAD", "POST"])
def stops(request: HttpRequest) -> HttpResponse:
    """What is stopped, and stopping something; POST stops it."""
    if request.method != "POST":
        return _stops(request, {})
    typed = {name: request.POST.get(name, "") for name in ("what", "team", "reason", "everywhere")}
    scope, _, value = typed["what"].partition(":")
    if request.POST.get("sure") != "yes":
        return _stops(request, typed, Invalid("say that you mean it", field="sure"))
    try:
        stops_commands.stop(
            request.user,
            scope,
            value,
            reason=typed["reason"],
            teams=[typed["team"]] if typed["team"] else [],
            everywhere=typed["everywhere"] == "yes",
        )
    except PermissionDenied:
        raise
    except Refused as refusal:
        return _stops(request, typed, refusal)
    messages.success(request, "Stopped. The AI starts nothing new.")
    return redirect("stops")


def _stops(request: HttpRequest, typed: dict[str, str], refusal: Refused | None = None) -> HttpResponse:
    rows = stop_lines.stops_of(request.user)
    lifted = [row for row in rows if row.lifted_at is not None]
    context = {
        "here": "stops",
        "lifted": lifted,
        "inforce": [row for row in rows if row.lifted_at is None],
        "names": display_names({row.by for row in rows} | {row.lifted_by for row in lifted}),
        "may_stop": holds_any(request.user, Permission.STOP),
        "may_stop_everywhere": holds_any(request.user, Permission.STOP_EVERYWHERE),
        "own_teams": _own_teams(request.user),
        "options": _options(),
        "typed": typed,
        "refusal": refusal,
    }
    return render(request, "agent_sessions/stops.html", context, status=refusal.status if refusal else 200)


def _options() -> list[dict[str, str]]:
    """What may be stopped, the widest first."""
    return [
        {"value": "everything", "label": "Everything"},
        *({"value": f"agent:{name}", "label": f"Agent {name}"} for name in registry.names()),
        *({"value": f"tool:{name}", "label": f"Tool {plain(name).lower()}"} for name in sorted(tools.names())),
    ]


def _own_teams(user: Any) -> list[Team]:
    return list(Team.objects.filter(pk__in=teams_with(user, Permission.STOP)).order_by("name"))


@console
@require_POST
def stop_lift(request: HttpRequest, stop_id: UUID) -> HttpResponse:
    """Lift a stop; then the page of stops again."""
    stops_commands.lift(request.user, stop_id, request.POST.get("why", ""))
    messages.success(request, "Resumed.")
    return redirect("stops")


@console
@require_http_methods(["GET", "HEAD", "POST"])
def handover(request: HttpRequest) -> HttpResponse:
    """What somebody has in hand; POST hands all of it over."""
    user = request.user
    teams = teams_with(user, Permission.TAKE_OVER)
    if not teams or not isinstance(user, User):
        raise PermissionDenied("This needs the permission take_over.", permission=Permission.TAKE_OVER.value)
    refusal = None
    if request.method == "POST":
        sent = request.POST
        try:
            handed = assignments.hand_over(user, sent.get("to", ""), sent.get("reason", ""), of=sent.get("of", ""))
        except Invalid as invalid:
            refusal = invalid
        else:
            stayed = sum(1 for each in handed if each.refused)
            told = f"{len(handed) - stayed} handed over." + (
                f" {stayed} changed meanwhile and stayed." if stayed else ""
            )
            messages.success(request, told)
            return redirect(f"{reverse('handover')}?of={sent.get('of', '')}")
    of = request.GET.get("of") or request.POST.get("of") or user.username
    whose = colleague_named(of)
    context = {
        "here": "handover",
        "people": colleagues(user),
        "whose": whose,
        "held": work_lines.in_hand(whose.actor, teams),
        "refusal": refusal,
    }
    return render(request, "agent_sessions/handover.html", context, status=refusal.status if refusal else 200)


@console
@require_POST
def next_work(request: HttpRequest) -> HttpResponse:
    """The next thing to see to is theirs, with why; its page, or the wall where there is none."""
    found = assignments.next_work(request.user)
    if found is None:
        messages.info(request, "No work for you right now.")
        return redirect("decisions")
    messages.success(request, f"Why this one: {', '.join(found.why)}.")
    if found.request is not None:
        return redirect("decision", found.request)
    return redirect("session", found.session)
