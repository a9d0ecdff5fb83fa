"""What a plan is checked and dry-run against: the tools that exist, the values that are there, the names that mean
something. The outside hands it in; nothing here looks anything up.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import schemas
from agentstate.engine.plan.model import META, Call, Plan, read, written
from agentstate.engine.references import Path, Views
from agentstate.engine.writers import Output, WriteRules

ANONYMOUS = "anonymous"  # a delegate without a saved request
BATCH = "batch"  # waits for a session that carries out a part of the instances
# What a delegate gives, whatever the tool of the call would have given: its session and what that came to.
DELEGATED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "session": {"type": "string"},
        "output": True,
        "state": {"type": "object"},
        "instances": {"type": "integer"},
        "well": {"type": "integer"},
        "calls": {"type": "object"},
    },
    "required": ["session"],
}


class ToolCard(msgspec.Struct, frozen=True, dict=True):
    """A tool as plans know it. `arguments` is the schema of its parameters, and fixes (`const`) or restricts (`enum`)
    meta-properties where it names them; `result` that of what it gives, or None where it is not declared;
    `example` stands for its result in a dry run. `activities` are the functions beside its own that may execute it; a
    call of a tool without one of its own (`activity`) that names none of them is answered by the model.
    """

    name: str
    arguments: schemas.Schema = True
    result: schemas.Schema | None = None
    example: Any = msgspec.UNSET
    milliseconds: int = 0  # how long it usually takes, as declared
    effect: str = "pure"
    activity: bool = True
    activities: frozenset[str] = frozenset()

    @cached_property
    def properties(self) -> Mapping[str, schemas.Schema]:
        """What the tool says of meta-properties."""
        found = self.arguments.get("properties", {}) if isinstance(self.arguments, dict) else {}
        return {name: schema for name, schema in found.items() if name in META}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The meta-properties that a call must give."""
        return tuple(name for name in _required(self.arguments) if name in META)

    @cached_property
    def parameters(self) -> schemas.Schema:
        """The schema of the parameters alone."""
        if not isinstance(self.arguments, dict) or not self.properties:
            return self.arguments
        rest = {name: schema for name, schema in self.arguments["properties"].items() if name not in META}
        required = [name for name in _required(self.arguments) if name not in META]
        return {**self.arguments, "properties": rest, **({"required": required} if required else {"required": []})}


class Facts(msgspec.Struct, frozen=True):
    """`views` holds the values that are there (kind -> object; a kind that is not in it or in `declared` does not
    exist); `declared` the schemas of kinds whose values come later; `form` the schema of the state, `data` those that
    hold for data messages.
    """

    tools: Mapping[str, ToolCard]
    views: Views = msgspec.field(default_factory=lambda: {"state": {}})
    declared: Mapping[str, schemas.Schema] = {}
    form: schemas.Schema | None = None
    data: Mapping[str, schemas.Schema] = {}
    instances: Mapping[str, Views] = {}
    delegates: frozenset[str] = frozenset()
    private: tuple[Path, ...] = ()  # what no parameter and no guard may read
    rules: WriteRules = WriteRules()  # who may write which place of the state
    by_model: bool = False  # a model wrote the plan
    many: bool = False  # the plan is to be applied to many instances, so its calls may name none

    def card_of(self, call: Call) -> ToolCard | None:
        """The tool of a call as it acts there: who hands it over is given what the delegate gives."""
        card = self.tools.get(call.tool)
        return replace(card, result=DELEGATED, example=msgspec.UNSET) if card is not None and call.delegate else card

    def output_of(self, call: Call) -> Output:
        """Where a call writes."""
        return Output(call.tool, call.parameters, call.alternatives, bool(call.delegate), self.by_model)

    def of(self, instance: str) -> Views:
        """What calls of this instance may read."""
        return self.instances.get(instance, {}) if instance else self.views


def completed(plan: Plan, facts: Facts) -> Plan:
    """The plan with the meta-properties that its tools fix put in where a call leaves them out."""
    calls = tuple(_completed(call, facts.tools.get(call.tool)) for call in plan.calls)
    if all(new is old for new, old in zip(calls, plan.calls, strict=True)):
        return plan
    return Plan(calls)


def _completed(call: Call, card: ToolCard | None) -> Call:
    if card is None or not isinstance(card.arguments, dict):
        return call
    fixed = _fixed(card)
    if not fixed:
        return call
    given = written(call)
    missing = {name: value for name, value in fixed.items() if name not in given}
    if not missing:
        return call
    return replace(read([{**given, **missing}]).calls[0], id=call.id, named=call.named)


def _fixed(card: ToolCard) -> dict[str, Any]:
    return {
        name: schema["const"]
        for name, schema in card.properties.items()
        if isinstance(schema, dict) and "const" in schema and name not in ("_tool", "_id")
    }


def _required(schema: schemas.Schema) -> list[str]:
    required = schema.get("required", []) if isinstance(schema, dict) else []
    return required if isinstance(required, list) else []
