"""A declared state: who may write where, what may stand there, and what is read from it."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine.schemas import (
    Actor,
    BadSchema,
    BreaksSchema,
    MissingValue,
    NotAWriter,
    OutOfRange,
    WrongType,
    check_removal,
    check_state,
    check_write,
    declare,
    load,
    missing,
    place_of,
    private_paths,
    read,
    without_private,
)
from agentstate.engine.scratchpad import BadPath
from tests.core.made import scalars
from tests.core.test_schemas import anything, deep
from tests.searching import drawn

MONEY = {"x-money": True}
BANK = declare(
    "bank",
    1,
    {
        "type": "object",
        "x-writers": ["agent"],
        "$defs": {
            "account": {
                "type": "object",
                "properties": {"id": {"type": "string", "pattern": "^[0-9]{10}$"}, "balance": MONEY},
                "required": ["id", "balance"],
            }
        },
        "properties": {
            "customer": {
                "type": "object",
                "x-writers": ["tool:load_customer"],
                "properties": {
                    "name": {"type": "string", "maxLength": 40},
                    "accounts": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/account"}},
                    "limit": {**MONEY, "x-writers": ["staff:senior"]},
                    "pin": {"type": "string", "x-private": True, "x-writers": ["customer"]},
                },
                "required": ["name", "accounts"],
                "additionalProperties": False,
            },
            "form": {
                "type": "object",
                "properties": {"amount": MONEY, "to": {"type": "string"}, "nights": {"type": "integer", "minimum": 1}},
                "required": ["amount", "to"],
            },
            "either": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            "tries": {"type": "integer", "x-merge": "counter", "x-writers": ["*"]},
        },
        "required": ["customer"],
        "additionalProperties": False,
    },
)
AGENT, LOAD = Actor("agent", ("bank",)), Actor("tool", ("load_customer",))
SENIOR, JUNIOR = Actor("staff", ("supervisor", "senior")), Actor("staff", ("supervisor",))
RECORD = {"name": "Maria", "accounts": [{"id": "0123456789", "balance": {"minor": 1, "currency": "USD"}}]}
AMOUNT = {"minor": 430000, "currency": "USD"}


@pytest.mark.parametrize(
    ("actor", "path", "value"),
    [
        (LOAD, "state.customer", RECORD),
        (LOAD, "state.customer.name", "Ann"),
        (SENIOR, "state.customer.limit", AMOUNT),
        (Actor("customer"), "state.customer.pin", "1234"),
        (AGENT, "state.form.amount", AMOUNT),
        (JUNIOR, "state.tries", 3),
        (Actor("system"), "state.customer.name", "Ann"),
    ],
)
def test_a_declared_writer_writes_what_fits(actor, path, value):
    check_write(BANK, actor, path, value, {})


@pytest.mark.parametrize(
    ("actor", "path", "value", "where"),
    [
        (AGENT, "state.customer", RECORD, "state.customer"),
        (Actor("tool", ("transfer",)), "state.customer.name", "Ann", "state.customer.name"),
        (JUNIOR, "state.customer.limit", AMOUNT, "state.customer.limit"),
        (LOAD, "state.customer", {**RECORD, "limit": AMOUNT}, "state.customer.limit"),
        (Actor("customer"), "state.form.amount", AMOUNT, "state.form.amount"),
        (JUNIOR, "state.unheard_of", 1, "state.unheard_of"),
    ],
)
def test_nobody_else_writes_there_not_even_inside_a_larger_value(actor, path, value, where):
    with pytest.raises(NotAWriter) as refusal:
        check_write(BANK, actor, path, value, {})
    assert (refusal.value.facts["field"], refusal.value.facts["rule"]) == (where, "x-writers")


@pytest.mark.parametrize(
    ("path", "value", "where", "rule"),
    [
        ("state.customer.name", 7, "state.customer.name", "type"),
        ("state.customer.name.first", "Ann", "state.customer.name.first", "additionalProperties"),
        ("state.customer.accounts", [{"id": "1", "balance": AMOUNT}], "state.customer.accounts.0.id", "pattern"),
        ("state.customer.accounts.0.id", "0123456789", "state.customer.accounts.0.id", "type"),
        ("state.customer.fax", "1", "state.customer.fax", "additionalProperties"),
        ("state.unheard_of", 1, "state.unheard_of", "additionalProperties"),
        ("state.form", {"amount": AMOUNT}, "state.form.to", "required"),
        ("state.form.nights", 0, "state.form.nights", "minimum"),
        ("state.either.a", 1, "state.either", "oneOf"),
        ("state.form.amount", {"minor": Decimal("1.5"), "currency": "USD"}, "state.form.amount", "x-money"),
        ("state.form.amount", deep(10_000), "state.form.amount", "max_depth"),
    ],
)
def test_a_write_that_breaks_the_schema_is_refused_by_path_and_rule(path, value, where, rule):
    with pytest.raises(BreaksSchema) as refusal:
        check_write(BANK, Actor("system"), path, value, {"either": {"b": 1}})
    assert (refusal.value.facts["field"], refusal.value.facts["rule"]) == (where, rule)


def test_a_form_may_be_filled_in_bit_by_bit():
    check_write(BANK, AGENT, "state.form", {"amount": AMOUNT}, {}, whole=False)
    with pytest.raises(BreaksSchema):
        check_write(BANK, AGENT, "state.form", {"amount": 3}, {}, whole=False)


def test_a_write_is_judged_as_it_will_stand_there():
    check_write(BANK, AGENT, "state.form", {"to": "checking"}, {"form": {"amount": AMOUNT}})


def test_a_change_of_a_value_that_others_declare_is_no_removal_either():
    with pytest.raises(NotAWriter):
        check_removal(BANK, LOAD, "state.customer", {"customer": {**RECORD, "limit": AMOUNT}})
    check_removal(BANK, LOAD, "state.customer", {"customer": RECORD})


def test_without_a_schema_anything_may_be_written_within_bounds():
    check_write(None, AGENT, "state.anything", {"x": [1]}, {})
    with pytest.raises(BreaksSchema):
        check_write(None, AGENT, "state.anything", deep(10_000), {})


@pytest.mark.parametrize(
    ("path", "error", "where", "rule"),
    [
        ("state.form", MissingValue, "state.form", "required"),
        ("state.customer.name", WrongType, "state.customer.name", "type"),
        ("state.customer", WrongType, "state.customer.name", "type"),
        ("state.customer.accounts", MissingValue, "state.customer.accounts.0.balance", "required"),
        ("state.customer.accounts.0", MissingValue, "state.customer.accounts.0.balance", "required"),
        ("state.customer.accounts.7", MissingValue, "state.customer.accounts.7", "required"),
        ("state.tries", WrongType, "state.tries", "type"),
        ("state.fax", OutOfRange, "state.fax", "additionalProperties"),
    ],
)
def test_reading_what_is_missing_wrong_or_out_of_range_names_path_and_rule(path, error, where, rule):
    pad = {"customer": {"name": 3, "accounts": [{"id": "0123456789"}]}, "tries": "many", "fax": 1}
    with pytest.raises(error) as refusal:
        read(BANK, pad, path)
    assert (refusal.value.facts["field"], refusal.value.facts["rule"]) == (where, rule)


def test_a_reader_may_ask_for_more_than_the_schema_does():
    pad = {"form": {"amount": {"minor": -5, "currency": "USD"}}}
    assert read(BANK, pad, "state.form.amount") == pad["form"]["amount"]
    with pytest.raises(OutOfRange) as refusal:
        read(BANK, pad, "state.form.amount", {"properties": {"minor": {"exclusiveMinimum": 0}}})
    assert refusal.value.detail == "state.form.amount.minor: exclusiveMinimum: want 0"


def test_what_the_form_lacks_is_told_in_its_order():
    told = missing(BANK, {"form": {}})
    assert [problem.path for problem in told] == ["state.form.amount", "state.form.to", "state.customer"]


def test_private_values_are_left_out_or_hidden():
    pad = {"customer": {"name": "Maria", "pin": "1234"}}
    assert without_private(BANK, pad) == {"customer": {"name": "Maria"}}
    assert without_private(BANK, pad, "(private)")["customer"]["pin"] == "(private)"


def test_private_places_are_paths_too_and_hide_too_much_rather_than_too_little():
    secret = {"type": "string", "x-private": True}
    inner = {"type": "object", "properties": {"pin": secret, "name": {"type": "string"}}}
    cards = {"type": "array", "items": inner}
    others = {"type": "object", "additionalProperties": secret}
    made = declare("x", 1, {"type": "object", "properties": {"one": inner, "cards": cards, "others": others}})
    assert private_paths(made) == ("state.cards.pin", "state.one.pin", "state.others")
    assert private_paths(BANK) == ("state.customer.pin",)


def test_a_stored_state_is_judged_before_it_is_used():
    check_state(BANK, {"form": {"amount": AMOUNT}})
    with pytest.raises(BreaksSchema):
        check_state(BANK, {"form": {"amount": 4300}})


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        ({"anyOf": [{"x-writers": ["agent"]}]}, "x-writers"),
        ({"properties": {"a": {"x-writers": ["nobody"]}}}, "x-writers"),
        ({"properties": {"a": {"x-writers": "agent"}}}, "x-writers"),
        ({"properties": {"a": {"x-private": 1}}}, "x-private"),
        ({"properties": {"a": {"x-merge": 1}}}, "x-merge"),
        ({"properties": {"a": {"x-privat": True}}}, "x-privat"),
        ({"requried": ["a"]}, "requried"),
        ({"properties": {"a": {"properties": {"b": {"$ref": "#"}}}}}, "$ref"),
    ],
)
def test_words_that_could_not_be_enforced_are_refused(part, rule):
    with pytest.raises(BadSchema) as refusal:
        declare("bank", 1, {"type": "object", **part})
    assert refusal.value.rule == rule


@pytest.mark.parametrize("data", [b"", b"{}", b"[", b"[" * 100_000, b'{"name":"A","version":1,"schema":{}}'])
def test_a_document_that_is_none_is_refused(data):
    with pytest.raises(BadSchema):
        load(data)


def test_where_writers_are_declared_is_known_of_every_path():
    assert place_of(BANK, "state.customer.limit").writers == ("staff:senior",)
    assert place_of(BANK, "state.customer.pin").private
    assert place_of(BANK, "state.form.amount").writers == ("agent",)


parts = st.sampled_from(["customer", "form", "either", "accounts", "0", "a", "name", "x"])
paths = st.lists(parts, max_size=4)
stored = st.recursive(  # what a state holds was JSON: its keys are texts
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(parts, inner, max_size=4)
)


@settings(max_examples=drawn(200))
@given(paths, anything, st.dictionaries(st.sampled_from(["customer", "form", "either"]), stored), st.booleans())
def test_whatever_is_written_or_read_is_taken_or_refused_by_name(names, value, pad, whole):
    path = ".".join(["state", *names])
    with suppress(BreaksSchema, BadPath):
        check_write(BANK, Actor("system"), path, value, pad, whole=whole)
    with suppress(BreaksSchema, BadPath):
        read(BANK, pad, path)
