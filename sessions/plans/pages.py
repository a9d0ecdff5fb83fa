"""The page of a session's plan: what each call waits for, how far it has come, its versions, and the goals."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import count
from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.engine.plan import drawing, model
from agentstate.errors import Invalid, Refused
from agentstate.people.queries import display_names
from sessions.core import access, session_lines
from sessions.descriptions import values
from sessions.http import strict_json
from sessions.http.frame import console
from sessions.plans import commands as plans_commands
from sessions.plans import queries as plans_queries

STATUSES = {
    "waiting": "Waits",
    "ready": "Ready",
    "asked": "Needs a decision",
    "running": "Runs",
    "done": "Done",
    "failed": "Failed",
    "rejected": "Rejected",
    "skipped": "Not needed",
    "blocked": "Blocked",
    "not begun": "Not started",
    "dropped": "Dropped",
}
TASK_STATUSES = {
    "open": "Open",
    "running": "Running",
    "done": "Done",
    "failed": "Failed",
    "dropped": "Dropped",
}
MAX_VERSION = 2**31
_json = msgspec.json.Encoder(decimal_format="number")


@console
@require_safe
def plan(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The plan in force, or with `instance` that of one of its instances."""
    access.live("plan", f"session:{session_id}", goes_on=False)
    return render(request, "agent_sessions/plan.html", _context(request, session_id))


@console
@require_safe
def plan_changes(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Every part of the page that may change, as it stands now."""
    access.live("plan", f"session:{session_id}", goes_on=True)
    return render(request, "agent_sessions/plan_changes.html", _context(request, session_id))


@console
@require_POST
def plan_edit(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Another version of the plan, as it was written into the form."""
    text, version = request.POST.get("calls", ""), request.POST.get("version", "")
    try:
        calls = strict_json.loads(b'{"calls":' + text.encode() + b"}")["calls"]
        number = int(version) if version.isascii() and version.isdigit() and len(version) < 9 else 0
        plans_commands.edit_plan(request.user, session_id, calls, version=number)
    except Refused as refused:
        context = {**_context(request, session_id), "refused": refused, "text": text}
        return render(request, "agent_sessions/plan.html", context, status=refused.status)
    return redirect("plan", session_id=session_id)


@console
@require_POST
def goals_change(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The goal named, or one of its tasks added, changed or removed, as the form says."""
    given = {name: request.POST.get(name, "").strip() for name in ("op", "task", "title", "status", "version")}
    version = int(given["version"]) if given["version"].isascii() and given["version"].isdigit() else -1
    try:
        _change_goals(request, session_id, given, min(version, MAX_VERSION))
    except Refused as refused:
        context = {**_context(request, session_id), "refused": refused}
        return render(request, "agent_sessions/plan.html", context, status=refused.status)
    return redirect("plan", session_id=session_id)


def _change_goals(request: HttpRequest, session_id: UUID, given: dict[str, str], version: int) -> None:
    """Raises BadGoal, GoalsChanged, NotFound, Invalid, PermissionDenied."""
    op, title = given["op"], given["title"]
    if op == "set":
        plans_commands.set_goals(request.user, session_id, {"id": _named(title, ()), "title": title}, version=version)
        return
    if op not in ("add", "change", "remove"):
        raise Invalid("want add, change or remove", field="op")
    fields = {name: given[name] for name in ("title", "status") if given[name] and op == "change"}
    if op == "change" and not fields:
        raise Invalid("nothing was changed", field="title")
    if op == "add":
        taken = [each.task.id for each in plans_queries.goals_of(request.user, session_id).tasks]
        fields = {"id": _named(title, taken), "title": title}
    plans_commands.change_goals(
        request.user,
        session_id,
        op=op,  # type: ignore[arg-type]  # it is one of them
        task=given["task"],
        version=version,
        fields=fields,
    )


def _named(title: str, taken: Collection[str]) -> str:
    """A task's id from its title, as nobody else is called."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower())[:60].strip("-") or "task"
    free = (f"{name}-{number}" if number > 1 else name for number in count(1))
    return next(each for each in free if each not in taken)


def _context(request: HttpRequest, session_id: UUID) -> dict[str, Any]:
    line = session_lines.session_line(request.user, session_id)
    found = plans_queries.plan_of(request.user, session_id, request.GET.get("instance", ""))
    goals = plans_queries.goals_of(request.user, session_id)
    changes = _changes(request, session_id, found)
    titles = {node.id: model.titled(node.tool, node.id) for node in found.drawing.nodes}
    slowest = found.progress.bottleneck
    return {
        "here": "sessions",
        "line": line,
        "plan": found,
        "calls": _calls(found),
        "headline": _headline(found),
        "counts": [(STATUSES.get(status, status), count) for status, count in found.counts.items()],
        "instances": [(each.name, _told(each.counts)) for each in found.instances],
        "changes": changes,
        "critical_path": [titles[call] for call in found.progress.critical_path],
        "bottleneck": titles[slowest.call] if slowest else "",
        "drawing": drawing.text(found.drawing) if found.version else "",
        "goals": [(each, STATUSES.get(each.standing.status, "Open"), "– " * each.depth) for each in goals.tasks],
        "goals_version": goals.version,
        "task_statuses": TASK_STATUSES,
        "names": display_names({each.by for each in found.versions}),
        "text": _json.encode(found.calls).decode() if found.version else "",
    }


def _headline(found: plans_queries.PlanLine) -> str:
    """How far the plan has come, or how it ended: a plan of which nothing was done was not carried out."""
    if found.is_open:
        return f"{found.percent} % carried out"
    done, total = found.counts.get("done", 0), sum(found.counts.values())
    if not done:
        return "Ended, nothing was done" if total else "Ended"
    if all(status in ("done", "skipped") for status in found.counts):
        return "Completed"
    return f"Ended, {done} of {total} calls done"


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {STATUSES.get(status, status).lower()}" for status, count in counts.items())


def _calls(found: plans_queries.PlanLine) -> list[dict[str, Any]]:
    critical = set(found.progress.critical_path)
    rows = []
    for node in sorted(found.drawing.nodes, key=lambda node: node.wave):
        standing = found.progress.standings[node.id]
        rows.append(
            {
                "node": node,
                "status": STATUSES[standing.status],
                "bad": standing.status in ("failed", "rejected", "blocked"),
                "waits_for": ", ".join(map(str, standing.waits_for)),
                "reason": standing.reason,
                "arguments": values.value(standing.arguments) if standing.arguments else "",
                "critical": node.id in critical,
                "answered": node.id in found.answered,
                "session": found.children.get(node.id, ""),
            }
        )
    return rows


def _changes(
    request: HttpRequest, session_id: UUID, found: plans_queries.PlanLine
) -> list[tuple[Any, tuple[str, ...]]]:
    """Every version that is at hand, with what it changed of the one before."""
    told = []
    for newer, older in zip(found.versions, (*found.versions[1:], None), strict=False):
        said: tuple[str, ...] = ()
        if older is not None:
            _, said = plans_queries.plan_difference(request.user, session_id, older.version, newer.version)
        told.append((newer, said))
    return told
