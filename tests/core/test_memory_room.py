"""The state that a model is shown fits its room: the most important parts first, the others by name and size."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import schemas
from agentstate.engine.memory.room import KEYS, NAMED, fitted
from agentstate.engine.memory.shown import json_text
from agentstate.engine.model_request import Definition, build
from agentstate.engine.schemas.importance import importance_of
from agentstate.engine.state.session import SessionState
from tests.core import worlds
from tests.searching import drawn

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=200)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=20), inner, max_size=20)
)
OBJECTS = st.dictionaries(st.text(max_size=20), VALUES, max_size=30)


def size(value: Any) -> int:
    """Characters of a value as JSON."""
    return len(json_text(value))


@settings(max_examples=drawn(300))
@given(OBJECTS, st.integers(NAMED, 2_000))
def test_what_is_shown_fits_its_room_but_for_what_names_what_is_left_out(value: dict[str, Any], room: int):
    # Naming a part takes its size and its first keys; deeper parts have half the room of the one around them.
    most = room + 12 * NAMED + KEYS * 40 * 4
    assert size(fitted(value, room)) <= max(most, min(size(value), room))


@settings(max_examples=drawn(300))
@given(OBJECTS, st.integers(1, 2_000))
def test_what_fits_is_shown_as_it_is_and_nothing_is_made_up(value: dict[str, Any], room: int):
    shown = fitted(value, room)
    if size(value) <= room:
        assert shown == value
    elif room >= NAMED:
        assert set(shown) <= {*value, "not_shown"}


def test_the_most_important_parts_come_first_and_the_others_are_named():
    pad = {"notes": "n" * 900, "customer": {"name": "Ann", "history": "h" * 900}, "log": ["x" * 90] * 20}
    shown = fitted(pad, 1_200, {("notes",): 50})
    assert shown["notes"] == pad["notes"]
    assert shown["customer"] == {"name": "Ann", "history": {"not_shown": "902 characters"}}
    assert fitted(pad, 1_200, {("customer", "history"): 9})["customer"] == pad["customer"]


def test_a_list_shows_its_first_items_and_how_many_more_there_are():
    assert fitted(["x" * 20] * 50, 150)[-1] == {"not_shown": "47 more items"}


def test_importance_is_declared_by_place_and_through_references():
    declared = schemas.declare(
        "case",
        1,
        {
            "type": "object",
            "properties": {
                "offer": {"type": "object", "x-importance": 70, "properties": {"rate": {"type": "integer"}}},
                "caller": {"$ref": "#/$defs/person"},
            },
            "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string", "x-importance": 20}}}},
        },
    )
    assert importance_of(declared.source) == {("offer",): 70, ("caller", "name"): 20}


@settings(max_examples=drawn(100))
@given(OBJECTS)
def test_a_request_never_grows_with_the_scratchpad(pad: dict[str, Any]):
    small = Definition("Be kind.", (), room=1_000, data=500)
    state = worlds.opened().state
    before = size(build(small, "m", state).state)
    full = build(small, "m", with_pad(state, {f"k{key}": value for key, value in pad.items()}))
    assert size(full.state) - before <= 1_000 + 12 * NAMED + KEYS * 40 * 4


def with_pad(state: SessionState, pad: dict[str, Any]) -> SessionState:
    """The state with another scratchpad."""
    from msgspec.structs import replace

    return replace(state, pad=pad)
