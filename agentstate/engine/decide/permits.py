"""Permits: what an approval is bound to, and whether that still holds when the call is to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.context import ToolFacts
from agentstate.engine.decide.reviewing import concerned, needed
from agentstate.engine.decide.verdicts import in_plan
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.plan import model
from agentstate.engine.policy import Requirements, Verdict, asks_more, required
from agentstate.engine.policy.terms import Names, is_known_at, may_review
from agentstate.engine.state.rounds import Approval, Plans, data_instance, pad_of, place_of
from agentstate.engine.state.session import Call, Request, SessionState

Authorities = Mapping[str, tuple[Authority, ...]]  # by actor: their own authority, then those lent to them


def permit_digest(
    call: str,
    epoch: int,
    tool: str,
    tool_version: int,
    arguments: dict[str, Any],
    basis: tuple[ev.Evidence, ...],
    activity: str = "",
) -> str:
    """What an approval is bound to: call, epoch, tool and version, arguments, the values that were shown, and the
    activity that executes it where that is not the tool's own.
    """
    return ev.digest(call, epoch, tool, tool_version, arguments, basis, *([activity] if activity else []))


def basis_of(state: SessionState, call: str, paths: Iterable[str]) -> tuple[ev.Evidence, ...]:
    """The values that stand at these paths of the call's scratchpad now."""
    pad = pad_of(state.plans, state.pad, data_instance(state.plans, call))
    return tuple(ev.Evidence(path, scratchpad.read(pad, path)) for path in paths)


def changed_since(
    state: SessionState, call: Call, facts: ToolFacts, verdict: Verdict, authorities: Authorities | None = None
) -> str:
    """Returns why the call may not run on what it passed; empty: policy asks for no more than was met.
    `authorities`: what the approvers may decide now; None if that was not looked up.
    """
    if not call.approved:
        return "" if verdict.gate == "allow" else "Policy asks for a person now."
    passed = state.requests[call.request]
    if _now(state, call, facts, passed) != call.approved:
        return "What the approval rested on has changed since."
    if asks_more(verdict.requirements, _met(state, passed, call, verdict, authorities)):
        return "Policy has become stricter since the approval."
    if authorities is not None and lost_right(passed, max(passed.asked.tier, call.tier), authorities):
        return "Who approved it may not decide it any more."
    return ""


def _now(state: SessionState, call: Call, facts: ToolFacts, passed: Request) -> str:
    """The digest that an approval would be bound to now."""
    basis = basis_of(state, call.id, (item.path for item in passed.asked.basis))
    return permit_digest(call.id, state.epoch, facts.name, facts.version, call.arguments, basis, call.activity)


def _met(
    state: SessionState, passed: Request, call: Call, verdict: Verdict, authorities: Authorities | None
) -> Requirements:
    """Returns what the request has met of what policy requires today: groups that each approver is among count as met
    although they were not named then, and four eyes that leave none of them out.
    """
    terms = passed.terms
    unopposed = passed.status is RequestStatus.UNOPPOSED
    approvers = _behind(passed, authorities or {})
    among = [each for each in verdict.reviewers if all(_is_among(each, one) for one in approvers)]
    tier = max(passed.asked.tier, call.tier)
    people = {*passed.approvals, *passed.behalf}
    proposers = people & concerned(state, passed, tier, four_eyes=False).keys()
    concerns = people & concerned(state, passed, tier, four_eyes=True).keys()
    return replace(
        required(terms, tier, len(passed.approvals)),
        gate="hold" if unopposed else "approve",
        hold=terms.hold if unopposed or terms.gate == "approve" else 0,
        reviewers=(*terms.reviewers, *among),
        four_eyes=terms.four_eyes or not concerns,
        reasons=tuple(code for code in passed.codes if code),
        chain=terms.chain if any(passed.steps) else verdict.chain,
        proposer_may_approve=bool(proposers) and terms.proposer_may_approve,
    )


def met_by_plan(request: Request, approval: Approval, call: Call, plans: Plans, now: Requirements) -> Requirements:
    """Returns what the request of a whole plan has met for one of its calls. A value was typed where it stood in the
    plan as it was approved; what a reference fills is typed when it is known.
    """
    place = place_of(plans, call.id)
    typed = _typed_in_plan(request, place[0], now.retype) if place is not None and now.retype else ()
    met = required(request.terms, request.asked.tier, len(request.approvals))
    return replace(
        met,
        gate="hold" if request.status is RequestStatus.UNOPPOSED else "approve",
        tier=max(met.tier, approval.tier),
        reasons=tuple(code for code in request.codes if code),
        retype=typed,
    )


def _typed_in_plan(request: Request, name: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Those of these paths of the plan's call `name` that its approvers have typed."""
    written = request.arguments["calls"]
    at = list(model.read(written).by_id).index(name)
    typed = request.terms.retype
    return tuple(path for path in paths if in_plan(at, path) in typed and is_known_at(written[at], path))


def _is_among(group: Names, authority: Authority | None) -> bool:
    return authority is not None and may_review((group,), authority.names)


def _behind(passed: Request, authorities: Authorities) -> list[Authority | None]:
    """What each approval rests on today: the approver's own authority, or the one lent to them; None: there is none."""
    return [
        next((each for each in authorities.get(by, ()) if each.of == of), None)
        for by, of in zip(passed.approvals, passed.behalf, strict=True)
    ]


def lost_right(passed: Request, tier: int, authorities: Authorities) -> bool:
    """Whether somebody whose authority it rests on has lost it since. Each approver is measured by the reviewers of the
    step at which they approved.
    """
    return any(
        authority is None
        or needed(tier) not in authority.may
        or not may_review(passed.reviewers_at(step), authority.names)
        for authority, step in zip(_behind(passed, authorities), passed.steps, strict=True)
    )
