"""Pages of tools: what agents may call, one tool in full, and what MCP servers offer and somebody accepts of it."""

from __future__ import annotations

import json
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid
from agentstate.people.queries import display_names
from sessions.http.frame import console
from sessions.tool_pages import commands, queries

EFFECTS = {
    "pure": "Read-only",
    "idempotent": "Idempotent: repeating the call has no further effect",
    "once": "Not repeatable",
}


@console
@require_safe
def tools(request: HttpRequest) -> HttpResponse:
    """Every tool, and every MCP server."""
    context = {
        "here": "tools",
        "tools": queries.tool_lines(request.user),
        "servers": queries.server_lines(request.user),
        "effects": EFFECTS,
    }
    return render(request, "agent_sessions/tools.html", context)


@console
@require_safe
def tool(request: HttpRequest, name: str) -> HttpResponse:
    """One tool in full."""
    line = queries.tool_line(request.user, name)
    context = {
        "here": "tools",
        "tool": line,
        "effect": EFFECTS[line.effect],
        "arguments": _written(line.arguments),
        "result": _written(line.result) if line.result is not None else "",
    }
    return render(request, "agent_sessions/tool.html", context)


@console
@require_safe
def tool_server(request: HttpRequest, name: str) -> HttpResponse:
    """One MCP server: what it offers now, what was accepted, and what changed."""
    line = queries.server_line(request.user, name)
    shown = [(each, [(part, _words(value)) for part, value in each.offer.items()]) for each in line.offers]
    context = {
        "here": "tools",
        "server": line,
        "offers": shown,
        "names": display_names({each.answered_by for each in line.offers}),
        "may_accept": queries.may_accept(request.user),
    }
    return render(request, "agent_sessions/tool_server.html", context)


@console
@require_POST
def tool_server_look(request: HttpRequest, name: str) -> HttpResponseBase:
    """Ask the server what it offers now."""
    problem = commands.look(request.user, name)
    messages.add_message(request, messages.INFO, problem or "It was asked just now.")
    return redirect("tool_server", name)


@console
@require_POST
def tool_answer(request: HttpRequest, offer_id: UUID, act: str) -> HttpResponseBase:
    """Accept or refuse a version, as it was shown."""
    if act not in ("accept", "refuse"):
        raise Invalid(f"got {act[:40]!r}, want accept or refuse", field="act")
    row = commands.answer(request.user, offer_id, accept=act == "accept", digest=request.POST.get("digest", ""))
    messages.add_message(request, messages.INFO, f"{row.tool}, version {row.version}: {row.answer}.")
    return redirect("tool_server", row.server)


def _written(schema: object) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False, default=str)


def _words(value: object) -> str:
    return value if isinstance(value, str) else _written(value)
