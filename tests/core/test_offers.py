"""A model may use what its request offered: the tools that it names, and what the agent declares beside them. Every
other call is recorded, refused by name, and told to the model.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.charts import ChartState
from agentstate.engine.decide import offers
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import fold
from tests.core import worlds
from tests.core.worlds import World, opened, proposed

FREE = worlds.pol.Rule(
    "free", ("load_customer", "authorize", "transfer", "post_letter", "plan"), "true", 0, "allow", ""
)
STEP = {"_tool": "load_customer", "customer": "C-1"}
VALUES: dict[str, Any] = {
    "_id": "load",
    "_outputPath": "state.customer",
    "_scopes": ["state"],
    "_when": "has(state.x)",
    "_delegate": "anonymous",
    "_instance": "ann",
    "_activity": "quietly",
}


def free(*offered: str) -> World:
    """A session in which policy allows everything, and whose agent offers so much."""
    return opened().with_rules(FREE).offering(*offered)


def refusals(world: World) -> list[tuple[str, str]]:
    return [(event.code, event.reason) for event in world.events(ev.CallRefused)]


def codes(world: World) -> list[str]:
    return [code for code, _ in refusals(world)]


def plans(world: World) -> list[ev.PlanCommitted]:
    return world.events(ev.PlanCommitted)


def whole(*calls: Any, **more: Any) -> ev.CallProposed:
    return ev.CallProposed("p", "plan", {"calls": list(calls), **more})


@pytest.mark.parametrize("name", [*offers.PROPERTIES, "_tool", "_unknown", "__proto__", "_"])
def test_a_property_that_was_not_offered_is_refused_by_name_and_the_call_does_not_begin(name):
    others = [each for each in offers.ALL if each != name]
    for world in (free(), free(*others)):
        world = world.asked(proposed("load_customer", **{name: VALUES.get(name, "secret-value")}))
        assert refusals(world) == [("not_offered", f"the property {name!r} was not offered")]
        assert plans(world) == []
        assert world.call("load_customer").status is CallStatus.REFUSED


@pytest.mark.parametrize("name", offers.PROPERTIES)
def test_a_whole_plan_has_the_properties_that_were_offered_and_no_other(name):
    others = [each for each in offers.ALL if each != name]
    world = free(*others).asked(whole(STEP, {**STEP, name: VALUES[name]}))
    assert refusals(world) == [("not_offered", f"call 2: the property {name!r} was not offered")]
    assert plans(world) == []


def test_a_refusal_names_the_property_and_repeats_no_value_and_no_long_name():
    world = free().asked(
        proposed("load_customer", _delegate="4711-secret"), proposed("authorize", **{"_" + "x" * 500: 1})
    )
    told = "".join(reason for _, reason in refusals(world))
    assert "secret" not in told
    assert len(told) < 250


def test_what_was_refused_is_recorded_and_the_model_is_told():
    world = free().asked(proposed("load_customer", _when="true"))
    (answer,) = world.events(ev.ModelAnswered)
    assert answer.calls[0].arguments == {"_when": "true"}
    assert "'_when' was not offered" in world.state.items[-1].text
    assert '"code":"not_offered"' in world.state.items[-1].text
    assert fold(event for event in world.history) == world.state


def test_a_tool_that_this_request_did_not_name_is_refused_although_the_agent_has_it():
    world = free(*offers.ALL)
    world = world.after(core.Ask("s", "model", 0, 0, ("load_customer", "plan"), "digest"))
    for call in (proposed("transfer", amount={"minor": 1}), proposed("goals", id="g", title="Goal")):
        asked = world.after(core.Answer("s", "model", "", (call,)))
        assert refusals(asked) == [("not_offered", f"the tool {call.tool} was not offered in this request")]
    planned = world.after(core.Answer("s", "model", "", (whole({"_tool": "transfer", "amount": {"minor": 1}}),)))
    assert refusals(planned) == [("not_offered", "call 1: the tool transfer was not offered in this request")]


def test_a_tool_that_the_chart_kept_out_of_the_request_is_refused_by_the_chart_or_as_not_offered():
    world = free().after(core.Ask("s", "model", 0, 0, ("load_customer",), "digest"))
    call = proposed("transfer", amount={"minor": 1})
    for tools, code in ((("load_customer",), "not_in_this_state"), (("transfer",), "not_offered")):
        chart = msgspec.structs.replace(world.state.chart, tools=tools, inside=ChartState("c"))
        state = msgspec.structs.replace(world.state, chart=chart)
        asked = dataclasses.replace(world, state=state).after(core.Answer("s", "model", "", (call,)))
        assert codes(asked) == [code]


def test_plans_and_goals_are_offered_by_name():
    for name in ("plan", "goals"):
        world = free(*(each for each in offers.ALL if each != name))
        call = whole(STEP) if name == "plan" else ev.CallProposed("g", "goals", {"id": "g", "title": "Goal"})
        assert refusals(world.asked(call)) == [("not_offered", f"the tool {name} was not offered in this request")]
        assert codes(free(name).asked(call)) == []


def test_a_tool_that_does_not_exist_is_still_said_not_to():
    assert codes(free().asked(proposed("fly"))) == ["unknown_tool"]


def test_a_text_that_begins_with_a_dagger_is_text_where_no_references_are_offered():
    world = free().asked(proposed("load_customer", name="†state.customer.pin", deep={"a": ["†x y", "†† z"]}))
    call = world.call("load_customer")
    assert (call.status, call.arguments["name"]) == (CallStatus.READY, "†state.customer.pin")
    assert call.arguments["deep"] == {"a": ["†x y", "†† z"]}


@pytest.mark.parametrize("as_whole", [True, False])
def test_in_a_plan_without_references_a_dagger_is_text_as_well(as_whole):
    world = free("plan", "_id")
    arguments = {"_id": "load", "name": "†state.customer.pin", "deep": ["††", "†.."]}
    call = whole({"_tool": "load_customer", **arguments}) if as_whole else proposed("load_customer", **arguments)
    world = world.asked(call)
    world = world.after(core.Begin(world.state.plans.ready[0]))
    (begun,) = world.events(ev.ToolIntended)
    assert begun.arguments == {"name": "†state.customer.pin", "deep": ["††", "†.."]}


def test_a_property_that_the_tools_own_schema_declares_is_an_argument_of_the_tool():
    schema = {"type": "object", "properties": {"_note": {"type": "string"}, "_id": {"type": "string"}}}
    own = msgspec.structs.replace(worlds.TOOLS["load_customer"], schema=schema)
    world = World(tools={**worlds.TOOLS, "load_customer": own}).after(core.Open("C-1", "team", "bank", "phone"))
    world = world.with_rules(FREE)
    called = world.asked(proposed("load_customer", _note="x", _id="7"))
    assert (called.call("load_customer").status, codes(called)) == (CallStatus.READY, [])
    open_schema = msgspec.structs.replace(own, schema={"type": "object", "additionalProperties": True})
    other = World(tools={"load_customer": open_schema}).after(core.Open("C-1", "team", "bank", "phone"))
    assert codes(other.with_rules(FREE).asked(proposed("load_customer", _note="x"))) == ["not_offered"]
    planned = world.offering("_when").asked(proposed("load_customer", _note="x", _when="true"))
    assert codes(planned) == ["not_offered"]


def test_the_rest_of_a_plan_that_is_refused_in_part_is_refused_too():
    world = free("_outputPath", "references").asked(
        proposed("load_customer", _outputPath="state.customer"),
        proposed("authorize", name="†state.customer.name", _delegate="anonymous"),
    )
    assert codes(world) == ["not_offered", "not_offered"]
    assert all("'_delegate' was not offered" in reason for _, reason in refusals(world))
    assert plans(world) == []


def test_plain_calls_beside_a_refused_one_go_on():
    world = free().asked(proposed("load_customer"), proposed("authorize", _when="true"))
    assert codes(world) == ["not_offered"]
    assert world.call("load_customer").status is CallStatus.READY


def test_an_answer_holds_one_plan_and_plain_calls_beside_it():
    world = free(*offers.ALL).asked(
        whole(STEP), whole(STEP), proposed("authorize", _when="true"), proposed("post_letter")
    )
    assert codes(world) == ["bad_plan", "bad_plan"]
    assert len(plans(world)) == 1
    assert world.call("post_letter").status is CallStatus.READY


def test_a_plan_has_no_argument_beside_its_calls():
    world = free(*offers.ALL).asked(whole(STEP, follow=True))
    assert refusals(world) == [("not_offered", "the property 'follow' was not offered")]


@pytest.mark.parametrize(
    "wrong", [{"_when": 5}, {"_scopes": "state"}, {"_scopes": {"a": 1}}, {"_id": None}, {"_outputPath": ["state.x"]}]
)
def test_an_offered_property_of_the_wrong_type_is_refused(wrong):
    for call in (proposed("load_customer", **wrong), whole({**STEP, **wrong})):
        world = free(*offers.ALL).asked(call)
        assert codes(world) == ["bad_plan"]
        assert plans(world) == []


def test_calls_with_one_id_are_refused_and_the_others_go_on():
    calls = (proposed("load_customer"), proposed("authorize"), msgspec.structs.replace(proposed("post_letter"), id="b"))
    world = free().after(core.Ask("s", "model", 0, 0, tuple(worlds.TOOLS), "digest"))
    world = world.after(core.Answer("s", "model", "", calls))
    assert codes(world) == ["duplicate_id", "duplicate_id"]
    assert world.call("post_letter").status is CallStatus.READY


def test_people_and_callers_keep_all_properties():
    calls = ({**STEP, "_id": "load", "_when": "true", "_scopes": ["state"], "_outputPath": "state.customer"},)
    world = free().after(core.ProposePlan(calls, "user:ann"))
    assert set(plans(world)[0].calls[0]) == {"_tool", "_id", "_when", "_scopes", "_outputPath", "customer"}


def test_arguments_that_are_too_deep_or_no_data_are_refused():
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    world = free().asked(proposed("load_customer", a=deep), proposed("authorize", a=1.5))
    assert codes(world) == ["breaks_schema", "breaks_schema"]


def test_an_entry_from_before_properties_were_offered_still_folds():
    asked = ev.ModelRequested("s", "model", 0, 0, ("load_customer",), "digest")
    call = ev.CallProposed("c", "load_customer", {"_delegate": "anonymous", "x": "†state.y"})
    history = [*opened().history, (asked, "t"), (ev.ModelAnswered("s", "model", (call,)), "t")]
    assert fold(history).calls["c"].status is CallStatus.PROPOSED


def test_an_agent_offers_only_what_there_is():
    from sessions.agents.registry import Agent, register

    with pytest.raises(ValueError, match=r"offers \['_fly'\]"):
        register(Agent("flying", "Fly.", (), "bank", {}, offers=("plan", "_fly")))
