"""The pages of decisions: the list, one request beside it, and the acts on it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.engine.decide import AlreadyDecided, ClaimedByOther, NotYours
from agentstate.errors import Invalid, Refused
from sessions.approvals import assignment, claims, withdrawal
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.approvals.cards import card_of
from sessions.approvals.decision_form import decide
from sessions.approvals.queue import card_page, queue
from sessions.approvals.submitted import MAX_NOTE
from sessions.core import access
from sessions.http.frame import as_id, console


@console
@require_safe
def decisions(request: HttpRequest) -> HttpResponse:
    """The list of requests: open (with the first of them beside), decided or expired."""
    access.live("decisions", "wall", goes_on=False)
    view = request.GET.get("view", "open")
    if view == "open":
        mine = approvals_queries.requests(request.user, mine=True, limit=1)
        if mine:
            return card_page(request, card_of(request, mine[0].id), view)
    return render(request, "agent_sessions/decisions.html", queue(request, view))


@console
@require_http_methods(["GET", "HEAD", "POST"])
def decision(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """One request beside the list; POST decides it."""
    if request.method == "POST":
        return decide(request, request_id)
    access.live("decisions", "wall", goes_on=False)
    return card_page(request, card_of(request, request_id), request.GET.get("view", "open"))


@console
@require_safe
def decision_changes(request: HttpRequest) -> HttpResponse:
    """The list as it is now, and the parts of the shown request (`r`) that change while a person reads it."""
    access.live("decisions", "wall", goes_on=True)
    context = queue(request, request.GET.get("view", "open"))
    if shown := request.GET.get("r"):
        context["card"] = card_of(request, as_id(shown, "r"))
    return render(request, "agent_sessions/decision_changes.html", context)


@console
@require_POST
def decision_act(request: HttpRequest, request_id: UUID, act: str) -> HttpResponse:
    """Claim, take, keep, release or assign a request, undo one that is held, withdraw an approved call. A script asks
    for JSON, a form goes back.
    """
    scripted = request.headers.get("Accept", "") == "application/json"
    try:
        _act(request, request_id, act)
    except Refused as refusal:
        if scripted:
            status = 200 if _lost_unasked(request, act, refusal) else refusal.status
            return JsonResponse({"code": refusal.code, "detail": str(refusal)}, status=status)
        card = card_of(request, request_id)
        card.refusal = str(refusal)
        return card_page(request, card, "open", status=refusal.status)
    return JsonResponse({}) if scripted else redirect(f"{reverse('decision', args=[request_id])}#ask")


def _lost_unasked(request: HttpRequest, act: str, refusal: Refused) -> bool:
    """Whether a claim that the page made without a click came too late. It is no error: the live changes of the page
    show who has the request or how it ended.
    """
    unasked = act in ("claim", "keep") and request.POST.get("unasked") == "yes"
    return unasked and isinstance(refusal, AlreadyDecided | ClaimedByOther | NotYours)


def _act(request: HttpRequest, request_id: UUID, act: str) -> None:
    key = request.POST.get("key", "")
    if act in ("claim", "take"):
        claims.claim(request.user, request_id, take=act == "take", key=key)
    elif act == "keep":
        claims.keep(request.user, request_id)
    elif act == "release":
        claims.release(request.user, request_id, key=key)
    elif act == "assign":
        session, to = approvals_queries.request_line(request.user, request_id).session, request.POST.get("to", "")
        holder = request.POST.get("holder", "")
        assignment.assign(request.user, session, to, request=request_id, holder=holder, key=key and f"{key}-assign")
    elif act == "undo":
        approvals_commands.undo(request.user, request_id, reason=request.POST.get("reason", "")[:MAX_NOTE], key=key)
    elif act == "withdraw":
        session, reason = (
            approvals_queries.request_line(request.user, request_id).session,
            request.POST.get("reason", ""),
        )
        withdrawal.withdraw(request.user, session, reason, request=str(request_id), key=key)
    else:
        raise Invalid("choose Claim, Take, Release, Assign, Undo or Withdraw", field="act")
