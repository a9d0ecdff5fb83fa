"""Data subjects: erasures and who must approve them, legal holds, for how long words are kept, and the report.

Each button is a form of its own, so that everything works without JavaScript; a refusal is told at the top of the page
that was sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied, holds_any, teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from audit.erasure import BASES, State
from audit.retention import Class, Rule, Schedule
from sessions.conversation.commands import CHANNELS
from sessions.http.frame import as_id, console
from sessions.privacy import commands, queries, subject_report

RULINGS = {"approve": State.APPROVED, "refuse": State.REFUSED, "withdraw": State.WITHDRAWN}
BADGES = {
    "asked": ("decide", "Waits for approval"),
    "running": ("live", "Being erased"),
    "blocked": ("lock", "Blocked by a legal hold"),
    "done": ("check", "Erased"),
    "refused": ("x", "Refused"),
    "withdrawn": ("undo", "Withdrawn"),
}


@console
@require_safe
def subjects(request: HttpRequest) -> HttpResponse:
    """Requests and holds, and the forms to add to them."""
    return render(request, "privacy/subjects.html", _subjects(request))


def _subjects(request: HttpRequest) -> dict[str, Any]:
    erasures, holds = queries.erasures(request.user), queries.all_holds(request.user)
    actors = {each.asked_by for each in erasures} | {each.ruled_by for each in erasures}
    actors |= {each.set_by for each in holds} | {each.lifted_by for each in holds}
    may = {each.value for each in Permission if teams_with(request.user, each)}
    return {
        "here": "privacy",
        "rows": [{"erasure": each, "badge": BADGES[each.state]} for each in erasures],
        "holds": holds,
        "names": display_names(actors),
        "bases": list(BASES.items()),
        "may": may,
        "may_read": _may_read(request),
        "sent": request.POST,
    }


@console
@require_POST
def subject_change(request: HttpRequest, act: str) -> HttpResponse:
    """Ask for an erasure, or set a hold, then the page again."""
    change = _CHANGES.get(act)
    if change is None:
        raise Invalid(f"want one of {', '.join(_CHANGES)}", field="act")
    try:
        return change(request, request.POST)
    except Refused as refusal:
        if isinstance(refusal, PermissionDenied):
            raise
        context = {**_subjects(request), "refusal": refusal}
        return render(request, "privacy/subjects.html", context, status=_status(refusal))


def _status(refusal: Refused) -> int:
    return 422 if isinstance(refusal, Invalid) or refusal.status == 404 else refusal.status


def _named(sent: QueryDict) -> dict[str, Any]:
    """Whom a form names: a reference, or the id of a session."""
    who = sent.get("who", "").strip()
    if not who:
        raise Invalid("whom?", field="who")
    try:
        return {"session": UUID(who)}
    except ValueError:
        return {"customer": who}


def _ask(request: HttpRequest, sent: QueryDict) -> HttpResponse:
    basis, reason = sent.get("basis", ""), sent.get("reason", "")
    asked = commands.ask_erasure(request.user, basis=basis, reason=reason, **_named(sent))
    return redirect("erasure", asked.pk)


def _hold(request: HttpRequest, sent: QueryDict) -> HttpResponse:
    whole = sent.get("only") != "session"
    until = _day(sent.get("until", ""))
    commands.set_hold(request.user, **_named(sent), whole=whole, reason=sent.get("reason", ""), until=until)
    return redirect("privacy")


def _day(text: str) -> datetime | None:
    """The end of a day in UTC, as a date field sends it; None for an empty one."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(f"{text}T23:59:59").replace(tzinfo=UTC)
    except ValueError:
        raise Invalid(f"got {text[:20]!r}, want a day such as 2027-01-31", field="until") from None


def _lift(request: HttpRequest, sent: QueryDict) -> HttpResponse:
    commands.lift_hold(request.user, as_id(sent.get("hold", ""), "hold"))
    return redirect("privacy")


def _report(request: HttpRequest, sent: QueryDict) -> HttpResponse:
    found = subject_report.made(request.user, **_named(sent))
    if sent.get("form") == "json":
        body = json.dumps(found, ensure_ascii=False, indent=1)
        return HttpResponse(
            body,
            content_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="subject-{found["subject"]}.json"'},
        )
    return render(request, "privacy/report.html", {"here": "privacy", "report": found, "who": sent.get("who", "")})


def _propose_report(request: HttpRequest, sent: QueryDict) -> HttpResponse:
    row = commands.propose_report(request.user, sent.get("reason", ""), **_named(sent))
    return redirect("proposal", row.pk)


_CHANGES: dict[str, Callable[[HttpRequest, QueryDict], HttpResponse]] = {
    "erasures": _ask,
    "holds": _hold,
    "lift": _lift,
    "report": _report,
    "propose-report": _propose_report,
}


@console
@require_safe
def erasure(request: HttpRequest, erasure_id: UUID) -> HttpResponse:
    """One request: what would be erased, what blocks it, and the buttons."""
    return render(request, "privacy/erasure.html", _detail(request, erasure_id))


@console
@require_POST
def erasure_rule(request: HttpRequest, erasure_id: UUID, act: str) -> HttpResponse:
    """Approve, refuse or withdraw."""
    if act not in RULINGS:
        raise Invalid(f"want one of {', '.join(RULINGS)}", field="act")
    try:
        commands.rule_erasure(request.user, erasure_id, RULINGS[act])
    except Refused as refusal:
        if refusal.status == 404 or isinstance(refusal, PermissionDenied):
            raise
        context = {**_detail(request, erasure_id), "refusal": refusal}
        return render(request, "privacy/erasure.html", context, status=refusal.status)
    return redirect("erasure", erasure_id)


def _detail(request: HttpRequest, erasure_id: UUID) -> dict[str, Any]:
    found = queries.detail(request.user, erasure_id)
    one = found.erasure
    actors = {one.asked_by, one.ruled_by} | {hold.set_by for hold in found.holds}
    badge = BADGES[one.state]
    return {
        "here": "privacy",
        "detail": found,
        "one": one,
        "badge": badge,
        "names": display_names(actors),
        "may_read": _may_read(request),
    }


def _may_read(request: HttpRequest) -> bool:
    """Whether links to sessions lead anywhere for this person."""
    return holds_any(request.user, Permission.READ)


@console
@require_safe
def retention(request: HttpRequest) -> HttpResponse:
    """Classes, rules, and what the next run deletes."""
    return render(request, "privacy/retention.html", _retention(request))


def _retention(request: HttpRequest) -> dict[str, Any]:
    schedule = commands.retention_schedule(request.user)
    due = queries.pruning_due(request.user)
    teams = Team.objects.filter(pk__in=teams_with(request.user, Permission.RETENTION)).order_by("name")
    named = {str(team.pk): team.name for team in teams}
    days = {each.name: each.days for each in schedule.classes}
    return {
        "here": "privacy",
        "rules": [
            {"rule": rule, "team": named.get(rule.team, ""), "days": days[rule.retention]} for rule in schedule.rules
        ],
        "unused": [each for each in schedule.classes if all(rule.retention != each.name for rule in schedule.rules)],
        "due": due,
        "payloads": sum(each.payloads for each in due if not each.held),
        "may_read": _may_read(request),
        "teams": teams,
        "channels": CHANNELS,
        "sent": request.POST,
    }


@console
@require_POST
def retention_change(request: HttpRequest) -> HttpResponse:
    """Add a rule with its class at the end, or take one away."""
    try:
        proposal = commands.set_retention(
            request.user, _changed(commands.retention_schedule(request.user), request.POST)
        )
    except Refused as refusal:
        if isinstance(refusal, PermissionDenied):
            raise
        context = {**_retention(request), "refusal": refusal}
        return render(request, "privacy/retention.html", context, status=_status(refusal))
    return redirect("retention") if proposal is None else redirect("proposal", proposal.pk)


def _changed(schedule: Schedule, sent: QueryDict) -> Schedule:
    if sent.get("remove"):
        return _without(schedule, _whole(sent.get("remove", ""), "remove") - 1)
    name, days = sent.get("name", "").strip(), _whole(sent.get("days", ""), "days")
    rule = Rule(name, sent.get("team", ""), sent.get("agent", "").strip(), sent.get("channel", ""))
    others = tuple(each for each in schedule.classes if each.name != name)
    return Schedule((*others, Class(name, days)), (*schedule.rules, rule))


def _without(schedule: Schedule, place: int) -> Schedule:
    """The schedule without one rule, and without its class where no other names it."""
    rules = tuple(rule for number, rule in enumerate(schedule.rules) if number != place)
    used = {rule.retention for rule in rules}
    return Schedule(tuple(each for each in schedule.classes if each.name in used), rules)


def _whole(text: str, field: str) -> int:
    if not text.strip().isdecimal() or len(text) > 6:
        raise Invalid(f"got {text[:20]!r}, want a whole number", field=field)
    return int(text)
