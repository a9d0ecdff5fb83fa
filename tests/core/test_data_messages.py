"""Data messages beside the state: patches of one object, held to their schema, read and written by plans, bounded."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide.commands.conversation import AddData
from agentstate.engine.memory.data import told
from agentstate.engine.plan.check import PlanRefused
from agentstate.engine.schemas import BadSchema, BreaksSchema
from agentstate.engine.scratchpad import messages
from agentstate.engine.scratchpad.messages import BadMessage, Data, TooMuchData
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.rounds import private_schemas
from agentstate.engine.state.snapshot import from_parts, from_snapshot, to_parts, to_snapshot
from agentstate.errors import Refused
from tests.core import made
from tests.core.test_plans_in_sessions import FREE, SEEN, key, outcome, ran, ready, step
from tests.core.test_versions import rollback
from tests.core.worlds import World, opened

# Patches that agree on what is an object and what is not: below a and b stand objects, below x and y none.
leaves = st.integers() | st.lists(st.integers(), max_size=2) | st.none()
patches = st.recursive(
    st.dictionaries(st.sampled_from("xy"), leaves, max_size=2),
    lambda inner: st.fixed_dictionaries({}, optional={"a": inner, "b": inner, "x": leaves}),
    max_leaves=6,
)
PIN = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}, "n": {"type": "integer"}}}


def folded(data: list[Any], start: Any = None) -> Any:
    return reduce(lambda held, each: messages.patched(held, each), data, start)


@given(st.lists(made.values, min_size=1, max_size=5), st.integers(0, 5))
def test_the_fold_of_some_messages_and_then_the_rest_is_the_fold_of_all(data, cut):
    cut = min(cut, len(data) - 1)
    assert folded(data[cut:], folded(data[:cut])) == folded(data)


@given(patches, patches, patches)
def test_patches_may_be_put_together_before_they_are_applied(one, other, third):
    merge = scratchpad.merge
    assert merge(merge(one, other), third) == merge(one, merge(other, third))


@given(patches, patches)
def test_the_newest_message_that_holds_a_path_provides_its_value(old, new):
    held = folded([old, new]).value

    def holds(node: Any, patch: Any, before: Any) -> None:
        for name in {*patch, *before} if isinstance(patch, dict) else ():
            below = before.get(name) if isinstance(before, dict) else None
            if name in patch and isinstance(patch[name], dict):
                holds(node[name], patch[name], below if isinstance(below, dict) else {})
            else:
                assert node[name] == (patch[name] if name in patch else before[name])

    holds(held, new, old)


@given(st.dictionaries(st.sampled_from("ab"), made.values), st.dictionaries(st.sampled_from("xy"), made.values))
def test_patches_of_different_places_may_come_in_any_order(one, other):
    assert folded([one, other]).value == folded([other, one]).value


@given(made.values, st.sampled_from(["", "ann"]))
def test_a_message_is_read_back_as_it_was_written(data, instance):
    message = Data(data, "notes", None, instance)
    assert messages.read(messages.write(message)) == message


@given(made.values | st.fixed_dictionaries({"type": st.just("data"), "data": made.values, "kind": made.values}))
def test_whatever_comes_as_a_message_is_read_or_refused_by_name(message):
    with suppress(BadMessage):
        assert messages.read(message).kind not in messages.RESERVED


def with_data(
    data: Any, of: str = "notes", schema: Any = None, instance: str = "", world: World | None = None
) -> World:
    return (world or opened()).with_rules(FREE, SEEN).after(AddData(of, data, "user:ann", schema, instance))


def test_a_schema_holds_for_its_message_and_for_all_that_come_later():
    world = with_data({"n": 1}, schema=PIN)
    with pytest.raises(BreaksSchema, match=r"notes\.n: type"):
        with_data({"n": "one"}, world=world)
    with pytest.raises(BreaksSchema, match=r"notes\.n: type"):
        with_data({}, schema={"properties": {"n": {"type": "string"}}}, world=world)
    assert with_data({"m": 2}, world=world).state.plans.own.data["notes"].value == {"n": 1, "m": 2}


@pytest.mark.parametrize("kind", [*sorted(messages.RESERVED), "Notes", "", "a.b", "†notes", "x" * 60])
def test_kinds_with_a_door_of_their_own_and_names_that_are_none_are_refused(kind):
    with pytest.raises(BadMessage):
        with_data(1, kind)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/s.json"},
        {"pattern": "(a+)+$"},
        {"type": "object", "properties": {"x": {"x-writers": ["agent"]}}},
        {"anyOf": [{"x-private": True}]},
        {"type": "nothing"},
        {"enum": ["x" * 40_000]},
    ],
)
def test_a_schema_that_is_not_safe_or_means_nothing_here_is_refused(schema):
    with pytest.raises(BadSchema):
        with_data({}, schema=schema)


def test_what_one_session_holds_of_data_is_bounded():
    deep: Any = 0
    for _ in range(10_000):
        deep = [deep]
    for data in (deep, "x" * 100_000, [0] * 20_000, 0.5):
        with pytest.raises(BreaksSchema):
            with_data(data)
    world = opened()
    for number in range(messages.MAX_KINDS):
        world = with_data(number, f"kind{number}", world=world)
    with pytest.raises(TooMuchData):
        with_data(1, "onemore", world=world)
    world = opened()
    for number in range(messages.MAX_TOTAL // 60_100):
        world = with_data("x" * 60_000, instance=f"i{number}", world=world)
    with pytest.raises(TooMuchData):
        with_data("x" * 60_000, instance="more", world=world)


def test_a_plan_reads_data_messages_and_writes_to_them():
    load = step("load_customer", "†notes.customer", customer="†notes.who")
    check = step("authorize", "†state.check", name="†notes.customer.name")
    world = with_data({"who": "C-7"}).after(core.ProposePlan((load, check), "user:ann"))
    assert ready(world) == ["load_customer"]
    world = ran(world, "load_customer", {"name": "Ann"})
    assert world.events(ev.ToolIntended)[-1].arguments == {"customer": "C-7"}
    world = ran(world, "authorize", {"allowed": True})
    assert world.events(ev.ToolIntended)[-1].arguments == {"name": "Ann"}
    assert world.state.plans.own.data["notes"].value == {"who": "C-7", "customer": {"name": "Ann"}}
    assert world.state.pad == {"check": {"allowed": True}}


def test_of_two_outputs_to_one_place_of_a_message_the_first_is_taken():
    calls = (step("load_customer", "notes.x", _id="a", _when="input.x"), step("load_customer", "notes.x", _id="b"))
    world = with_data({}).after(core.ProposePlan(calls, "user:ann", inputs={"x": True}))
    world = ran(ran(world, "b", 2), "a", 1)
    assert world.state.plans.own.data["notes"].value == {"x": 2}
    assert outcome(world, "a") == "skipped"


def test_a_result_that_breaks_the_schema_of_a_message_is_recorded_and_not_taken():
    world = with_data({"n": 1}, schema=PIN).after(
        core.ProposePlan((step("load_customer", "notes.n", _id="a"),), "user:ann")
    )
    world = ran(world, "a", "many")
    assert world.events(ev.ToolFailed)[-1].code == "breaks_schema"
    assert world.state.plans.own.data["notes"].value == {"n": 1}


def test_an_error_that_a_message_has_no_place_for_is_not_written_to_it():
    call = step("load_customer", "state.good || notes.n", _id="a")
    with pytest.raises(PlanRefused, match="wrong_type"):
        with_data({"n": 1}, schema=PIN).after(core.ProposePlan((call,), "user:ann"))
    world = with_data({"n": 1}).after(core.ProposePlan((call,), "user:ann"))
    world = with_data({"n": 1}, schema=PIN, world=world)  # declared while the plan is carried out
    world = world.after(core.Begin(key(world, "a")), core.Fail(key(world, "a"), 1, "no", False))
    assert outcome(world, "a") == "failed"
    assert world.state.plans.own.data["notes"].value == {"n": 1}
    assert not world.state.plans.is_open


def test_a_reference_to_data_that_is_not_there_is_refused_by_name():
    for reference, rule in (("†notes.x", "unknown_kind"), ("†todo.x", "no_source")):
        with pytest.raises(PlanRefused, match=rule):
            with_data({"y": 1}, "todo").after(core.ProposePlan((step("load_customer", x=reference),), "user:ann"))


def test_a_ready_call_whose_data_somebody_takes_away_is_dropped_and_the_round_ends():
    calls = (step("load_customer", "state.a", x="†notes.x"), step("authorize", x="†state.a"))
    world = with_data({"x": 1}).after(core.ProposePlan(calls, "user:ann"))
    world = with_data("nothing", world=world)
    assert ready(world) == ["load_customer"]
    world = world.after(core.Begin(key(world, "load_customer")))
    assert (outcome(world, "load_customer"), outcome(world, "authorize")) == ("blocked", "blocked")
    assert not world.state.plans.is_open
    assert fold(world.history) == world.state


def test_each_instance_has_messages_of_its_own():
    world = with_data({"who": "all"})
    for name in ("ann", "bob"):
        world = with_data({"who": name}, instance=name, world=world)
    given = tuple(core.InstanceGiven(name) for name in ("ann", "bob"))
    world = world.after(core.ProposePlan((step("load_customer", x="†notes.who"),), "user:ann", instances=given))
    for key_ in list(world.state.plans.ready):
        world = world.after(core.Begin(key_))
    assert [event.arguments["x"] for event in world.events(ev.ToolIntended)] == ["ann", "bob"]


def test_data_goes_back_with_a_rollback_and_into_snapshots_whole_and_in_parts():
    world = with_data({"n": 1})
    before = len(world.history)
    world = with_data({"n": 2}, instance="ann", world=with_data({"n": 2}, world=world))
    assert from_snapshot(to_snapshot(world.state)) == world.state == fold(world.history)
    parts = to_parts(world.state, 0)
    assert from_parts(parts.rest, parts.bodies) == world.state
    back = world.after(rollback(world, before))
    assert back.state.plans.own.data["notes"].value == {"n": 1}


def test_a_model_is_told_what_fits_and_never_what_is_private():
    world = with_data({"pin": "1234", "n": 1}, schema=PIN)
    world = with_data({"long": "x" * 5_000}, "letter", world=world)
    shown = told(world.state.plans.own.data, private_schemas(world.state.plans), 1_000)
    assert shown["notes"] == {"n": 1}
    assert shown["letter"] == {"not_shown": "5011 characters", "keys": ["long"]}


def test_an_ended_session_takes_no_data():
    with pytest.raises(Refused, match="over"):
        with_data(1, world=opened().after(core.End("done", "user:ann")))
