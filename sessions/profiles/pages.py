"""The page of a customer: what they set, what was learned and from where, what they agree to; and forms to change it.

Each button is a form of its own, so that everything works without JavaScript; each carries an idempotency key, so that
sending it twice does it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args
from uuid import UUID

import msgspec
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.engine.profile.events import Part
from agentstate.engine.profile.values import BadValue
from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.permissions import PermissionDenied
from agentstate.people.queries import display_names
from sessions.http.frame import console
from sessions.models.proposals import Proposal
from sessions.profiles import commands, descriptions, queries
from sessions.profiles import proposal as changes
from sessions.profiles.logs import Kept
from sessions.text import money

LAST = 20  # entries of the log that the page tells
_PARTS: dict[str, Part] = {part: part for part in get_args(Part)}


@console
@require_safe
def customer(request: HttpRequest, customer_id: UUID) -> HttpResponse:
    """The whole profile."""
    return render(request, "agent_sessions/customer.html", _context(request, customer_id))


@console
@require_POST
def customer_change(request: HttpRequest, customer_id: UUID, act: str) -> HttpResponse:
    """One change, then the page again; a refusal is told at its top."""
    change = _CHANGES.get(act)
    if change is None:
        raise Invalid(f"want one of {', '.join(_CHANGES)}", field="act")
    try:
        if isinstance(change(request, customer_id, request.POST), Proposal):
            messages.success(request, "Proposed. Waiting for other teams that serve this customer.")
    except Refused as refusal:
        if refusal.status == 404 or isinstance(refusal, PermissionDenied):
            raise
        context = {**_context(request, customer_id), "refusal": refusal}
        status = 422 if isinstance(refusal, Invalid) else refusal.status
        return render(request, "agent_sessions/customer.html", context, status=status)
    return redirect("customer", customer_id)


def _context(request: HttpRequest, customer_id: UUID) -> dict[str, Any]:
    line = queries.profile(request.user, customer_id)
    entries = queries.profile_entries(request.user, customer_id, after=line.seq - LAST - 1, limit=LAST)
    waiting = changes.of_profile(request.user, customer_id)
    settings = [each.setting.by for each in line.preferences if each.setting]
    actors = {entry.actor for entry in entries} | {each.by for each in line.purposes} | set(settings)
    actors |= {each.by for each in waiting}
    return {
        "here": "sessions",
        "profile": line,
        "waiting": waiting,
        "log": [
            {"entry": entry, "sentence": descriptions.entry(entry.kind, entry.data)}
            for entry in reversed(entries)
            if entry.data is not None or not line.outstanding
        ],
        "names": display_names(actors),
        "key": str(new_id()),
    }


def _consent(request: HttpRequest, customer_id: UUID, sent: QueryDict) -> Kept | Proposal:
    agreed, note = sent.get("agreed") == "yes", sent.get("note", "")
    purpose = sent.get("purpose", "")
    return commands.consent(request.user, customer_id, purpose, agreed, note=note, key=sent.get("key", ""))


def _setting(request: HttpRequest, customer_id: UUID, sent: QueryDict) -> Kept | Proposal:
    """A value; what takes it back; or, where something else was learned, a correction."""
    name, key = sent.get("preference", ""), sent.get("key", "")
    if sent.get("clear"):
        return commands.prefer(request.user, customer_id, name, None, key=key)
    value = _typed(_kind(request, customer_id, name), sent.get("value", ""))
    write = commands.correct if sent.get("correct") else commands.prefer
    return write(request.user, customer_id, name, value, key=key)


def _kind(request: HttpRequest, customer_id: UUID, name: str) -> dict[str, Any]:
    for each in queries.profile(request.user, customer_id).preferences:
        if each.name == name:
            return each.kind
    return {"is": "words"}  # the command says that there is no such preference


def _typed(kind: dict[str, Any], text: str) -> Any:
    """What was typed, as a value of the kind. Raises BadValue."""
    if kind["is"] == "flag":
        if text not in ("yes", "no"):
            raise BadValue("want yes or no", field="value")
        return text == "yes"
    if kind["is"] == "whole":
        return int(text) if text.strip().removeprefix("-").isdecimal() and len(text) < 17 else text
    if kind["is"] == "amount":
        try:
            return money.parse(text, kind["currency"])
        except money.NotAnAmount as error:
            raise BadValue(f"want {error}", field="value") from None
    return text


def _feedback(request: HttpRequest, customer_id: UUID, sent: QueryDict) -> Kept | Proposal:
    name, fits, key = sent.get("preference", ""), sent.get("fits") == "yes", sent.get("key", "")
    return commands.rate(request.user, customer_id, name, _held(sent), fits, key=key)


def _refusal(request: HttpRequest, customer_id: UUID, sent: QueryDict) -> Kept | Proposal:
    allowed, key = sent.get("allowed") == "yes", sent.get("key", "")
    name, value = sent.get("preference", ""), _held(sent) if sent.get("held") else None
    return commands.refuse(request.user, customer_id, name, value=value, allowed=allowed, key=key)


def _held(sent: QueryDict) -> Any:
    """A value that the page itself wrote into a form, as JSON."""
    try:
        return msgspec.json.decode(sent.get("held", "")[:2000])
    except (msgspec.MsgspecError, RecursionError):
        raise BadValue("the form holds no value", field="held") from None


def _forget(request: HttpRequest, customer_id: UUID, sent: QueryDict) -> Kept | Proposal:
    part = _PARTS.get(sent.get("part", ""))
    if part is None:
        raise Invalid("want a preference, a setting, a history or everything", field="part")
    return commands.forget(request.user, customer_id, part, name=sent.get("name", ""), key=sent.get("key", ""))


_CHANGES: dict[str, Callable[[HttpRequest, UUID, QueryDict], Kept | Proposal]] = {
    "consent": _consent,
    "settings": _setting,
    "feedback": _feedback,
    "refusals": _refusal,
    "forget": _forget,
}
