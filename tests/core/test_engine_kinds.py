"""What a rule reads is of the kind that it reads it as, or the rule asks a person."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentstate.engine import guards, schemas
from agentstate.engine import policy as pol
from agentstate.engine.decide.schema import judge_of
from agentstate.engine.guards import kinds
from agentstate.engine.policy import Verdict
from tests.core.made import values as anything
from tests.core.test_policy_laws import is_no_weaker
from tests.searching import drawn

ERROR = {"error": "the service is away"}


def misread(expression: str, state: Any, types: kinds.Types = kinds.UNTYPED, **arguments: Any) -> str:
    given_ = {"state": state, "arguments": arguments}
    return kinds.misread(guards.reading(expression, guards.NAMES), {**guards.NOTHING, **given_}, types)


@pytest.mark.parametrize(
    ("expression", "state", "fault"),
    [
        ("state.fraud.level == 'high'", {"fraud": {"level": 3}}, "state.fraud.level: number and text are compared"),
        ("state.fraud.level == 'high'", {"fraud": {"level": None}}, "null and text"),
        ("state.fraud.level != 'high'", {"fraud": {"level": ["high"]}}, "list and text"),
        ("'high' == state.fraud.level", {"fraud": {"level": True}}, "bool and text"),
        ("state.fraud.level == 'high'", {"fraud": {"level": ERROR}}, "state.fraud.level: the error of a failed call"),
        ("state['fraud']['level'] == 'high'", {"fraud": {"level": 1}}, "number and text"),
        ("state.limit == 3", {"limit": "3"}, "number and text"),
        ("state.limit == true", {"limit": 1}, "bool and number"),
        ("state.limit == [1]", {"limit": 1}, ""),
        ("arguments.to == state.to", {"to": 5}, "arguments.to, state.to: number and text are compared"),
        ("state.limit == size(state.flags)", {"limit": "3", "flags": []}, "number and text"),
        ("state.limit == state.base + 1", {"limit": "3", "base": 2}, "number and text"),
        ("state.limit == (state.ok ? 'a' : 'b')", {"limit": 3, "ok": True}, "number and text"),
        ("state.limit == (state.ok ? state.a : 'b')", {"limit": 3, "ok": True, "a": 3}, "number and text"),
        ("state.ok == has(state.x)", {"ok": "yes"}, "bool and text"),
        ("state.ok == (1 < 2)", {"ok": "yes"}, "bool and text"),
        ("state.ok == state.flags.exists(f, f > 1)", {"ok": "yes", "flags": [1]}, "bool and text"),
        ("state.ok == state.flags.map(f, f)", {"ok": "yes", "flags": [1]}, "list and text"),
        ("state.level in ['high', 'low']", {"level": 1}, "number and text"),
        ("state.level in ['high', 1]", {"level": 1}, ""),
        ("'high' in state.flags", {"flags": [1, 2]}, "number and text"),
        ("'high' in state.flags", {"flags": ["low", 2]}, "number and text"),
        ("'high' in state.flags", {"flags": {"high": 1}}, "state.flags: got an object, want a list"),
        ("'high' in state.flags", {"flags": ERROR}, "state.flags: the error of a failed call"),
        ("!('high' in state.flags)", {"flags": {"high": 1}}, "want a list"),
        ("state.flags.exists(f, f == 'high')", {"flags": {"high": 1}}, "state.flags: got an object, want a list"),
        ("state.flags.all(f, f != 'high')", {"flags": {"low": 1}}, "state.flags: got an object, want a list"),
        ("state.flags.exists(f, f == 'high')", {"flags": [1]}, "state.flags: number and text are compared"),
        ("state.flags.exists(f, f.name == 'high')", {"flags": [{"name": 1}]}, "number and text"),
        ("state.a.exists(x, state.b.exists(y, x == y))", {"a": [1], "b": ["1"]}, "number and text"),
        ("state.orders[arguments.to].user == 'eve'", {"orders": {"me": {"user": 1}}}, "number and text"),
        ("state.orders[arguments.to].user == 'eve'", {"orders": {"other": {"user": 1}, "me": {"user": "x"}}}, ""),
        ("state.orders.exists(o, state.orders[o].user == 'eve')", {"orders": {"me": {"user": 1}}}, "number and text"),
        ("state.list[0] == 'a'", {"list": [1, "a"]}, "number and text"),
        ("state.list[1] == 'a'", {"list": [1, "a"]}, ""),
        ("state.list[size(state.list) - 1] == 'a'", {"list": ["b", 1]}, "number and text"),
        ("has(state.check) && state.check.passed", {"check": ERROR}, "state.check: the error of a failed call"),
        # What is of its kind, what is missing and what asks for null is left to the evaluation.
        ("state.fraud.level == 'high'", {"fraud": {"level": "low"}}, ""),
        ("state.fraud.level == 'high'", {"fraud": {}}, ""),
        ("state.fraud.level == 'high'", {}, ""),
        ("state.level == null", {"level": 3}, ""),
        ("state.level != null && state.level == 'high'", {"level": None}, ""),
        ("state.level != null && state.level == 'high'", {"level": 3}, "number and text"),
        ("has(state.level)", {"level": {"error": 1}}, ""),
        ("'high' in state.flags", {"flags": []}, ""),
        ("'high' in state", {}, ""),
        ("'a' in state.orders && state.orders.a.open", {"orders": {"a": {"open": True}}}, ""),
        ("state.orders.exists(o, state.orders[o].open)", {"orders": {"a": {"open": True}}}, ""),
        ("history.refusals == 'x'", {}, ""),
    ],
)
def test_a_value_of_another_kind_than_it_is_read_as_is_unreadable(expression: str, state: Any, fault: str):
    found = misread(expression, state, to="me")
    assert (fault in found) if fault else not found


def test_an_object_is_looked_into_where_a_rule_asks_for_a_no_or_another_rule_reads_its_entries():
    looked, state = "!(has(state.orders) && arguments.to in state.orders)", {"orders": {"me": {}}}
    assert misread(looked, state, to="me") == "state.orders: got an object, want a list"
    assert misread(looked, state, kinds.Types(asks=True), to="me") == ""
    assert misread("'me' in state.orders", state, kinds.Types(asks=True)) == "state.orders: got an object, want a list"
    rules = [rule("a", "'me' in state.orders"), rule("b", "state.orders[arguments.to].user == 'eve'")]
    assert misread("'me' in state.orders", state, kinds.Types(opened=pol.Policy("p", 1, tuple(rules)).opened)) == ""


def test_what_leads_to_too_many_values_is_unreadable():
    assert misread("state.a.exists(x, x.n == 2)", {"a": [{"n": 1}] * (kinds.MAX_FOUND + 1)}).startswith("it reads more")


FORM = schemas.declare(
    "desk",
    1,
    {
        "type": "object",
        "properties": {
            "level": {"type": "string", "maxLength": 9},
            "flags": {"type": "array", "items": {"type": "string"}},
            "count": {"type": "integer"},
            "ok": {"type": "boolean"},
            "note": {"type": ["string", "null"]},
            "orders": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"user": {"type": "string"}}},
            },
            "choice": {"anyOf": [{"type": "integer"}, {"enum": ["high"]}]},
        },
    },
)
ARGUMENTS = {
    "type": "object",
    "properties": {"to": {"type": "string", "pattern": "^[a-z]+$"}, "minor": {"type": "integer"}},
}
ASKING = (
    "state.level == 'high'",
    "state.level in ['high', 'odd']",
    "'high' in state.flags",
    "state.flags.exists(f, f == 'high')",
    "size(state.flags) > 2",
    "state.count == 3",
    "state.count > 3",
    "state.ok == true",
    "state.note == 'high'",
    "state.choice == 'high' || state.choice == 7",
    "arguments.to == 'eve'",
    "arguments.to in state.flags",
    "arguments.minor > 100",
    "!(arguments.to in state.orders)",
    "state.orders[arguments.to].user == 'eve'",
    "state.orders.exists(o, state.orders[o].user == 'eve')",
)
ALLOWING = (
    "state.level != 'high'",
    "!('high' in state.flags)",
    "state.flags.all(f, f != 'high')",
    "!state.ok",
    "arguments.to != 'eve'",
    "state.count != 3",
)
PLACES = ("state.level", "state.flags", "state.flags.0", "state.count", "state.ok", "state.note", "state.choice")
PLACES += ("state.orders", "state.orders.bob", "state.orders.bob.user", "arguments.to", "arguments.minor")
words = st.sampled_from(["high", "low", "eve", "bob"])
HONEST = st.fixed_dictionaries(
    {
        "state": st.fixed_dictionaries(
            {
                "level": words,
                "flags": st.lists(words, min_size=1, max_size=3),
                "count": st.sampled_from([0, 3, 9]),
                "ok": st.booleans(),
                "note": st.none() | words,
                "orders": st.fixed_dictionaries({"bob": st.fixed_dictionaries({"user": words})}),
                "choice": st.sampled_from([3, 7, "high"]),
            }
        ),
        "arguments": st.fixed_dictionaries({"to": st.sampled_from(["bob", "eve"]), "minor": st.sampled_from([5, 500])}),
    }
)


def rule(name: str, when: str, gate: pol.Gate = "approve", tier: int = 2) -> pol.Rule:
    return pol.Rule(name, ("*",), when, tier, gate, "")


def judged(rules: tuple[pol.Rule, ...], given_: dict[str, Any]) -> Verdict:
    judge = judge_of(FORM, schemas.declare("arguments", 1, ARGUMENTS), given_)
    return pol.evaluate(pol.Policy("p", 1, rules), "t", "once", given_, judge)


def put(given_: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """The values with another one at a place that there is."""
    changed = deepcopy(given_)
    *above, name = place.split(".")
    node: Any = changed
    for each in above:
        node = node[each]
    node[int(name) if isinstance(node, list) else name] = value
    return changed


def fits(given_: dict[str, Any]) -> bool:
    try:
        schemas.check_state(FORM, given_["state"])
        schemas.validate(ARGUMENTS, given_["arguments"])
    except schemas.BreaksSchema:
        return False
    return True


RULES = st.lists(
    st.tuples(st.sampled_from(ASKING), st.integers(2, 3)).map(lambda each: (each[0], "approve", each[1]))
    | st.tuples(st.sampled_from(ASKING), st.integers(0, 3)).map(lambda each: (each[0], "hold", each[1]))
    | st.tuples(st.sampled_from(ALLOWING), st.integers(0, 2)).map(lambda each: (each[0], "allow", each[1])),
    min_size=1,
    max_size=4,
).map(lambda made: tuple(rule(f"r{number}", *each) for number, each in enumerate(made)))


@settings(max_examples=drawn(600))
@given(RULES, HONEST, st.sampled_from(PLACES), anything | st.just(ERROR) | words | st.just("†state.level"))
def test_a_value_of_another_type_never_makes_a_verdict_laxer(rules, honest, place, odd):
    changed = put(honest, place, odd)
    assume(not fits(changed))
    read = [each for each in rules if _reads(each.when, place)]
    assert is_no_weaker(judged(rules, changed), judged(rules, honest))
    if read:
        assert judged(rules, changed).gate == "approve"


def _reads(when: str, place: str) -> bool:
    found = guards.reading(when, guards.NAMES).reads
    names = place.split(".")
    return any(list(path[: len(names)]) == names[: len(path)] and len(path) <= len(names) for path in found)
