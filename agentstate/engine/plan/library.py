"""Saved plans: named, versioned, with declared inputs, so that a plan that was worked out once is used again.

A saved plan is a document; every version is kept by whoever keeps it. It is checked without any values: what it reads
must come from its declared inputs, from what it writes itself, or from an alternative.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import guards, references, schemas
from agentstate.engine.plan.check import Finding, PlanRefused, check
from agentstate.engine.plan.facts import Facts, ToolCard
from agentstate.engine.plan.model import MAX_BYTES, BadPlan, Call, Plan, read, write
from agentstate.engine.plan.progress import CONDITION_NAMES

MAX_CONDITIONS = 50
WORD = re.compile(r"[\w.@:/+-]*\w")  # in a text: what could be a reference
OUTPUT = "(output)"  # how findings name the output; no call is called like that
INPUT = "input"  # the kind of what a plan is given
NO_INPUTS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


class Saved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan under a name. `inputs` is the schema of what it is given, `output` a structure with references that its
    end gives, `result` the schema of that, `conditions` what must hold then (CEL over state, input and output).
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,79}\Z")]
    version: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    calls: tuple[dict[str, Any], ...]
    about: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    inputs: dict[str, Any] = msgspec.field(default_factory=lambda: dict(NO_INPUTS))
    output: Any = None
    result: dict[str, Any] | bool = True
    conditions: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_CONDITIONS)] = ()

    @property
    def reference(self) -> str:
        """How others name it: `transfer@3`."""
        return f"{self.name}@{self.version}"

    @property
    def plan(self) -> Plan:
        """The plan itself. Raises BadPlan."""
        return read(self.calls)

    @property
    def digest(self) -> str:
        """SHA-256 over all of it but the version, in hex: saving the same again is no new version."""
        return ev.digest(replace(self, version=1))


_decoder = msgspec.json.Decoder(Saved, float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number")


def load(data: bytes) -> Saved:
    """A saved plan from its document. Raises BadPlan, BadSchema, BadGuard, BadReference."""
    if len(data) > MAX_BYTES:
        raise BadPlan("", "max_bytes", f"at most {MAX_BYTES} bytes")
    try:
        saved = _decoder.decode(data)
    except RecursionError:
        raise BadPlan("", "max_depth", "the JSON is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise BadPlan("", "document", str(error)[:300]) from None
    return checked(saved)


def dump(saved: Saved) -> bytes:
    """The document of a saved plan; `load` is the inverse."""
    return _encoder.encode(saved)


def checked(saved: Saved) -> Saved:
    """The saved plan, if all of its parts can be read. Raises BadPlan, BadSchema, BadGuard, BadReference."""
    read(saved.calls)
    schemas.check_schema(saved.inputs)
    schemas.check_schema(saved.result)
    list(references.within(saved.output))
    for condition in saved.conditions:
        guards.expressed(condition, CONDITION_NAMES)
    return saved


def texts(plan: Saved) -> frozenset[str]:
    """Returns every text in the document: whole values, and the words of each."""
    found, left = set[str](), [msgspec.to_builtins(plan, builtin_types=(Decimal,))]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found |= {each, *WORD.findall(each)}
        elif isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list | tuple):
            left += each
    return frozenset(found)


def saved(name: str, plan: Plan, inputs: dict[str, Any], before: Saved | None = None, **more: Any) -> Saved:
    """A plan to be kept under `name`, as the version after `before`; the same as before is `before` itself. `more` are
    fields of Saved. Raises BadPlan, BadSchema, BadGuard, BadReference.
    """
    made = Saved(name, before.version + 1 if before else 1, tuple(write(plan)), inputs=inputs, **more)
    try:
        made = msgspec.convert(msgspec.to_builtins(made, builtin_types=(Decimal,)), Saved)
    except msgspec.ValidationError as error:
        raise BadPlan("", "document", str(error)[:300]) from None
    return before if before is not None and before.digest == made.digest else checked(made)


def findings(plan: Saved, facts: Facts) -> tuple[Finding, ...]:
    """What is wrong with a saved plan, whatever it will be given: of `facts` only tools and names count. Its output is
    judged like the parameters of one more call.
    """
    output = Call(OUTPUT, OUTPUT, {"output": plan.output})
    wanted = plan.result if isinstance(plan.result, bool) or "$defs" not in plan.result else True
    card = ToolCard(OUTPUT, {"type": "object", "properties": {"output": wanted}})
    facts = _without_values(plan, facts)
    return check(Plan((*plan.plan.calls, output)), replace(facts, tools={**facts.tools, OUTPUT: card}))


def instantiate(plan: Saved, inputs: dict[str, Any], facts: Facts) -> Plan:
    """The plan to be run on these inputs. Raises BreaksSchema naming the input and the rule, PlanRefused."""
    schemas.validate(plan.inputs, inputs, INPUT)
    errors = [finding for finding in findings(plan, facts) if finding.severity == "error"]
    if errors:
        raise PlanRefused(errors)
    return plan.plan


def _without_values(plan: Saved, facts: Facts) -> Facts:
    kinds: dict[str, Any] = {kind: {} for kind in facts.views if kind not in (INPUT, "state")}
    return replace(facts, views={"state": {}, **kinds}, declared={**facts.declared, INPUT: plan.inputs})
