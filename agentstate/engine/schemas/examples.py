"""Values that a schema allows, made from the schema alone: always the same ones, a handful, small.

They let two versions of a schema be tried against each other before any stored state meets them. What is made is
validated; where nothing valid can be made the schema has to give `examples` itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from agentstate.engine.money import WORD as MONEY
from agentstate.engine.schemas import compiled, sampling
from agentstate.engine.schemas.declared import Declared
from agentstate.engine.schemas.descent import layers, validator
from agentstate.engine.schemas.refusals import BadSchema

PICKS = 6  # rounds; each takes another alternative of every choice
MAX_LEVELS = 6  # filled in; a recursive definition ends there
DEEPEST = 16  # of what is required within what is required
_GIVEN = ("const", "examples", "default", "enum")


def examples(declared: Declared) -> list[Any]:
    """Full and sparse states that `declared` allows as half filled forms; every property of the state is in one.

    Raises BadSchema naming the first property for which nothing valid could be made.
    """
    root, judge = declared.schema, validator(declared.source, (), False)
    made: list[Any] = [{}]
    for pick, filled in product(range(PICKS), (MAX_LEVELS, 2, 1, 0)):
        value = _without_faults(judge, _value(root, root, pick, filled))
        made += [value] if value not in made else []
    for name, schema in root.get("properties", {}).items():
        if schema is not False and not any(name in value for value in made):
            raise BadSchema(f"state.{name}", "examples", "no example could be made: give some")
    return made


def _without_faults(judge: compiled.Validator, value: dict[str, Any]) -> dict[str, Any]:
    """`value` without those of its properties in which something is wrong."""
    faults = {problem.path.split(".")[1] for problem in compiled.told(judge, value, "state") if "." in problem.path}
    kept = {name: item for name, item in value.items() if name[:50] not in faults}
    return kept if judge.is_valid(kept) else {}


def _value(root: Any, node: Any, pick: int, filled: int) -> Any:
    """A value of `node`. Each `pick` takes other alternatives; `filled` levels have what is not required as well."""
    if filled < MAX_LEVELS - DEEPEST:
        return None
    found = _merged(root, node, pick)
    if any(word in found for word in _GIVEN):
        return _given(found, pick)
    if found.get(MONEY) is True:
        return {"minor": (100, 430_000, -1)[pick % 3], "currency": "USD"}
    kinds = found.get("type", "object" if "properties" in found else "string")
    kind = kinds if isinstance(kinds, str) else kinds[pick % len(kinds)]
    if kind == "object":
        return dict(_fields(root, found, pick, filled))
    if kind == "array":
        return _items(root, found, pick, filled)
    return sampling.scalar(kind, found, pick)


def _given(found: dict[str, Any], pick: int) -> Any:
    if "const" in found:
        return found["const"]
    if found.get("examples"):
        return found["examples"][pick % len(found["examples"])]
    return found["enum"][pick % len(found["enum"])] if "enum" in found else found["default"]


def _fields(root: Any, found: dict[str, Any], pick: int, filled: int) -> Iterator[tuple[str, Any]]:
    required = found.get("required", [])
    for name, inner in found.get("properties", {}).items():
        if inner is not False and (name in required or filled > 0):
            yield name, _value(root, inner, pick, filled - 1)
    rest = found.get("additionalProperties")
    if filled > 0 and isinstance(rest, dict):
        yield "other", _value(root, rest, pick, filled - 1)


def _items(root: Any, found: dict[str, Any], pick: int, filled: int) -> list[Any]:
    first = [_value(root, inner, pick, filled - 1) for inner in found.get("prefixItems", ())]
    wanted = max(found.get("minItems", 0), int(filled > 0))
    more = range(len(first), wanted) if found.get("items", True) is not False else ()
    return [*first, *(_value(root, found.get("items", True), pick + index, filled - 1) for index in more)]


def _merged(root: Any, node: Any, pick: int) -> dict[str, Any]:
    """`node` with its definitions, all of `allOf` and one of each choice laid over each other."""
    if not isinstance(node, dict):
        return {}
    found: dict[str, Any] = {}
    waiting = layers(root, node)
    for layer in waiting:
        for word, value in layer.items():
            if word == "properties":
                found[word] = {**found.get(word, {}), **value}
            elif word == "required":
                found[word] = [*found.get(word, []), *value]
            else:
                found[word] = value
        waiting += [part for whole in layer.get("allOf", ()) for part in layers(root, whole)]
        for choice in ("anyOf", "oneOf"):
            if choice in layer:
                waiting += layers(root, layer[choice][pick % len(layer[choice])])
    return found
