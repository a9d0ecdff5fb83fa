"""The page of a session's versions: points to go back to, what going back would not undo, forks, differences, what
would have happened, and values that are contested.

Each button is a form of its own, so that everything works without JavaScript. Going back is two steps: first the page
says what it would do, and only a form of that page does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.permissions import PermissionDenied
from agentstate.people.queries import display_names
from sessions.compensation import commands as compensation_commands
from sessions.compensation import queries as compensation_queries
from sessions.core import session_lines
from sessions.core.committed import Committed
from sessions.descriptions import values
from sessions.http.frame import as_id, console
from sessions.state import commands as state_commands
from sessions.state import queries as state_queries
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.versions import replays

WHY = {
    "named": "Named",
    "gate": "Before an approval request",
    "effect": "Before an external effect",
    "rest": "While the agent was idle",
    "every": "Every hundred entries",
    "rollback": "Before a rollback",
}
OUTCOMES = {"done": "Done", "failed": "Failed", "unknown": "Outcome unknown"}
DONE = {
    "name": "Checkpoint named.",
    "rollback": "Rolled back. The agent continues from there.",
    "compensate": "Reversing calls started, newest first. Calls that need approval wait for a decision.",
    "fork": "Fork created. The customer does not see it.",
    "promote": "Promoted. This session replies to the customer now.",
    "vote": "Vote recorded.",
    "settle": "Conflict resolved.",
}
STANDING = {"open": "Waits", "voted": "Resolved by votes", "arbitrated": "Settled", "withdrawn": "Withdrawn"}
MOST_TOLD = 60  # sentences of one difference
NOTICED = {"pad", "calls", "requests", "status", "failure", "ended_reason", "goals", "changes", "epoch"}
NOTICED_OF_PLANS = {"version", "counts", "proposed"}  # the rest is what the agent keeps to follow the conversation


@console
@require_safe
def versions(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The page; with `back` what going back there would do, with `from` a difference, with `replay` what would be."""
    return render(request, "agent_sessions/versions.html", _context(request, session_id))


@console
@require_POST
def versions_change(request: HttpRequest, session_id: UUID, act: str) -> HttpResponse:
    """One change, then a page again: of the fork for a fork, else of this session. A refusal is told at its top."""
    change = _CHANGES.get(act)
    if change is None:
        raise Invalid(f"want one of {', '.join(_CHANGES)}", field="act")
    try:
        done = change(request, session_id, request.POST)
    except Refused as refusal:
        if refusal.status == 404 or isinstance(refusal, PermissionDenied):
            raise
        context = {**_context(request, session_id), "refusal": refusal}
        status = 422 if isinstance(refusal, Invalid) else refusal.status
        return render(request, "agent_sessions/versions.html", context, status=status)
    messages.success(request, DONE[act])
    return redirect("versions", done.session)


def _context(request: HttpRequest, session_id: UUID) -> dict[str, Any]:
    line = session_lines.session_line(request.user, session_id)
    found = versions_queries.versions_of(request.user, session_id)
    contested = state_queries.conflicts(request.user, session_id)
    actors = {point.by for point in found.checkpoints} | {each.by for line in contested for each in line.proposals}
    return {
        "here": "sessions",
        "line": line,
        "versions": found,
        "points": [(point, WHY[point.why]) for point in found.checkpoints],
        "contested": [_contest(each) for each in contested],
        "undoable": compensation_queries.undoable_of(request.user, session_id),
        "names": display_names(actors | {each.by for each in contested}),
        "key": str(new_id()),
        **_asked(request, session_id, found),
    }


def _asked(request: HttpRequest, session_id: UUID, found: versions_queries.VersionsLine) -> dict[str, Any]:
    """What the page was asked to show beside."""
    given = request.GET
    if back := _number(given.get("back", "")) or _after(given):
        shown = versions_queries.rollback_preview(request.user, session_id, back)
        return {"back": shown, "lasting": [(each, OUTCOMES[each.outcome]) for each in shown.since.lasting]}
    if start := _number(given.get("from", "")):
        other = as_id(given["other"], "other") if given.get("other") else None
        end = _number(given.get("to", "")) or -1
        compared = versions_queries.state_difference(request.user, session_id, start, end, other)
        return {**_told(compared), "start": start, "end": end, "other": other}
    return {"replayed": replays.replayed(request.user, session_id)} if given.get("replay") else {}


def _told(found: versions_queries.StateDifference) -> dict[str, Any]:
    """The sentences: what people would notice, and apart from it what the agent keeps to follow the conversation."""
    pairs = list(zip(found.found.changes, found.sentences, strict=True))
    told = [sentence for change, sentence in pairs if _noticed(change.path)]
    inner = [sentence for change, sentence in pairs if not _noticed(change.path)]
    return {"difference": told[:MOST_TOLD], "more": max(0, len(told) - MOST_TOLD), "inner": inner[:MOST_TOLD]}


def _noticed(path: tuple[str, ...]) -> bool:
    return path[0] in NOTICED or (path[0] == "plans" and bool(NOTICED_OF_PLANS & set(path[1:2]))) if path else False


def _after(sent: QueryDict) -> int:
    """The count of entries up to the one that was typed, as the pages number them; 0 when none was."""
    entry = sent.get("entry", "").strip()
    return _number(entry) + 1 if entry.isascii() and entry.isdigit() else 0


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _contest(line: state_queries.ConflictLine) -> dict[str, Any]:
    told = [(each, values.value(each.value[0]) if each.value else "nothing") for each in line.proposals]
    return {"line": line, "proposals": told, "standing": STANDING[line.status], "path": values.plain(line.path)}


def _name(request: HttpRequest, session: UUID, post: QueryDict) -> Committed:
    seq = _number(post.get("seq", "")) or _after(post) or -1
    return versions_commands.name_checkpoint(
        request.user, session, post.get("name", ""), seq=seq, key=post.get("key", "")
    )


def _roll_back(request: HttpRequest, session: UUID, post: QueryDict) -> Committed:
    to, seen, reason = _number(post.get("to", "")), post.get("seen", ""), post.get("reason", "")
    return versions_commands.roll_back(request.user, session, to, seen=seen, reason=reason, key=post.get("key", ""))


def _compensate(request: HttpRequest, session: UUID, post: QueryDict) -> Committed:
    rollback, calls = _number(post.get("rollback", "")), post.getlist("call")
    if not calls:
        raise Invalid("choose what to undo", field="call")
    return compensation_commands.compensate(
        request.user, session, rollback, calls, reason=post.get("reason", ""), key=post.get("key", "")
    )


def _fork(request: HttpRequest, session: UUID, post: QueryDict) -> Committed:
    seq = _number(post.get("seq", "")) or _after(post) or -1
    return versions_commands.fork(
        request.user, session, seq=seq, reason=post.get("reason", ""), key=post.get("key", "")
    )


def _promote(request: HttpRequest, session: UUID, post: QueryDict) -> Committed:
    return versions_commands.promote(request.user, session, reason=post.get("reason", ""), key=post.get("key", ""))


def _vote(request: HttpRequest, session: UUID, post: QueryDict) -> Committed:
    conflict, proposal = post.get("conflict", ""), post.get("proposal", "")
    return state_commands.cast_vote(request.user, session, conflict, proposal=proposal, key=post.get("key", ""))


def _settle(request: HttpRequest, session: UUID, post: QueryDict) -> Committed:
    conflict, proposal = post.get("conflict", ""), post.get("proposal", "")
    return state_commands.settle(
        request.user,
        session,
        conflict,
        proposal=proposal,
        reason=post.get("reason", ""),
        key=post.get("key", ""),
    )


_CHANGES: Mapping[str, Callable[[HttpRequest, UUID, QueryDict], Committed]] = {
    "name": _name,
    "rollback": _roll_back,
    "compensate": _compensate,
    "fork": _fork,
    "promote": _promote,
    "vote": _vote,
    "settle": _settle,
}
