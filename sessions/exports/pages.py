"""Pages about exports of many sessions: what was asked for and how far it is, a form, the download.

Plain tables and forms. While something is built the list loads itself anew every two seconds, by a header, so that it
needs no script; the form has a page of its own, which does not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.engine.lifecycle import SessionStatus
from agentstate.errors import Invalid, Refused
from agentstate.people.models import Team, User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from audit import signer
from sessions.descriptions import status
from sessions.exports import archive, selection
from sessions.exports.session import LONGEST_REASON
from sessions.http.frame import as_id, console
from sessions.models.sessions import AgentSession, Export

SECONDS = 2  # between two looks at what is being built
STANDS = {
    Export.State.WAITING: ("clock", "Waits"),
    Export.State.BUILDING: ("clock", "Building"),
    Export.State.DONE: ("check", "Ready"),
    Export.State.CANCELLED: ("stop", "Cancelled"),
    Export.State.FAILED: ("warn", "Failed"),
    Export.State.EXPIRED: ("clock", "Expired"),
}
FIELDS = ("team", "agent", "status", "customer", "from", "to", "unmask", "reason")


@console
@require_safe
def exports(request: HttpRequest) -> HttpResponse:
    """What this person asked for, newest first."""
    found = selection.asked_for(request.user)
    lines = [(each, *STANDS[Export.State(each.state)], filter_words(each)) for each in found]
    under_way = any(each.state in selection.UNDER_WAY for each in found)
    context = {"here": "audit", "part": "exports", "lines": lines, "under_way": under_way}
    response = render(request, "audit/exports.html", context)
    if under_way:
        response["Refresh"] = str(SECONDS)
    return response


def filter_words(export: Export) -> str:
    """What an export was narrowed to; a customer is not named."""
    wanted = export.filter
    team = Team.objects.filter(pk=wanted["team"]).values_list("name", flat=True).first() if "team" in wanted else None
    told = [
        f"team {team}" if team else "",
        f"agent {wanted['agent']}" if "agent" in wanted else "",
        status.DOING[SessionStatus(wanted["status"])].text.lower() if "status" in wanted else "",
        "one customer" if "customer" in wanted else "",
        f"opened from {wanted['opened_from'][:10]}" if "opened_from" in wanted else "",
        f"opened before {wanted['opened_to'][:10]}" if "opened_to" in wanted else "",
    ]
    return ", ".join(part for part in told if part) or "all sessions"


@console
@require_http_methods(["GET", "HEAD", "POST"])
def export_new(request: HttpRequest) -> HttpResponse:
    """The form; POST begins an export."""
    if request.method != "POST":
        return _form(request, {})
    typed = {name: request.POST.get(name, "").strip() for name in FIELDS}
    try:
        made = _asked(request, typed)
    except Refused as refusal:
        return _form(request, typed, refusal)
    messages.success(
        request, f"{made.total} session{'' if made.total == 1 else 's'} chosen. They are being packed now."
    )
    return redirect("audit_exports")


def _asked(request: HttpRequest, typed: dict[str, str]) -> Export:
    assert isinstance(request.user, User)
    wanted = selection.filtered(
        request.user.tenant_id,
        team=as_id(typed["team"], "team") if typed["team"] else None,
        agent=typed["agent"],
        status=typed["status"],
        customer=typed["customer"],
        opened_from=_midnight(typed["from"], "from"),
        opened_to=_midnight(typed["to"], "to"),
    )
    return selection.ask(request.user, wanted, unmask=typed["unmask"] == "on", reason=typed["reason"])


def _midnight(text: str, field: str) -> datetime | None:
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid(f"got {text[:40]!r}, want a day such as 2026-11-21", field=field) from None
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


def _form(request: HttpRequest, typed: dict[str, str], refusal: Refused | None = None) -> HttpResponse:
    selection.asked_for(request.user, limit=1)
    teams = teams_with(request.user, Permission.EXPORT)
    agents = AgentSession.objects.filter(team__in=teams).values_list("agent", flat=True).distinct()
    context = {
        "here": "audit",
        "part": "exports",
        "typed": typed,
        "refusal": refusal,
        "teams": Team.objects.filter(pk__in=teams).order_by("name"),
        "agents": agents.order_by("agent")[:100],
        "statuses": [(each.value, status.DOING[each].text) for each in SessionStatus],
        "may_unmask": bool(teams_with(request.user, Permission.UNMASK)),
        "longest_reason": LONGEST_REASON,
        "most": selection.MOST,
    }
    return render(request, "audit/export_new.html", context, status=refusal.status if refusal else 200)


@console
@require_POST
def export_cancel(request: HttpRequest, export_id: UUID) -> HttpResponse:
    """Stop it, and delete what was built."""
    selection.cancel(request.user, export_id)
    messages.success(request, "Export cancelled and deleted.")
    return redirect("audit_exports")


@console
@require_POST
def export_download(request: HttpRequest, export_id: UUID) -> StreamingHttpResponse:
    """The archive, put together while it is sent."""
    return streamed(*archive.download(request.user, export_id), name=f"exports-{export_id.hex[-6:].upper()}")


@console
@require_safe
def export_vkey(request: HttpRequest, export_id: UUID) -> HttpResponse:
    """The log's key, for convenience: an auditor trusts the one that came some other way."""
    selection.own(request.user, export_id)
    response = HttpResponse(f"{signer.vkey()}\n", content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="exports-{export_id.hex[-6:].upper()}.zip.vkey"'
    return response


def streamed(size: int, parts: Iterator[bytes], name: str) -> StreamingHttpResponse:
    """An archive as a download. Asynchronous: of a plain iterator the server would keep everything in memory first."""

    async def sent() -> AsyncIterator[bytes]:
        following = sync_to_async(lambda: next(parts, None))
        while (part := await following()) is not None:
            yield part

    response = StreamingHttpResponse(sent(), content_type="application/zip")
    response["Content-Length"] = str(size)
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response
