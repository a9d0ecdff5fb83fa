"""Approvals: a person decides a request, alone or as one of a quorum, or its deadline passes."""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import plans
from agentstate.engine.decide.commands import Claim, Decide, Expire
from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.decide.permits import permit_digest
from agentstate.engine.decide.refusals import AlreadyDecided, DecisionNotAllowed, Outdated, UnknownRequest
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.policy import HIGHEST_TIER
from agentstate.engine.state import Request, SessionState, digest_of
from agentstate.engine.state.rounds import PLAN
from agentstate.errors import Invalid, Refused


def decided(command: Decide, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The decision, and the end of the request unless others must approve as well."""
    request = open_request(state, command.request)
    if command.decision not in request.asked.allowed:
        raise DecisionNotAllowed(f"{command.decision} is not offered here", field="decision")
    if command.decision in ("reject", "edit") and not command.reason.strip():
        raise Invalid("say why", field="reason")
    if command.arguments is not None and command.decision != "edit":
        raise Invalid("only an edit carries arguments", field="arguments")
    if command.decision == "respond" and not command.response.strip():
        raise Invalid("what is the answer?", field="response")
    must_be_entitled(command, request.asked.tier)
    seen = _seen(command, state, request)
    if command.decision in ("approve", "edit"):
        return _approve(command, state, request, seen, given)
    outcome: ev.Outcome = "rejected" if command.decision == "reject" else "responded"
    return [_decision(command, request, seen, "", request.asked.tier), ev.RequestEnded(command.request, outcome)]


def _seen(command: Decide, state: SessionState, request: Request) -> str:
    """The digest of what the request shows now. An edit that waits for others changes it: who has not seen that
    may not decide.
    """
    shown = digest_of(state, request)
    if command.seen != shown and (command.seen or request.approved_arguments is not None):
        raise Outdated("the request has been edited since: look at it again")
    return shown


def _approve(command: Decide, state: SessionState, request: Request, seen: str, given: Given) -> list[ev.AnyEvent]:
    asked, facts = request.asked, _facts(state, given, request.asked.tool)
    arguments = request.arguments
    bound = seen  # what may execute is what was seen, and nothing else
    if command.decision == "edit":
        arguments = _edited(command, arguments, facts)
        bound = permit_digest(
            asked.call, state.epoch, asked.tool, asked.tool_version, arguments, asked.basis, asked.activity
        )
    elif command.by in request.approvals:
        raise DecisionNotAllowed("you have approved it already; another person must")
    call = msgspec.structs.replace(state.calls[asked.call], arguments=arguments)
    verdict = verdict_on(state, call, facts, given)
    must_be_entitled(command, verdict.tier)
    approved = _decision(command, request, seen, bound, max(asked.tier, verdict.tier))
    # An edit starts the count anew: who approved other arguments has not approved these.
    behind = 1 if command.decision == "edit" else len(request.approvals) + 1
    if behind < max(asked.quorum, verdict.quorum):
        return [approved]
    edited = command.decision == "edit" or request.approved_arguments is not None
    return [approved, ev.RequestEnded(command.request, "edited" if edited else "approved")]


def _edited(command: Decide, shown: dict[str, Any], facts: ToolFacts) -> dict[str, Any]:
    """The arguments of an edit. Raises Invalid."""
    if command.arguments is None:
        raise Invalid("an edit needs the whole arguments", field="arguments")
    if command.arguments == shown:
        raise Invalid("nothing was changed: approve it instead", field="arguments")
    facts.check(command.arguments)
    return command.arguments


def _decision(command: Decide, request: Request, seen: str, bound: str, tier: int) -> ev.DecisionMade:
    return ev.DecisionMade(
        request=command.request,
        decision=command.decision,
        by=command.by,
        reason=command.reason.strip(),
        seen=seen,
        digest=bound,
        arguments=command.arguments,
        response=command.response.strip(),
        tier=tier,
    )


def expired(command: Expire, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The end of a request that nobody decided in time."""
    request = open_request(state, command.request)
    return [ev.RequestEnded(request.asked.request, "expired", f"nobody decided before {request.asked.expires_at}")]


def must_be_entitled(command: Decide | Claim, tier: int) -> None:
    needed = "decide_tier3" if tier >= HIGHEST_TIER else "decide"
    if needed not in command.may:
        raise DecisionNotAllowed(f"tier {tier} needs the permission {needed}", permission=needed)


def open_request(state: SessionState, request_id: str) -> Request:
    request = state.requests.get(request_id)
    if request is None:
        raise UnknownRequest()
    if request.status is not RequestStatus.PENDING:
        raise AlreadyDecided(
            f"{request.status.value} at {request.ended_at}",
            outcome=request.status.value,
            by=request.decided_by,
            at=request.ended_at,
        )
    return request


def _facts(state: SessionState, given: Given, tool: str) -> ToolFacts:
    facts = plans.plan_tool(state, given) if tool == PLAN else given.tools.get(tool)
    if facts is None:
        raise Refused(f"the tool {tool!r} is not registered any more")
    return facts
