"""The page of one session: what was said and done, what waits, what the agent remembers, and where it stands."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.engine.alerts import open_alerts
from agentstate.engine.state.session import SessionState
from agentstate.errors import Invalid
from agentstate.ids import new_id
from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied, can
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from audit import ledger
from sessions.conversation import commands as conversation_commands
from sessions.core import access, entry_lines, session_lines, transcript
from sessions.descriptions import entries as descriptions_entries
from sessions.descriptions import values
from sessions.http.frame import console
from sessions.privacy import commands as erasure
from sessions.supervision import handback as handing_back
from sessions.supervision.pages import colleagues, to_assign
from sessions.talk.queries import talk_lines

TOLD = {  # the kinds of entry that the timeline tells; the rest is on the audit page
    "session.opened",
    "model.failed",
    "call.refused",
    "approval.requested",
    "alert.raised",
    "alert.closed",
    "decision.made",
    "grant.given",
    "grant.revoked",
    "tool.returned",
    "tool.failed",
    "call.doubted",
    "call.intervened",
    "session.retried",
    "compensation.ordered",
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
    "timer.set",
    "timer.cancelled",
    "timer.fired",
    "trigger.fired",
    "session.paused",
    "session.resumed",
    "session.cancelled",
    "session.taken_over",
    "session.passed_on",
    "session.handed_back",
    "guidance.given",
    "model.dropped",
    "session.human_requested",
    "session.human_withdrawn",
    "work.assigned",
    "session.ended",
    "session.failed",
    "run.stopped",
    "run.granted",
    "run.interrupted",
    "circle.noticed",
    "message.queued",
    "message.refused",
    "topic.opened",
    "topic.switched",
    "topic.resumed",
    "topic.closed",
    "reference.corrected",
    "references.resolved",
}
LINES = 30  # of the timeline


@console
@require_safe
def session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The newest part of a session, or with `before` an earlier part of its conversation."""
    line = session_lines.session_line(request.user, session_id)
    before = request.GET.get("before", "")
    if not before:
        access.live("session", f"session:{session_id}", goes_on=False)
    try:
        context = _context(request, line, before)
    except PermissionDenied:
        return render(request, "agent_sessions/session_closed.html", _closed(request, line))
    return render(request, "agent_sessions/session.html", context)


@console
@require_safe
def session_changes(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Every part of the page that may change, as it stands now."""
    line = session_lines.session_line(request.user, session_id)
    access.live("session", f"session:{session_id}", goes_on=True)
    return render(request, "agent_sessions/session_changes.html", _context(request, line, ""))


@console
@require_POST
def session_stop(request: HttpRequest, session_id: UUID, act: str) -> HttpResponse:
    """A person pauses the session, lets it go on, stops it for good, or seals what has ended; then its page again."""
    reason, key = request.POST.get("reason", ""), request.POST.get("key", "")
    if act == "pause":
        conversation_commands.pause(request.user, session_id, reason, key=key and f"{key}-pause")
    elif act == "resume":
        conversation_commands.resume(request.user, session_id, key=key and f"{key}-resume")
    elif act == "cancel":
        conversation_commands.cancel(request.user, session_id, reason, key=key and f"{key}-cancel")
    elif act == "grant":
        more = {name: _whole(request.POST.get(name, "")) for name in ("tokens", "micros", "steps", "seconds")}
        more["calls"] = _whole(request.POST.get("more_calls", ""))
        of: Literal["run", "session"] = "session" if request.POST.get("of") == "session" else "run"
        conversation_commands.grant(request.user, session_id, reason=reason, of=of, key=key and f"{key}-grant", **more)
    elif act == "seal":
        erasure.seal(request.user, session_id, key=key and f"{key}-seal")
    else:
        raise Invalid(f"got {act[:50]!r}, want pause, resume, cancel or seal", field="act")
    return redirect("session", session_id)


_MORE = {
    "tokens": ("tokens", "More tokens"),
    "money": ("micros", "More money, in millionths"),
    "steps": ("steps", "More model requests"),
    "time": ("seconds", "More seconds"),
    "calls": ("more_calls", "More calls"),
}


def _grant(state: SessionState, entries: list[entry_lines.EntryLine]) -> dict[str, str] | None:
    """What a stopped run needs more of, and whose bound it is; None where it needs nothing but leave."""
    if state.loop.stopped not in _MORE:
        return None
    stopped = next((entry.data for entry in reversed(entries) if entry.kind == "run.stopped" and entry.data), {})
    name, label = _MORE[state.loop.stopped]
    return {"name": name, "label": label, "of": str(stopped.get("of", "run"))}


def _whole(text: str) -> int:
    """A whole number as typed; nothing typed is 0. Raises Invalid."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise Invalid(f"got {text[:20]!r}, want a whole number", field="tokens")
    return int(text)


def _closed(request: HttpRequest, line: session_lines.SessionLine) -> dict[str, Any]:
    """For those who may see that there is a session, not what was said in it."""
    sealed = ledger.read_head(line.id).sealed
    return {
        "here": "sessions",
        "line": line,
        "sealed": sealed,
        "may_seal": not sealed and _may_seal(request, line),
        "key": str(new_id()),
    }


def _may_seal(request: HttpRequest, line: session_lines.SessionLine) -> bool:
    return line.ended_at is not None and can(request.user, Permission.SEAL, line.team)


def _context(request: HttpRequest, line: session_lines.SessionLine, before: str) -> dict[str, Any]:
    state = entry_lines.state_of(request.user, line.id)
    stop = min(state.seq, int(before[:18])) if before.isascii() and before.isdigit() else state.seq
    start = entry_lines.tail_start(stop)
    entries = entry_lines.entries(request.user, line.id, after=start - 1, limit=stop - start) if stop else []
    items = transcript.items(entries)
    timeline = _timeline(entries)
    names = display_names(
        {state.taken_by, state.desk.assigned_to} | {item.actor for item in items} | {told["actor"] for told in timeline}
    )
    return {
        "here": "sessions",
        "line": line,
        "state": state,
        "alerted": len(open_alerts(state.alerts)),
        "items": items,
        "pad": values.rows(state.pad),
        "timeline": timeline,
        "talk": talk_lines(state),
        "names": names,
        "start": start,
        "stop": stop,
        "whole": stop == state.seq,
        "grant": _grant(state, entries),
        "may_stop": can(request.user, Permission.TAKE_OVER, line.team),
        **_people(request, line, state),
        "sealed": bool(state.sealed),
        "may_seal": not state.sealed and _may_seal(request, line),
        "key": str(new_id()),
    }


def _people(request: HttpRequest, line: session_lines.SessionLine, state: SessionState) -> dict[str, Any]:
    """Who has the session, and what this person may do about it."""
    user = request.user
    mine = isinstance(user, User) and state.taken_by == user.actor and not state.ended
    others = colleagues(user, line.team) if mine and isinstance(user, User) else []
    return {
        "mine": mine,
        "taken": bool(state.taken_by),
        "wanted": line.waits_for_person and not state.taken_by,
        "may_barge_in": can(user, Permission.BARGE_IN, line.team) and not state.taken_by,
        "may_whisper": can(user, Permission.WHISPER, line.team),
        "summary": handing_back.proposed_summary(user, line.id) if mine else "",
        "problems": handing_back.not_consistent(user, line.id) if mine else [],
        "colleagues": [each for each in others if each != user],
        "whom": _to_assign(user, line, state),
    }


def _to_assign(user: Any, line: session_lines.SessionLine, state: SessionState) -> list[tuple[str, str]]:
    """To whom this person may give the session; nobody once it has ended."""
    if not isinstance(user, User) or state.ended or not can(user, Permission.TAKE_OVER, line.team):
        return []
    return to_assign(user, line.team)


def _timeline(entries: list[entry_lines.EntryLine]) -> list[dict[str, Any]]:
    tools = transcript.tools_by_call(entries)
    told = [entry for entry in entries if entry.kind in TOLD][-LINES:]
    return [
        {
            "seq": entry.seq,
            "at": entry.at,
            "actor": entry.actor,
            "sentence": descriptions_entries.entry(
                entry.kind, entry.data, tools.get((entry.data or {}).get("call", ""), "")
            ),
        }
        for entry in told
    ]
