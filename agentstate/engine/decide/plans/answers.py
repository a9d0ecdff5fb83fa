"""Plans in a model's answer: written call by call with meta-properties and references, or whole, as a call of the tool
`plan`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import references
from agentstate.engine.decide import goals, offers, talk
from agentstate.engine.decide.commands.runs import Answer
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.gates import approval_request, gate
from agentstate.engine.decide.plans.checking import checked, written
from agentstate.engine.decide.plans.force import DEVIATES, follows, gated, was_approved
from agentstate.engine.decide.plans.refusals import FollowsPlan
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.plan import model
from agentstate.engine.plan.deviation import deviation
from agentstate.engine.state.goals import GOALS
from agentstate.engine.state.rounds import PLAN, call_id, views_of
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.understanding.answer import RESOLVE_REFERENCES
from agentstate.errors import Invalid, Refused

Form = tuple[str, tuple[ev.CallProposed, ...], list[dict[str, Any]]]


def of_model(
    calls: Sequence[ev.CallProposed], refused: Mapping[int, offers.Refusal], context: CommandContext
) -> Form | None:
    """(round, the answer's calls under ids of ours, the plan in its notation), or None when there is no plan in it."""
    left = [call for place, call in enumerate(calls) if place not in refused]
    whole = next((call for call in left if call.tool == PLAN), None)
    if whole is not None:
        return _whole(whole, calls, context)
    if not any(offers.is_planned(call, context.offers) for call in left):
        return None
    round_id = context.new_id()
    notation = [_notation(call, context) for call in calls if call.tool != RESOLVE_REFERENCES]
    try:
        names = [call.id for call in model.read(notation).calls]
    except Invalid:
        names = [str(number) for number in range(len(notation))]  # it will be refused, under these names
    ids = (call_id(round_id, name) for name in names)
    renamed = (
        msgspec.structs.replace(call, id=context.new_id() if call.tool == RESOLVE_REFERENCES else next(ids))
        for call in calls
    )
    return round_id, tuple(renamed), notation


def _whole(whole: ev.CallProposed, calls: Sequence[ev.CallProposed], context: CommandContext) -> Form:
    round_id = context.new_id()
    renamed = tuple(msgspec.structs.replace(call, id=round_id if call is whole else context.new_id()) for call in calls)
    notation = whole.arguments.get("calls")
    listed = notation if isinstance(notation, list) else [notation]
    return round_id, renamed, [_parameters(each, context) for each in listed]


def _notation(call: ev.CallProposed, context: CommandContext) -> dict[str, Any]:
    written = {"_tool": call.tool, **_parameters(call.arguments, context)}
    if call.output_path and "_outputPath" not in written:
        written["_outputPath"] = call.output_path
    return written


def _parameters(call: Any, context: CommandContext) -> Any:
    """A call's notation in which text that begins with a dagger is text, where the agent offers no references. What is
    no call stays as it is: the plan is refused for it.
    """
    if offers.REFERENCES in context.offers or not isinstance(call, dict):
        return call
    return {name: value if name.startswith("_") else references.escaped(value) for name, value in call.items()}


def answered(state: SessionState, form: Form, by: str, context: CommandContext) -> list[ev.AnyEvent]:
    """What becomes of a model's plan; `state` is that after its answer. A plan that is refused is told call by call."""
    round_id, calls, notation = form
    of_plan = [call for call in calls if belongs(form, call)]
    try:
        _must_not_deviate(state)
        plan = checked(state, notation, {}, context, by_model=True)
    except Refused as error:
        reason = f"{error.title} {error.detail}"[:1000]
        return [ev.CallRefused(call.id, error.code, reason) for call in of_plan]
    proposal = ev.PlanProposed(round_id, written(plan), by, "model", context.follow)
    return gated(state, proposal, (), context)


def _must_not_deviate(state: SessionState) -> None:
    if follows(state):
        raise FollowsPlan()


def belongs(form: Form, call: ev.CallProposed) -> bool:
    """Whether a call of the answer is the plan, or one of its calls."""
    return call.id == form[0] or call.id.startswith(form[0] + ".")


def beside(state: SessionState, call: Call, answer: Answer, context: CommandContext) -> ev.AnyEvent:
    """What becomes of a call that belongs to no plan, while one may be in force: it may be a deviation."""
    if call.tool == GOALS:
        return goals.of_model(state, call, answer.model)
    if call.tool == RESOLVE_REFERENCES:
        return talk.of_model(state, call, answer.step, context)
    if follows(state):
        return ev.CallRefused(call.id, FollowsPlan.code, str(FollowsPlan()))
    gated = gate(state, call, context)
    if not isinstance(gated, ev.CallAllowed) or not was_approved(state):
        return gated
    written_as = model.Call(call.tool, call.tool, call.arguments, call.output_path or "")
    found = deviation(state.plans.plan, written_as, views_of(state.plans, state.pad, ""))
    if not found:
        return gated
    facts = context.tools[call.tool]
    verdict = verdict_on(state, call, facts, context)
    return approval_request(state, call, facts, verdict, context, because=f"{DEVIATES} {found}.")
