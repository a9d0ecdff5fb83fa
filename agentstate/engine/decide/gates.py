"""The gate: what becomes of a call that the model proposes. It is refused, allowed, or asked of a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide.approvers import approvers_missing
from agentstate.engine.decide.charts import not_in_this_state
from agentstate.engine.decide.forks import held_back
from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.decide.permits import basis_of, permit_digest
from agentstate.engine.decide.reviewing import proposers_of
from agentstate.engine.decide.schema import must_have_a_place
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.instants import stamp
from agentstate.engine.policy import Verdict
from agentstate.engine.state import Call, Request, SessionState
from agentstate.engine.state.requests import EXPIRED
from agentstate.engine.state.rounds import data_instance, pad_of
from agentstate.errors import Refused

REQUEST_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["decision"],
    "properties": {
        "decision": {"enum": ["approve", "edit", "reject", "respond", "ignore", "escalate"]},
        "reason": {"type": "string", "maxLength": 2000},
        "arguments": {"type": "object"},
        "response": {"type": "string", "maxLength": 4000},
        "code": {"type": "string", "maxLength": 100},
        "retyped": {"type": "object"},
    },
    "additionalProperties": False,
}


OFFERED: tuple[ev.DecisionKind, ...] = ("approve", "edit", "reject", "respond", "ignore", "escalate")


def gate(state: SessionState, call: Call, given: Given) -> ev.AnyEvent:
    """What becomes of a proposed call: refused, allowed, or a request to a person."""
    facts = given.tools.get(call.tool)
    if facts is None:
        return ev.CallRefused(call.id, "unknown_tool", f"there is no tool called {call.tool!r}")
    if misplaced := without_activity(call, facts) or not_in_this_state(state, call):
        return misplaced
    try:
        facts.check(call.arguments)
        if call.output_path is not None:
            scratchpad.parts(call.output_path)
            must_have_a_place(state, call, given)
    except Refused as error:
        return ev.CallRefused(call.id, error.code, f"{error.facts.get('field', '')}: {error.detail}".lstrip(": "))
    if ev.digest(call.tool, call.arguments) in state.refused:
        return ev.CallRefused(call.id, "refused_before", "a person refused exactly this call before")
    if settled := settled_before(state, call):
        return settled
    verdict = verdict_on(state, call, facts, given)
    if refused := held_back(state, call, facts, verdict):
        return refused[0]
    if verdict.gate == "allow":
        return ev.CallAllowed(call.id, verdict.tier, verdict.rule, verdict.policy, verdict.adapted)
    return approval_request(state, call, facts, verdict, given)


def settled_before(state: SessionState, call: Call) -> ev.CallRefused | None:
    """The refusal of a call that a person has answered already, or that nobody decided on in time: nobody is asked
    again about it.
    """
    mark = ev.digest(call.tool, call.arguments) if state.settled else ""
    for each in state.settled:
        if each.mark == mark and each.how == "responded":
            reason = f"a person has answered exactly this call already, and it was not run: {each.answer}"
            return ev.CallRefused(call.id, "answered_before", reason)
        if each.mark == mark:
            return ev.CallRefused(call.id, "expired_before", f"exactly this call waited before. {EXPIRED}")
    return None


def without_activity(call: Call, facts: ToolFacts) -> ev.CallRefused | None:
    """The refusal of a call whose activity the tool does not have, or not any more."""
    if not call.activity or call.activity in facts.activities:
        return None
    return ev.CallRefused(call.id, "unknown_activity", f"{call.tool} has no activity {call.activity!r}")


def approval_request(
    state: SessionState,
    call: Call,
    facts: ToolFacts,
    verdict: Verdict,
    given: Given,
    because: str = "",
    supersedes: str = "",
) -> ev.ApprovalRequested:
    """The question to a person: this call, these values, this rule, until then, who proposed it, and whether enough
    people can approve it.
    """
    basis = basis_of(state, call.id, verdict.evidence)
    asked = ev.ApprovalRequested(
        request=given.new_id(),
        call=call.id,
        tool=call.tool,
        tool_version=facts.version,
        arguments=call.arguments,
        preview=_preview(call, state, facts),
        tier=verdict.tier,
        rule=verdict.rule,
        policy=verdict.policy,
        why=f"{because} {verdict.why}".strip(),
        quorum=verdict.quorum,
        allowed=OFFERED if verdict.chain else OFFERED[:-1],
        basis=basis,
        response_schema=REQUEST_SCHEMA,
        expires_at=stamp(given.at + timedelta(seconds=_patience(verdict))),
        digest=permit_digest(call.id, state.epoch, facts.name, facts.version, call.arguments, basis, call.activity),
        supersedes=supersedes,
        adapted=verdict.adapted,
        activity=call.activity,
        terms=verdict.terms,
        proposed_by=proposers_of(state, call),
    )
    if given.approvers is None or verdict.gate == "hold":  # a delay ends without an approval
        return asked
    request = Request(asked, state.seq, stamp(given.at))
    return replace(asked, approvers_missing=approvers_missing(request, state, given.approvers()))


def by_people(verdict: Verdict) -> Verdict:
    """Returns the verdict with people to decide: policy lets through or delays what the agent proposes, not what a
    person puts in its place.
    """
    if verdict.gate == "approve":
        return verdict
    return replace(verdict, gate="approve", hold=0)


def _patience(verdict: Verdict) -> int:
    """Seconds until the request expires. What is held and then objected to has as long as any other after its hold."""
    return verdict.expires_in + (verdict.hold if verdict.gate == "hold" else 0)


def _preview(call: Call, state: SessionState, facts: ToolFacts) -> str:
    """The tool's own words. One that breaks must not keep the call from the person, who sees its arguments anyway."""
    try:
        return facts.preview(call.arguments, pad_of(state.plans, state.pad, data_instance(state.plans, call.id)))
    except Exception as error:
        return f"{facts.name} cannot say what it will do ({type(error).__name__}): read the arguments."
