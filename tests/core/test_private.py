"""What is private is found by its path, hidden from readers, and in no text of a refusal."""

from __future__ import annotations

import pytest

from agentstate.engine import guards, schemas
from agentstate.engine.guards import UnreadableGuard
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.sight import result_without
from agentstate.engine.references import Path
from agentstate.engine.scratchpad import messages
from agentstate.engine.scratchpad.messages import Held
from agentstate.engine.scratchpad.private import detail_without, met_by, visible, visible_views
from agentstate.errors import Invalid
from sessions.tools.masks import without_copies

SECRET = "ZQ7PRIVATE"
HIDDEN = (Path("state", ("open", "pin")), Path("state", ("people", "pin")), Path("letters"))


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("state", "state.open.pin"),
        ("state.open", "state.open.pin"),
        ("state.open.pin", "state.open.pin"),
        ("state.open.pin.deep.er", "state.open.pin"),
        ("state.people", "state.people.pin"),
        ("state.people.0", "state.people.pin"),
        ("state.people.0.pin", "state.people.pin"),
        ("state.people.0.1.pin.2.x", "state.people.pin"),
        ("letters.from", "letters"),
        ("state.open.pins", ""),
        ("state.pin", ""),
        ("notes.open.pin", ""),
        ("state.people.0.name", ""),
    ],
)
def test_a_path_meets_what_is_private_above_it_at_it_and_below_it(path, hidden):
    kind, *names = path.split(".")
    assert str(met_by(Path(kind, tuple(names)), HIDDEN) or "") == hidden


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ({"x-private": True}, ("state",)),
        ({"additionalProperties": {"x-private": True}}, ("state",)),
        ({"patternProperties": {"^p": {"properties": {"x": {"x-private": True}}}}}, ("state",)),
        ({"properties": {"a": {"additionalProperties": {"x-private": True}}}}, ("state.a",)),
        ({"properties": {"a": {"items": {"properties": {"b": {"x-private": True}}}}}}, ("state.a.b",)),
    ],
)
def test_what_is_private_under_any_key_hides_all_that_it_may_stand_in(schema, paths):
    declared = schemas.declare("x", 1, {"type": "object", **schema})
    assert schemas.private_paths(declared) == paths
    assert Remembering(private=paths)
    assert SECRET not in str(visible({"a": {"b": SECRET}, "x": SECRET}, ("state",)))
    assert SECRET not in result_without('{"status":"ok","result":"ZQ7PRIVATE"}', "state.a", ("state",))


PIN = {"type": "string", "x-private": True}
HELD = {"properties": {"pin": PIN, "n": True}}
# What a schema of the state may look like that makes one value private, and a state with that value.
WRITTEN = {
    "a pattern beside the name": ({"properties": {"p": True}, "patternProperties": {"^p": PIN}}, {"p": SECRET}),
    "the second of two patterns": ({"patternProperties": {"^p": True, "n$": PIN}}, {"pn": SECRET}),
    "a name beside a reference": (
        {"properties": {"a": {"$ref": "#/$defs/held", "properties": {"pin": True}}}}, {"a": {"pin": SECRET}},
    ),
    **{
        f"a reference under {word}": ({"properties": {"a": {word: [{"$ref": "#/$defs/held"}]}}}, {"a": {"pin": SECRET}})
        for word in ("anyOf", "allOf", "oneOf")
    },
    **{
        f"a reference under {word}": ({"properties": {"a": {word: {"$ref": "#/$defs/pin"}}}}, {"a": SECRET})
        for word in ("if", "then", "else", "not")
    },
    "a dependent schema": ({"dependentSchemas": {"n": {"$ref": "#/$defs/held"}}}, {"pin": SECRET}),
    "what an array contains": ({"properties": {"l": {"contains": {"$ref": "#/$defs/pin"}}}}, {"l": [SECRET]}),
    "properties that nothing names": ({"unevaluatedProperties": {"$ref": "#/$defs/pin"}}, {"l": SECRET}),
    "items that nothing names": ({"properties": {"l": {"unevaluatedItems": {"$ref": "#/$defs/pin"}}}}, {"l": [SECRET]}),
    "items": ({"properties": {"l": {"items": {"$ref": "#/$defs/held"}}}}, {"l": [{"pin": SECRET}]}),
    "items of items": ({"properties": {"l": {"items": {"items": HELD}}}}, {"l": [[{"pin": SECRET}]]}),
    "the second item": ({"properties": {"l": {"prefixItems": [True, PIN]}}}, {"l": [1, SECRET]}),
    "any key of any key": ({"additionalProperties": {"additionalProperties": HELD}}, {"a": {"b": {"pin": SECRET}}}),
    "a number as key": ({"properties": {"a": {"properties": {"0": HELD}}}}, {"a": {"0": {"pin": SECRET}}}),
    "a number as any key": (
        {"properties": {"a": {"additionalProperties": PIN, "items": {"type": "integer"}}}}, {"a": {"0": SECRET}},
    ),
    "a dot in a key": ({"properties": {"a.b": PIN}}, {"a.b": SECRET}),
    "a definition within itself": (
        {"properties": {"a": {"$ref": "#/$defs/tree"}}}, {"a": {"more": {"more": {"more": {"pin": SECRET}}}}},
    ),
}  # fmt: skip
TREE_OPEN = {"additionalProperties": {"properties": {"pin": {"type": "string"}}}}
TREE = {"properties": {"pin": PIN, "more": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}}}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_value_is_private_however_the_schema_says_so_and_its_neighbour_is_not(how):
    schema, pad = WRITTEN[how]
    words = {"$defs": {"pin": PIN, "held": HELD, "tree": TREE}, **schema}
    words["properties"] = {"aside": {"type": "string"}, **words.get("properties", {})}
    declared = schemas.declare("x", 1, {"type": "object", **words})
    pad = {**pad, "aside": "NEIGHBOUR"}
    shown = schemas.without_private(declared, pad)
    assert SECRET not in str(shown)
    assert "NEIGHBOUR" in str(shown) or how == "properties that nothing names"
    assert "(private)" in str(schemas.without_private(declared, pad, "(private)"))
    assert SECRET not in str(visible(pad, schemas.private_paths(declared)))
    brought = messages.with_schema({}, "notes", declared.schema)
    assert SECRET not in str(messages.shown({"notes": Held(pad)}, brought))
    assert messages.private_paths(brought)


def test_what_no_schema_calls_private_stays():
    declared = schemas.declare("x", 1, {"type": "object", "properties": {"a": {"items": HELD}, "b": TREE_OPEN}})
    pad = {"a": [{"pin": SECRET, "n": 1}, 2], "b": {"b": {"pin": "3"}}, "pin": 4}
    assert schemas.without_private(declared, pad) == {"a": [{"n": 1}, 2], "b": {"b": {"pin": "3"}}, "pin": 4}
    assert visible(pad, schemas.private_paths(declared)) == {"a": [{"n": 1}, 2], "b": {"b": {"pin": "3"}}, "pin": 4}


def test_a_kind_that_is_private_as_a_whole_is_met_by_every_reference_to_it():
    board = {"letters": Held({"from": SECRET}), "notes": Held({"n": 1})}
    brought = {"letters": ({"type": "object", "x-private": True},)}
    assert messages.private_paths(brought) == ("letters",)
    assert visible_views({"state": {"pin": 1, "n": 2}, "input": {}}, board, ("state.pin",), brought) == {
        "state": {"n": 2},
        "input": {},
        "letters": {},
        "notes": {"n": 1},
    }


@pytest.mark.parametrize(
    "expression",
    [
        "state.a",
        "int(state.a) == 1",
        "state.m[state.a] == 1",
        "state.a + 1 == 2",
        "'x'.matches(state.b)",
        "state.l[state.a] == 1",
        "state.l[state.n] == 1",
        "timestamp(state.a) == timestamp('2020-01-01T00:00:00Z')",
        "duration(state.a) == duration('1s')",
        "{state.a: 1, state.a: 2}.x == 1",
        "state.a.x == 1",
        "bool(state.a)",
    ],
)
def test_an_expression_that_cannot_be_read_does_not_tell_the_values_that_it_read(expression):
    values = {"state": {"a": SECRET, "b": f"{SECRET}(", "m": {}, "l": [1], "n": 90_210}}
    with pytest.raises(UnreadableGuard) as refusal:
        guards.holds(expression, values)
    assert SECRET not in refusal.value.detail
    assert "90210" not in refusal.value.detail


def test_what_is_wrong_below_a_private_place_is_told_of_the_place_and_not_of_its_keys():
    declared = schemas.declare(
        "x",
        1,
        {
            "type": "object",
            "properties": {
                "codes": {"type": "object", "x-private": True, "additionalProperties": {"type": "integer"}},
                "people": {"type": "array", "items": {"properties": {"pin": {"x-private": True, "type": "object"}}}},
            },
        },
    )
    for path, value in (("state.codes", {SECRET: "x"}), ("state.people", [{"pin": {SECRET: 1.5}}])):
        with pytest.raises(Invalid) as refused:
            schemas.check_write(declared, schemas.SYSTEM, path, value, {})
        assert SECRET in refused.value.detail
        said = detail_without(refused.value, schemas.private_paths(declared))
        assert said.startswith(("state.codes: ", "state.people.pin: "))
        assert SECRET not in said


def test_copies_of_private_values_are_masked_whole_in_texts_in_keys_and_as_numbers():
    held = {"a": [SECRET, 90_210], "b": {"LONGKEY": None, "x": True}, "c": 7}
    value = {"n": 90_210, "t": f"{SECRET}{SECRET}!", SECRET: [True, 7, None, "7", "LONGKEY"], "m": "90210"}
    assert without_copies(value, [held]) == {
        "n": "[masked]",
        "t": "[masked][masked]!",
        "[masked]": [True, 7, None, "7", "[masked]"],
        "m": "[masked]",
    }
    assert without_copies(value, []) is value


def test_a_data_message_that_breaks_its_schema_names_no_private_key():
    held = Held({}, {"type": "object", "properties": {"pins": {"x-private": True, "additionalProperties": False}}})
    with pytest.raises(Invalid) as refused:
        messages.written({"notes": held}, Path("notes", ("pins",)), {SECRET: 1})
    assert SECRET not in detail_without(refused.value, messages.private_paths({"notes": (held.schema,)}))
