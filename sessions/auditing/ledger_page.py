"""The audit pages: the ledger of a session as a table, its head, and the export that proves itself."""

from __future__ import annotations

import tempfile
from typing import Any
from uuid import UUID

from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from agentstate.people.permissions import PermissionDenied
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from sessions.core import access, entry_lines, session_lines, transcript
from sessions.core.account_numbers import shortened
from sessions.descriptions import entries as descriptions_entries
from sessions.exports import session
from sessions.http.frame import console
from sessions.privacy.queries import held

PAGE = 50  # entries
LOOK_BACK = 50  # entries before a page that may name the tools of its calls
IN_MEMORY = 8_000_000  # bytes of a bundle that are kept in memory; more goes to a file


@console
@require_safe
def session_audit(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Entries, newest first, with `before` for older ones."""
    line = session_lines.session_line(request.user, session_id)
    head = entry_lines.ledger_head(request.user, session_id)
    before = request.GET.get("before", "")
    stop = min(head.size, int(before[:18])) if before.isascii() and before.isdigit() else head.size
    start = max(0, stop - PAGE)
    lines = entry_lines.ledger_lines(request.user, session_id, start - LOOK_BACK, stop) if stop else []
    rows = _rows(lines, start)
    context = {
        "here": "audit",
        "line": line,
        "head": head,
        "root": head.root.hex(),
        "rows": rows,
        "start": start,
        "stop": stop,
        "names": display_names({row["entry"].actor for row in rows}),
        "holds": held(session_id),
        "may_export": _may_export(request, session_id),
        "may_disclose": access.may(request.user, Permission.DISCLOSE, session_id, line.team),
        "may_unmask": access.may(request.user, Permission.UNMASK, session_id, line.team),
        "longest_reason": session.LONGEST_REASON,
    }
    return render(request, "audit/session.html", context)


def _rows(lines: list[entry_lines.LedgerLine], start: int) -> list[dict[str, Any]]:
    tools = transcript.tools_by_call([line.entry for line in lines])
    rows = []
    for line in reversed(lines):
        if line.entry.seq >= start:
            tool = tools.get((line.entry.data or {}).get("call", ""), "")
            sentence = descriptions_entries.entry(line.entry.kind, line.entry.data, tool)
            sentence = sentence._replace(about=shortened(sentence.about))
            rows.append({"entry": line.entry, "leaf": line.leaf, "sentence": sentence})
    return rows


def _may_export(request: HttpRequest, session_id: UUID) -> bool:
    try:
        session.may_export(request.user, session_id)
    except PermissionDenied:
        return False
    return True


@console
@require_POST
def session_export(request: HttpRequest, session_id: UUID) -> FileResponse:
    """The bundle, as a download."""
    out = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the response closes it
    unmask = request.POST.get("unmask") == "on"
    session.write(request.user, session_id, out, unmask=unmask, reason=request.POST.get("reason", ""))
    out.seek(0)
    name = f"{session_id.hex[-6:].upper()}.zip"
    return FileResponse(out, as_attachment=True, filename=name, content_type="application/zip")


@console
@require_safe
def session_vkey(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The log's key, for convenience: an auditor trusts the one that came some other way."""
    line = session_lines.session_line(request.user, session_id)
    response = HttpResponse(f"{session.key(request.user, session_id)}\n", content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{line.reference}.zip.vkey"'
    return response
