"""Takes the form of a card: checks what it sends, decides, and shows a refusal beside its field."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from agentstate.engine.decide import AlreadyDecided
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.state.session import Request
from agentstate.errors import Refused
from sessions.approvals import commands as approvals_commands
from sessions.approvals import forms, retyping
from sessions.approvals import queries as approvals_queries
from sessions.approvals.cards import Card, card_of, not_blind
from sessions.approvals.customer_turns import differences_of
from sessions.approvals.differences import not_shown
from sessions.approvals.queue import card_page
from sessions.approvals.submitted import Submitted, Unfinished
from sessions.core import access
from sessions.core.committed import Committed
from sessions.descriptions import status, values

CHECK = "check"  # sent by a script while a person edits: shows the differences and decides nothing
NOTHING_YET = "Nothing was decided yet."
TO_CHECK = "Nothing was sent yet. Check what differs, then approve again."
NO_NOTE = "Type a note: it is needed to edit, reject or pass on."


def decide(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Decides the request as the form says, and returns the next page: the next request, or this one with a refusal.
    A card is built only to show a refusal.
    """
    form = Submitted.of(request.POST)
    if form.chosen == CHECK:
        return _checked(request, request_id, form.typed)
    try:
        form.must_be_offered()
        made = partial(form.decision, request.user, request_id)
        done = approvals_commands.decide(request.user, request_id, made, key=request.POST.get("key", ""))
    except Refused as refusal:
        return _refused(request, request_id, form, refusal)
    return _onward(request, request_id, done)


def _checked(request: HttpRequest, request_id: UUID, typed: dict[str, str]) -> HttpResponse:
    """Returns the card with the differences that the form would send now. Decides nothing."""
    access.live("decisions", "wall", goes_on=True)
    card = card_of(request, request_id, typed)
    arguments = forms.read(card.fields)
    if card.open and arguments is not None:
        card.show(not_blind(card, differences_of(card.held, card.turns, arguments)))
    return render(request, "agent_sessions/decision_check.html", {"card": card})


def _refused(request: HttpRequest, request_id: UUID, form: Submitted, refusal: Refused) -> HttpResponse:
    """Returns the card with what was typed, and the refusal."""
    card = card_of(request, request_id, form.typed)
    card.reason, card.code = form.reason, form.code
    if form.chosen == "approve":
        _compare(card, form, refusal)
    if not isinstance(refusal, Unfinished):
        return _told(request, card, refusal)
    card.refusal = TO_CHECK if card.check else NOTHING_YET
    return card_page(request, card, "open", status=422)


def _compare(card: Card, form: Submitted, refusal: Refused) -> None:
    """Puts the errors of fields that cannot be read on the card; else the differences of what would be sent, to check
    those that the page of the form lacked.
    """
    arguments, again = forms.read(card.fields), retyping.read(card.retype)
    if arguments is None or again is None or refusal.facts.get("field") == "view":
        return
    if card.open and form.view and form.seen == card.line.digest:
        found = differences_of(card.held, card.turns, arguments)
        card.check = bool(not_shown(found, form.shown_differences(card.me, card.line.id)))
        card.show(found)


def _told(request: HttpRequest, card: Card, refusal: Refused) -> HttpResponse:
    """Returns the card again, with the refusal beside its field or above; read-only when the request is decided."""
    path = str(refusal.facts.get("field", ""))
    again = next((each for each in card.retype if path == f"retyped.{each.path}"), None)
    card.refusal = NOTHING_YET
    if again is not None:
        again.error = again.to_type if not again.text else again.is_other
    elif path == "code":
        card.code_error = "Choose one of the reasons."
    elif path == "reason":
        card.reason_error = NO_NOTE if not card.reason.strip() else f"{refusal.detail[:1].upper()}{refusal.detail[1:]}."
    elif not forms.blame(card.fields, path, refusal.detail):
        card = card_of(request, card.line.id)
        card.refusal = _who_was_first(request, card, refusal)
    return card_page(request, card, "open", status=422 if refusal.status == 400 else refusal.status)


def _who_was_first(request: HttpRequest, card: Card, refusal: Refused) -> str:
    if not isinstance(refusal, AlreadyDecided) or not card.held.decided_by:
        return f"Nothing was decided. {refusal}"
    act = status.OUTCOMES[card.line.state][1].lower()
    when = card.held.ended_at[11:19]
    mine = card.held.decided_by == getattr(request.user, "actor", "")
    who = "You" if mine else card.decider
    return f"{who} closed this at {when} before you: {act}. What you sent changed nothing."


def _onward(request: HttpRequest, request_id: UUID, done: Committed) -> HttpResponse:
    """Redirects to the next request that waits for this person, or back to the request that was just decided."""
    address = reverse("decision", args=[request_id])
    messages.success(request, _told_done(done.state.requests.get(str(request_id)), request.POST), extra_tags=address)
    following = approvals_queries.next_decidable(request.user, request_id)
    target = reverse("decision", args=[following]) if following else address
    return redirect(f"{target}#ask")


def _told_done(held: Request | None, post: QueryDict) -> str:
    """Returns what became of the request. It is kept in clear until it is shown, so it has no word of the call."""
    if held is None:
        return "Decided"
    if held.status is RequestStatus.SUPERSEDED:
        word = "Your edit waits for another person"
    elif held.status is not RequestStatus.PENDING:
        word = status.OUTCOMES[held.status.value][1]
    elif post.get("decision") == "escalate" and not held.held_until:
        word = "Passed on"
    elif held.held_until:
        word = f"Approved and held until {held.held_until[11:19]}"
    else:
        word = f"Your approval counts, {len(held.approvals)} of {held.asked.quorum}"
    return f"{word}: {values.plain(held.asked.tool)}"
