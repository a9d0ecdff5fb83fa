"""Pages of alert rules, targets and calendars, the trial of a rule on what is past, figures of service levels."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Refused
from agentstate.people.permissions import PermissionDenied
from agentstate.people.queries import display_names
from sessions.automation.alert_rules import dry_runs, queries
from sessions.automation.alert_rules.api import DEFAULT_DAYS
from sessions.automation.alerts import queries as lines
from sessions.automation.alerts.documents import WHATS
from sessions.automation.alerts.repository import STORE
from sessions.automation.rules import pages as rule_pages
from sessions.automation.rules.pages import RulePages
from sessions.automation.service_levels import queries as service_levels
from sessions.descriptions import alerts as words
from sessions.http.frame import console
from sessions.http.parameters import day_of

EXAMPLE = {"on": {"phrase": {"words": ["cancel my contract"]}}, "severity": "warning", "to": ["role:supervisor"]}
DAYS = (1, 7, 31)
NEWEST = 20


@console
@require_safe
def alert_rules(request: HttpRequest) -> HttpResponse:
    """The lists, and a form for a new one."""
    return render(request, "agent_sessions/alert_rules.html", _list(request))


def _list(request: HttpRequest) -> dict[str, Any]:
    found = queries.rules(request.user)
    groups = [(what, words.WHAT[what], [each for each in found if each.what == what]) for what in reversed(WHATS)]
    return {
        "here": "alerts",
        "groups": [
            (what, name, [(each, words.about(what, each.definition)) for each in kept]) for what, name, kept in groups
        ],
        "whats": [(what, words.WHAT[what]) for what in reversed(WHATS)],
        "teams": rule_pages.teams_to_choose(request),
        "sent": request.POST,
        "text": rule_pages.text(request, EXAMPLE),
    }


@console
@require_safe
def alert_rule(request: HttpRequest, rule_id: UUID) -> HttpResponse:
    """One of them: its definition, its versions, what it raised."""
    return render(request, "agent_sessions/alert_rule.html", _one(request, rule_id))


def _one(request: HttpRequest, rule_id: UUID) -> dict[str, Any]:
    line = queries.rule(request.user, rule_id)
    raised = lines.alerts(request.user, rule=line.name, team=line.team, limit=NEWEST) if line.what == "rule" else []
    kept = queries.versions(request.user, rule_id)
    return {
        "here": "alerts",
        "line": line,
        "what": words.WHAT[line.what],
        "about": words.about(line.what, line.definition),
        "raised": [(each, words.why(each.why)) for each in raised],
        "versions": kept,
        "names": display_names({line.changed_by, *(each.by for each in kept)}),
        "text": rule_pages.text(request, line.definition),
        "days": DAYS,
    }


PAGES = RulePages(STORE, "alert_rule", "rule", _one, _list)


@console
@require_POST
def alert_rule_keep(request: HttpRequest) -> HttpResponse:
    """Makes one, or the next version of one; or tries it on recorded days."""
    if "try" in request.POST:
        return _tried(request)
    return PAGES.save(request, what=request.POST.get("what", ""))


def _tried(request: HttpRequest) -> HttpResponse:
    try:
        days = rule_pages.whole(request.POST.get("try", str(DEFAULT_DAYS)), "days")
        found = dry_runs.trial(request.user, rule_pages.written(request), days)
    except PermissionDenied:
        raise
    except Refused as refusal:
        return PAGES.again(request, refusal)
    told = [(each, words.why(each.why)) for each in found.lines]
    return PAGES.again(request, trial=found, trial_lines=told, trial_days=days)


@console
@require_POST
def alert_rule_switch(request: HttpRequest, rule_id: UUID) -> HttpResponse:
    """Switches one on or off."""
    return PAGES.switch(request, rule_id)


@console
@require_safe
def levels(request: HttpRequest) -> HttpResponse:
    """The figures."""
    since, until = (request.GET.get(name, "") for name in ("since", "until"))
    found = service_levels.figures(request.user, day_of(since, "since"), day_of(until, "until"))
    context = {
        "here": "levels",
        "found": found,
        "levels": [(each, words.LEVELS[each.what]) for each in found.levels],
        "alerts": [(each, words.SEVERITY[each.severity]) for each in found.alerts],
    }
    return render(request, "agent_sessions/service_levels.html", context)


@console
@require_safe
def levels_table(request: HttpRequest, part: str) -> HttpResponse:
    """The figures as a file."""
    if part not in service_levels.COLUMNS:
        raise Http404(part)
    since, until = (day_of(request.GET.get(name, ""), name) for name in ("since", "until"))
    text = service_levels.table(service_levels.figures(request.user, since, until), part)
    name = f'attachment; filename="{part}.csv"'
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": name})
