"""Migrations as data: what they do to a state, what is refused before one is used, and what is told of a state that
cannot be carried.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine.migrating import BadMigration, CannotMigrate, catalogue, check, load
from agentstate.engine.schemas import check_state
from tests.core.migrating_world import (
    CALLER,
    FUNCTIONS,
    ONE_TO_TWO,
    TWO_TO_THREE,
    V1,
    V2,
    V3,
    an_object,
    bank,
    migration,
    state,
    text,
)
from tests.core.test_schemas import anything
from tests.searching import drawn


def test_a_state_is_carried_over_two_versions_at_once():
    carried = bank().carry(CALLER, 1, 3)
    assert carried.applied(CALLER) == {
        "customer": {"given": "Maria", "family": "Soto", "accounts": [{"id": "1", "ending": "2207"}]},
        "contact": {"phone": "555 0100", "channel": "phone"},
        "limit": {"minor": 250_000, "currency": "USD"},
        "check": {"allowed": True},
    }
    assert carried.gone == ("authorization",)
    assert not carried.lossless  # the fax number is gone


def test_what_says_that_it_can_be_reversed_comes_back_the_same():
    carried = bank().carry(CALLER, 1, 2)
    after = carried.applied(CALLER)
    assert carried.lossless
    assert bank().carry(after, 2, 1).applied(after) == CALLER


def test_only_what_says_so_can_be_reversed():
    with pytest.raises(CannotMigrate) as refusal:
        bank().carry({}, 3, 2)
    assert (refusal.value.path, refusal.value.rule) == ("bank@2-3", "reversible")


def test_a_half_filled_state_is_carried_as_far_as_it_is_filled():
    pad = {"customer": {"name": "Maria"}}
    assert bank().carry(pad, 1, 3).applied(pad) == {"customer": {"given": "Maria"}}
    assert bank().carry({}, 0, 3).applied({}) == {}


def test_what_was_there_before_anything_was_declared_is_taken_when_it_fits():
    assert bank().carry(CALLER, 0, 1).applied(CALLER) == CALLER
    with pytest.raises(CannotMigrate) as refusal:
        bank().carry({"mood": "good"}, 0, 1)
    assert (refusal.value.path, refusal.value.rule) == ("state.mood", "additionalProperties")


@pytest.mark.parametrize(
    ("pad", "path", "rule"),
    [
        ({"check": {}, "authorization": {}}, "state.authorization", "taken"),
        ({"customer": {"phone": "1"}, "contact": 7}, "state.contact.phone", "type"),
        ({"customer": {"name": 7}}, "state.customer.name", "type"),
        ({"limit": "many"}, "state.limit", "x-money"),
        ({"mood": "good"}, "state.mood", "additionalProperties"),
    ],
)
def test_a_state_that_cannot_be_carried_is_refused_by_path_and_rule(pad, path, rule):
    with pytest.raises(CannotMigrate) as refusal:
        bank().carry(pad, 1, 3)
    assert (refusal.value.path, refusal.value.rule) == (path, rule)


def test_where_the_results_of_open_calls_go_is_known():
    paths = ["state.authorization", "state.customer.phone", "state.customer.name", "state.other", "state.customer"]
    assert bank().moved(paths, 1, 3) == {
        "state.authorization": "state.check",
        "state.customer.phone": "state.contact.phone",
    }
    assert bank().moved(["state.check.allowed"], 2, 1) == {"state.check.allowed": "state.authorization.allowed"}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"before": 2}, "versions"),
        ({"schema": "shop"}, "versions"),
        ({"steps": ONE_TO_TWO["steps"][1:]}, "lost"),
        ({"steps": [*ONE_TO_TWO["steps"], {"op": "drop", "path": "state.limit"}]}, "reversible"),
        ({"steps": [*ONE_TO_TWO["steps"], {"op": "rename", "path": "state.mood", "to": "x"}]}, "rename"),
        ({"steps": [*ONE_TO_TWO["steps"], {"op": "rename", "path": "state.limit", "to": "customer"}]}, "rename"),
        ({"steps": [*ONE_TO_TWO["steps"], {"op": "rename", "path": "state.limit", "to": "bound"}]}, "lost"),
        ({"steps": [*ONE_TO_TWO["steps"], {"op": "function", "path": "state.limit", "name": "none"}]}, "reversible"),
        (
            {"reversible": False, "steps": [{"op": "function", "path": "state.limit", "name": "none"}]},
            "function",
        ),
        (
            {
                "reversible": False,
                "steps": [*ONE_TO_TWO["steps"], {"op": "function", "path": "state.limit", "name": "bank.dollars"}],
            },
            "example",
        ),
        (
            {
                "steps": [
                    *ONE_TO_TWO["steps"],
                    {"op": "function", "path": "state.limit", "name": "bank.zero", "inverse_name": "bank.zero"},
                ]
            },
            "reversible",
        ),
    ],
)
def test_a_migration_is_checked_against_both_schemas(changes, rule):
    with pytest.raises(BadMigration) as refusal:
        check(migration(ONE_TO_TWO, **changes), V1, V2, {**FUNCTIONS, "bank.zero": lambda limit: 0})
    assert refusal.value.rule == rule


def test_a_default_that_breaks_the_new_schema_is_found_by_an_example():
    steps = [{**step, "value": "fax"} if step["op"] == "default" else step for step in TWO_TO_THREE["steps"]]
    with pytest.raises(BadMigration) as refusal:
        check(migration(TWO_TO_THREE, steps=steps), V2, V3, FUNCTIONS)
    assert refusal.value.rule == "example"
    assert "state.contact.channel: enum" in refusal.value.detail


def joined(**field):
    """Two names that become one, in a schema that lets them be `field`."""
    old = state(1, customer=an_object(given=field, family=field))
    new = state(2, customer=an_object(name=text(90)))
    step = {"op": "join", "path": "state.customer.name", "by": " ", "parts": ["given", "family"]}
    there = migration({"schema": "bank", "before": 1, "reversible": True, "steps": [step]})
    return catalogue((old, new), (there,))


def test_what_is_joined_can_be_split_again_where_the_schema_keeps_the_two_apart():
    names = joined(type="string", pattern="^[A-Z][a-z]*$", maxLength=40)
    assert names.carry({"customer": {"given": "Maria", "family": "Soto"}}, 1, 2).lossless
    assert not names.carry({"customer": {"family": "Soto"}}, 1, 2).lossless
    with pytest.raises(BadMigration) as refusal:
        joined(type="string", maxLength=40)
    assert refusal.value.rule == "reversible"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[" * 100_000,
        b'{"schema":"bank","before":1,"steps":[{"op":"eval","path":"state.a"}]}',
        b'{"schema":"bank","before":1,"steps":[{"op":"drop","path":"customer"}]}',
        b'{"schema":"bank","before":1,"steps":[{"op":"drop","path":"state.a.*"}]}',
        b'{"schema":"bank","before":1,"steps":[{"op":"move","path":"state.a.*.b","to":"state.c"}]}',
        b'{"schema":"bank","before":1,"steps":[{"op":"rename","path":"state.a","to":"b.c"}]}',
        b'{"schema":"bank","before":1,"steps":[{"op":"rename","path":"state.a","to":"b","why":"c"}]}',
    ],
)
def test_a_document_that_is_no_migration_is_refused(data):
    with pytest.raises(BadMigration):
        load(data)


@pytest.mark.parametrize("versions", [(), (V2,), (V1, V3), (V1, V2)])
def test_a_catalogue_has_every_version_and_every_migration(versions):
    with pytest.raises(BadMigration) as refusal:
        catalogue(versions)
    assert refusal.value.rule == "versions"


names = st.sampled_from(["customer", "contact", "limit", "authorization", "check", "mood"])


@settings(max_examples=drawn(200))
@given(st.dictionaries(names, anything, max_size=4), st.sampled_from([(0, 1), (1, 2), (1, 3), (2, 3), (2, 1), (1, 9)]))
def test_whatever_a_state_holds_it_is_carried_or_refused_by_name(pad, versions):
    with suppress(CannotMigrate):
        after = bank().carry(pad, *versions).applied(pad)
        check_state(bank().declared(versions[1]), after)


steps = st.fixed_dictionaries(
    {"op": st.sampled_from(["rename", "move", "default", "drop", "split", "join", "function"])},
    optional={
        "path": st.sampled_from(["state.customer", "state.customer.name", "state.*.a", "x"]) | anything,
        "to": st.sampled_from(["state.a", "b", ["a", "b"]]) | anything,
        "value": anything,
        "by": st.text(max_size=3),
        "parts": anything,
        "name": st.sampled_from(["bank.dollars", "none"]),
    },
)


@settings(max_examples=drawn(200))
@given(st.lists(steps, max_size=3), st.booleans())
def test_whatever_is_declared_is_checked_or_refused_by_name(declared, reversible):
    with suppress(BadMigration, UnicodeEncodeError, TypeError, ValueError):
        built = migration({"schema": "bank", "before": 1}, steps=declared, reversible=reversible)
        with suppress(BadMigration):
            check(built, V1, V2, FUNCTIONS)
