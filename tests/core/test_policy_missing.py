"""A missing value never asks for less: conditions that would are refused, and of what is loaded it is a law."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import guards
from agentstate.engine import policy as pol
from agentstate.engine.guards import kinds
from agentstate.engine.policy import GATES, missing
from agentstate.engine.policy.cases import UNREADABLE
from tests.core.test_policy_laws import is_no_weaker
from tests.searching import drawn

ASKS: dict[str, Any] = {"name": "r", "tools": ["t"], "when": "true", "tier": 3, "gate": "approve", "why": "w"}
ALLOWS: dict[str, Any] = {**ASKS, "tier": 1, "gate": "allow"}


def loaded(*rules: dict[str, Any]) -> pol.Policy:
    return pol.load(json.dumps({"name": "p", "version": 1, "rules": list(rules)}).encode())


def judged(policy: pol.Policy, **values: Any) -> pol.Verdict:
    return pol.evaluate(policy, "t", "once", values)


# What asks, and is turned off by a missing value. With it, values under which the call must be asked about, and the
# place whose absence would have let it through.
TURNED_OFF = [
    ("has(state.user) && state.user.risk > 5", {"state": {"user": {"risk": 9}}}, "state.user"),
    ("has(state.user.risk) && state.user.risk > 5", {"state": {"user": {"risk": 9}}}, "state.user.risk"),
    ("'user' in state && state.user.risk > 5", {"state": {"user": {"risk": 9}}}, "state.user"),
    ("'fraud' in state", {"state": {"fraud": True}}, "state.fraud"),
    ("has(arguments.abroad) && arguments.abroad", {"arguments": {"abroad": True}}, "arguments.abroad"),
    ("!(!has(state.flag) || !state.flag)", {"state": {"flag": True}}, "state.flag"),
    ("has(state.flag) ? state.flag : false", {"state": {"flag": True}}, "state.flag"),
    ("(has(state.n) ? state.n : 0) > 5", {"state": {"n": 9}}, "state.n"),
    ("has(state.n) == true && state.n > 5", {"state": {"n": 9}}, "state.n"),
    ("[has(state.n)].exists(x, x)", {"state": {"n": 9}}, "state.n"),
    ("{true: 9, false: 0}[has(state.n)] > 5", {"state": {"n": 9}}, "state.n"),
    (
        "arguments.id in state.orders && state.orders[arguments.id].lost",
        {"arguments": {"id": "a"}, "state": {"orders": {"a": {"lost": True}, "b": {"lost": False}}}},
        "state.orders.a",
    ),
    ("state.orders.exists(o, state.orders[o].lost)", {"state": {"orders": {"a": {"lost": True}}}}, "state.orders.a"),
    ("!state.orders.all(o, !state.orders[o].lost)", {"state": {"orders": {"a": {"lost": True}}}}, "state.orders.a"),
    (
        "state.orders.size() > 0 && state.orders['a'].lost",
        {"state": {"orders": {"a": {"lost": True}}}},
        "state.orders.a",
    ),
    (
        "state.orders.filter(o, state.orders[o].lost).size() > 0",
        {"state": {"orders": {"a": {"lost": True}}}},
        "state.orders.a",
    ),
    ("state.exists(name, name == 'fraud')", {"state": {"fraud": True}}, "state.fraud"),
    ("size(state) > 0", {"state": {"fraud": True}}, "state.fraud"),
    (
        "arguments.lines.exists(l, has(l.abroad) && l.abroad)",
        {"arguments": {"lines": [{"abroad": True}]}},
        "arguments.lines.0.abroad",
    ),
    (
        "arguments.lines.exists(l, 'abroad' in l)",
        {"arguments": {"lines": [{"abroad": True}]}},
        "arguments.lines.0.abroad",
    ),
    (
        "state.l.exists(history, has(history.today.calls.k))",
        {"state": {"l": [{"today": {"calls": {"k": 1}}}]}},
        "state.l.0.today.calls.k",
    ),
    ("'k' in state['m'] && state.m['k'] > 5", {"state": {"m": {"k": 9}}}, "state.m.k"),
    ("!((has(state.a) ? 'z' : 'x') in state.m) || state.m.x", {"state": {"a": 1, "m": {"x": False}}}, "state.a"),
    ("[state.m].exists(m, 'k' in m && m.k > 5)", {"state": {"m": {"k": 9}}}, "state.m.k"),
    ("[state.m].exists(m, 'k' in m && state.m.k > 5)", {"state": {"m": {"k": 9}}}, "state.m.k"),
    (
        "[state].exists(history, 'k' in history.today.calls)",
        {"state": {"today": {"calls": {"k": 1}}}},
        "state.today.calls.k",
    ),
]


DECLARED = kinds.Types(lambda at, value: "")  # every value is of its declared type


@pytest.mark.parametrize(("when", "values", "place"), TURNED_OFF, ids=[each[0] for each in TURNED_OFF])
def test_a_rule_that_a_missing_value_turns_off_is_refused(when: str, values: dict[str, Any], place: str) -> None:
    """And rightly: were it loaded, it would ask with the value and not without."""
    with pytest.raises(pol.BadPolicy, match=r"rule 'r'.*turns the rule off where the value is missing"):
        loaded({**ASKS, "when": when})
    assert guards.holds(when, values, DECLARED)
    assert not guards.holds(when, removed(values, place), DECLARED)


@pytest.mark.parametrize(
    "when",
    [
        "state.user.risk > 5",
        "!has(state.user) || state.user.risk > 5",
        "!(has(state.user) && state.user.risk <= 5)",
        "!(arguments.id in state.orders) || state.orders[arguments.id].lost",
        "!(has(state.orders) && arguments.id in state.orders)",
        "!state.orders.exists(o, state.orders[o].paid)",
        "arguments.lines.exists(l, l.abroad)",
        "!arguments.lines.all(l, has(l.abroad) && !l.abroad)",
        "arguments.lines.filter(l, l.abroad).size() > 1",
        "arguments.lines.size() > 5 || arguments.lines[0].abroad",
        "arguments.lines[arguments.lines.size() - 1].abroad",
        "'fraud' in state.flags",
        "arguments.cabin in ['economy', 'business']",
        "{'low': 1, 'high': 9}[state.risk] > 5",
        "'t' in history.today.calls && history.today.calls.t > 3",
        "has(history.today.moved.t) && history.today.moved.t.USD > 3",
        "history.today.calls.exists(t, history.today.calls[t] > 3)",
        "size(history.today.calls) > 3 || 't' in history.today.calls && history.today.calls['t'] > 1",
    ],
)
def test_a_rule_that_no_missing_value_turns_off_is_loaded(when: str) -> None:
    assert loaded({**ASKS, "when": when}).rules[0].when == when


@pytest.mark.parametrize("gate", [{"gate": "allow", "tier": 1}, {"gate": "hold", "hold": 5}, {"tier": 1}])
def test_a_rule_that_asks_for_less_than_the_default_never_asks_about_presence(gate: dict[str, Any]) -> None:
    """Where no rule speaks of a tool a person is asked, so such a rule lets through when it speaks."""
    with pytest.raises(pol.BadPolicy, match=r"has\(state.blocked\) turns the rule off"):
        loaded({**ASKS, **gate, "when": "!has(state.blocked)"})
    with pytest.raises(pol.BadPolicy, match=r"has\(state.blocked\) turns the rule off"):
        loaded({**ASKS, **gate, "when": "has(state.blocked) && !state.blocked"})
    verdict = judged(loaded({**ASKS, **gate, "when": "!state.blocked"}), state={})
    assert (verdict.gate, verdict.tier) == ("approve", 3)


def test_the_limit_of_a_grant_never_asks_about_presence() -> None:
    sticky = {"scope": "session", "seconds": 60, "uses": 1}
    for limit in ("!has(arguments.abroad)", "has(arguments.n) && arguments.n < granted.n", "!('n' in granted)"):
        with pytest.raises(pol.BadPolicy, match="turns the rule off"):
            loaded({**ASKS, "sticky": {**sticky, "limit": limit}})
    assert loaded({**ASKS, "sticky": {**sticky, "limit": "arguments.n <= granted.n"}}).rules[0].sticky


def test_a_superseded_policy_is_read_though_it_fails_open() -> None:
    data = json.dumps({"name": "p", "version": 1, "rules": [{**ASKS, "when": "has(state.n) && state.n > 5"}]}).encode()
    assert pol.open_rules(pol.load_superseded(data)) == [
        "rule 'r': has(state.n) turns the rule off where the value is missing: " + missing.NEGATE_IT
    ]


# The law, over conditions of every kind that can be written with the paths below.

PATHS = ["arguments.n", "arguments.k", "state.a", "state.a.b", "state.m", "state.m.x", "state.m.y", "state.m.x.on"]
NUMBERS = ["arguments.n", "state.a.b", "size(state.m)", "arguments.list.size()", "arguments.list[0]", "3"]
atoms = st.one_of(
    st.sampled_from(["!has(arguments.n)", "!has(state.a)", "!has(state.a.b)", "!has(state.m.x)", "!has(state.m)"]),
    st.sampled_from(
        ["has(arguments.n)", "has(state.a)", "has(state.a.b)", "!(arguments.k in state.m)", "has(state.m)"]
    ),
    st.sampled_from(["arguments.k in state.m", "'x' in state.m", "'a' in state", "'n' in arguments"]),
    st.sampled_from(["state.m[arguments.k].on", "state.m.x.on", "state.m['y'].on", "arguments.list.exists(i, i > 2)"]),
    st.sampled_from(
        ["state.m.exists(key, state.m[key].on)", "state.m.all(key, state.m[key].on)", "state.m.exists(i, i == 'x')"]
    ),
    st.sampled_from(
        ["[state.m].exists(m, 'x' in m && m.x.on)", "state.m.filter(i, state.m[i].on).size() > 1", "state.a == state.m"]
    ),
    st.sampled_from(["'t' in history.today.calls", "has(history.today.calls.t) && history.today.calls.t > 1"]),
    st.builds(
        "{} {} {}".format, st.sampled_from(NUMBERS), st.sampled_from([">", "<=", "==", "!="]), st.sampled_from(NUMBERS)
    ),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("arguments.list.exists(j, j > 1 && {})".format, inner),
        st.builds("arguments.list.all(j, j > 1 || {})".format, inner),
    ),
    max_leaves=5,
)
some_rules = st.lists(
    st.builds(
        lambda when, gate, tier: {**ASKS, "when": when, "gate": gate, "tier": tier, "hold": 5 * (gate == "hold")},
        conditions,
        st.sampled_from(GATES),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=3,
)
numbers = st.integers(0, 5)
entries = st.fixed_dictionaries({"on": st.booleans()})
all_values = st.fixed_dictionaries(
    {
        "arguments": st.fixed_dictionaries(
            {"n": numbers, "k": st.sampled_from("xy"), "list": st.lists(numbers, max_size=3)}
        ),
        "state": st.fixed_dictionaries(
            {
                "a": st.fixed_dictionaries({"b": numbers}),
                "m": st.fixed_dictionaries({"x": entries, "y": entries}),
            }
        ),
        "history": st.fixed_dictionaries(
            {"today": st.fixed_dictionaries({"calls": st.fixed_dictionaries({}, optional={"t": numbers})})}
        ),
    }
)


def removed(values: dict[str, Any], place: str) -> dict[str, Any]:
    """The values without what is at `place`."""
    left = copy.deepcopy(values)
    *above, last = place.split(".")
    at: Any = left
    for name in above:
        at = at[int(name)] if isinstance(at, list) else at.get(name, {})
    at.pop(last, None)
    return left


def is_sound(rule: dict[str, Any]) -> bool:
    try:
        loaded(rule)
    except pol.BadPolicy:
        return False
    return True


def reads(rule: pol.Rule, place: str) -> bool:
    """Whether the rule reads what is at the place; of the entries of `state.m`, by their names."""
    names = place.split(".")
    if names[:2] != ["state", "m"] or len(names) == 2:
        return True
    return f"state.m.{names[2]}" in rule.when.replace("in state.m", "") or "state.m[" in rule.when


@settings(max_examples=drawn(900))
@given(some_rules, all_values, st.sets(st.sampled_from(PATHS), min_size=1, max_size=3))
def test_without_a_value_that_a_rule_reads_no_policy_asks_for_less(rules, values, places):
    sound = [{**rule, "name": f"r{number}"} for number, rule in enumerate(rules) if is_sound(rule)]
    policy = loaded(*sound)
    for rule in policy.rules:  # each alone: what another rule asks hides nothing
        asks_no_less(pol.Policy("p", 1, (rule,)), values, [place for place in places if reads(rule, place)])
    asks_no_less(policy, values, [place for place in places if all(reads(rule, place) for rule in policy.rules)])


def asks_no_less(policy: pol.Policy, values: dict[str, Any], places: Any) -> None:
    less = copy.deepcopy(values)
    for place in places:
        less = removed(less, place)
    before, after = judged(policy, **values), judged(policy, **less)
    if any(UNREADABLE in judged(pol.Policy("p", 1, (each,)), **values).why for each in policy.rules):
        return  # it could not be read before either
    assert after.strictness[:2] >= before.strictness[:2]
    assert before.rule.startswith("default.") or is_no_weaker(after, before)
