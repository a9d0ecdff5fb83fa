"""Proposals that wait for a team's answer: the list, and one of them with its buttons. Plain forms, no script."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentstate.errors import Invalid, Refused
from agentstate.people.permissions import PermissionDenied
from agentstate.people.queries import display_names
from sessions.http.frame import console
from sessions.proposals import commands, queries
from sessions.proposals.queries import STATES, ProposalLine

ICONS = {
    "open": "clock",
    "agreed": "clock",
    "carried_out": "check",
    "rejected": "x",
    "withdrawn": "undo",
    "outdated": "x",
}
DONE = {"agree": "You agreed.", "reject": "You rejected the proposal.", "withdraw": "Withdrawn."}


@console
@require_safe
def proposals(request: HttpRequest) -> HttpResponse:
    """The list: those that wait for this person first."""
    lines = queries.proposals(request.user)
    context = {
        "here": "proposals",
        "rows": [_row(line) for line in lines],
        "names": display_names({line.by for line in lines}),
    }
    return render(request, "agent_sessions/proposals.html", context)


@console
@require_safe
def proposal(request: HttpRequest, proposal_id: UUID) -> HttpResponse:
    """One proposal."""
    return _page(request, proposal_id)


@console
@require_POST
def proposal_answer(request: HttpRequest, proposal_id: UUID, act: str) -> HttpResponse:
    """Agree, reject or withdraw; then the page again."""
    if act not in DONE:
        raise Invalid(f"want one of {', '.join(DONE)}", field="act")
    reason, late = request.POST.get("reason", ""), request.POST.get("for") == "late"
    answer = commands.decide_overdue if late else commands.answer_proposal
    try:
        if act == "withdraw":
            commands.withdraw_proposal(request.user, proposal_id)
        else:
            answer(request.user, proposal_id, agrees=act == "agree", reason=reason)
    except Refused as refusal:
        if refusal.status == 404 or isinstance(refusal, PermissionDenied):
            raise
        return _page(request, proposal_id, refusal)
    messages.success(request, DONE[act])
    return redirect("proposal", proposal_id)


def _page(request: HttpRequest, proposal_id: UUID, refusal: Refused | None = None) -> HttpResponse:
    line = queries.proposal(request.user, proposal_id)
    actors = {line.by, line.ended_by} | {answer.by for answer in line.answers}
    context = {"here": "proposals", "line": line, **_row(line), "names": display_names(actors), "refusal": refusal}
    status = 200 if refusal is None else 422 if isinstance(refusal, Invalid) else refusal.status
    return render(request, "agent_sessions/proposal.html", context, status=status)


def _row(line: ProposalLine) -> dict[str, Any]:
    return {"line": line, "icon": ICONS[line.state], "state": STATES[line.state]}
