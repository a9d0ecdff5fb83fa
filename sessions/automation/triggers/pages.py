"""Pages of triggers: which there are, what each heard and why it acted or not, and changing one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentstate.people.queries import display_names
from sessions.automation.rules import pages as rule_pages
from sessions.automation.rules.pages import RulePages
from sessions.automation.triggers import definition, queries
from sessions.automation.triggers.repository import STORE
from sessions.descriptions import triggers as words
from sessions.http.frame import console

EXAMPLE = {
    "on": {"entry": {"kinds": ["tool.failed"]}},
    "when": "event.data.reason != ''",
    "do": {"tell": {"say": "'Tell the customer that this takes longer.'"}},
}


@console
@require_safe
def triggers(request: HttpRequest) -> HttpResponse:
    """The list, the watched tables, and a form for a new one."""
    return render(request, "agent_sessions/triggers.html", _list(request))


def _list(request: HttpRequest) -> dict[str, Any]:
    return {
        "here": "triggers",
        "lines": [(each, words.ON[each.source], words.why(each.off_why)) for each in queries.triggers(request.user)],
        "watches": queries.watches(request.user),
        "teams": rule_pages.teams_to_choose(request),
        "sent": request.POST,
        "text": rule_pages.text(request, EXAMPLE),
    }


@console
@require_safe
def trigger(request: HttpRequest, trigger_id: UUID) -> HttpResponse:
    """One trigger: its definition, and what became of what it heard."""
    return render(request, "agent_sessions/trigger.html", _one(request, trigger_id))


def _one(request: HttpRequest, trigger_id: UUID) -> dict[str, Any]:
    line = queries.trigger(request.user, trigger_id)
    hook = line.source == "hook"
    return {
        "here": "triggers",
        "line": line,
        "on": words.ON[line.source],
        "off_why": words.why(line.off_why),
        "firings": [
            (each, *words.ENDS[each.state], words.why(each.why)) for each in queries.firings(request.user, line.id)
        ],
        "names": display_names({line.changed_by}),
        "text": rule_pages.text(request, definition.dump(definition.load(line.definition))),
        "address": request.build_absolute_uri(reverse("api_hook", args=[line.id])) if hook else "",
    }


PAGES = RulePages(STORE, "trigger", "trigger", _one, _list)


@console
@require_POST
def trigger_keep(request: HttpRequest) -> HttpResponse:
    """Makes one, or the next version of one."""
    return PAGES.save(request)


@console
@require_POST
def trigger_switch(request: HttpRequest, trigger_id: UUID) -> HttpResponse:
    """Switches one on or off."""
    return PAGES.switch(request, trigger_id)
