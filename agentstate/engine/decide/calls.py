"""Calls that run: the intent before the effect, the result after it, and what a lost result leads to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide import interventions, plans, speech
from agentstate.engine.decide.charts import not_in_this_state, overdue
from agentstate.engine.decide.commands.calls import Begin, Fail, Return
from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.decide.families import in_family
from agentstate.engine.decide.forks import held_back
from agentstate.engine.decide.gates import (
    approval_request,
    gate,
    refused_before,
    refused_by_rule,
    with_approvers,
    without_activity,
)
from agentstate.engine.decide.pausing import must_not_be_paused
from agentstate.engine.decide.permits import Authorities, changed_since, lost_right, met_by_plan
from agentstate.engine.decide.refusals import Outdated, SessionOver, TakenOver
from agentstate.engine.decide.schema import after, misfit, must_have_a_place, placed, unreadable
from agentstate.engine.decide.speech import facts_of
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.decide.versions import late_failed, late_returned
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.policy import Terms, Verdict, asks_more, required
from agentstate.engine.policy.tally import amounts_of
from agentstate.engine.speech import SAY
from agentstate.engine.state.interventions import has_its_turn
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import Call, SessionState, may_begin
from agentstate.errors import NotFound, Refused

LOST = "it is not known whether it happened"
OTHER_VERSION = "its tool has another version by now"
NO_ANSWER = "no_answer"  # code of a failure by time: it may have happened all the same
LOST_RESULTS = 4  # attempts whose result may be lost in a crash, beyond those a failure may use


@command_handler(Begin)
def begun(command: Begin, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """An intent, if policy on today's values asks for no more than the call has passed; otherwise a new request. Timers
    of the chart that are due move it first: what it forbids by now does not begin.
    """
    must_not_be_paused(state)
    moved = overdue(state, context)
    return [*moved, *_begun(command, after(moved, state, context), context)]


def _begun(command: Begin, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    if command.call not in state.calls and (lost := plans.lost(state, command.call)):
        return [lost]
    call = state.calls.get(command.call) or plans.next_call(state, command.call)
    if call.status is not CallStatus.RUNNING and not may_begin(state, call):
        raise TakenOver()
    if call.status is CallStatus.PROPOSED and call.round and not state.ended:
        return _begun_of_plan(call, state, context, command.authorities)
    if call.status not in (CallStatus.READY, CallStatus.RUNNING):
        raise Outdated(f"call {call.id} is {call.status.value}")
    if state.ended and call.status is CallStatus.READY:
        raise SessionOver()
    if call.tool == SAY and not has_its_turn(state, call):
        raise Outdated("other words are to be said first")
    facts = facts_of(call.tool, state, context)
    if facts is None:
        return [_gone(call)]
    if call.status is CallStatus.RUNNING:
        return [_begun_again(call, state, facts, context, command.authorities)]
    return _begun_ready(Beginning(call, state, facts, context, command.authorities))


class Beginning(msgspec.Struct, frozen=True, dict=True):
    """An allowed call that is about to begin, and what its checks read."""

    call: Call
    state: SessionState
    facts: ToolFacts
    context: CommandContext
    authorities: Authorities | None

    @cached_property
    def verdict(self) -> Verdict:
        """What policy says of the call on today's values."""
        return verdict_on(self.state, self.call, self.facts, self.context)

    def asked(self, because: str) -> ev.ApprovalRequested:
        """A new request that supersedes the one that the call has passed."""
        call, context = self.call, self.context
        return approval_request(
            self.state, call, self.facts, self.verdict, context, because=because, supersedes=call.request
        )


Stopped = list[ev.AnyEvent]  # what is recorded in place of an intent; empty: the check found nothing


def _retries_are_over(begin: Beginning) -> Stopped:
    """A call that failed before fails for good once the total time of its tool is over."""
    over = _retries_over(begin.call, begin.context)
    return [ev.ToolFailed(begin.call.id, begin.call.attempt, f"it failed, and {over}", transient=True)] if over else []


def _activity_is_gone(begin: Beginning) -> Stopped:
    """The tool has the activity that was approved no more."""
    gone = without_activity(begin.call, begin.facts)
    return [gone] if gone else []


def _person_rejected_it(begin: Beginning) -> Stopped:
    """A person rejected the same call after policy had allowed this one. Their own approval of this one counts."""
    rejected = refused_before(in_family(begin.state, begin.context), begin.call)
    return [rejected] if rejected and not _was_approved(begin.state, begin.call) else []


def _chart_forbids_it(begin: Beginning) -> Stopped:
    """The session's chart has moved on and does not allow the tool where it stands now."""
    if begin.call.tool not in begin.context.tools:
        return []
    misplaced = not_in_this_state(begin.state, begin.call, begin.context)
    return [misplaced] if misplaced is not None else []


def _policy_refuses_it(begin: Beginning) -> Stopped:
    """A rule refuses the call on today's values."""
    never = refused_by_rule(begin.call, begin.verdict)
    return [never] if never else []


def _it_is_held_back(begin: Beginning) -> Stopped:
    """A fork keeps its effects to itself."""
    return held_back(begin.state, begin.call, begin.facts, begin.verdict)


def _evidence_is_unreadable(begin: Beginning) -> Stopped:
    """What a rule reads as evidence breaks its schema, so the rule cannot judge."""
    broken = unreadable(begin.state, begin.verdict.evidence, begin.context)
    return [ev.CallRefused(begin.call.id, "breaks_schema", broken)] if broken else []


def _result_has_no_place(begin: Beginning) -> Stopped:
    """The place of its result has another writer by now."""
    try:
        must_have_a_place(begin.state, placed(begin.call, begin.context), begin.context)
    except Refused as error:
        return [ev.CallRefused(begin.call.id, error.code, error.detail)]
    return []


def _plan_call_is_tried_again(begin: Beginning) -> Stopped:
    """A call of an approved plan that is tried again is judged as at first: by what the plan's approval covers."""
    call, verdict = begin.call, begin.verdict
    if not (call.round and call.request and not call.approved and verdict.gate != "allow"):
        return []
    alone = replace(begin.context, approvers=None)
    asked = approval_request(begin.state, call, begin.facts, verdict, alone)
    return [_under_the_plan(call, begin.state, begin.context, asked, begin.authorities)]


def _terms_have_changed(begin: Beginning) -> Stopped:
    """Policy, values or the approvers' rights ask for more than the call has passed."""
    changed = changed_since(begin.state, begin.call, begin.facts, begin.verdict, begin.authorities)
    return [begin.asked(changed)] if changed else []


def _plan_was_shaken(begin: Beginning) -> Stopped:
    """A step before it left the approved plan."""
    shaken = plans.shaken(begin.state, begin.call)
    return [replace(begin.asked(shaken.why), changed=shaken.changed)] if shaken is not None else []


# In this order; the first that finds something says what is recorded in place of the intent.
CHECKS: tuple[Callable[[Beginning], Stopped], ...] = (
    _retries_are_over,
    _activity_is_gone,
    _person_rejected_it,
    _chart_forbids_it,
    _policy_refuses_it,
    _it_is_held_back,
    _evidence_is_unreadable,
    _result_has_no_place,
    _plan_call_is_tried_again,
    _terms_have_changed,
    _plan_was_shaken,
)


def _begun_ready(begin: Beginning) -> list[ev.AnyEvent]:
    """Begins an allowed call, unless one of CHECKS stops it."""
    for check in CHECKS:
        if stopped := check(begin):
            return stopped
    state, call, verdict = begin.state, begin.call, begin.verdict
    if call.tool == PLAN:
        return plans.approved(state, call, max(verdict.tier, call.tier))
    intent = _intent(state, call, begin.facts, verdict, begin.context, _rests_on(state, call), call.approved)
    return speech.said(state, call, intent) if call.tool == SAY else [intent]


def _rests_on(state: SessionState, call: Call) -> str:
    """Returns the id of the request that approved a call; empty: its delay by policy ran out without a decision."""
    return "" if _was_unopposed(state, call) else call.request


def _was_approved(state: SessionState, call: Call) -> bool:
    return bool(call.approved) and not _was_unopposed(state, call)


def _was_unopposed(state: SessionState, call: Call) -> bool:
    """Whether nobody approved it: policy held it, and its time ran out."""
    passed = state.requests.get(call.request)
    return passed is not None and passed.status is RequestStatus.UNOPPOSED


def _begun_of_plan(
    call: Call, state: SessionState, context: CommandContext, authorities: Authorities | None
) -> list[ev.AnyEvent]:
    """Judges a call of the plan on its resolved arguments. It begins, unless a person must be asked or it is refused. A
    call that the approval of the whole plan covers is not asked about again.
    """
    if private := plans.private_reading(state, call, context):
        return [plans.readied(call, {}), ev.CallRefused(call.id, "private_parameter", private)]
    gated = gate(state, call, replace(context, approvers=None))
    if isinstance(gated, ev.CallAllowed):
        return [_intent(state, call, context.tools[call.tool], gated, context, "", "")]
    if not isinstance(gated, ev.ApprovalRequested):
        return [plans.readied(call), gated]
    found = _under_the_plan(call, state, context, gated, authorities)
    return [found] if isinstance(found, ev.ToolIntended) else [plans.readied(call), found]


def _under_the_plan(
    call: Call,
    state: SessionState,
    context: CommandContext,
    gated: ev.ApprovalRequested,
    authorities: Authorities | None,
) -> ev.ToolIntended | ev.ApprovalRequested:
    """The intent of a call that its plan's approval covers; else the question to a person, with why it does not."""
    facts = context.tools[call.tool]
    passed = _passed_with_plan(call, state, facts, gated, authorities)
    if passed.request:
        return _intent(state, call, facts, gated, context, passed.request, "")
    asked = replace(gated, why=f"{passed.why} {gated.why}".strip(), changed=passed.changed)
    return with_approvers(asked, state, context)


def _passed_with_plan(
    call: Call, state: SessionState, facts: ToolFacts, gated: ev.ApprovalRequested, authorities: Authorities | None
) -> plans.Covering:
    """The plan's request, where it covers the call, what it has met is all that policy asks of people for it today, and
    those people may still decide it.
    """
    covering = plans.covering(state, call, facts, gated)
    passed, approval = state.requests.get(covering.request), state.plans.approved
    if passed is None or approval is None:
        return plans.Covering("", covering.why, covering.changed)
    now = required(gated.terms or Terms(), gated.tier, gated.quorum)
    if asks_more(now, met_by_plan(passed, approval, call, state.plans, now)):
        return plans.Covering("", plans.STRICTER)
    if authorities is not None and lost_right(passed, approval.tier, authorities):
        return plans.Covering("", plans.LOST_RIGHT)
    return covering


def _intent(
    state: SessionState,
    call: Call,
    facts: ToolFacts,
    verdict: Verdict | ev.CallAllowed | ev.ApprovalRequested,
    context: CommandContext,
    request: str,
    digest: str,
) -> ev.ToolIntended:
    effect = plans.effect_of(state.plans, call, facts)
    return ev.ToolIntended(
        call=call.id,
        tool=call.tool,
        tool_version=facts.version,
        arguments=call.arguments,
        arguments_digest=ev.digest(call.arguments),
        effect=effect,
        key=f"{call.id}.{state.epoch}",
        attempt=call.attempt + 1,
        tier=verdict.tier,
        rule=verdict.rule,
        policy=verdict.policy,
        request=request,
        digest=digest,
        adapted=verdict.adapted,
        activity=call.activity,
        retry_until="" if effect in ("once", "delegate") else _retry_until(call, facts, context),
        moved={} if effect == "pure" else amounts_of(call.arguments, facts.amounts),
    )


def _gone(call: Call) -> ev.AnyEvent:
    """The tool was removed since the call was let through."""
    reason = f"the tool {call.tool!r} is not registered any more"
    if call.status is CallStatus.READY:
        return ev.CallRefused(call.id, "unknown_tool", reason)
    return ev.ToolFailed(call.id, call.attempt, reason, transient=False)


def _retries_over(call: Call, context: CommandContext) -> str:
    """Returns why a call that began before is not tried again: its tool's total time is over; empty: it is not."""
    if not call.retry_until or stamp(context.at) <= call.retry_until:
        return ""
    return f"the time to try it again ended at {call.retry_until}"


def _begun_again(
    call: Call, state: SessionState, facts: ToolFacts, context: CommandContext, authorities: Authorities | None
) -> ev.AnyEvent:
    """A call whose result is lost: it is judged anew and begins again, or a person says whether it happened. What is
    never repeated is for a person; a read that may not be repeated fails, because it has changed nothing.
    """
    effect = plans.effect_of(state.plans, call, facts)
    if effect == "once":
        return interventions.doubted(call, LOST)
    if call.attempt >= facts.attempts + LOST_RESULTS:
        return ev.ToolFailed(call.id, call.attempt, LOST, transient=False, code="lost")
    verdict = verdict_on(state, call, facts, context)
    if not (changed := _changed_while_lost(call, state, facts, verdict, context, authorities)):
        return _intent(state, call, facts, verdict, context, _rests_on(state, call), call.approved)
    why = f"{LOST}, and {changed[:1].lower()}{changed[1:]}"
    if effect == "pure":
        return ev.ToolFailed(call.id, call.attempt, why, transient=False, code="lost")
    return interventions.doubted(call, why)


def _changed_while_lost(
    call: Call,
    state: SessionState,
    facts: ToolFacts,
    verdict: Verdict,
    context: CommandContext,
    authorities: Authorities | None,
) -> str:
    """Returns why a call with a lost result does not begin again; empty: it does. Another version of the tool could do
    something else. A delegate has no version and its own calls are judged; a read that asked nobody is exempt too.
    """
    if (misplaced := not_in_this_state(state, call, context)) is not None:
        return misplaced.reason
    if over := _retries_over(call, context):
        return over
    effect = plans.effect_of(state.plans, call, facts)
    if effect == "delegate" or (effect == "pure" and not call.request):
        return ""
    if call.tool_version != facts.version:
        return OTHER_VERSION
    if call.round and call.request and not call.approved and verdict.gate != "allow":
        asked = approval_request(state, call, facts, verdict, replace(context, approvers=None))
        passed = _passed_with_plan(call, state, facts, asked, authorities)
        return "" if passed.request else passed.why or plans.STRICTER
    return changed_since(state, call, facts, verdict, authorities)


@command_handler(Return)
def returned(command: Return, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The result of the attempt that is running."""
    if (late := state.versions.late.get(command.call)) is not None:
        return late_returned(command, late)
    call = _running(state, command.call, command.attempt)
    if call.round:
        return [plans.output(command, call, state, context)]
    call = placed(call, context)  # by the arguments that ran
    if broken := misfit(state, call, command.result, context):
        reason = f"it ran, but its result does not fit the state: {broken}"
        return [ev.ToolFailed(call.id, command.attempt, reason, False, "", "breaks_schema", command.result)]
    return [ev.ToolReturned(call.id, command.attempt, command.result, call.output_path, answered=command.answered)]


@command_handler(Fail)
def failed(command: Fail, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The failure of the attempt that is running, and when to try again, if that is safe."""
    if (late := state.versions.late.get(command.call)) is not None:
        return late_failed(command, late)
    call = _running(state, command.call, command.attempt)
    facts = context.tools.get(call.tool)
    effect = call.effect if facts is None else plans.effect_of(state.plans, call, facts)
    if command.code == NO_ANSWER and effect == "once":
        return [interventions.doubted(call, command.reason)]
    failure = ev.ToolFailed(call.id, command.attempt, command.reason, command.transient, code=command.code)
    if not command.transient or state.ended or effect == "once" or facts is None:
        return [failure]
    retry_at, until = stamp(context.at + timedelta(seconds=command.pause)), _retry_until(call, facts, context)
    if retry_at > until if until else call.attempt >= facts.attempts:
        return [failure]
    return [replace(failure, retry_at=retry_at, retry_until=until)]


def _retry_until(call: Call, facts: ToolFacts, context: CommandContext) -> str:
    """Until when a call is tried again: the tool's total time, from its first try; empty: by attempts alone."""
    if call.retry_until or not facts.retry_seconds:
        return call.retry_until
    return stamp(context.at + timedelta(seconds=facts.retry_seconds))


def _call(state: SessionState, call_id: str) -> Call:
    call = state.calls.get(call_id)
    if call is None:
        raise NotFound(f"there is no call {call_id}")
    return call


def _running(state: SessionState, call_id: str, attempt: int) -> Call:
    if call_id not in state.calls and state.plans.erased:
        raise Outdated(f"call {call_id} is gone, or its data subject was erased")
    call = _call(state, call_id)
    if call.status is not CallStatus.RUNNING or call.attempt != attempt:
        raise Outdated(f"call {call_id} is {call.status.value} at attempt {call.attempt}, got attempt {attempt}")
    return call
