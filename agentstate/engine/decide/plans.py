"""Plans: checked before anything runs, gated as a whole, carried out call by call, edited, and brought to an end.

A plan is proposed by the model (call by call, or whole as a call of the tool `plan`), by a person or by a caller. Its
approval is that of the call `plan`: what is approved is what was shown. A call of a plan is gated when it is ready, on
its resolved arguments; the plan's approval covers it as far as it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import references
from agentstate.engine.decide import goals
from agentstate.engine.decide.commands import Answer, Delegated, EditPlan, InstanceGiven, ProposePlan, Return, TakeTask
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.gates import approval_request, gate
from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.decide.schema import misfit
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CALL_ENDED, CallStatus
from agentstate.engine.plan import check, model, ready
from agentstate.engine.plan.deviation import deviation
from agentstate.engine.plan.facts import ANONYMOUS, Facts, ToolCard
from agentstate.engine.plan.model import Plan
from agentstate.engine.plan.ready import Standing
from agentstate.engine.plan.rounds import BadOutcome
from agentstate.engine.state import Call, SessionState, evolve, pending
from agentstate.engine.state.goals import GOALS
from agentstate.engine.state.rounds import (
    MAX_INSTANCES,
    MAX_PLAN,
    PLAN,
    Plans,
    call_id,
    data_instance,
    others_of,
    pad_of,
    place_of,
    planned,
    round_of,
    views_of,
)
from agentstate.errors import Invalid, NotFound, Refused

DEVIATES = "It deviates from the plan that was approved."
Form = tuple[str, tuple[ev.CallProposed, ...], list[dict[str, Any]]]


class NoPlan(Refused):
    """This session carries out no plan."""

    code = "no_plan"


class PlanChanged(Refused):
    """The plan has changed since you saw it."""

    code = "plan_changed"
    remedy = "Look at it again."


class AlreadyBegun(Refused):
    """What has begun cannot be changed."""

    code = "already_begun"


class TooManyInstances(Invalid):
    """One session carries out a plan for so many instances, not more."""

    code = "too_many_instances"


# --- what a model proposes --------------------------------------------------------------------------------------


def is_planned(call: ev.CallProposed) -> bool:
    """Whether a call is written as part of a plan: it has meta-properties, references, or outcomes to choose from."""
    path = call.output_path or ""
    if any(key.startswith("_") for key in call.arguments) or "||" in path or "&&" in path:
        return True
    try:
        return next(references.within(call.arguments), None) is not None
    except references.BadReference:
        return True


def of_model(answer: Answer, calls: Sequence[ev.CallProposed], new_id: Callable[[], str]) -> Form | None:
    """(round, the answer's calls under ids of ours, the plan in its notation), or None when there is no plan in it."""
    whole = next((call for call in calls if call.tool == PLAN), None)
    if whole is not None:
        return _whole(whole, calls, new_id)
    if not any(is_planned(call) for call in calls):
        return None
    round_id = new_id()
    notation = [_notation(call) for call in calls]
    try:
        names = [call.id for call in model.read(notation).calls]
    except Invalid:
        names = [str(number) for number in range(len(calls))]  # it will be refused, under these names
    renamed = (
        msgspec.structs.replace(call, id=call_id(round_id, name)) for call, name in zip(calls, names, strict=True)
    )
    return round_id, tuple(renamed), notation


def _whole(whole: ev.CallProposed, calls: Sequence[ev.CallProposed], new_id: Callable[[], str]) -> Form:
    round_id = new_id()
    ids = {id(call): round_id if call is whole else new_id() for call in calls}
    notation = whole.arguments.get("calls")
    renamed = tuple(msgspec.structs.replace(call, id=ids[id(call)]) for call in calls)
    return round_id, renamed, notation if isinstance(notation, list) else [notation]  # type: ignore[list-item]


def _notation(call: ev.CallProposed) -> dict[str, Any]:
    written = {"_tool": call.tool, **call.arguments}
    if call.output_path and "_outputPath" not in written:
        written["_outputPath"] = call.output_path
    return written


def answered(state: SessionState, form: Form, by: str, given: Given) -> list[ev.AnyEvent]:
    """What becomes of a model's plan; `state` is that after its answer. A plan that is refused is told call by call."""
    round_id, calls, notation = form
    of_plan = [call for call in calls if call.id == round_id or call.id.startswith(round_id + ".")]
    try:
        _must_not_deviate(state)
        plan = checked(state, notation, {}, given)
    except Refused as error:
        reason = f"{error.title} {error.detail}"[:1000]
        return [ev.CallRefused(call.id, error.code, reason) for call in of_plan]
    proposal = ev.PlanProposed(round_id, written(plan), by, "model", given.follow)
    return _gated(state, proposal, (), given)


def plain(form: Form | None, calls: Sequence[ev.CallProposed]) -> list[ev.CallProposed]:
    """The calls of an answer that belong to no plan."""
    if form is None:
        return list(calls)
    return [call for call in calls if call.id != form[0] and not call.id.startswith(form[0] + ".")]


def beside(state: SessionState, call: Call, by: str, given: Given) -> ev.AnyEvent:
    """What becomes of a call that belongs to no plan, while one may be in force: it may be a deviation."""
    if call.tool == GOALS:
        return goals.of_model(state, call, by)
    if follows(state):
        return ev.CallRefused(call.id, FollowsPlan.code, str(FollowsPlan()))
    gated = gate(state, call, given)
    if not isinstance(gated, ev.CallAllowed) or not _was_approved(state):
        return gated
    written_as = model.Call(call.id, call.tool, call.arguments, call.output_path or "")
    found = deviation(state.plans.plan, written_as, views_of(state.plans, state.pad, ""))
    if not found:
        return gated
    facts = given.tools[call.tool]
    verdict = verdict_on(state, call, facts, given)
    return approval_request(state, call, facts, verdict, given, because=f"{DEVIATES} {found}.")


def _was_approved(state: SessionState) -> bool:
    """Whether a person has approved the plan of this run: then only deviations stop for a person, and they do."""
    plans = state.plans
    return plans.approved is not None and plans.run != "" and plans.run == state.run


def _must_not_deviate(state: SessionState) -> None:
    if follows(state):
        raise FollowsPlan()


class FollowsPlan(Refused):
    """The plan of this run is to be followed exactly."""

    code = "follow_plan"


def follows(state: SessionState) -> bool:
    """Whether the agent may call nothing but what the plan in force says."""
    plans = state.plans
    return plans.follow and (plans.is_open or (plans.run != "" and plans.run == state.run))


# --- check, gate, commit ----------------------------------------------------------------------------------------


def written(plan: Plan) -> tuple[dict[str, Any], ...]:
    """The notation of a plan, with every call's name."""
    named = (msgspec.structs.replace(call, named=True) for call in plan.calls)
    return tuple(model.written(call) for call in named)


def checked(
    state: SessionState,
    notation: Iterable[Any],
    inputs: dict[str, Any],
    given: Given,
    instances: Sequence[InstanceGiven] = (),
) -> Plan:
    """The plan, read and checked against this session. Raises BadPlan or PlanRefused, naming call and rule."""
    plan = model.read(list(notation))
    if not plan.calls:
        raise model.BadPlan("", "empty", "a plan has at least one call")
    if len(plan.calls) * max(1, len(instances)) > MAX_PLAN:
        raise model.BadPlan("", "max_calls", f"at most {MAX_PLAN} calls, those of all instances together")
    accepted = check.accepted(plan, facts_for(state, plan, inputs, given, instances))
    return Plan(tuple(msgspec.structs.replace(call, named=True) for call in accepted.calls))


def facts_for(
    state: SessionState, plan: Plan, inputs: dict[str, Any], given: Given, instances: Sequence[InstanceGiven] = ()
) -> Facts:
    """What a plan of this session is checked against."""
    views = {**views_of(state.plans, state.pad, ""), "input": inputs}
    if instances:
        views["state"] = {}
        views["input"] = {**inputs, **instances[0].inputs}
    return Facts(
        tools={name: card_of(tool) for name, tool in given.tools.items()},
        views=views,
        form=None,
        instances={name: views_of(state.plans, state.pad, name) for name in state.plans.instances},
        delegates=frozenset({ANONYMOUS, *(call.delegate for call in plan.calls)}),
        many=bool(instances),
    )


def card_of(tool: ToolFacts) -> ToolCard:
    """A tool as plans know it."""
    return ToolCard(tool.name, tool.schema, tool.result, milliseconds=tool.milliseconds, effect=tool.effect)


def _gated(
    state: SessionState, proposal: ev.PlanProposed, opened: Sequence[ev.AnyEvent], given: Given, saved: str = ""
) -> list[ev.AnyEvent]:
    """The plan committed, if policy lets it go on without a person; else proposed, and a request to a person."""
    then = _after(state, (*opened, proposal), given)
    call = then.calls[proposal.round]
    verdict = verdict_on(then, call, plan_tool(then, given), given)
    if verdict.gate == "allow" and not _deviates(state, proposal):
        return [*closed(state), *opened, _committed(state, proposal, saved)]
    because = _deviates(state, proposal)
    request = approval_request(then, call, plan_tool(then, given), verdict, given, because=because)
    return [*opened, proposal, request]


def _deviates(state: SessionState, proposal: ev.PlanProposed) -> str:
    """Why a plan of the agent must be seen although policy would let it go on: another one was approved before."""
    if proposal.source != "model" or not _was_approved(state):
        return ""
    return DEVIATES if proposal.calls != written(state.plans.plan) else ""


def _committed(state: SessionState, proposal: ev.PlanProposed, saved: str = "") -> ev.PlanCommitted:
    return ev.PlanCommitted(
        version=state.plans.version + 1,
        round=proposal.round,
        calls=proposal.calls,
        by=proposal.by,
        source=proposal.source,
        follow=proposal.follow,
        inputs=proposal.inputs,
        instances=proposal.instances,
        saved=saved,
    )


def plan_tool(state: SessionState, given: Given) -> ToolFacts:
    """The plan as a tool: what a person edits of it is checked like any plan."""

    def check_arguments(arguments: object) -> None:
        if not isinstance(arguments, dict) or not isinstance(arguments.get("calls"), list):
            raise Invalid("want the plan's calls", field="arguments.calls")
        members = [InstanceGiven("")] if arguments.get("instances") else []
        checked(state, arguments["calls"], arguments.get("inputs") or {}, given, members)

    return ToolFacts(PLAN, 1, "pure", 1, 1.0, check_arguments, _preview)


def _preview(arguments: dict[str, Any], state: dict[str, Any]) -> str:
    calls = arguments["calls"]
    names = ", ".join(str(call.get("_id") or call.get("_tool")) for call in calls[:8])
    more = f" and {len(calls) - 8} more" if len(calls) > 8 else ""
    count = arguments.get("instances")
    each = f", for each of {count} instances" if count else ""
    return f"Carry out a plan of {len(calls)} calls{each}: {names}{more}"


def approved(state: SessionState, call: Call, tier: int) -> list[ev.AnyEvent]:
    """A plan that a person let through is committed, as it stands in the approved call."""
    arguments, request = call.arguments, state.requests[call.request]
    proposal = ev.PlanProposed(
        round=call.id,
        calls=tuple(arguments["calls"]),
        by=arguments["by"],
        source=arguments["source"],
        follow=arguments["follow"],
        inputs=arguments["inputs"],
        instances=arguments["instances"],
    )
    committed = _committed(state, proposal)
    covers = {"request": call.request, "tier": tier, "quorum": len(request.approvals)}
    return [*closed(state), msgspec.structs.replace(committed, **covers)]


def closed(state: SessionState, because: str = "another plan took its place") -> list[ev.AnyEvent]:
    """The end of the round that is under way, with what waits for a person in it."""
    plans = state.plans
    if not plans.is_open:
        return []
    waits = [each.asked for each in pending(state) if place_of(plans, each.asked.call)]
    withdrawn = [ev.RequestEnded(asked.request, "withdrawn", because) for asked in waits]
    return [*withdrawn, _end(state, because)]


# --- what people ask for ----------------------------------------------------------------------------------------


def proposed(command: ProposePlan, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """A plan from outside. It passes the same check and the same policy as one of the agent."""
    must_live(state)
    _must_be_instances(command.instances)
    plan = checked(state, command.calls, command.inputs, given, command.instances)
    round_id = given.new_id()
    opened = [ev.InstanceOpened(round_id, each.name, each.inputs, each.subject) for each in command.instances]
    proposal = ev.PlanProposed(
        round_id, written(plan), command.by, command.source, command.follow, command.inputs, len(command.instances)
    )
    return _gated(state, proposal, opened, given, command.saved)


def _must_be_instances(instances: Sequence[InstanceGiven]) -> None:
    if len(instances) > MAX_INSTANCES:
        raise TooManyInstances(f"got {len(instances)}, at most {MAX_INSTANCES}", field="instances")
    names = [each.name for each in instances]
    if len(set(names)) < len(names):
        raise Invalid("two instances have the same name", field="instances")
    if any(not name or len(name) > 120 for name in names):
        raise Invalid("an instance needs a name of at most 120 characters", field="instances")


def edited(command: EditPlan, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """Another version of the plan, in the same round. What has begun stays as it was begun."""
    must_live(state)
    plans = state.plans
    if not plans.is_open:
        raise NoPlan()
    if command.version != plans.version:
        raise PlanChanged(f"it is version {plans.version} now, you saw {command.version}")
    members = [InstanceGiven(name) for name in plans.members if name]
    plan = checked(state, command.calls, _inputs(state), given, members)
    for name in _begun_names(plans):
        if plan.by_id.get(name) != plans.plan.by_id[name]:
            raise AlreadyBegun(f"{name} has begun: leave it as it is", field=name)
    return [
        ev.PlanCommitted(
            version=plans.version + 1,
            round=plans.round,
            calls=written(plan),
            by=command.by,
            source="person",
            follow=plans.follow,
            inputs=plans.inputs,
            instances=len(members),
        )
    ]


def _inputs(state: SessionState) -> dict[str, Any]:
    plans = state.plans
    first = plans.instances[plans.members[0]].inputs if plans.many and plans.members else {}
    return {**plans.inputs, **first}


def _begun_names(plans: Plans) -> set[str]:
    dropped = ("skipped", "blocked")
    return {
        name
        for instance in plans.members
        for name, outcome in plans.part(instance).outcomes.items()
        if outcome.began or outcome.status not in dropped
    }


def task_taken(command: TakeTask, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The task of another session's call: its plan, or a note that its agent answers."""
    must_live(state)
    if state.plans.parent:
        raise Refused("this session has its task already")
    taken = ev.TaskTaken(command.parent, command.call)
    if command.plan is None:
        return [taken, ev.MessageAdded("note", command.words, command.by)]
    return [taken, *proposed(command.plan, _after(state, [taken], given), given)]


def delegated(command: Delegated, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The session that does what a running call asks."""
    call = state.calls.get(command.call)
    if call is None:
        raise NotFound(f"there is no call {command.call}")
    if call.status is not CallStatus.RUNNING or call.delegate:
        raise Outdated(f"call {call.id} is {call.status.value}")
    return [ev.CallDelegated(call.id, command.session)]


# --- a call of the plan begins ----------------------------------------------------------------------------------


def next_call(state: SessionState, key: str) -> Call:
    """A call of the plan that is ready, with its arguments resolved. Raises NotFound, Outdated."""
    place = place_of(state.plans, key)
    if place is None or key not in state.plans.ready:
        raise NotFound(f"there is no call {key}")
    name, instance = place
    plans = state.plans
    views, others = views_of(plans, state.pad, instance), others_of(plans, state.pad)
    found = ready.standing(round_of(plans, instance), views, name, others)
    if found.status != "ready" or found.arguments is None:
        raise Outdated(f"call {key} is {found.status}")
    tool = plans.plan.by_id[name].tool
    return Call(key, tool, found.arguments, None, CallStatus.PROPOSED, instance=instance, round=plans.round)


def covering(plans: Plans, call: Call, asked: ev.ApprovalRequested) -> str:
    """The request under which a person has let this call through with the whole plan; empty when policy asks for more,
    or when the call is not what was approved.
    """
    approval, place = plans.approved, place_of(plans, call.id)
    if approval is None or place is None or place[0] not in approval.calls:
        return ""
    return approval.request if asked.tier <= approval.tier and asked.quorum <= approval.quorum else ""


def effect_of(plans: Plans, call: Call, facts: ToolFacts) -> str:
    """What a lost result of the call leads to. A session of its own is opened once, however often it is tried."""
    found = planned(plans, call.id)
    return "delegate" if found is not None and found.delegate else facts.effect


def output(command: Return, call: Call, state: SessionState, given: Given) -> ev.AnyEvent:
    """The result of a call of a plan, or its failure when it fits nowhere: it ran all the same."""
    found = planned(state.plans, call.id)
    if found is None:  # the plan has moved on: the result is recorded, and written nowhere
        return ev.ToolReturned(call.id, command.attempt, command.result)
    try:
        path = _fitting(state, call, found, command, given)
    except Invalid as error:
        reason = f"it ran, but its result was not taken: {error.detail}"
        return ev.ToolFailed(call.id, command.attempt, reason, False, "", error.code, command.result)
    return ev.ToolReturned(call.id, command.attempt, command.result, path, command.outcome)


def _fitting(state: SessionState, call: Call, found: model.Call, command: Return, given: Given) -> str | None:
    """The output path as it stands in the plan. Raises Invalid when the outcome does not exist or the value breaks the
    state's schema.
    """
    outcomes = found.alternatives
    if not 0 <= command.outcome < max(1, len(outcomes)):
        raise BadOutcome(f"got outcome {command.outcome}, there are {len(outcomes)}")
    pad = pad_of(state.plans, state.pad, data_instance(state.plans, call.id))
    here = msgspec.structs.replace(state, pad=pad)
    for path in outcomes[command.outcome] if outcomes else ():
        aimed = msgspec.structs.replace(call, output_path=str(path))
        if broken := misfit(here, aimed, command.result, given):
            raise Invalid(broken)
    return found.output_path or None


def readied(call: Call) -> ev.CallReadied:
    """A call that does not go on by itself, with its resolved arguments."""
    return ev.CallReadied(call.id, call.tool, call.arguments, call.instance)


# --- what follows ------------------------------------------------------------------------------------------------


def followed_up(events: list[ev.AnyEvent], state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """`events`, and what they lead to in the plan: calls that will never run, and the end of the round."""
    if not state.plans.is_open and not state.plans.proposed and not any(_is_start(event) for event in events):
        return events
    return [*events, *_consequences(state, events, given)]


def _is_start(event: ev.AnyEvent) -> bool:
    return isinstance(event, ev.PlanCommitted | ev.PlanProposed)


_ENDING = (ev.ToolReturned, ev.ToolFailed, ev.CallRefused, ev.RequestEnded)


def _consequences(state: SessionState, events: list[ev.AnyEvent], given: Given) -> list[ev.AnyEvent]:
    started = any(isinstance(event, ev.PlanCommitted) for event in events)
    if not started and not any(isinstance(event, _ENDING) for event in events):
        return []
    after = _after(state, events, given)
    if after.ended:
        return []
    found = _unapproved(state, after)
    if not after.plans.is_open:
        return found
    if started:
        dropped = _dropped_at_first(after)
    else:
        ended = {place for event in events if (place := _place_of_end(after, event)) is not None}
        dropped = [each for place in ended for each in _dropped_through(after, *place)]
    found += dropped
    after = _after(after, found, given)
    if after.plans.is_open and after.plans.left == 0:
        found.append(_end(after, ""))
    return found


def _unapproved(before: SessionState, after: SessionState) -> list[ev.AnyEvent]:
    """The calls of a plan that was not let through, each told so."""
    waited = before.plans.proposed
    proposal = after.calls.get(waited) if waited else None
    if proposal is None or proposal.status not in CALL_ENDED or proposal.status is CallStatus.DONE:
        return []
    reason = f"the plan was {proposal.status.value}"
    return [
        ev.CallRefused(call.id, f"plan_{proposal.status.value}", reason)
        for call in after.calls.values()
        if call.status is CallStatus.PROPOSED and call.id.startswith(waited + ".")
    ]


def _place_of_end(after: SessionState, event: ev.AnyEvent) -> tuple[str, str] | None:
    """(name, instance) of the call of the plan that `event` ended."""
    if isinstance(event, ev.RequestEnded):
        request = after.requests.get(event.request)
        key = request.asked.call if request else ""
    elif isinstance(event, _ENDING):
        key = event.call
    else:
        return None
    return place_of(after.plans, key)


def _dropped_at_first(state: SessionState) -> list[ev.AnyEvent]:
    plans, found = state.plans, list[ev.AnyEvent]()
    others = others_of(plans, state.pad)
    for instance in plans.members:
        now = round_of(plans, instance)
        every = ready.standings(now, views_of(plans, state.pad, instance), others).values()
        found += _drops(state, instance, [each for each in every if each.call not in now.outcomes])
    return found


def _dropped_through(state: SessionState, name: str, instance: str) -> list[ev.AnyEvent]:
    plans = state.plans
    views, others = views_of(plans, state.pad, instance), others_of(plans, state.pad)
    return _drops(state, instance, ready.following(round_of(plans, instance), views, (name,), others))


def _drops(state: SessionState, instance: str, standings: Iterable[Standing]) -> list[ev.AnyEvent]:
    """The entries of what will never run: one a call where the agent is told call by call, else one in all."""
    calls = [
        ev.Dropped(each.call, each.status, each.reason, each.kept)  # type: ignore[arg-type]
        for each in standings
        if each.status in ("skipped", "blocked")
    ]
    round_id = state.plans.round
    if state.plans.told == "each":
        return [ev.CallsDropped(round_id, instance, (each,)) for each in calls]
    return [ev.CallsDropped(round_id, instance, tuple(calls))] if calls else []


def _end(state: SessionState, because: str) -> ev.RoundEnded:
    plans = state.plans
    counts: dict[str, int] = {}
    well = 0
    for instance in plans.members:
        outcomes = plans.part(instance).outcomes
        for name in plans.plan.by_id:
            status = outcomes[name].status if name in outcomes else "not begun"
            counts[status] = counts.get(status, 0) + 1
        well += all(outcome.status in ("done", "skipped") for outcome in outcomes.values())
    instances = {"well": well, "not well": len(plans.members) - well} if plans.many else {}
    return ev.RoundEnded(plans.round, counts, instances, because)


def _after(state: SessionState, events: Iterable[ev.AnyEvent], given: Given) -> SessionState:
    at = stamp(given.at)
    for event in events:
        state = evolve(state, event, at)
    return state
