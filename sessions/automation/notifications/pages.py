"""Pages of notifications: what one was told and what one wants; for those who configure a team its rules, its quiet
hours, its endpoints and each delivery.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from sessions.automation.notifications import commands, definition, endpoints, queries
from sessions.automation.notifications.definition import EMAIL, IN_APP
from sessions.automation.notifications.repository import STORE
from sessions.automation.rules import pages as rule_pages
from sessions.automation.rules.pages import RulePages
from sessions.descriptions import notifications as words
from sessions.http.frame import as_id, console

EXAMPLE = {
    "on": {"kinds": ["approval.requested"]},
    "when": "event.data.tier >= 3",
    "severity": "warning",
    "steps": [
        {"to": ["reviewers"], "by": ["in_app"]},
        {"after": 120, "to": ["role:supervisor"], "by": ["in_app", "email"]},
    ],
    "until": "acted",
}
DAYS = ((1, "Mon"), (2, "Tue"), (3, "Wed"), (4, "Thu"), (5, "Fri"), (6, "Sat"), (7, "Sun"))


@console
@require_safe
def notices(request: HttpRequest) -> HttpResponse:
    """What one was told, newest first."""
    only = request.GET.get("view") == "unread"
    after = as_id(request.GET["after"], "after") if request.GET.get("after") else None
    lines = queries.notices(request.user, only_unread=only, after=after)
    context = {
        "here": "notices",
        "lines": lines,
        "only": only,
        "next": lines[-1].id if len(lines) == queries.PAGE else None,
        "bell": queries.bell(commands.known(request.user), 0),
    }
    return render(request, "agent_sessions/notices.html", context)


@console
@require_safe
def notices_bell(request: HttpRequest) -> HttpResponse:
    """The bell of the top bar, and what is new, for pages that are open."""
    person = commands.known(request.user)
    context = {"bell": queries.bell(person, 10), "wishes": queries.wishes_of(person)}
    return render(request, "agent_sessions/notices_bell.html", context)


@console
@require_POST
def notices_read(request: HttpRequest) -> HttpResponse:
    """Mark some as read, or all; then on to what one of them is about, where that was asked for."""
    person = commands.known(request.user)
    if request.POST.get("all"):
        commands.mark_read(person)
        return redirect("notices")
    chosen = as_id(request.POST.get("notice", ""), "notice")
    line = next((each for each in queries.notices(person, limit=1000) if each.id == chosen), None)
    commands.mark_read(person, [chosen])
    return redirect(line.path if line is not None and request.POST.get("open") else "notices")


@console
@require_http_methods(["GET", "HEAD", "POST"])
def notice_wishes(request: HttpRequest) -> HttpResponse:
    """What one wants: where mail reaches one, what is switched off, when one is not to be disturbed."""
    refusal = None
    sent = request.POST
    if request.method == "POST":
        try:
            commands.keep_wishes(
                request.user,
                email=sent.get("email", "").strip(),
                off=[way for way, box in ((IN_APP, "in_app"), (EMAIL, "mail")) if not sent.get(box)],
                quiet_hours=_quiet(request),
                sound=bool(sent.get("sound")),
                desktop=bool(sent.get("desktop")),
            )
        except PermissionDenied:
            raise
        except Refused as problem:
            refusal = problem
        else:
            messages.success(request, "Saved.")
            return redirect("notice_wishes")
    context = {
        "here": "notices",
        "wishes": queries.wishes_of(request.user),
        "refusal": refusal,
        "days": DAYS,
        "sent": sent,
        "required": _required(request),
    }
    return render(request, "agent_sessions/notice_wishes.html", context, status=refusal.status if refusal else 200)


def _required(request: HttpRequest) -> list[str]:
    """The rules of one's teams that nobody can switch off for themselves."""
    teams = teams_with(request.user, Permission.SEE)
    return [rule.name for rule in queries.required(teams)]


def _quiet(request: HttpRequest) -> dict[str, Any] | None:
    """The quiet hours of a form; None where no time is given. Raises Invalid."""
    sent = request.POST
    if not (sent.get("start") or sent.get("end")):
        return None
    days = [_day(text) for text in sent.getlist("days")]
    return {
        "start": sent.get("start", ""),
        "end": sent.get("end", ""),
        "zone": sent.get("zone", "").strip() or "UTC",
        "days": days,
    }


def _day(text: str) -> int:
    if text not in {str(number) for number, _ in DAYS}:
        raise Invalid("days are 1 (Monday) to 7", field="days")
    return int(text)


@console
@require_safe
def notice_rules(request: HttpRequest) -> HttpResponse:
    """The rules, the teams' quiet hours, and a form for a new one."""
    return render(request, "agent_sessions/notice_rules.html", _rules(request))


def _rules(request: HttpRequest) -> dict[str, Any]:
    lines = queries.rules(request.user)
    teams = rule_pages.teams_to_choose(request)
    known = {(line.team, line.name) for line in lines}
    lacked = {name for name in definition.shipped() for team in teams if (team.pk, name) not in known}
    return {
        "here": "notice_rules",
        "lines": [(line, [words.step(step) for step in line.definition["steps"]]) for line in lines],
        "teams": teams,
        "quiet": queries.quiet_of_teams(request.user),
        "shipped": sorted(lacked),
        "days": DAYS,
        "sent": request.POST,
        "text": rule_pages.text(request, EXAMPLE),
    }


@console
@require_safe
def notice_rule(request: HttpRequest, rule_id: UUID) -> HttpResponse:
    """One rule, and what became of what it heard."""
    return render(request, "agent_sessions/notice_rule.html", _rule(request, rule_id))


def _rule(request: HttpRequest, rule_id: UUID) -> dict[str, Any]:
    line = queries.rule(request.user, rule_id)
    return {
        "here": "notice_rules",
        "line": line,
        "steps": [words.step(step) for step in line.definition["steps"]],
        "until": words.UNTIL[line.definition["until"]],
        "history": [
            (each, *words.STATES[each.state], words.why(each.why)) for each in queries.history(request.user, line.id)
        ],
        "names": display_names({line.changed_by}),
        "text": rule_pages.text(request, definition.dump(definition.load(line.definition))),
    }


RULES = RulePages(STORE, "notice_rule", "rule", _rule, _rules)


@console
@require_POST
def notice_rule_keep(request: HttpRequest) -> HttpResponse:
    """Makes one, or the next version of one."""
    return RULES.save(request)


@console
@require_POST
def notice_rule_switch(request: HttpRequest, rule_id: UUID) -> HttpResponse:
    """Switches one on or off."""
    return RULES.switch(request, rule_id)


@console
@require_POST
def notice_team(request: HttpRequest, act: str) -> HttpResponse:
    """What concerns a whole team: taking the shipped rules, its quiet hours."""
    team = request.POST.get("team", "")
    try:
        if act == "shipped":
            made = commands.take_shipped(request.user, team)
            messages.success(request, f"Rules taken: {', '.join(made) or 'none, you have them all'}.")
        elif act == "quiet":
            commands.keep_team_quiet(request.user, _quiet(request), team=team)
            messages.success(request, "Quiet hours saved.")
        else:
            raise Http404
    except PermissionDenied:
        raise
    except Refused as refusal:
        return RULES.again(request, refusal)
    return redirect("notice_rules")


@console
@require_safe
def notice_endpoints(request: HttpRequest) -> HttpResponse:
    """Where webhooks go, and a form for another."""
    return render(request, "agent_sessions/notice_endpoints.html", _endpoints(request))


def _endpoints(request: HttpRequest) -> dict[str, Any]:
    return {
        "here": "notice_rules",
        "lines": [(each, words.why(each.off_why)) for each in queries.endpoints(request.user)],
        "teams": rule_pages.teams_to_choose(request),
        "sent": request.POST,
    }


@console
@require_safe
def notice_endpoint(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """One endpoint, and each delivery with its tries."""
    return render(request, "agent_sessions/notice_endpoint.html", _endpoint(request, endpoint_id))


def _endpoint(request: HttpRequest, endpoint_id: UUID) -> dict[str, Any]:
    line = queries.endpoint(request.user, endpoint_id)
    return {
        "here": "notice_rules",
        "line": line,
        "off_why": words.why(line.off_why),
        "deliveries": [
            (each, *words.STATES[each.state], words.why(each.why), [(one, words.why(one.why)) for one in each.tries])
            for each in queries.deliveries(request.user, line.id)
        ],
        "names": display_names({line.changed_by}),
        "sent": request.POST,
    }


ENDPOINTS = RulePages(endpoints.STORE, "notice_endpoint", "endpoint", _endpoint, _endpoints)


@console
@require_POST
def notice_endpoint_keep(request: HttpRequest) -> HttpResponse:
    """Makes one, or changes one."""
    return ENDPOINTS.save(request, {name: request.POST.get(name, "").strip() for name in ("url", "secret")})


@console
@require_POST
def notice_endpoint_act(request: HttpRequest, endpoint_id: UUID, act: str) -> HttpResponse:
    """Switch it, send it a test, or send one or all again that failed."""
    match act:
        case "switch":
            return ENDPOINTS.switch(request, endpoint_id)
        case "test":
            commands.test_endpoint(request.user, endpoint_id)
            messages.success(request, "Test sent. The result appears on this page.")
        case "again":
            if request.POST.get("delivery"):
                commands.send_again(request.user, as_id(request.POST["delivery"], "delivery"))
                messages.success(request, "Sent again as the same message.")
            else:
                count = commands.send_failed_again(request.user, endpoint_id)
                messages.success(request, f"Sent again: {count}.")
        case _:
            raise Http404
    return redirect("notice_endpoint", endpoint_id)
