"""Each call of a plan for itself: its tool, its meta-properties, its parameters, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentstate.engine import guards, references, schemas
from agentstate.engine.plan import when
from agentstate.engine.plan.check.findings import Finding
from agentstate.engine.plan.facts import ANONYMOUS, Facts, ToolCard
from agentstate.engine.plan.model import Call, written
from agentstate.engine.references import BadReference, Path
from agentstate.engine.scratchpad import scopes

# Rules that speak of the shape of an object or a list, whatever the values in it are.
_SHAPE = frozenset(
    {"required", "type", "minProperties", "maxProperties", "minItems", "maxItems", "propertyNames", "dependentRequired"}
)
_PLACE = frozenset({"additionalProperties", "false", "falseSchema", "unevaluatedProperties"})


def findings(call: Call, facts: Facts, usable: bool) -> Iterator[Finding]:
    """What is wrong with a call, whoever else is in the plan. `usable`: its tool's schemas can be used."""
    unreadable = list(_references(call))
    yield from unreadable
    yield from _guard(call)
    yield from _names(call, facts)
    card = facts.tools.get(call.tool)
    if card is None:
        yield Finding("unknown_tool", call.id, f"there is no tool called {call.tool!r}")
        return
    if call.activity and call.activity not in card.activities:
        yield Finding("unknown_activity", call.id, f"{call.tool} has no activity {call.activity!r}")
    if not usable:
        return
    yield from _properties(call, card)
    if not unreadable:
        yield from _parameters(call, card)


def _references(call: Call) -> Iterator[Finding]:
    try:
        _ = call.refers, call.outputs
        for scope in call.scopes or ():
            scopes.read(scope)
    except BadReference as error:
        yield Finding("bad_reference", call.id, error.detail)


def _guard(call: Call) -> Iterator[Finding]:
    if not call.when:
        return
    try:
        when.compiled(call.when)
        read = when.reads(call.when)
    except guards.BadGuard as error:
        yield Finding("bad_guard", call.id, error.detail)
        return
    if Path("state") in read:
        yield Finding("reads_all", call.id, "name what the guard reads of the state, so that it waits for it")


def _names(call: Call, facts: Facts) -> Iterator[Finding]:
    if call.instance and facts.many:
        yield Finding(
            "names_instance", call.id, f"the plan is applied to each instance, it cannot name {call.instance!r}"
        )
    elif call.instance and call.instance not in facts.instances:
        yield Finding("unknown_instance", call.id, f"there is no instance {call.instance!r}")
    if call.delegate and call.delegate != ANONYMOUS and call.delegate not in facts.delegates:
        yield Finding("unknown_delegate", call.id, f"there is no saved request {call.delegate!r}")
    if call.delegate and not call.scopes:
        yield Finding("sees_nothing", call.id, "nothing but its parameters reaches the delegate")


def _properties(call: Call, card: ToolCard) -> Iterator[Finding]:
    if not card.required and not card.properties:
        return
    given = written(call)
    for name in card.required:
        if name not in given:
            yield Finding("fixed_property", call.id, f"{call.tool} wants {name}")
    for name, schema in card.properties.items():
        if name in given:
            for problem in schemas.problems(schema, given[name], name):
                yield Finding("fixed_property", call.id, f"{problem.path}: {problem.rule}: {problem.detail}")


def _parameters(call: Call, card: ToolCard) -> Iterator[Finding]:
    holes = [f"parameters.{place}" for place, _ in call.refers]
    known = call.parameters if not holes else _with_holes(call.parameters)
    for problem in schemas.problems(card.parameters, known, "parameters", limit=200):
        if _tells(problem, holes):
            yield Finding("bad_parameters", call.id, f"{problem.path}: {problem.rule} {problem.detail}".strip())


def _tells(problem: schemas.Problem, holes: list[str]) -> bool:
    """Whether a problem stands whatever the values will be that are not known yet."""
    if any(problem.path == hole or problem.path.startswith(f"{hole}.") for hole in holes):
        return problem.rule in _PLACE
    if any(hole.startswith(f"{problem.path}.") for hole in holes):
        return problem.rule in _SHAPE
    return True


def _with_holes(value: Any) -> Any:
    """The parameters with nothing where references stand."""
    if isinstance(value, str):
        if references.is_reference(value):
            return None
        return value[1:] if value.startswith(references.DAGGER) else value
    if isinstance(value, dict):
        return {key: _with_holes(each) for key, each in value.items()}
    return [_with_holes(each) for each in value] if isinstance(value, list) else value
