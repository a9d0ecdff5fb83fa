"""What can be known of a value before it is there: from schemas, place by place, and from guards, path by path."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import schemas
from agentstate.engine.guards import BadGuard
from agentstate.engine.plan import when
from agentstate.engine.plan.check import shapes
from agentstate.engine.references import Path
from tests.core.made import values
from tests.searching import drawn

TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "again": {"$ref": "#"},
        "person": {"$ref": "#/$defs/person"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/person"}},
        "pair": {"prefixItems": [{"type": "string"}]},
        "choice": {"anyOf": [{"properties": {"x": {}}}]},
        "never": False,
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "additionalProperties": False,
    "$defs": {"person": {"type": "object", "properties": {"age": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    ("path", "word", "kinds"),
    [
        ("name", "declared", {"string"}),
        ("name.x", "impossible", set()),
        ("other", "impossible", set()),
        ("never", "impossible", set()),
        ("again.again.name", "declared", {"string"}),
        ("person.age", "declared", {"integer"}),
        ("person.shoes", "open", None),
        ("person.shoes.size", "open", None),
        ("list.3.age", "declared", {"integer"}),
        ("list.age", "impossible", set()),
        ("pair.0", "open", None),
        ("choice.x", "open", None),
        ("map.anything", "declared", {"integer"}),
    ],
)
def test_a_schema_declares_a_place_leaves_it_open_or_rules_it_out(path, word, kinds):
    found, schema = shapes.at(TREE, path.split("."))
    assert found == word
    assert kinds is None or shapes.types(schema) == kinds


@given(values, st.lists(st.sampled_from(["name", "again", "person", "age", "list", "0", "map", "x"]), max_size=4))
def test_what_is_said_to_be_impossible_stands_in_no_value_that_the_schema_allows(value, names):
    if shapes.at(TREE, names)[0] != "impossible":
        return
    whole = value
    for name in reversed(names):
        whole = [whole] if name == "0" else {name: whole}
    assert schemas.problems(TREE, whole)


@given(values, st.sampled_from(["null", "boolean", "object", "array", "number", "string", "integer"]))
def test_types_that_disagree_allow_no_common_value(value, kind):
    if shapes.disagree({"const": value}, {"type": kind}):
        assert schemas.problems({"type": kind}, value)
    assert not shapes.disagree({"const": value}, {"enum": [value]})


@pytest.mark.parametrize(
    ("guard", "read"),
    [
        ("true", []),
        ("state.a.b > 1 && has(state.c.d)", ["state.a.b", "state.c.d"]),
        ("state['a'].b == 'state.z'", ["state.a.b"]),
        ("state.list.exists(x, x.a > state.q)", ["state.list", "state.q"]),
        ("state.list[0].x == 1", ["state.list"]),
        ("state[state.key] == 1", ["state", "state.key"]),
        ("size(state) > 0", ["state"]),
        ("arguments.state.x == input.state", []),
        ("state.a.startsWith('x') /* state.b */", None),
    ],
)
def test_a_guard_names_what_it_reads(guard, read):
    if read is None:
        with pytest.raises(BadGuard):
            when.reads(guard)
    else:
        assert sorted(map(str, when.reads(guard))) == read


@pytest.mark.parametrize("guard", ["has(state.a.b)", "state.a.b == 1", "has(state.a) && state.a.b == 1"])
@given(values)
@settings(max_examples=drawn(25))
def test_a_guard_sees_what_it_names_and_nothing_else(guard, other):
    for state in ({}, {"a": {}}, {"a": {"b": 1}}):
        beside = {**state, "other": other}
        if "a" in state and "has(state.a) " not in guard:
            beside["a"] = {**state["a"], "c": other}
        assert when.seen(guard, beside) == when.seen(guard, state)


def test_a_guard_that_reads_the_state_as_a_whole_sees_it():
    assert when.seen("size(state) == 1", {"x": 1}) == {"x": 1}
    assert when.seen("state.a.b == state.a", {"a": {"b": 1, "c": 2}, "d": 3}) == {"a": {"b": 1, "c": 2}}
    assert when.reads("has(state.a)") == (Path("state", ("a",)),)
