"""Versions of a plan: what differs, what deviates from what was approved, and what is kept to be used again."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine.guards import BadGuard
from agentstate.engine.plan import library, model
from agentstate.engine.plan.check import PlanRefused
from agentstate.engine.plan.deviation import deviation, deviations
from agentstate.engine.plan.difference import difference, words
from agentstate.engine.plan.model import BadPlan
from agentstate.engine.references import BadReference
from agentstate.engine.schemas import BadSchema, BreaksSchema
from tests.core.plan_bank import FACTS, INPUT, MONEY, TRANSFER
from tests.core.plan_world import plans

PLAN = model.read(TRANSFER)
INPUTS = {
    "type": "object",
    "properties": {"customer": {"type": "string"}, "amount": MONEY, "to": {"type": "string"}},
    "required": ["customer", "amount", "to"],
    "additionalProperties": False,
}
VIEWS = {"state": {"customer": {"accounts": [{"id": "1000000001"}]}}, "input": INPUT}


def changed(number: int, **properties) -> model.Plan:
    return model.read([*TRANSFER[:number], {**TRANSFER[number], **properties}, *TRANSFER[number + 1 :]])


@given(plans(), st.randoms(use_true_random=False))
def test_a_plan_does_not_differ_from_itself_in_another_order(plan, random):
    calls = model.write(plan)
    random.shuffle(calls)
    assert not difference(plan, model.read(calls))


@given(plans(), plans())
def test_a_difference_read_backwards_swaps_what_came_and_what_went(before, after):
    there, back = difference(before, after), difference(after, before)
    assert (set(there.added), set(there.removed)) == (set(back.removed), set(back.added))
    assert len(there.changed) == len(back.changed)
    assert bool(there) == bool(back)


def test_a_changed_call_is_told_property_by_property():
    after = changed(2, to_account="1000000003", _when="true")
    assert words(difference(PLAN, after), PLAN, after) == (
        "transfer: _when: state.authorization.allowed became true; to_account: †input.to became 1000000003",
        "transfer no longer waits for authorize (state.authorization.allowed)",
    )


def test_one_more_call_in_front_changes_none_behind_it():
    after = model.read([{"_tool": "tell", "text": "One moment."}, *TRANSFER])
    found = difference(PLAN, after)
    assert (found.added, found.removed, found.changed) == (("tell",), (), ())
    assert found.renamed == {"tell": "tell-2"}
    assert words(found, PLAN, after) == ("tell is new",)


def test_a_call_that_is_gone_takes_its_edges_along():
    found = difference(PLAN, model.read([TRANSFER[1], TRANSFER[0]]))
    assert found.removed == ("transfer", "tell")
    assert len(found.edges_removed) == 4


def test_a_number_and_the_text_of_it_differ():
    assert difference(model.read([{"_tool": "t", "x": 1}]), model.read([{"_tool": "t", "x": True}]))
    assert difference(model.read([{"_tool": "t", "x": 1}]), model.read([{"_tool": "t", "x": "1"}]))


def proposed(**properties) -> model.Call:
    return model.read([{**TRANSFER[2], **properties}]).calls[0]


def test_a_call_as_it_was_approved_does_not_deviate():
    found = deviation(PLAN, proposed())
    assert not found
    assert str(found) == "transfer as approved"


def test_the_value_of_an_approved_reference_is_as_approved_and_another_is_not():
    literal = {"from_account": "1000000001", "to_account": INPUT["to"], "amount": INPUT["amount"]}
    assert not deviation(PLAN, proposed(**literal), VIEWS)
    found = deviation(PLAN, proposed(**{**literal, "to_account": "1000000666"}), VIEWS)
    assert [change.name for change in found.changes] == ["to_account"]
    assert set(found.alike) == {"_tool", "_outputPath", "_when", "from_account", "amount"}
    assert str(found) == "transfer: to_account: †input.to became 1000000666"


def test_another_reference_deviates_even_where_the_values_are_equal_now():
    views = {**VIEWS, "state": {**VIEWS["state"], "other": INPUT["to"]}}
    assert deviation(PLAN, proposed(to_account="†state.other"), views)


@pytest.mark.parametrize(
    "properties", [{"_when": "true"}, {"_outputPath": "state.receipt"}, {"_scopes": ["state"]}, {"more": 1}]
)
def test_what_was_not_asked_for_deviates(properties):
    assert deviation(PLAN, proposed(**properties))


def test_a_call_is_approved_once_and_a_stranger_not_at_all():
    assert str(deviation(PLAN, proposed(), used={"transfer"})) == "transfer is not in the approved plan"
    assert deviation(PLAN, model.read([{"_tool": "fly"}]).calls[0]).approved == ""


def test_of_a_proposed_plan_each_call_is_laid_beside_its_own_approval():
    twice = model.read([TRANSFER[3], {"_tool": "tell", "text": "Bye."}])
    found = deviations(twice, model.read([{"_tool": "tell", "text": "Bye!"}, TRANSFER[3], {"_tool": "fly"}]))
    assert [(each.call, each.approved, bool(each)) for each in found] == [
        ("tell", "tell-2", True),
        ("tell-2", "tell", False),
        ("fly", "", True),
    ]


@given(plans(), st.randoms(use_true_random=False))
def test_an_approved_plan_in_another_order_does_not_deviate(plan, random):
    calls = model.write(plan)
    random.shuffle(calls)
    assert not any(deviations(plan, model.read(calls)))


def test_the_dagger_of_an_output_path_makes_no_difference():
    assert not deviation(PLAN, proposed(_outputPath="state.receipt || state.trouble"))


def test_a_saved_plan_is_used_again_with_other_inputs():
    saved = library.saved("transfer", PLAN, INPUTS, about="Move money between a customer's accounts")
    assert library.load(library.dump(saved)) == saved
    assert library.instantiate(saved, {**INPUT, "to": "1000000009"}, FACTS) == PLAN


def test_saving_the_same_again_is_no_new_version():
    first = library.saved("transfer", PLAN, INPUTS)
    assert library.saved("transfer", PLAN, INPUTS, first) is first
    assert library.saved("transfer", changed(2, _when="true"), INPUTS, first).reference == "transfer@2"


@pytest.mark.parametrize(
    ("inputs", "path", "rule"),
    [
        ({**INPUT, "to": 7}, "input.to", "type"),
        ({"to": "7"}, "input.customer", "required"),
        ({**INPUT, "amount": {"minor": 1.5, "currency": "USD"}}, "input.amount.minor", "float"),
    ],
)
def test_inputs_that_break_what_is_declared_are_refused(inputs, path, rule):
    saved = library.saved("transfer", PLAN, INPUTS)
    with pytest.raises(BreaksSchema) as refusal:
        library.instantiate(saved, inputs, FACTS)
    assert (refusal.value.path, refusal.value.rule) == (path, rule)


def test_a_saved_plan_may_rest_on_nothing_but_its_inputs():
    saved = library.saved("look", model.read([{"_tool": "tell", "text": "†state.open"}]), library.NO_INPUTS)
    assert [(found.rule, found.call) for found in library.findings(saved, FACTS)] == [("no_source", "tell")]
    with pytest.raises(PlanRefused):
        library.instantiate(saved, {}, FACTS)


def test_the_output_of_a_saved_plan_is_judged_too():
    def wrong(**more):
        return [(found.rule, found.call) for found in library.findings(library.saved("x", PLAN, INPUTS, **more), FACTS)]

    receipt = {"type": "object", "properties": {"receipt": {"type": "string"}}}
    assert wrong(output={"receipt": "†state.receipt.receipt"}, result=receipt) == []
    assert wrong(output={"receipt": "†state.recipt"}) == [("no_source", "(output)")]
    assert wrong(output={"receipt": "†state.receipt"}, result=receipt) == [("wrong_type", "(output)")]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"conditions": ("os.system('x')",)}, BadGuard),
        ({"output": {"x": "†state..x"}}, BadReference),
        ({"result": {"$ref": "https://example.com/x"}}, BadSchema),
        ({"about": "x" * 2001}, BadPlan),
    ],
)
def test_a_part_that_cannot_be_read_is_refused_when_it_is_saved(more, error):
    with pytest.raises(error):
        library.saved("transfer", PLAN, INPUTS, **more)


@pytest.mark.parametrize("data", [b"{}", b"[" * 100_000, b"\xff", b'{"name":"A","version":1,"calls":[]}'])
def test_what_is_no_saved_plan_is_refused(data):
    with pytest.raises(BadPlan):
        library.load(data)


@given(st.binary(max_size=40))
def test_any_bytes_are_refused_by_name(data):
    with suppress(BadPlan, BadSchema, BadGuard, BadReference):
        library.load(b'{"name":"a","version":1,"calls":[],' + data)
