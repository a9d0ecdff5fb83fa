"""Attacks by an answer: what its request did not offer, labels, and what is left out. The engine alone answers."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide import offers
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import pending
from sessions.descriptions import entries as descriptions_entries
from tests.core import worlds
from tests.core.worlds import World, opened, proposed

FREE = worlds.pol.Rule("free", ("load_customer", "authorize", "transfer"), "true", 0, "allow", "Anything goes.")
PLAN = worlds.pol.Rule("plan", ("plan",), "true", 2, "approve", "Plans are read.")
SEEN = worlds.pol.Rule("seen", ("plan",), "true", 1, "allow", "Plans go on.")
AMOUNT = {"minor": 100, "currency": "USD"}


def answered(*calls: ev.CallProposed, offered: tuple[str, ...] = (), text: str = "") -> World:
    """A session whose model answered with these calls."""
    return opened().with_rules(FREE, PLAN).offering(*offered).asked(*calls, text=text)


def refusals(world: World) -> dict[str, str]:
    return {event.call: event.code for event in world.events(ev.CallRefused)}


def acts(world: World) -> bool:
    """Whether anything can begin, or waits for a person."""
    open_calls = [call for call in world.state.calls.values() if call.status is not CallStatus.REFUSED]
    return bool(open_calls or world.state.plans.ready or pending(world.state))


@pytest.mark.parametrize(
    "more",
    [
        {"_delegate": "anonymous"},
        {"_outputPath": "state.scrap || state.flags"},
        {"_when": "state.verification.answer.startsWith('b')"},
        {"_scopes": ["state"]},
        {"_instance": "ann"},
        {"_activity": "quietly"},
        {"_tool": "transfer"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_o1_a_model_uses_a_property_that_nobody_offered(more: dict[str, Any]):
    world = answered(proposed("load_customer", **more))
    assert set(refusals(world).values()) == {"not_offered"}
    assert not acts(world)
    assert next(iter(more)) in world.state.items[-1].text


def test_o1_a_whole_plan_comes_from_a_model_that_may_not_plan():
    whole = proposed("plan", calls=[{"_tool": "transfer", "amount": AMOUNT}])
    world = answered(whole)
    assert (set(refusals(world).values()), acts(world)) == ({"not_offered"}, False)
    world = answered(proposed("plan", calls=[{"_tool": "transfer", "_delegate": "anonymous"}]), offered=offers.PLANNING)
    assert (set(refusals(world).values()), acts(world)) == ({"not_offered"}, False)


@pytest.mark.parametrize("planned", [{}, {"_id": "look"}], ids=["plain", "planned"])
def test_o1_a_reference_of_a_model_that_may_write_none_reads_nothing(planned: dict[str, str]):
    text = "†state.verification.answer"
    world = opened().with_rules(FREE, SEEN).offering("plan", *planned)
    world = world.asked(proposed("load_customer", purpose=text, **planned))
    ready = [call.id for call in world.state.calls.values() if call.status is CallStatus.READY]
    world = world.after(*map(core.Begin, [*ready, *world.state.plans.ready]))
    (begun,) = world.events(ev.ToolIntended)
    assert begun.arguments == {"purpose": text}


def test_o1_a_tool_of_the_agent_that_this_request_left_out_is_called():
    world = opened().with_rules(FREE).after(core.Ask("s", "model", 0, 0, ("load_customer",), "digest"))
    world = world.after(core.Answer("s", "model", "", (proposed("transfer", amount=AMOUNT),)))
    assert (set(refusals(world).values()), acts(world)) == ({"not_offered"}, False)


def test_r15_a_plan_is_previewed_by_its_tools_not_by_the_labels_of_the_model():
    calls = [
        {"_tool": "transfer", "_id": "load_customer", "amount": AMOUNT},
        {"_tool": "load_customer", "_id": "tell_opening_hours"},
    ]
    preview = answered(proposed("plan", calls=calls), offered=offers.ALL).request.asked.preview
    assert preview == "Carry out a plan of 2 calls: transfer, load_customer"


def test_r15_a_transfer_hides_behind_more_calls_than_a_preview_names():
    calls = [{"_tool": "load_customer", "n": number} for number in range(60)]
    world = answered(proposed("plan", calls=[*calls, {"_tool": "transfer", "amount": AMOUNT}]), offered=offers.ALL)
    assert world.request.asked.preview.endswith(", transfer")


def test_r15_a_deviation_from_an_approved_plan_hides_behind_a_label():
    world = answered(proposed("plan", calls=[{"_tool": "load_customer"}]), offered=offers.ALL)
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = world.after(core.Begin(world.state.plans.proposed))
    world = world.asked(proposed("plan", calls=[{"_tool": "transfer", "_id": "load_customer", "amount": AMOUNT}]))
    assert "transfer (label load_customer) is not in the approved plan" in world.request.asked.why


def test_r18_no_call_of_a_long_answer_vanishes():
    world = answered(*(proposed("load_customer", n=number) for number in range(40)))
    (answer,) = world.events(ev.ModelAnswered)
    allowed = {event.call for event in world.events(ev.CallAllowed)}
    assert [call.arguments["n"] for call in answer.calls] == list(range(40))
    assert allowed == {call.id for call in answer.calls[: core.MAX_CALLS]}
    assert refusals(world) == {call.id: "too_many_calls" for call in answer.calls[core.MAX_CALLS :]}
    assert sum("too_many_calls" in item.text for item in world.state.items) == 40 - core.MAX_CALLS


def test_r18_a_plan_written_call_by_call_does_not_lose_its_tail():
    calls = (proposed("load_customer", _outputPath=f"state.c{number}") for number in range(core.MAX_CALLS + 1))
    world = answered(*calls, offered=offers.ALL)
    assert list(refusals(world).values()) == ["too_many_calls"] * (core.MAX_CALLS + 1)
    assert not acts(world)


def test_r18_an_answer_beyond_every_bound_fails_by_name():
    world = answered(*(proposed("load_customer", n=number) for number in range(core.MAX_PROPOSED + 1)))
    (failed,) = world.events(ev.ModelFailed)
    assert "more than 64 calls" in failed.reason
    assert not acts(world)


def test_r18_the_part_of_a_text_that_is_not_said_is_on_record():
    world = answered(proposed("load_customer"), text="a" * (core.MAX_TEXT + 1_234))
    (said,) = [event for event in world.events(ev.MessageAdded) if event.role == "agent"]
    (answer,) = world.events(ev.ModelAnswered)
    assert (len(said.text), answer.cut) == (core.MAX_TEXT, 1_234)
    sentence = descriptions_entries.entry("model.answered", {"calls": (), "cut": answer.cut})
    assert "the last 1,234 characters were not sent" in sentence.about
