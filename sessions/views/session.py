"""The page of one session: what was said and done, what waits, what the agent remembers, and where it stands."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentstate.people.permissions import PermissionDenied
from agentstate.people.queries import display_names
from sessions import access, queries, transcript, words
from sessions.queries.changes import shown_pad
from sessions.queries.talk import talk_lines
from sessions.views.frame import console

TOLD = {  # the kinds of entry that the timeline tells; the rest is on the audit page
    "session.opened",
    "model.failed",
    "call.refused",
    "approval.requested",
    "decision.made",
    "tool.returned",
    "tool.failed",
    "session.expired",
    "session.reopened",
    "checkpoint.named",
    "session.rolled_back",
    "session.forked",
    "fork.promoted",
    "session.superseded",
    "state.changed",
    "conflict.opened",
    "conflict.ended",
    "session.ended",
    "session.failed",
    "topic.opened",
    "topic.switched",
    "topic.resumed",
    "topic.closed",
    "reference.corrected",
}
LINES = 30  # of the timeline


@console
@require_safe
def session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The newest part of a session, or with `before` an earlier part of its conversation."""
    line = queries.session_line(request.user, session_id)
    before = request.GET.get("before", "")
    if not before:
        access.live("session", f"session:{session_id}", goes_on=False)
    try:
        context = _context(request, line, before)
    except PermissionDenied:
        return render(request, "agent_sessions/session_closed.html", {"here": "sessions", "line": line})
    return render(request, "agent_sessions/session.html", context)


@console
@require_safe
def session_changes(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Every part of the page that may change, as it stands now."""
    line = queries.session_line(request.user, session_id)
    access.live("session", f"session:{session_id}", goes_on=True)
    return render(request, "agent_sessions/session_changes.html", _context(request, line, ""))


def _context(request: HttpRequest, line: queries.SessionLine, before: str) -> dict[str, Any]:
    state = queries.state_of(request.user, line.id)
    stop = min(state.seq, int(before[:18])) if before.isascii() and before.isdigit() else state.seq
    start = queries.tail_start(stop)
    entries = queries.entries(request.user, line.id, after=start - 1, limit=stop - start) if stop else []
    items = transcript.items(entries)
    timeline = _timeline(entries)
    names = display_names({item.actor for item in items} | {told["actor"] for told in timeline})
    return {
        "here": "sessions",
        "line": line,
        "state": state,
        "items": items,
        "pad": words.rows(shown_pad(request.user, line.id, line.team, state)),
        "timeline": timeline,
        "talk": talk_lines(state),
        "names": names,
        "start": start,
        "stop": stop,
        "whole": stop == state.seq,
    }


def _timeline(entries: list[queries.EntryLine]) -> list[dict[str, Any]]:
    tools = transcript.tools_by_call(entries)
    told = [entry for entry in entries if entry.kind in TOLD][-LINES:]
    return [
        {
            "seq": entry.seq,
            "at": entry.at,
            "actor": entry.actor,
            "sentence": words.entry(entry.kind, entry.data, tools.get((entry.data or {}).get("call", ""), "")),
        }
        for entry in told
    ]
