"""Takes the form of a card: checks what it sends, decides, and shows a refusal beside its field."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from agentstate.engine.decide import AlreadyDecided, Outdated
from agentstate.errors import Invalid, Refused
from sessions.approvals import commands as approvals_commands
from sessions.approvals import forms, retyping, reviewer_view
from sessions.approvals import queries as approvals_queries
from sessions.approvals.cards import Card, card_of, not_blind
from sessions.approvals.customer_turns import differences_of
from sessions.approvals.differences import not_shown
from sessions.approvals.queue import card_page
from sessions.core import access
from sessions.descriptions import status, values

OFFERED = ("approve", "reject", "respond", "ignore", "escalate")  # an approval of changed fields is an edit
CHECK = "check"  # sent by a script while a person edits: shows the differences and decides nothing
MAX_NOTE = 2000  # characters, as in the API
NOTHING_YET = "Nothing was decided yet."
TO_CHECK = "Nothing was sent yet. Check what differs, then approve again."
NO_NOTE = "Type a note: it is needed to edit, reject or pass on."
ASK_AGAIN = "Ask the customer again before this is done."  # the agent reads this, and the note if there is one
REVISE = "The customer has not heard this. Revise it."


def decide(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Decides the request as the form says, and returns the next page: the next request, or this one with a refusal."""
    post = request.POST
    typed = {name: post[name] for name in post if name.startswith((forms.PREFIX, retyping.PREFIX))}
    if post.get("decision") == CHECK:
        return _checked(request, request_id, typed)
    card = card_of(request, request_id, typed)
    card.reason, card.code = post.get("reason", ""), post.get("code", "")
    try:
        done = _given(request, card, post.get("decision", ""))
    except Refused as refusal:
        return _told(request, card, refusal)
    if not done:
        card.refusal = TO_CHECK if card.check else NOTHING_YET
        return card_page(request, card, "open", status=422)
    return _onward(request, card)


def _checked(request: HttpRequest, request_id: UUID, typed: dict[str, str]) -> HttpResponse:
    """Returns the card with the differences that the form would send now. Decides nothing."""
    access.live("decisions", "wall", goes_on=True)
    card = card_of(request, request_id, typed)
    arguments = forms.read(card.fields)
    if card.open and arguments is not None:
        card.show(not_blind(card, differences_of(card.held, card.turns, arguments)))
    return render(request, "agent_sessions/decision_check.html", {"card": card})


def _given(request: HttpRequest, card: Card, chosen: str) -> bool:
    """Gives the decision. Returns False when a field cannot be read, or when the page has not shown every difference of
    what would be sent: then the card shows it. An approval of changed fields is an edit.
    """
    note = card.reason.strip()
    if len(note) > MAX_NOTE:
        raise Invalid(f"got {len(note)} characters, at most {MAX_NOTE}", field="reason")
    if chosen not in OFFERED:
        raise Invalid("choose Approve, Reject or Ask again", field="decision")
    if (card.open or card.rejectable) and not (request.POST.get("seen") and request.POST.get("view")):
        raise Outdated("the page did not say what it showed: look at it again")
    sent: dict[str, Any] = {name: request.POST.get(name, "") for name in ("key", "seen", "view")}
    if chosen == "respond":
        told = REVISE if card.is_speech else ASK_AGAIN
        approvals_commands.decide(request.user, card.line.id, "respond", response=f"{told} {note}".strip(), **sent)
        return True
    sent |= {"reason": note, "code": card.code}
    if chosen in ("reject", "ignore", "escalate"):
        approvals_commands.decide(request.user, card.line.id, chosen, **sent)  # type: ignore[arg-type]  # one of three
        return True
    arguments, again = forms.read(card.fields), retyping.read(card.retype)
    if arguments is None or again is None:
        return False
    if card.open and sent["seen"] == card.line.digest:
        _compare(card, arguments, sent["view"])
        _must_be_whole(card, arguments)
        if card.check:
            return False
    sent["retyped"] = again
    if arguments == card.held.arguments:
        approvals_commands.decide(request.user, card.line.id, "approve", **sent)
    else:
        approvals_commands.decide(request.user, card.line.id, "edit", arguments=arguments, **sent)
    return True


def _compare(card: Card, arguments: dict[str, Any], view: str) -> None:
    """Puts the differences of what would be sent on the card, to check those that the page of `view` lacked."""
    found = differences_of(card.held, card.turns, arguments)
    seen = reviewer_view.read(card.me, card.line.id, view).data
    card.show(found)
    card.check = bool(not_shown(found, seen.get("differences", ())))


def _must_be_whole(card: Card, arguments: dict[str, Any]) -> None:
    """Raises Invalid for what the command would refuse in a form, so that the page shows it with the differences."""
    if card.tool is not None:
        card.tool.check(arguments)
    if arguments != card.held.arguments and not card.reason.strip() and not card.code:
        raise Invalid("say why", field="reason")


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


def _onward(request: HttpRequest, card: Card) -> HttpResponse:
    """Redirects to the next request that waits for this person, or back to the request that was just decided."""
    line = approvals_queries.request_line(request.user, card.line.id)
    counted = f"Your approval counts, {line.approvals} of {line.quorum}"
    if line.held_until:
        counted = f"Approved and held until {line.held_until:%H:%M:%S}"
    elif request.POST.get("decision") == "escalate":
        counted = "Passed on"
    word = counted if line.state == "pending" else status.OUTCOMES[line.state][1]
    if line.state == "superseded":
        word = "Your edit waits for another person"
    text = f"{word}: {values.plain(line.tool)}"  # kept in clear until it is shown, so without the call's own words
    messages.success(request, text, extra_tags=reverse("decision", args=[line.id]))
    following = [
        other.id for other in approvals_queries.requests(request.user, mine=True, limit=2) if other.id != line.id
    ]
    target = following[0] if following else line.id
    return redirect(f"{reverse('decision', args=[target])}#ask")
