"""The gate: what becomes of a call that the model proposes. It is refused, allowed, or asked of a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.approvers import approvers_missing
from agentstate.engine.decide.charts import not_in_this_state
from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.decide.families import in_family, without_room
from agentstate.engine.decide.fatigue import asked_too_often
from agentstate.engine.decide.forks import held_back
from agentstate.engine.decide.permits import basis_of, permit_digest
from agentstate.engine.decide.reviewing import proposers_of
from agentstate.engine.decide.schema import must_have_a_place
from agentstate.engine.decide.verdicts import findings_on, verdict_on
from agentstate.engine.instants import stamp
from agentstate.engine.policy import Terms, Verdict
from agentstate.engine.scratchpad.private import visible
from agentstate.engine.speech import SAY
from agentstate.engine.state.approvals import ANY_WORDS, EXPIRED
from agentstate.engine.state.rounds import data_instance, delegate_of, pad_of
from agentstate.engine.state.session import Call, Request, SessionState
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


HANDED_OVER = "Open a session of its own, which does {} as {} and may call every tool of the agent"
OFFERED: tuple[ev.DecisionKind, ...] = ("approve", "edit", "reject", "respond", "ignore", "escalate")


def gate(state: SessionState, call: Call, context: CommandContext) -> ev.AnyEvent:
    """What becomes of a proposed call: refused, allowed, or a request to a person."""
    facts = context.tools.get(call.tool)
    if facts is None:
        return ev.CallRefused(call.id, "unknown_tool", f"there is no tool called {call.tool!r}")
    if misplaced := without_activity(call, facts) or not_in_this_state(state, call, context):
        return misplaced
    if full := without_room(state, call, context):
        return full
    try:
        facts.check(call.arguments)
        must_have_a_place(state, call, context)
    except Refused as error:
        return ev.CallRefused(call.id, error.code, f"{error.facts.get('field', '')}: {error.detail}".lstrip(": "))
    return judged(state, call, facts, context)


def judged(state: SessionState, call: Call, facts: ToolFacts, context: CommandContext) -> ev.AnyEvent:
    """What becomes of a call of a tool that the agent has, with arguments that the tool takes."""
    seen = in_family(state, context)
    if refused := refused_before(seen, call):
        return refused
    if settled := settled_before(seen, call):
        return settled
    verdict = verdict_on(state, call, facts, context)
    if never := refused_by_rule(call, verdict):
        return never
    if held := held_back(state, call, facts, verdict):
        return held[0]
    if verdict.gate == "allow":
        return ev.CallAllowed(call.id, verdict.tier, verdict.rule, verdict.policy, verdict.adapted)
    if too_often := asked_too_often(state, call, context):
        return too_often
    return approval_request(state, call, facts, verdict, context)


def refused_before(state: SessionState, call: Call) -> ev.CallRefused | None:
    """The refusal of a call that a person rejected, word for word."""
    if not state.refused or ev.digest(call.tool, call.arguments) not in state.refused:
        return None
    return ev.CallRefused(call.id, "refused_before", "a person refused exactly this call before")


def settled_before(state: SessionState, call: Call) -> ev.CallRefused | None:
    """The refusal of a call that a person has answered already, or that nobody decided on in time: nobody is asked
    again about it.
    """
    mark = ev.digest(call.tool, call.arguments) if state.settled else ""
    for each in state.settled:
        if call.tool == SAY and each.mark == ANY_WORDS:
            return ev.CallRefused(call.id, "expired_before", f"words for the customer waited before. {EXPIRED}")
        if each.mark == mark and each.how == "responded":
            reason = f"a person has answered exactly this call already, and it was not run: {each.answer}"
            return ev.CallRefused(call.id, "answered_before", reason)
        if each.mark == mark:
            return ev.CallRefused(call.id, "expired_before", f"exactly this call waited before. {EXPIRED}")
    return None


def refused_by_rule(call: Call, verdict: Verdict) -> ev.CallRefused | None:
    """The refusal of a call that a rule of the policy refuses, whatever people say of it."""
    if verdict.gate != "refuse":
        return None
    return ev.CallRefused(call.id, "refused_by_rule", f"rule {verdict.rule}: {verdict.why}")


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
    context: CommandContext,
    because: str = "",
    supersedes: str = "",
) -> ev.ApprovalRequested:
    """Returns the question to a person: the call, its values, its rule, its deadline and its proposers, and how many
    approvers are missing.
    """
    basis = basis_of(state, call.id, verdict.evidence)
    asked = ev.ApprovalRequested(
        request=context.new_id(),
        call=call.id,
        tool=call.tool,
        tool_version=facts.version,
        arguments=call.arguments,
        preview=preview_of(call, state, facts, context),
        tier=verdict.tier,
        rule=verdict.rule,
        policy=verdict.policy,
        why=" ".join(part for part in (because, findings_on(state, call, context), verdict.why) if part),
        quorum=verdict.quorum,
        allowed=OFFERED if verdict.chain else OFFERED[:-1],
        basis=basis,
        response_schema=REQUEST_SCHEMA,
        expires_at=stamp(context.at + timedelta(seconds=_patience(verdict))),
        digest=permit_digest(call.id, state.epoch, facts.name, facts.version, call.arguments, basis, call.activity),
        supersedes=supersedes,
        adapted=verdict.adapted,
        activity=call.activity,
        terms=verdict.terms,
        proposed_by=proposers_of(state, call),
    )
    return with_approvers(asked, state, context)


def with_approvers(asked: ev.ApprovalRequested, state: SessionState, context: CommandContext) -> ev.ApprovalRequested:
    """The question, with how many people it lacks. The outside looks them up, so only what is asked is counted. A delay
    ends without an approval: nobody counts for it until somebody undoes it (`holds.waits_again`).
    """
    if context.approvers is None or (asked.terms or Terms()).gate == "hold":
        return asked
    request = Request(asked, state.seq, stamp(context.at))
    return replace(asked, approvers_missing=approvers_missing(request, state, context.approvers()))


def by_people(verdict: Verdict) -> Verdict:
    """Returns the verdict with people to decide. Policy may allow or delay only the agent's own proposal, not a call
    that a person edited.
    """
    if verdict.gate == "approve":
        return verdict
    return replace(verdict, gate="approve", hold=0)


def _patience(verdict: Verdict) -> int:
    """Seconds until the request expires. What is held and then objected to has as long as any other after its hold."""
    return verdict.expires_in + (verdict.hold if verdict.gate == "hold" else 0)


def preview_of(call: Call, state: SessionState, facts: ToolFacts, context: CommandContext) -> str:
    """The tool's own words, over a state without private values: all reviewers read them. One that breaks must not keep
    the call from the person, who sees its arguments anyway.
    """
    if delegate := delegate_of(state.plans, call.id):
        return HANDED_OVER.format(facts.name, delegate)
    pad = pad_of(state.plans, state.pad, data_instance(state.plans, call.id))
    try:
        return facts.preview(call.arguments, visible(pad, context.memory.private))
    except Exception as error:
        return f"{facts.name} cannot say what it will do ({type(error).__name__}): read the arguments."
