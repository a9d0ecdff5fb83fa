"""Data messages: patches of one object for each kind and instance, the newest wins, and schemas are enforced."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine.schemas import BadSchema, BreaksSchema
from agentstate.engine.scratchpad import merge, messages
from agentstate.engine.scratchpad.messages import BadMessage, Board, Data, folded, put, views
from tests.core.made import objects, values

FORM = {
    "type": "object",
    "properties": {"phone": {"type": "string", "pattern": "^[0-9]+$"}, "amount": {"type": "integer", "minimum": 1}},
    "required": ["phone", "amount"],
}
patches = st.builds(Data, objects, st.sampled_from(["state", "input"]), st.none(), st.sampled_from(["", "ann", "bob"]))


def seen(*made: Data, instance: str = "") -> dict:
    return dict(views(folded(made), instance))


@given(st.lists(patches, max_size=6))
def test_each_kind_and_instance_is_an_object_of_its_own(made):
    board = folded(made)
    for kind, held in board.objects.items():
        for instance, found in held.items():
            alone = [each for each in made if (each.kind, each.instance) == (kind, instance)]
            assert found == folded(alone).objects[kind][instance]


@given(st.lists(patches, max_size=6), st.integers(0, 6))
def test_a_prefix_and_the_rest_fold_to_the_whole(made, cut):
    board = folded(made[:cut])
    for message in made[cut:]:
        board = put(board, message)
    assert board == folded(made)


@given(objects, objects)
def test_the_last_patch_stands_and_what_it_does_not_name_stays(first, second):
    state = seen(Data(first, "state"), Data(second, "state"))["state"]
    assert state.keys() == first.keys() | second.keys()
    for key, value in second.items():
        assert state[key] == (merge(first[key], value) if key in first else value)
    assert all(state[key] == first[key] for key in first.keys() - second.keys())


@given(values)
def test_a_message_is_read_as_it_is_written(value):
    message = Data(value, "state", None, "ann")
    assert messages.read(messages.write(message)) == message


def test_the_newest_message_that_holds_a_path_provides_its_value():
    before = Data({"customer": {"name": "Ada", "tags": [1, 2]}, "note": "old"}, "state")
    assert seen(before, Data({"customer": {"tags": [3]}, "note": None}, "state"))["state"] == {
        "customer": {"name": "Ada", "tags": [3]},
        "note": None,
    }


def test_the_input_of_everybody_shows_through_that_of_an_instance():
    made = [
        Data({"bank": "ours", "limit": 5}, "input"),
        Data({"limit": 7}, "input", None, "ann"),
        Data({"x": 1}, "state"),
    ]
    assert seen(*made, instance="ann") == {"input": {"bank": "ours", "limit": 7}}
    assert seen(*made, instance="bob") == {"input": {"bank": "ours", "limit": 5}}


def test_a_state_is_a_form_that_may_lack_what_it_requires_but_holds_nothing_wrong():
    board = put(Board(), Data({"phone": "55"}, "state", FORM))
    with pytest.raises(BreaksSchema) as refusal:
        put(board, Data({"amount": 0}, "state"))
    assert (refusal.value.path, refusal.value.rule) == ("state.amount", "minimum")
    assert views(put(board, Data({"amount": 7}, "state")))["state"] == {"phone": "55", "amount": 7}


def test_other_objects_must_be_whole():
    with pytest.raises(BreaksSchema) as refusal:
        put(Board(), Data({"phone": "55"}, "order", FORM))
    assert (refusal.value.path, refusal.value.rule) == ("order.amount", "required")


PRIVATE = {
    "type": "object",
    "properties": {
        "customer": {"type": "object", "properties": {"ssn": {"type": "string", "x-private": True}}},
        "pins": {"type": "array", "items": {"type": "object", "properties": {"pin": {"x-private": True}}}},
    },
}


def test_what_is_private_enters_no_model_request_whatever_its_scopes_say():
    pad = {"customer": {"name": "Ada", "ssn": "078-05-1120"}, "pins": [{"pin": 1234, "card": "x"}]}
    board = folded([Data(pad, "state", PRIVATE, "ann"), Data({"secret": 1}, "input")])
    assert messages.for_model(board, ["state"], "ann") == {
        "state": {"customer": {"name": "Ada"}, "pins": [{"card": "x"}]}
    }
    assert messages.for_model(board, ["state.customer.ssn"], "ann") == {}
    assert messages.for_model(board, ["state"], "bob") == {}
    assert views(board, "ann")["state"] == pad


def test_a_schema_that_hides_under_a_choice_what_is_private_is_refused():
    with pytest.raises(BadSchema):
        put(Board(), Data({}, "state", {"type": "object", "anyOf": [{"properties": {"pin": {"x-private": True}}}]}))


@pytest.mark.parametrize("schema", [{"$ref": "https://example.com/x"}, {"type": 7}, {"pattern": "(a+)+$"}])
def test_a_schema_that_cannot_be_used_is_refused(schema):
    with pytest.raises(BadSchema):
        put(Board(), Data({}, "state", schema))


@pytest.mark.parametrize(
    "message",
    [
        7,
        {"type": "data"},
        {"type": "text", "data": 1},
        {"type": "data", "data": 1, "kind": "State"},
        {"type": "data", "data": 1, "_instance": 7},
        {"type": "data", "data": 1, "instance": "ann"},
    ],
)
def test_what_is_no_data_message_is_refused(message):
    with pytest.raises(BadMessage):
        messages.read(message)


@given(
    values | st.dictionaries(st.sampled_from(["type", "data", "kind", "schema", "_instance"]), values | st.just("data"))
)
def test_anything_at_all_is_taken_or_refused_by_name(message):
    with suppress(BadMessage, BadSchema, BreaksSchema):
        put(Board(), messages.read(message))


def test_floats_and_what_is_too_deep_are_refused():
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    for value, rule in (({"amount": 1.5}, "float"), (deep, "max_depth")):
        with pytest.raises(BreaksSchema) as refusal:
            put(Board(), Data(value, "state"))
        assert refusal.value.rule == rule
