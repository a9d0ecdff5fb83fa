"""JSON Schemas from anybody: what is not safe is refused by name, and values are judged by path and rule."""

from __future__ import annotations

import time
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import schemas
from agentstate.engine.schemas import BadSchema, BreaksSchema
from tests.searching import drawn

TRANSFER = {
    "type": "object",
    "properties": {
        "amount": {"x-money": True},
        "to": {"type": "string", "pattern": "^[0-9]{10}$"},
        "priority": {"type": "integer", "minimum": 1, "maximum": 3},
        "kind": {"enum": ["own", "payee"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        "closed": False,
    },
    "required": ["amount"],
    "additionalProperties": False,
}
AMOUNT = {"minor": 430000, "currency": "USD"}


def deep(levels: int) -> dict:
    value: dict = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def doubled(levels: int) -> dict:
    """A short schema that asks 2^levels times."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**twice, f"d{levels}": {"type": "object"}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({"$ref": "https://example.com/schema"}, "$ref"),
        ({"$ref": "file:///etc/passwd"}, "$ref"),
        ({"$ref": "#/properties/a"}, "$ref"),
        ({"$ref": "#/$defs/nowhere"}, "$ref"),
        ({"$id": "https://example.com/"}, "$id"),
        ({"$dynamicRef": "#meta"}, "$dynamicRef"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "$schema"),
        ({"type": "money"}, "anyOf"),
        ({"properties": 3}, "type"),
        (3, "type"),
        (None, "type"),
        ({"pattern": "(a+)+$"}, "nested_repeat"),
        ({"pattern": "^(\\d+)*$"}, "nested_repeat"),
        ({"pattern": "(a|a)*$"}, "nested_repeat"),
        ({"pattern": "(?:a{1,20})*"}, "nested_repeat"),
        ({"patternProperties": {"(x+x+)+y": True}}, "nested_repeat"),
        ({"pattern": "(?=a)b"}, "pattern"),
        ({"pattern": "(a)\\1"}, "pattern"),
        ({"pattern": "a{1,1000}{1,1000}"}, "pattern"),
        ({"pattern": "["}, "pattern"),
        ({"pattern": "a" * 501}, "max_pattern"),
        ({"properties": {f"p{n}": {"pattern": "a"} for n in range(101)}}, "max_patterns"),
        ({"$defs": {f"d{n}": True for n in range(201)}}, "max_defs"),
        ({"minimum": 0.5}, "float"),
        ({"enum": list(range(10_001))}, "max_nodes"),
        ({"enum": ["a" * 200_001]}, "max_text"),
        (deep(10_000), "max_depth"),
        (doubled(40), "max_ways"),
        ({"$ref": "#"}, "endless_ref"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}, "endless_ref"),
        ({"allOf": [{"properties": {"a": {"$ref": "#"}}}] * 2}, "repeated_recursion"),
        ({"x-money": "yes"}, "x-money"),
        ({"x-money": True, "type": "number"}, "x-money"),
    ],
)
def test_a_schema_that_is_not_safe_is_refused_by_its_rule_and_at_once(schema, rule):
    began = time.process_time()
    with pytest.raises(BadSchema) as refusal:
        schemas.check_schema(schema)
    assert refusal.value.facts["rule"] == rule
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "schema",
    [
        True,
        TRANSFER,
        {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        {"$defs": {"list": {"properties": {"next": {"$ref": "#/$defs/list"}}}}, "$ref": "#/$defs/list"},
        {"pattern": "^([a-z]{2}\\.){1,5}$"},
        {"pattern": "^(a|b)*$"},
        {"minimum": Decimal("0.5")},
        {"x-vendor": {"anything": 1}},
    ],
)
def test_an_ordinary_schema_is_taken(schema):
    schemas.check_schema(schema)


@pytest.mark.parametrize(
    ("value", "path", "rule"),
    [
        ({}, "state.transfer.amount", "required"),
        ({"amount": 4300.0}, "state.transfer.amount", "float"),
        ({"amount": {"minor": 1.0, "currency": "USD"}}, "state.transfer.amount.minor", "float"),
        ({"amount": {"minor": Decimal("1.0"), "currency": "USD"}}, "state.transfer.amount", "x-money"),
        ({"amount": {"minor": True, "currency": "USD"}}, "state.transfer.amount", "x-money"),
        ({"amount": {"minor": 1, "currency": "dollars"}}, "state.transfer.amount", "x-money"),
        ({"amount": AMOUNT, "priority": 4}, "state.transfer.priority", "maximum"),
        ({"amount": AMOUNT, "priority": "high"}, "state.transfer.priority", "type"),
        ({"amount": AMOUNT, "kind": "gift"}, "state.transfer.kind", "enum"),
        ({"amount": AMOUNT, "to": "12"}, "state.transfer.to", "pattern"),
        ({"amount": AMOUNT, "tags": ["ok", "long"]}, "state.transfer.tags.1", "maxLength"),
        ({"amount": AMOUNT, "closed": 1}, "state.transfer.closed", "false"),
        ({"amount": AMOUNT, "memo": "x"}, "state.transfer.memo", "additionalProperties"),
        ({"amount": AMOUNT, "priority": 10**500}, "state.transfer.priority", "max_digits"),
        ({"amount": AMOUNT, "priority": Decimal("1E+999999")}, "state.transfer.priority", "max_digits"),
        ({"amount": AMOUNT, "priority": Decimal("NaN")}, "state.transfer.priority", "not_json"),
        ({"amount": AMOUNT, "to": "\ud800"}, "state.transfer.to", "text"),
        ({"amount": AMOUNT, "to": b"12"}, "state.transfer.to", "not_json"),
        ({"amount": AMOUNT, 1: 2}, "state.transfer", "not_json"),
        (deep(10_000), "state.transfer", "max_depth"),
        ([0] * 100_001, "state.transfer", "max_nodes"),
        (["x" * 600_000] * 2, "state.transfer", "max_text"),
        ([], "state.transfer", "type"),
    ],
)
def test_a_value_that_breaks_its_schema_is_refused_by_path_and_rule(value, path, rule):
    with pytest.raises(BreaksSchema) as refusal:
        schemas.validate(TRANSFER, value, "state.transfer")
    assert (refusal.value.facts["field"], refusal.value.facts["rule"]) == (path, rule)


def test_a_refusal_never_holds_the_value():
    with pytest.raises(BreaksSchema) as refusal:
        schemas.validate({"type": "object", "properties": {"name": {"maxLength": 3}}}, {"name": "Maria Soto"})
    assert "Maria" not in str(refusal.value)
    assert refusal.value.detail == "value.name: maxLength: want 3"


def test_all_problems_are_told_up_to_a_limit():
    told = schemas.problems(TRANSFER, {"priority": 9, "kind": "gift"})
    assert [(problem.path, problem.rule) for problem in told] == [
        ("value.priority", "maximum"),
        ("value.kind", "enum"),
        ("value.amount", "required"),
    ]
    assert len(schemas.problems({"items": False}, [0] * 500, limit=7)) == 7


def test_a_pattern_takes_time_linear_in_the_text():
    began = time.process_time()
    with pytest.raises(BreaksSchema):
        schemas.validate({"type": "string", "pattern": "^[a-z ]+x[a-z ]+y$"}, "a" * 900_000)
    assert time.process_time() - began < 3


texts = st.text(max_size=6) | st.sampled_from(["#", "#/$defs/a", "object", "(a+)+", "\ud800"])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | texts | st.binary(max_size=3)
words = st.sampled_from(
    [
        *(
            "type",
            "properties",
            "items",
            "allOf",
            "anyOf",
            "not",
            "$ref",
            "$defs",
            "pattern",
            "required",
            "enum",
            "const",
        ),
        *(
            "patternProperties",
            "additionalProperties",
            "x-money",
            "minimum",
            "unevaluatedProperties",
            "dependentSchemas",
        ),
        *("prefixItems", "if", "then", "$schema", "format", "multipleOf", "a"),
    ]
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | texts | st.integers(), inner, max_size=4),
)


@pytest.mark.parametrize("definitions", [1, 1.5, True, "text", ["a"]])
def test_definitions_that_are_no_object_are_refused_by_name(definitions):
    with pytest.raises(schemas.BadSchema):
        schemas.check_schema({"$defs": definitions})


@settings(max_examples=drawn(300))
@given(anything, anything)
def test_whatever_is_handed_in_is_taken_or_refused_by_name(schema, value):
    with suppress(BadSchema, BreaksSchema):
        schemas.check_schema(schema)
        schemas.validate(schema, value)
