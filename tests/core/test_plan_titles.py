"""Readers are told of a call by its tool. The label that its author gave it stands beside the tool, as a label."""

from __future__ import annotations

from agentstate.engine import decide as core
from agentstate.engine.decide import offers
from agentstate.engine.plan import drawing, model
from agentstate.engine.plan.deviation import deviations
from agentstate.engine.plan.difference import difference, words
from tests.core import worlds
from tests.core.test_plans_in_sessions import FREE, WHOLE
from tests.core.worlds import World, opened

MISLABELLED = (
    {"_tool": "transfer", "_id": "load_customer", "amount": {"minor": 100, "currency": "USD"}},
    {"_tool": "load_customer", "_id": "transfer", "customer": "C-1"},
)


def waiting(*calls: dict[str, object]) -> World:
    """A session whose agent's plan waits for a person."""
    world = opened().with_rules(FREE, WHOLE).offering(*offers.ALL)
    return world.asked(worlds.proposed("plan", calls=list(calls)))


def test_the_preview_of_a_plan_names_its_tools_and_no_label():
    preview = waiting(*MISLABELLED).request.asked.preview
    assert preview == "Carry out a plan of 2 calls: transfer, load_customer"
    labelled = waiting({**MISLABELLED[0], "_id": "tell_opening_hours"}).request.asked.preview
    assert labelled == "Carry out a plan of 1 calls: transfer"


def test_a_transfer_behind_many_other_calls_is_in_the_preview():
    loads = [{"_tool": "load_customer", "customer": f"C-{number}"} for number in range(30)]
    preview = waiting(*loads, MISLABELLED[0]).request.asked.preview
    assert preview == "Carry out a plan of 31 calls: load_customer (30 times), transfer"


def test_the_preview_names_what_is_handed_to_a_delegate():
    preview = waiting({"_tool": "load_customer", "_delegate": "anonymous", "customer": "C-1"}).request.asked.preview
    assert preview == "Carry out a plan of 1 calls: load_customer by the delegate anonymous"


def test_the_preview_of_an_edited_plan_names_its_tools():
    world = waiting(*MISLABELLED)
    arguments = {**world.request.asked.arguments, "calls": [{**MISLABELLED[0], "_id": "harmless"}]}
    world = world.after(worlds.decision(world, "edit", "sue", arguments=arguments))
    assert world.request.asked.preview == "Carry out a plan of 1 calls: transfer"


def test_pictures_differences_and_deviations_say_the_tool_first():
    before, after = model.read([MISLABELLED[1]]), model.read(list(MISLABELLED))
    assert words(difference(before, after), before, after) == ("transfer (label load_customer) is new",)
    assert words(difference(after, before), after, before) == ("transfer (label load_customer) is gone",)
    first, second = map(str, deviations(before, after))
    assert first == "transfer (label load_customer) is not in the approved plan"
    assert second == "load_customer (label transfer) as approved"
    picture = drawing.drawing(after)
    lines = drawing.text(picture).splitlines()
    assert lines == ["1. transfer (label load_customer)", "1. load_customer (label transfer)"]
    assert '[label="transfer (label load_customer)"]' in drawing.dot(picture)


def test_a_label_that_only_begins_like_its_tool_is_shown_as_a_label():
    picture = drawing.drawing(model.read([{"_tool": "load", "_id": "load_customer"}, {"_tool": "tell"}]))
    assert drawing.text(picture).splitlines() == ["1. load (label load_customer)", "1. tell"]


def test_a_call_beside_an_approved_plan_is_named_by_its_tool():
    world = waiting(MISLABELLED[1])
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = world.after(core.Begin(world.state.plans.proposed)).asked(worlds.proposed("authorize", customer="C-9"))
    assert "authorize is not in the approved plan" in world.request.asked.why
