"""Permits: what an approval is bound to, and whether that still holds when the call is to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide.commands import Authority
from agentstate.engine.decide.given import ToolFacts
from agentstate.engine.decide.reviewing import concerned, needed
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.policy import Verdict
from agentstate.engine.policy.terms import GATES, Names, may_review
from agentstate.engine.state import Call, Request, SessionState
from agentstate.engine.state.rounds import data_instance, pad_of

Standing = Mapping[str, tuple[Authority, ...]]  # by actor: their own authority, then those lent to them


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
    state: SessionState, call: Call, facts: ToolFacts, verdict: Verdict, standing: Standing | None = None
) -> str:
    """Why the call may not run on what it passed, or an empty string: a gate no stricter than the one passed goes on.
    `standing`: what those who approved it may now; None where nobody has asked.
    """
    if not call.approved:
        return "" if verdict.gate == "allow" else "Policy asks for a person now."
    passed = state.requests[call.request]
    if _now(state, call, facts, passed) != call.approved:
        return "What the approval rested on has changed since."
    if verdict.gate != "allow" and _is_stricter(state, passed, call, verdict, standing):
        return "Policy has become stricter since the approval."
    if standing is not None and _lost(passed, max(passed.asked.tier, call.tier), standing):
        return "Who approved it may not decide it any more."
    return ""


def _now(state: SessionState, call: Call, facts: ToolFacts, passed: Request) -> str:
    """The digest that an approval would be bound to now."""
    basis = basis_of(state, call.id, (item.path for item in passed.asked.basis))
    return permit_digest(call.id, state.epoch, facts.name, facts.version, call.arguments, basis, call.activity)


def _is_stricter(state: SessionState, passed: Request, call: Call, verdict: Verdict, standing: Standing | None) -> bool:
    """Whether policy asks for more today than the request has passed: a gate, a tier, people, other people."""
    if verdict.tier > max(passed.asked.tier, call.tier):
        return True
    if passed.status is RequestStatus.UNOPPOSED:
        return GATES.index(verdict.gate) > GATES.index("hold")
    if verdict.quorum > len(passed.approvals):
        return True
    newly = verdict.four_eyes and not passed.terms.four_eyes
    if newly and {*passed.approvals, *passed.behalf} & set(concerned(state, passed)):
        return True
    others = [group for group in verdict.reviewers if group not in passed.terms.reviewers]
    return bool(others) and not all(_is_among(others, each) for each in _behind(passed, standing or {}))


def _is_among(groups: Iterable[Names], authority: Authority | None) -> bool:
    return authority is not None and may_review(groups, authority.names)


def _behind(passed: Request, standing: Standing) -> list[Authority | None]:
    """What each approval rests on today: the approver's own authority, or the one lent to them; None: there is none."""
    return [
        next((each for each in standing.get(by, ()) if each.of == of), None)
        for by, of in zip(passed.approvals, passed.behalf, strict=True)
    ]


def _lost(passed: Request, tier: int, standing: Standing) -> bool:
    """Whether somebody whose authority it rests on has lost it since."""
    return any(
        authority is None or needed(tier) not in authority.may or not may_review(passed.reviewers, authority.names)
        for authority in _behind(passed, standing)
    )
