"""The API's JSON: what two programs could read differently, or what could hurt, is refused with the reason."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from decimal import Decimal

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sessions.http.strict_json import MAX_DEPTH, BadJson, loads
from tests.core.made import objects

MEGABYTE = 1_000_000
TOO_LONG = re.compile(rb"[0-9.]{20}|E[+-]?[0-9]{3}")  # numbers that may be out of bounds
encoder = msgspec.json.Encoder(decimal_format="number")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": Infinity}', "Infinity"),
        (b'{"a": [-Infinity]}', "Infinity"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b'{"a": 1, "\\u0061": 2}', "'a' stands twice"),
        (b'{"x": {"amount": 1, "amount": 1}}', "'amount' stands twice"),
        (b'{"a": "\\u0000"}', "NUL"),
        (b'{"\\u0000": 1}', "NUL"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"a": "\\udc00\\ud800"}', "surrogate"),
        (b'{"\\ud83d": 1}', "surrogate"),
        (b'{"a": "\xed\xa0\x80"}', "not UTF-8 at byte 7"),
        (b'{"a": "\xc0\xaf"}', "not UTF-8"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"[]", "got list"),
        (b"null", "got NoneType"),
        (b'"text"', "got str"),
        (b"", "line 1"),
        (b'{"a": 1}{"b": 2}', "Extra data"),
        (b"{'a': 1}", "line 1, column 2"),
        (b'{"a": 01}', "line 1"),
        (b'{"a": 1,}', "line 1"),
        (b'{"a": "\n"}', "control character"),
        (b'{"a": 123456789012345678901}', "21 digits"),
        (b'{"a": ' + b"9" * MEGABYTE + b"}", "1000000 digits"),
        (b'{"a": 1e999999}', "out of bounds"),
        (b'{"a": 1e-999999999999999999999999}', "out of bounds"),
        (b'{"a": 0.' + b"1" * MEGABYTE + b"}", "out of bounds"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 100_000, "nested deeper"),
    ],
)
def test_what_is_refused_and_why(data, reason):
    with pytest.raises(BadJson) as refusal:
        loads(data)
    assert reason in refusal.value.detail


def test_a_refusal_names_the_field():
    with pytest.raises(BadJson) as refusal:
        loads(b'{"arguments": {"list": [1, {"note": "a\\u0000b"}]}}')
    assert refusal.value.facts["field"] == "arguments.list.1.note"


def nested(depth: int) -> bytes:
    """An object with `depth` lists in one another."""
    return b'{"a":' + b"[" * depth + b"]" * depth + b"}"


def test_depth_is_bounded_exactly():
    assert loads(nested(MAX_DEPTH))
    with pytest.raises(BadJson, match="nested deeper than 64"):
        loads(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("text", ["\\u00e9", "\\ud83d\\ude00", "\\u2028", "é😀"])
def test_text_of_every_language_is_accepted(text):
    data = f'{{"a": "{text}"}}'.encode()
    assert loads(data) == json.loads(data)


def test_a_megabyte_of_text_takes_no_time_and_stays_as_it_is():
    for text in ("x" * MEGABYTE, "é" * (MEGABYTE // 2), "😀" * (MEGABYTE // 4)):
        begun = time.process_time()
        assert loads(json.dumps({"a": text}, ensure_ascii=False).encode())["a"] == text
        assert time.process_time() - begun < 3


def test_a_megabyte_of_small_things_is_read_in_bounded_time():
    begun = time.process_time()
    assert len(loads(b'{"a": [' + b"1," * (MEGABYTE // 2) + b"1]}")["a"]) == MEGABYTE // 2 + 1
    assert time.process_time() - begun < 15


def test_numbers_keep_their_exact_text():
    value = loads(b'{"a": 1.10, "b": 12345678901234567890, "c": 1E+22}')
    assert (str(value["a"]), value["b"], str(value["c"])) == ("1.10", 12345678901234567890, "1E+22")
    assert isinstance(value["a"], Decimal)


@given(objects)
@example({"": {"": []}})
def test_what_is_accepted_is_what_was_sent_and_can_be_stored(value):
    data = encoder.encode(value)
    assume(b"\\u0000" not in data and not TOO_LONG.search(data))
    read = loads(data)
    assert read == value
    assert encoder.encode(read) == data


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\u0d8aeE+-.19 ntf', max_size=40).map(str.encode))
def test_any_bytes_are_an_object_or_refused_by_name(data):
    with suppress(BadJson):
        assert isinstance(loads(data), dict)
