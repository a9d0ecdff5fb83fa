"""Sharing a part of a session: the page where it is done, the files, and what the holder of a link sees.

The last is the only page of the house that shows words of a customer to somebody who is not signed in: it shows what
was shared, that its proof holds, and how to check that, and nothing else. No search engine may keep it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.errors import Broken, Invalid, Refused
from agentstate.people.queries import display_names
from agentstate.people.throttles import LinkFailures, LinkOpenings
from audit import signer, verify
from sessions.core import session_lines
from sessions.descriptions import entries as descriptions_entries
from sessions.disclosures import commands
from sessions.disclosures import content as disclosing
from sessions.disclosures import queries as lists
from sessions.disclosures.commands import LONGEST_REASON, MOST_DAYS, USUAL_DAYS
from sessions.disclosures.content import UnknownLink, What
from sessions.http.frame import console
from sessions.proofs import queries as proofs

WORDS = {
    What.ENTRY: "One entry",
    What.FIELD: "One field of an entry",
    What.RANGE: "A range of entries",
    What.SESSION: "A whole session",
}
STANDS = {
    "open": "Open",
    "expired": "Expired",
    "revoked": "Revoked",
    "erased": "Erased",
    "file": "Downloaded file",
}


@console
@require_http_methods(["GET", "HEAD", "POST"])
def session_disclosures(request: HttpRequest, session_id: UUID) -> HttpResponseBase:
    """What was shared of a session, with the form that shares; POST does."""
    if request.method != "POST":
        return _page(request, session_id)
    try:
        made = commands.disclose(request.user, session_id, **_wanted(request))
    except Refused as refusal:
        if refusal.status == 404 and refusal.code != "no_such_entry":
            raise
        return _page(request, session_id, refusal=refusal)
    if not made.token:
        return _download(made.document, f"disclosure-{made.row.pk}.json")
    address = request.build_absolute_uri(reverse("shared", args=[made.token]))
    return _page(request, session_id, address=address)


def _wanted(request: HttpRequest) -> dict[str, Any]:
    what = request.POST.get("what", "")
    if what not in list(What):
        raise Invalid("choose what to share", field="what")
    numbers = {name: _number(request.POST.get(name, ""), name) for name in ("first", "last", "days")}
    days = 0 if request.POST.get("how") == "file" else numbers["days"] or USUAL_DAYS
    return {
        "what": What(what),
        "first": numbers["first"] or 0,
        "last": numbers["last"],
        "pointer": request.POST.get("pointer", "").strip() if what == What.FIELD else "",
        "reason": request.POST.get("reason", ""),
        "days": days,
    }


def _number(text: str, field: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Invalid(f"got {text[:20]!r}, want a number", field=field)
    return int(text)


def _page(request: HttpRequest, session_id: UUID, *, address: str = "", refusal: Refused | None = None) -> HttpResponse:
    line = session_lines.session_line(request.user, session_id)
    lines = lists.disclosures(request.user, session_id)
    typed = request.POST if request.method == "POST" and refusal else request.GET
    context = {
        "here": "audit",
        "line": line,
        "lines": [(each, WORDS[What(each.what)], STANDS[each.standing]) for each in lines],
        "names": display_names({each.made_by for each in lines}),
        "kinds": [(what.value, name) for what, name in WORDS.items()],
        "typed": {name: typed.get(name, "") for name in ("what", "first", "last", "pointer", "reason", "days", "how")},
        "address": address,
        "refusal": refusal,
        "usual_days": USUAL_DAYS,
        "most_days": MOST_DAYS,
        "longest_reason": LONGEST_REASON,
    }
    status = (422 if isinstance(refusal, Invalid) else refusal.status) if refusal else 200
    return render(request, "audit/disclosures.html", context, status=status)


@console
@require_POST
def disclosure_revoke(request: HttpRequest, session_id: UUID, disclosure_id: UUID) -> HttpResponse:
    """Take a link back."""
    commands.revoke_disclosure(request.user, session_id, disclosure_id)
    messages.success(request, "Link revoked.")
    return redirect("session_disclosures", session_id)


@console
@require_safe
def session_proof(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """A proof as a file: of one entry, of a range, or without a number of the whole session; masked, or in full."""
    first, last = (_number(request.GET.get(name, ""), name) for name in ("first", "last"))
    user = request.user
    content: proofs.Content = "full" if request.GET.get("content") == "full" else "masked"
    if first is None:
        return _download(proofs.complete(user, session_id, content=content), f"{session_id}.json")
    if last is None or last == first:
        return _download(proofs.entry(user, session_id, first, content=content), f"{session_id}-{first}.json")
    data = proofs.extract(user, session_id, first, last, content=content)
    return _download(data, f"{session_id}-{first}-{last}.json")


def _download(data: bytes, name: str) -> HttpResponse:
    response = HttpResponse(data, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


# --- for the holder of a link ----------------------------------------------------------------------

View = Callable[..., HttpResponse]


def _outside(view: View) -> View:
    """A page for whoever has a link: limited, kept by nobody, and told to no other site."""

    @never_cache
    @require_safe
    @wraps(view)
    def shown(request: HttpRequest, token: str) -> HttpResponse:
        response = _limited(request, token, view)
        response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
        response["Referrer-Policy"] = "no-referrer"
        return response

    return shown


def _limited(request: HttpRequest, token: str, view: View) -> HttpResponse:
    failures = LinkFailures()
    if failures.spent(request) or not LinkOpenings().count(request):
        return _told(request, "Too many at once", "Try again in a minute.", 429)
    try:
        return view(request, token)
    except UnknownLink:
        failures.count(request)
        return _told(request, "There is no such link", "It may have been copied in part. Ask who sent it to you.", 404)
    except Refused as refusal:
        return _told(request, refusal.title, f"{refusal.detail} {refusal.remedy}".strip(), refusal.status)
    except Broken:
        return _told(request, "This cannot be proven now", "Nothing is shown without its proof. Try again later.", 503)


def _told(request: HttpRequest, title: str, detail: str, status: int) -> HttpResponse:
    return render(request, "audit/shared.html", {"told": title, "detail": detail}, status=status)


@_outside
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """What was shared, with what the verifier says of it."""
    row = disclosing.found(token)
    data, key = disclosing.opened(row), signer.vkey()
    verdict = verify.verify_proof(data, key, demand=verify.Demand(session=str(row.session)))
    said = verdict.proof or {}
    context = {
        "row": row,
        "what": WORDS[What(row.what)],
        "ok": verdict.ok,
        "entries": [_entry(each) for each in said.get("entries", ())],
        "head": verdict.head,
        "log": verdict.log,
        "key": key,
        "digest": hashlib.sha256(data).hexdigest(),
        "file": f"disclosure-{row.pk}.json",
        "token": token,
    }
    return render(request, "audit/shared.html", context)


def _entry(told: dict[str, Any]) -> dict[str, Any]:
    """An entry in words, with what is shown of it beneath; numbers that are no integers are text."""
    event = told.get("event")
    shown = told.get("fields") if event is None else {name: event[name] for name in event if name not in ("kind", "v")}
    data = {name: value for name, value in (event or {}).items() if name != "kind"}
    sentence = descriptions_entries.entry(told["kind"], data or None)
    raw = json.dumps(shown, ensure_ascii=False, indent=2, sort_keys=True) if shown is not None else ""
    return {**told, "sentence": sentence, "raw": raw}


@_outside
def shared_file(request: HttpRequest, token: str) -> HttpResponse:
    """The same as the file that anybody can check."""
    row = disclosing.found(token)
    return _download(disclosing.opened(row), f"disclosure-{row.pk}.json")
