"""The list of requests, and the page that shows one of them beside it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agentstate.people.queries import display_names
from sessions.approvals import queries as approvals_queries
from sessions.approvals.cards import Card


def card_page(request: HttpRequest, card: Card, view: str, status: int = 200) -> HttpResponse:
    """Returns the page of one request beside the list."""
    return render(request, "agent_sessions/decision.html", {**queue(request, view), "card": card}, status=status)


def queue(request: HttpRequest, view: str) -> dict[str, Any]:
    """Returns what the list shows, in groups: `view` is "open", "decided" or "expired"."""
    if view == "decided":
        lines = approvals_queries.decided(request.user)
    elif view == "expired":
        lines = approvals_queries.requests(request.user, state="expired")
    else:
        view, lines = "open", approvals_queries.requests(request.user)
    lines = approvals_queries.as_listed(lines)
    concerned = {actor for line in lines for actor in (line.decided_by, line.claimed_by, line.assigned_to)}
    names = display_names(concerned)
    groups: dict[str, list[approvals_queries.RequestLine]] = {}
    for line in lines:
        groups.setdefault(_group(line, view), []).append(line)
    mine = approvals_queries.decidable(request.user).count() if view == "open" else 0
    return {"here": "decisions", "view": view, "groups": groups, "names": names, "mine": mine}


def _group(line: approvals_queries.RequestLine, view: str) -> str:
    if view != "open":
        return ""
    if line.held_until:
        return "held"
    return str(line.tier) if line.may_decide else "others"
