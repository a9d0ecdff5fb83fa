"""Plans are read and checked against the session before anything runs; a checked plan has a name for every call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from agentstate.engine.decide.commands import InstanceGiven
from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.decide.schema import in_force
from agentstate.engine.plan import check, model
from agentstate.engine.plan.facts import ANONYMOUS, Facts, ToolCard
from agentstate.engine.plan.model import Plan
from agentstate.engine.references import path
from agentstate.engine.scratchpad.messages import declared, private, values
from agentstate.engine.state import SessionState
from agentstate.engine.state.rounds import MAX_PLAN, board_of, views_of


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
        first = values(board_of(state.plans, instances[0].name))
        views = {**first, "state": {}, "input": {**inputs, **instances[0].inputs}}
    return Facts(
        tools={name: card_of(tool) for name, tool in given.tools.items()},
        views=views,
        form=form.schema if (form := in_force(state, given)) else None,
        data={} if instances else declared(board_of(state.plans, "")),
        # An instance of another data subject cannot be named: nothing of one subject reaches another's entries. Nor can
        # one that a plan which waits for a person would open.
        instances={
            name: views_of(state.plans, state.pad, name)
            for name, part in state.plans.instances.items()
            if not part.kid and (part.round or part.data)
        },
        delegates=given.saved | {ANONYMOUS},
        private=tuple(map(path, (*given.memory.private, *private(board_of(state.plans, ""))))),
        many=bool(instances),
    )


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
