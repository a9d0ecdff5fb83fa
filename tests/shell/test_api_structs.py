"""Structs of the API: every wrong field of a body is named, what only pages show stays out of answers and document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from inspect import signature
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType
from rest_framework.exceptions import ValidationError

from sessions.http import bodies, openapi
from sessions.http.answers import PageOnly, answer, filled, without_page_only
from sessions.http.bodies import About, Body, Chars, Command, Items, Range, Words
from sessions.http.operations import Operation
from sessions.web import api_urls


class Line(Body, kw_only=True):
    path: Annotated[str, Chars(10)]
    color: Annotated[str, Words(("red", "green"))] = "red"


class Order(Command, kw_only=True):
    name: Annotated[str, Chars(5, "its name")]
    count: Annotated[int, Range(1, 9)]
    lines: Annotated[list[Line], Items(2)] | UnsetType = UNSET
    note: Annotated[Any, About("anything")] | UnsetType = UNSET


class Inner(msgspec.Struct, frozen=True):
    told: str
    hidden: PageOnly[str]


class Outer(msgspec.Struct, frozen=True):
    inner: Inner
    several: tuple[Inner, ...]
    none: Inner | None = None


VALID = {"name": "a", "count": 2}


def wrong(data: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        bodies.read(Order, data)
    assert isinstance(refused.value.detail, dict)
    return {name: str(told[0]) for name, told in refused.value.detail.items()}


def operations() -> Iterator[tuple[str, Operation]]:
    for pattern in api_urls.urlpatterns:
        for handler in vars(getattr(pattern.callback, "cls", object)).values():
            if operation := getattr(handler, "operation", None):
                yield str(pattern.pattern), operation


@pytest.mark.parametrize(("address", "operation"), [pytest.param(*each, id=each[1].name) for each in operations()])
def test_the_function_of_an_operation_takes_what_its_address_query_and_body_give(
    address: str, operation: Operation
) -> None:
    assert set(operation.path) == set(re.findall(r"<\w+:(\w+)>", address))
    given: dict[str, Any] = dict.fromkeys(["from_" if name == "from" else name for name in operation.query])
    if operation.body is not None and "body" not in operation.wants:
        names = [field.name for field in msgspec.structs.fields(operation.body)]
        given |= dict.fromkeys("key" if name == "idempotency_key" else name for name in names)
    given |= dict.fromkeys(operation.wants - {"user"})
    signature(operation.run).bind(None, *operation.path, **given)


def test_a_body_becomes_the_arguments_of_its_command_without_what_was_left_out() -> None:
    assert bodies.arguments(bodies.read(Order, VALID)) == {**VALID, "key": ""}
    keyed = bodies.read(Order, {**VALID, "note": Decimal("0.10"), "idempotency_key": "k"})
    assert bodies.arguments(keyed) == {**VALID, "note": Decimal("0.10"), "key": "k"}


def test_every_wrong_field_is_named_in_the_order_of_the_struct() -> None:
    assert list(wrong({"count": 0, "idempotency_key": ""})) == ["name", "count", "idempotency_key"]
    assert wrong({})["name"] == bodies.MISSING


@pytest.mark.parametrize("count", [True, "2", Decimal("2.0"), Decimal(2), None, 10, [2]])
def test_a_number_is_only_what_json_writes_as_a_whole_number(count: object) -> None:
    assert list(wrong({**VALID, "count": count})) == ["count"]


def test_what_is_wrong_within_a_field_is_named_by_a_dotted_path() -> None:
    assert list(wrong({**VALID, "lines": [{"path": "x"}, {"path": 1}]})) == ["lines.1.path"]
    assert list(wrong({**VALID, "lines": [{"path": "x"}] * 3})) == ["lines"]
    assert list(wrong({**VALID, "lines": [{"path": "x", "more": 1}]})) == ["lines.0"]


def test_unknown_fields_are_refused_a_few_of_them_and_shortened() -> None:
    told = wrong({**VALID, **{f"{'x' * 100}{number}": 1 for number in range(9)}, "b": 1})
    assert all(len(name) <= 60 for name in told)
    assert wrong({**VALID, "Name": "a"}) == {"Name": bodies.UNKNOWN}


@pytest.mark.parametrize("color", ["secret", "red\n", "", "Red"])
def test_a_refused_word_is_not_repeated_and_the_refusal_lists_the_words(color: str) -> None:
    told = wrong({**VALID, "lines": [{"path": "x", "color": color}]})
    assert told == {"lines.0.color": "Want one of red, green."}


def test_what_only_pages_show_is_left_out_of_answers_however_deep() -> None:
    inner = Inner("a", "b")
    shown = {"told": "a"}
    assert without_page_only(Outer(inner, (inner,))) == {"inner": shown, "several": [shown], "none": None}
    assert answer({"lines": [inner]}).data == {"lines": [shown]}


def test_a_shape_takes_its_fields_from_any_object_and_from_dicts() -> None:
    class Row:
        inner = {"told": "a", "hidden": "b", "more": 1}
        several = [Inner("c", "d")]
        none = None

    assert filled(Outer, Row(), none={"told": "e", "hidden": "f"}) == Outer(
        Inner("a", "b"),
        [Inner("c", "d")],
        Inner("e", "f"),  # type: ignore[arg-type]
    )


def test_what_only_pages_show_is_left_out_of_the_document_and_all_else_is_always_there() -> None:
    made = openapi.StructSchema(Inner).map_serializer(None, "response")  # type: ignore[no-untyped-call]
    assert made["properties"] == {"told": {"type": "string"}}
    assert made["required"] == ["told"]


def test_a_body_in_the_document_has_its_bounds_and_requires_what_has_no_default() -> None:
    made = openapi.StructSchema(Line).map_serializer(None, "request")  # type: ignore[no-untyped-call]
    assert made["required"] == ["path"]
    assert made["properties"] == {
        "path": {"type": "string", "minLength": 1, "maxLength": 10},
        "color": {"type": "string", "enum": ["red", "green"]},
    }
