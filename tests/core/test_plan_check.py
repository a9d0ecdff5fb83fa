"""The check of a plan: what is wrong is found before anything runs, by its rule, at its call; nothing else is."""

from __future__ import annotations

import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstate.engine import references
from agentstate.engine.plan import check as checking
from agentstate.engine.plan import model
from agentstate.engine.plan.check import PlanRefused, accepted, check
from agentstate.engine.plan.facts import Facts, ToolCard
from agentstate.engine.plan.model import BadPlan
from agentstate.engine.references import Path
from agentstate.engine.writers import WriteRules
from tests.core.made import values
from tests.core.plan_bank import FACTS, TOOLS, TRANSFER, junk
from tests.core.plan_world import plans

FORM = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "open": {"type": "object"}, "a": {}},
    "additionalProperties": False,
}
LATE = {"_tool": "tell", "_id": "late", "text": "†state.n", "_outputPath": "state.m"}
NOTE = {"_tool": "tell", "_id": "note", "_outputPath": "state.n"}


def found(*calls, facts=FACTS):
    return [(finding.rule, finding.call) for finding in check(model.read(list(calls)), facts)]


def test_the_plan_of_a_transfer_is_in_order():
    assert found(*TRANSFER) == []
    assert [call.id for call in accepted(model.read(TRANSFER), FACTS).calls][2:] == ["transfer", "tell"]


ERRORS = [
    ("unknown_tool", [{"_tool": "fly"}]),
    ("bad_parameters", [{"_tool": "load_customer"}]),
    ("bad_parameters", [{"_tool": "load_customer", "customer": 7}]),
    ("bad_parameters", [{"_tool": "load_customer", "customer": "x", "bogus": "†input.to"}]),
    ("bad_parameters", [{"_tool": "authorize", "customer": "x", "amount": {"minor": "†input.amount.minor"}}]),
    ("fixed_property", [{"_tool": "note", "_outputPath": "state.other"}]),
    ("fixed_property", [{"_tool": "note", "_scopes": ["input", "state.open"]}]),
    ("bad_reference", [{"_tool": "tell", "text": {"deep": ["†state..x"]}}]),
    ("bad_reference", [{"_tool": "tell", "_outputPath": "input.x"}]),
    ("bad_reference", [{"_tool": "tell", "_scopes": ["state.a b"]}]),
    ("unknown_kind", [{"_tool": "tell", "text": "†weather.today"}]),
    ("no_source", [{"_tool": "tell", "text": "†state.nowhere"}]),
    ("no_source", [{"_tool": "tell", "text": "†state.nowhere || †input.nowhere"}]),
    ("no_source", [{"_tool": "tell", "text": "†state.open && †state.nowhere"}]),
    ("no_such_output", [TRANSFER[0], {"_tool": "tell", "_id": "late", "text": "†state.customer.shoes"}]),
    ("wrong_type", [TRANSFER[0], {"_tool": "load_customer", "_id": "late", "customer": "†state.customer"}]),
    ("wrong_type", [{"_tool": "load_customer", "customer": "†input.amount"}]),
    ("two_writers", [{"_tool": "tell", "_outputPath": "state.x"}, {"_tool": "tell", "_outputPath": "state.x"}]),
    ("cycle", [{"_tool": "tell", "text": "†state.x", "_outputPath": "state.x"}]),
    ("max_writers", [{"_tool": "tell", "_when": "false", "_outputPath": "state.x"}] * 101),
    ("unknown_scope", [{"_tool": "tell", "_scopes": ["state.nowhere"]}]),
    ("unknown_scope", [{"_tool": "tell", "_scopes": ["weather"]}]),
    ("outside_scopes", [{"_tool": "tell", "text": "†state.open", "_scopes": ["input"]}]),
    ("outside_scopes", [{"_tool": "tell", "text": "†input.to", "_scopes": []}]),
    ("unknown_instance", [{"_tool": "tell", "_instance": "bob"}]),
    ("no_source", [{"_tool": "tell", "text": "†state.open", "_instance": "ann"}]),
    ("unknown_delegate", [{"_tool": "tell", "_delegate": "nobody", "_scopes": ["input"]}]),
    ("unknown_activity", [{"_tool": "tell", "_activity": "fly"}]),
    ("private_parameter", [{"_tool": "ask_colleague", "about": "†vault"}]),
    ("private_parameter", [{"_tool": "tell", "text": "†vault.pin"}]),
    ("private_parameter", [{"_tool": "tell", "text": "†vault.pin.0.deep || †input.to"}]),
    ("private_parameter", [{"_tool": "tell", "text": "†input.to && †vault.pin"}]),
    ("private_parameter", [{"_tool": "tell", "text": [{"a": ["†vault.absent", "†vault.pin.absent"]}]}]),
    ("private_parameter", [{"_tool": "tell", "text": "†vault.pin", "_delegate": "anonymous", "_scopes": ["input"]}]),
    ("bad_guard", [{"_tool": "tell", "_when": "os.system('rm')"}]),
    ("bad_guard", [{"_tool": "tell", "_when": "'yes'"}]),
    ("bad_guard", [{"_tool": "tell", "_when": "In('idle')"}]),
    ("bad_guard", [{"_tool": "tell", "_when": "session.id == 'x'"}]),
]
WARNINGS = [
    ("several_writers", [{"_tool": "tell", "_outputPath": "state.x", "_when": "true"}] * 2),
    (
        "several_writers",
        [{"_tool": "tell", "_outputPath": "state.x"}, {"_tool": "tell", "_outputPath": "state.x || state.y"}],
    ),
    ("new_kind", [{"_tool": "tell", "_outputPath": "nots.x"}]),
    ("overlapping_outputs", [TRANSFER[0], {"_tool": "tell", "_outputPath": "state.customer.mood"}]),
    ("dead_alternative", [{"_tool": "tell", "text": "†state.nowhere || †input.to"}]),
    ("undeclared_output", [TRANSFER[1], {"_tool": "tell", "text": "†state.authorization.reason"}]),
    ("guard_without_source", [{"_tool": "tell", "_when": "state.opne.since == 'today'"}]),
    ("reads_all", [{"_tool": "tell", "_when": "size(state) > 0"}]),
    ("scope_not_waited_for", [NOTE, {"_tool": "tell", "_scopes": ["state.n"]}]),
    ("sees_nothing", [{"_tool": "tell", "_delegate": "anonymous"}]),
]


@pytest.mark.parametrize(("rule", "calls"), ERRORS + WARNINGS)
def test_what_is_wrong_is_found_by_its_rule_and_nothing_else(rule, calls):
    assert {name for name, _ in found(*calls)} == {rule}


@pytest.mark.parametrize(("rule", "calls"), ERRORS)
def test_a_plan_with_an_error_is_refused_naming_call_and_reason(rule, calls):
    plan = model.read(calls)
    with pytest.raises(PlanRefused) as refusal:
        accepted(plan, FACTS)
    first = refusal.value.findings[0]
    assert first.rule == rule
    assert first.call in plan.by_id
    assert first.reason in str(refusal.value)


@pytest.mark.parametrize(("rule", "calls"), WARNINGS)
def test_a_plan_with_a_warning_is_taken(rule, calls):
    assert accepted(model.read(calls), FACTS)


def test_every_rule_is_tried_here():
    elsewhere = {"bad_schema", "not_in_form", "not_a_writer", "names_instance", "private_guard"}
    tried = {rule for rule, _ in ERRORS + WARNINGS} | elsewhere
    assert tried == set(checking.RULES)


PRIVATE = replace(
    FACTS,
    views={"state": {"open": {"pin": "1234", "since": "today"}, "people": [{"pin": "1"}], "x": "pin"}},
    private=(Path("state", ("open", "pin")), Path("state", ("people", "pin"))),
)


@pytest.mark.parametrize(
    "guard",
    [
        "state.open.pin == '1234'",
        "state.open.pin.startsWith('1')",
        "has(state.open.pin)",
        "has(state.open.pin.x) || true",
        "state['open']['pin'] == '1'",
        "state.open == {}",
        "size(state.open) == 2",
        "state[state.x] == 1",
        "state.open[state.x] == '1'",
        "state.people.exists(p, p.pin == '1')",
        "state.people[0].pin == '1'",
        "[state].exists(s, s.open.pin == '1')",
        "'1' in state.open.map(k, state.open[k])",
        "arguments.text == 'x' ? state.open.pin == '1' : true",
    ],
)
def test_a_guard_over_what_is_private_is_refused_in_every_form(guard):
    assert {rule for rule, _ in found({"_tool": "tell", "_when": guard, "text": "x"}, facts=PRIVATE)} & {
        "private_guard"
    }
    assert found({"_tool": "tell", "_when": "state.open.since == 'today'", "text": "†state.x"}, facts=PRIVATE) == []


def test_a_refusal_does_not_tell_whether_a_private_value_is_there_and_what_type_it_has():
    private = replace(PRIVATE, private=(Path("state", ("codes",)),))
    there = replace(private, views={"state": {"codes": {"4711": {"a": 1}}}})
    for text in ("†state.codes.4711", "†state.codes.4711.a", "†state.codes.4711 || †input.to"):
        plan = model.read([{"_tool": "load_customer", "customer": text, "_when": "has(state.codes.4711) || true"}][:1])
        assert check(plan, private) == check(plan, there) != ()


def test_outputs_must_fit_the_form_of_the_state():
    facts = replace(FACTS, form=FORM)
    assert found({"_tool": "tell", "_outputPath": "state.note"}, facts=facts) == []
    assert found({"_tool": "tell", "_outputPath": "state.shoes"}, facts=facts) == [("not_in_form", "tell")]
    assert found({"_tool": "authorize", "customer": "x", "_outputPath": "state.note"}, facts=facts) == [
        ("wrong_type", "authorize")
    ]


def test_outputs_go_where_their_tool_may_write():
    facts = replace(FACTS, rules=WriteRules(own={"authorize": "state.authorization"}))
    tell = {"_tool": "tell", "_outputPath": "state.authorization.allowed"}
    assert found(tell, facts=facts) == [("not_a_writer", "tell")]
    away = {"_tool": "authorize", "customer": "x", "_outputPath": "state.note"}
    assert found(away, facts=facts) == [("fixed_property", "authorize")]
    assert found({**away, "_outputPath": "state.authorization"}, facts=facts) == []


def test_a_schema_that_cannot_be_used_is_found_and_stops_the_rest():
    remote = {"$ref": "https://example.com/schema.json"}
    facts = Facts({"odd": ToolCard("odd", remote)}, views=FACTS.views)
    assert found({"_tool": "odd", "x": "†state.nowhere"}, facts=facts) == [("bad_schema", "odd")]
    assert found(*TRANSFER, facts=replace(FACTS, form=remote)) == [("bad_schema", "")]


def test_a_plan_for_many_instances_names_none():
    assert found({"_tool": "tell", "_instance": "ann"}, facts=replace(FACTS, many=True)) == [("names_instance", "tell")]


def test_what_a_tool_fixes_is_put_in_where_a_call_leaves_it_out():
    plan = accepted(model.read([{"_tool": "note"}, {"_tool": "tell", "text": "†state.notes"}]), FACTS)
    assert plan.by_id["note"].output_path == "state.notes"


def test_a_tool_may_restrict_a_meta_property_and_want_one():
    schema = {"properties": {"_outputPath": {"enum": ["state.a", "state.b"]}}, "required": ["_outputPath"]}
    facts = Facts({"pick": ToolCard("pick", {"type": "object", **schema})})
    assert found({"_tool": "pick", "_outputPath": "state.b"}, facts=facts) == []
    assert found({"_tool": "pick", "_outputPath": "state.c"}, facts=facts) == [("fixed_property", "pick")]
    assert found({"_tool": "pick"}, facts=facts) == [("fixed_property", "pick")]


def test_calls_that_wait_for_each_other_are_named_in_a_circle():
    first = {"_tool": "tell", "_id": "a", "text": "†state.b", "_outputPath": "state.a"}
    second = {"_tool": "tell", "_id": "b", "text": ["†state.a"], "_outputPath": "state.b"}
    (finding,) = check(model.read([first, second]), FACTS)
    assert finding.rule == "cycle"
    assert finding.reason in ("a waits for b waits for a", "b waits for a waits for b")


def test_writers_on_the_branches_of_one_fork_may_share_a_path():
    fork = {"_tool": "transfer", **{key: TRANSFER[2][key] for key in ("from_account", "to_account", "amount")}}
    fork |= {"from_account": "x", "_outputPath": "state.ok || state.bad"}
    good = {"_tool": "tell", "text": "†state.ok", "_outputPath": "state.said"}
    bad = {"_tool": "tell", "text": "†state.bad", "_outputPath": "state.said"}
    assert found(fork, good, bad) == [("several_writers", "tell-2")]
    assert accepted(model.read([fork, good, bad]), FACTS)


def test_a_guard_may_ask_whether_something_is_there_even_what_its_call_writes():
    load = {**TRANSFER[0], "_when": "!has(state.customer)"}
    assert found(load) == []
    assert found({"_tool": "tell", "_when": "has(state.new) && state.new.x == 1"}) == []


def test_inputs_that_are_declared_need_not_be_there_yet():
    declared = {"input": {"type": "object", "properties": {"who": {"type": "string"}}, "additionalProperties": False}}
    facts = Facts(TOOLS, declared=declared)
    assert found({"_tool": "load_customer", "customer": "†input.who"}, facts=facts) == []
    assert found({"_tool": "load_customer", "customer": "†input.age"}, facts=facts) == [("no_source", "load_customer")]
    assert found({"_tool": "authorize", "customer": "x", "amount": "†input.who"}, facts=facts) == [
        ("wrong_type", "authorize")
    ]


@given(plans())
def test_a_plan_whose_paths_have_one_writer_each_has_no_finding_about_its_wiring(plan):
    facts = Facts({"work": ToolCard("work")}, views={"state": {"old": {"x": 1}}, "input": {"who": "Ada"}})
    assert {finding.rule for finding in check(plan, facts)} <= {"dead_alternative", "no_source"}


@given(values | st.lists(junk, max_size=5))
def test_anything_at_all_is_refused_by_name_or_checked(data):
    with suppress(BadPlan, PlanRefused):
        accepted(model.read(data), FACTS)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_refused_by_name_or_checked(data):
    with suppress(BadPlan):
        check(model.decode(data), FACTS)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"[" * 10_000 + b"]" * 10_000, "max_depth"),
        (b'[{"_tool":"t","x":' + b"[" * 40 + b"]" * 40 + b"}]", "max_depth"),
        (b'[{"_tool":"t","x":[' + b"1," * 20_000 + b"1]}]", "max_nodes"),
        (b"[" + b'{"_tool":"t"},' * 10_000 + b'{"_tool":"t"}]', "max_calls"),
        (b" " * 4_000_001, "max_bytes"),
        (b"[" + b",".join([b'{"_tool":"t","x":[' + b"1," * 19_000 + b"1]}"] * 16) + b"]", "max_nodes"),
        (b'{"_tool":"t"}', "array"),
        (b"[7]", "object"),
        (b"[{}]", "_tool"),
        (b'[{"_tool":"t","_outputpath":"state.x"}]', "unknown_property"),
        (b'[{"_tool":"t","_when":7}]', "_when"),
        (b'[{"_tool":"t","_scopes":"state"}]', "_scopes"),
        (b'[{"_tool":"t","_id":"a"},{"_tool":"t","_id":"a"}]', "_id"),
        (b'[{"_tool":"t","amount":{"minor":12.5,"currency":"USD"}}]', "money"),
        (b'[{"_tool":"t","amount":{"minor":true,"currency":"USD"}}]', "money"),
        (b"[NaN]", "not_json"),
        (b"\xff", "not_json"),
    ],
)
def test_what_no_plan_may_be_is_refused_by_its_rule_at_once(data, rule):
    begun = time.process_time()
    with pytest.raises(BadPlan) as refusal:
        model.decode(data)
    assert refusal.value.rule == rule
    assert time.process_time() - begun < 6


def test_floats_are_refused_where_python_hands_them_in():
    with pytest.raises(BadPlan) as refusal:
        model.read([{"_tool": "t", "_id": "pay", "amount": [{"minor": 1.0}]}])
    assert (refusal.value.call, refusal.value.rule) == ("pay", "float")


@given(plans())
def test_what_is_written_is_read_back(plan):
    assert model.read(model.write(plan)) == plan


def long_plan(size):
    return model.read(
        [
            {
                "_tool": "tell",
                "text": ["†input.to", f"†state.n{number - 1}" if number % 50 else "a"],
                "_outputPath": f"state.n{number}",
            }
            for number in range(size)
        ]
    )


def seconds(size):
    """Of this process alone, with nothing remembered; the best of three."""
    plan, taken = long_plan(size), []
    for _ in range(3):
        references._parsed.cache_clear()
        begun = time.process_time()
        assert check(model.Plan(plan.calls), FACTS) == ()
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.slow
def test_plans_are_checked_in_near_linear_time():
    exponent = math.log(seconds(4_000) / seconds(500)) / math.log(8)
    assert exponent < 1.3


@pytest.mark.slow
def test_the_longest_plan_is_checked_in_time():
    begun = time.process_time()
    assert check(long_plan(model.MAX_CALLS), FACTS) == ()
    assert time.process_time() - begun < 15


MANY = range(2_000)


@pytest.mark.parametrize(
    "calls",
    [
        [{"_tool": "tell", "text": f"†state.r.n{number}", "_outputPath": f"state.r.n{number + 1}"} for number in MANY],
        [{"_tool": "tell", "_outputPath": f"state.r.n{number}"} for number in MANY]
        + [{"_tool": "tell", "text": "†state.r", "_scopes": ["state.r"] * 20} for _ in MANY],
        [{"_tool": "tell", "_outputPath": "state.r", "_when": "false"} for _ in range(100)]
        + [{"_tool": "tell", "text": [f"†state.r.n{number}"] * 50} for number in MANY],
        [
            {"_tool": "tell", "_scopes": [f"state.r.n{number}", "state.r"], "_outputPath": f"state.r.n{number}.x"}
            for number in MANY
        ],
    ],
)
def test_no_plan_is_slow_to_check(calls):
    begun = time.process_time()
    check(model.read(calls), FACTS)
    assert time.process_time() - begun < 15
