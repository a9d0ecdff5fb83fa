"""Plans are read and checked against the session before anything runs; a checked plan has a name for every call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from agentstate.engine.decide.commands.plans import InstanceGiven
from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.decide.schema import in_force, place_named, write_rules
from agentstate.engine.plan import check, model, when
from agentstate.engine.plan.facts import ANONYMOUS, Facts, ToolCard
from agentstate.engine.plan.model import Plan
from agentstate.engine.references import path
from agentstate.engine.scratchpad.messages import declared, private_paths, shown
from agentstate.engine.scratchpad.private import met_by, visible_views
from agentstate.engine.state.rounds import (
    MAX_PLAN,
    board_of,
    data_instance,
    planned,
    private_places,
    private_schemas_of,
    views_of,
)
from agentstate.engine.state.session import Call, SessionState


def written(plan: Plan) -> tuple[dict[str, Any], ...]:
    """The notation of a plan, with every call's name."""
    named = (replace(call, named=True) for call in plan.calls)
    return tuple(model.written(call) for call in named)


def checked(
    state: SessionState,
    notation: Iterable[Any],
    inputs: dict[str, Any],
    context: CommandContext,
    instances: Sequence[InstanceGiven] = (),
    *,
    by_model: bool = False,
) -> Plan:
    """The plan, read and checked against this session. Raises BadPlan or PlanRefused, naming call and rule."""
    plan = model.read(list(notation))
    if by_model:
        plan = Plan(tuple(_placed(call, context) for call in plan.calls))
    if not plan.calls:
        raise model.BadPlan("", "empty", "a plan has at least one call")
    if len(plan.calls) * max(1, len(instances)) > MAX_PLAN:
        raise model.BadPlan("", "max_calls", f"at most {MAX_PLAN} calls, those of all instances together")
    facts = replace(facts_for(state, plan, inputs, context, instances), by_model=by_model)
    accepted = check.accepted(plan, facts)
    return Plan(tuple(replace(call, named=True) for call in accepted.calls))


def _placed(call: model.Call, context: CommandContext) -> model.Call:
    """The call with the place of its tool's result, which a model neither chooses nor leaves out."""
    if call.output_path or call.delegate or call.tool not in context.output_paths:
        return call
    return replace(call, output_path=place_named(call.tool, call.parameters, context))


def facts_for(
    state: SessionState,
    plan: Plan,
    inputs: dict[str, Any],
    context: CommandContext,
    instances: Sequence[InstanceGiven] = (),
) -> Facts:
    """What a plan of this session is checked against."""
    views = {**_shown(state, "", context), "input": inputs}
    if instances:
        first = shown(board_of(state.plans, instances[0].name), private_schemas_of(state.plans, instances[0].name))
        views = {**first, "state": {}, "input": {**inputs, **instances[0].inputs}}
    return Facts(
        tools={name: card_of(tool) for name, tool in context.tools.items()},
        views=views,
        form=form.schema if (form := in_force(state, context)) else None,
        data={} if instances else declared(board_of(state.plans, "")),
        # An instance of another data subject cannot be named: nothing of one subject reaches another's entries. Nor can
        # one that a plan which waits for a person would open.
        instances={
            name: _shown(state, name, context)
            for name, part in state.plans.instances.items()
            if not part.kid and (part.round or part.data)
        },
        delegates=context.saved | {ANONYMOUS},
        private=tuple(map(path, private_places(state.plans, context.memory.private))),
        rules=write_rules(state, context),
        many=bool(instances),
    )


def _shown(state: SessionState, instance: str, context: CommandContext) -> dict[str, Any]:
    """What references of that instance may read: a check that saw more would tell whether a private value is there."""
    views = views_of(state.plans, state.pad, instance)
    board = board_of(state.plans, instance)
    return visible_views(views, board, context.memory.private, private_schemas_of(state.plans, instance))


def private_reading(state: SessionState, call: Call, context: CommandContext) -> str:
    """Why a call of the plan may not begin: it reads what has become private since the plan was checked. Empty: it does
    not.
    """
    found = planned(state.plans, call.id)
    brought = private_schemas_of(state.plans, data_instance(state.plans, call.id)) if found is not None else {}
    hidden = tuple(map(path, (*context.memory.private, *private_paths(brought))))
    if found is None or not hidden:
        return ""
    reads = (*(each for _, reference in found.refers for each in reference.paths), *when.reads(found.when))
    return next((f"it reads {met}, which is private" for each in reads if (met := met_by(each, hidden))), "")


def card_of(tool: ToolFacts) -> ToolCard:
    """A tool as plans know it."""
    return ToolCard(
        tool.name,
        tool.schema,
        tool.result,
        milliseconds=tool.milliseconds,
        effect=tool.effect,
        activity=not tool.answered,
        activities=tool.activities,
    )
