"""What data messages declare private stays private: the state keeps their schemas, for readers and for models."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.memory.context import messages as told
from agentstate.engine.memory.data import told as told_of_data
from agentstate.engine.memory.groups import grouped
from agentstate.engine.memory.lines import told as in_lines
from agentstate.engine.scratchpad import messages
from agentstate.engine.scratchpad.messages import TooMuchData
from agentstate.engine.state.evolution import evolve, fold
from agentstate.engine.state.rollback import carried, state_of
from agentstate.engine.state.rounds import private_places, private_schemas
from agentstate.engine.state.session import Call
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.understanding.ontology import EntityType, Ontology, Source
from tests.core.test_data_messages import PIN, with_data
from tests.core.test_versions import rollback
from tests.core.worlds import World, opened

SECRET = "ZQ7PRIVATE"
OPEN = {"type": "object"}
AT = "2026-11-21T03:00:00.000000Z"


def unmarked() -> World:
    """A session whose first message declared `notes.pin` private, and whose second no longer does."""
    world = with_data({"pin": SECRET, "n": 1}, schema=PIN)
    return with_data({"n": 2}, schema=OPEN, world=world)


def test_what_a_message_declared_private_stays_so_after_a_later_schema_a_rollback_and_a_fork():
    start = len(opened().history)
    world = with_data({"who": SECRET}, "cards", {"type": "object", "x-private": True}, "ann", world=unmarked())
    private = {"notes.pin", "cards"}
    assert set(private_places(world.state.plans, ())) == private
    back = world.after(rollback(world, start))
    assert not back.state.plans.own.data
    assert set(private_places(back.state.plans, ())) == private
    assert fold(back.history) == back.state
    forked = ev.SessionForked(
        parent="p", seq=world.state.seq, digest="d", by="user:ann", reason="why", restored=carried(world.state)
    )
    assert set(private_places(evolve(opened().state, forked, AT).plans, ())) == private


def test_a_schema_is_kept_once_and_one_without_private_fields_is_not_kept():
    world = with_data({"n": 3}, schema=PIN, world=unmarked())
    assert private_schemas(world.state.plans) == {"notes": (PIN,)}


def test_a_state_from_before_these_schemas_were_kept_keeps_those_that_hold():
    world = with_data({"who": SECRET}, "cards", PIN, "ann", world=with_data({"pin": SECRET}, schema=PIN))
    plans = world.state.plans
    parts = {name: replace(part, private_schemas={}) for name, part in plans.instances.items()}
    bare = replace(plans, own=replace(plans.own, private_schemas={}), instances=parts)
    older = state_of(carried(replace(world.state, plans=bare)))
    assert private_schemas(older.plans) == {"notes": (PIN,), "cards": (PIN,)}
    assert from_snapshot(to_snapshot(world.state)) == world.state


def test_the_schemas_that_are_kept_are_bounded():
    world, large = opened(), "x" * 30_000
    for number in range(messages.MAX_PRIVATE // len(large)):
        world = with_data({"n": number}, schema={**PIN, "title": f"{number} {large}"}, world=world)
    with pytest.raises(TooMuchData, match="private"):
        with_data({"n": 0}, schema={**PIN, "title": large}, world=world)
    assert with_data({"n": 0}, schema={**OPEN, "title": large}, world=world)


def test_a_model_is_told_no_value_that_only_an_earlier_schema_called_private():
    state = unmarked().state
    shown = told_of_data(state.plans.own.data, private_schemas(state.plans), 1_000)
    assert shown == {"notes": {"n": 2}}


@pytest.mark.parametrize("place", ["notes.pin", "notes", "state.open && notes.pin", "state.open || notes.pin.deep"])
def test_a_model_is_told_no_result_that_a_plan_wrote_to_a_private_place(place: str):
    state = unmarked().state
    calls = {each: Call(each, "look", {}, None, CallStatus.RUNNING, round="r") for each in ("c", "d")}
    state = replace(state, calls=calls, plans=replace(state.plans, round="r"))
    result = {"pin": SECRET, "n": 5} if place == "notes" else SECRET
    state = evolve(state, ev.ToolReturned("c", 0, result, place), AT)
    earlier = replace(state, plans=replace(state.plans, round="next"))
    earlier = evolve(earlier, ev.ToolReturned("d", 0, result, place), AT)  # of an earlier plan: a note
    private = private_places(earlier.plans, ())
    assert len([item for item in earlier.items if SECRET in item.text]) == 2
    assert SECRET not in str(told(earlier.items, (), private))
    assert SECRET not in "".join(in_lines(grouped(earlier.items), private, 2_000))
    assert SECRET in str(told(earlier.items, (), ()))


def test_an_entity_of_another_data_subject_is_not_known_to_the_talk():
    types = (EntityType("account", ("account",)),)
    source = (Source("account", "{id}", "{id}", tool="look"),)
    state = replace(opened().state, talk=replace(opened().state.talk, ontology=Ontology(types, (), source)))
    for kid, known in (("", 1), ("k", 0)):
        call = Call("c", "look", {}, None, CallStatus.RUNNING, kid=kid)
        after = evolve(replace(state, calls={"c": call}), ev.ToolReturned("c", 0, {"id": "a"}, None), AT)
        assert len(after.talk.entities) == known
