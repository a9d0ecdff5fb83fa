"""What a schema says of one place below it, as far as it can be told without values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from agentstate.engine.schemas.keywords import Schema

Word = Literal["declared", "open", "impossible"]
_KINDS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (type(None), ("null",)),
    (bool, ("boolean",)),
    (int, ("integer", "number")),
    (str, ("string",)),
    (dict, ("object",)),
    (list, ("array",)),
)
_TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")


def at(schema: Schema, names: Iterable[str]) -> tuple[Word, Schema]:
    """Whether a checked schema declares the place, leaves it open or rules it out, and the schema that stands there
    (`true` where nothing is known).
    """
    here: Schema = _resolved(schema, schema)
    for name in names:
        if here is True:
            return "open", True
        if here is False or _is_none(here, ("object", "array")):
            return "impossible", False
        word, below = _member(here, name)
        if word != "declared":
            return word, below
        here = _resolved(schema, below)
    return ("impossible", False) if here is False else ("declared", here)


def types(schema: Schema) -> frozenset[str]:
    """The types that a schema allows, by its `type`, `const` and `enum`; an integer is a number too."""
    if not isinstance(schema, dict):
        return frozenset(_TYPES) if schema else frozenset()
    if "const" in schema:
        return _type_of([schema["const"]])
    if isinstance(schema.get("enum"), list):
        return _type_of(schema["enum"])
    named = schema.get("type", _TYPES)
    found = frozenset([named] if isinstance(named, str) else named)
    return found | {"integer"} if "number" in found else found


def disagree(given: Schema, wanted: Schema) -> str:
    """Why nothing that `given` allows can be `wanted`, or an empty string."""
    have, want = types(given), types(wanted)
    if not have or not want or have & want:
        return ""
    return f"it is {' or '.join(sorted(have))}, want {' or '.join(sorted(want))}"


def _member(schema: dict[str, Any], name: str) -> tuple[Word, Schema]:
    if name in schema.get("properties", {}):
        return "declared", schema["properties"][name]
    if name.isdigit() and "array" in types(schema) and "items" in schema and "prefixItems" not in schema:
        return "declared", schema["items"]
    if not name.isdigit() and "object" not in types(schema):
        return "impossible", False
    # What these words add cannot be told without a value.
    if any(word in schema for word in ("allOf", "anyOf", "oneOf", "if", "patternProperties", "prefixItems")):
        return "open", True
    more = schema.get("additionalProperties", True)
    if more is False and not (name.isdigit() and "array" in types(schema)):
        return "impossible", False
    return ("open", True) if isinstance(more, bool) else ("declared", more)


def _is_none(schema: Schema, wanted: tuple[str, ...]) -> bool:
    return not types(schema) & set(wanted)


def _resolved(root: Schema, schema: Schema) -> Schema:
    for _ in range(32):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        name = schema["$ref"].removeprefix("#/$defs/")
        schema = root if name == "#" or not isinstance(root, dict) else root["$defs"][name]
    return True


def _type_of(values: list[Any]) -> frozenset[str]:
    return frozenset(name for value in values for name in _names(value))


def _names(value: Any) -> tuple[str, ...]:
    for kind, names in _KINDS:
        if isinstance(value, kind):
            return names
    return ("number", "integer")
