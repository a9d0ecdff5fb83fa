"""Expressions over names of the caller's choice: what they may read, what they amount to, what they may cost."""

from __future__ import annotations

import time

import pytest

from agentstate.engine import guards
from agentstate.engine.guards import BadGuard, UnreadableGuard
from agentstate.engine.guards.syntax import Apply, Const, Field, Name, parse, walk

NAMES = ("items", "text", "_event")
ITEMS = {"items": list(range(3_000)), "text": "a" * 16_000, "_event": {"name": "x"}}


def test_only_the_names_that_are_declared_can_be_read():
    assert guards.answered("_event.name == 'x'", NAMES, ITEMS)
    with pytest.raises(BadGuard, match="undeclared"):
        guards.answered("state.amount > 1", NAMES, ITEMS)


def test_in_asks_where_the_chart_stands():
    assert guards.answered("In('a') && !In('b')", NAMES, {}, {"a"})
    with pytest.raises(BadGuard, match="no matching overload"):
        guards.answered("In(1)", NAMES, {}, {"a"})


@pytest.mark.parametrize(
    "expression",
    ["__class__", "text.__class__", "items.__len__()", "import os", "(lambda: 1)()", "eval('1')", "text.format(items)"],
)  # fmt: skip
def test_there_is_no_way_to_python(expression):
    with pytest.raises((BadGuard, UnreadableGuard)):
        guards.valued(expression, NAMES, ITEMS)


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ("items.map(i, i)", "too_costly"),
        ("items.filter(i, i > 1).size() > 1", "too_costly"),
        ("items.map(i, items.map(j, items.map(k, k)))", "too_costly"),
        ("['a']" + ".map(x, x + x)" * 14, "too_costly"),
        ("text" + " + text" * 200 + ".map", "BadGuard"),
        ("text + " * 200 + "text", "too_costly|recursion"),
        ("items.all(i, items.all(j, i + j >= 0))", "budget exceeded|too_costly"),
    ],
)
def test_what_could_grow_without_bound_is_refused_before_it_begins(expression, rule):
    begun = time.process_time()
    with pytest.raises((BadGuard, UnreadableGuard)) as refusal:
        guards.valued(expression, NAMES, {**ITEMS, "text": "a" * 100_000})
    assert time.process_time() - begun < 3
    assert rule == "BadGuard" or any(word in refusal.value.detail for word in rule.split("|"))


def test_many_comprehensions_are_too_many():
    with pytest.raises(BadGuard, match="17 comprehensions, 16 allowed"):
        guards.expressed(" && ".join(["items.exists(i, i > 1)"] * 17), NAMES)


@pytest.mark.parametrize("expression", ["0.5", "true ? 1.0 : 2.0", "b'abc'", "duration('1s')", "{1: 2}", "type(1)"])
def test_a_value_is_json_without_fractions(expression):
    with pytest.raises(UnreadableGuard, match=r"want null|keys of an object"):
        guards.valued(expression, NAMES, ITEMS)


def test_what_an_expression_amounts_to():
    assert guards.valued("{'a': [1, null, true, 'x']}", NAMES, {}) == {"a": [1, None, True, "x"]}
    assert guards.valued("[1, 2, 3].filter(i, i > 1)", NAMES, {}) == [2, 3]


def test_the_syntax_is_read_from_what_the_compiler_made():
    tree = parse(guards.expressed("_event.name == 'x' && size(items) > -1", NAMES).program.serialize())
    nodes = list(walk(tree))
    assert Field(Name("_event"), "name", False) in nodes
    assert {node.value for node in nodes if isinstance(node, Const)} == {"x", -1}
    assert {node.function for node in nodes if isinstance(node, Apply)} == {"_&&_", "_==_", "_>_", "size"}
