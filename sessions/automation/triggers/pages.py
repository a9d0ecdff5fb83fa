"""Pages of triggers: which there are, what each heard and why it acted or not, and changing one."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from sessions.automation.triggers import commands, definition, queries
from sessions.descriptions import triggers as words
from sessions.http import strict_json
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
        "teams": Team.objects.filter(pk__in=teams_with(request.user, Permission.CONFIGURE)).order_by("name"),
        "sent": request.POST,
        "text": request.POST.get("definition") or json.dumps(EXAMPLE, indent=2),
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
        "text": request.POST.get("definition")
        or json.dumps(definition.dump(definition.load(line.definition)), indent=2),
        "address": request.build_absolute_uri(reverse("api_hook", args=[line.id])) if hook else "",
    }


@console
@require_POST
def trigger_keep(request: HttpRequest) -> HttpResponse:
    """Make one, or the next version of one; what is refused is told beside what was typed."""
    sent = request.POST
    changes = sent.get("trigger", "")
    try:
        seen = _whole(sent.get("seen", "0"))
        wanted = strict_json.loads(sent.get("definition", "").encode())
        row = commands.keep_trigger(
            request.user, sent.get("name", "").strip(), wanted, seen=seen, team=sent.get("team", "")
        )
    except PermissionDenied:
        raise
    except Refused as refusal:
        if changes:
            context = _one(request, _id(changes))
            return render(
                request, "agent_sessions/trigger.html", {**context, "refusal": refusal}, status=refusal.status
            )
        context = _list(request)
        return render(request, "agent_sessions/triggers.html", {**context, "refusal": refusal}, status=refusal.status)
    return redirect("trigger", row.pk)


@console
@require_POST
def trigger_switch(request: HttpRequest, trigger_id: UUID) -> HttpResponse:
    """On or off."""
    commands.switch_trigger(request.user, trigger_id, request.POST.get("on") == "1")
    return redirect("trigger", trigger_id)


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Invalid("want a version", field="seen")
    return int(text)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid("want the trigger's id", field="trigger") from None
