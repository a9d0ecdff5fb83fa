"""Canonical JSON: one value, one spelling; and two readings of the rule, ours and the verifier's, that agree."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import verify
from audit.tlog import canonical
from tests.core.tlog_world import VECTORS, shared

CASES = json.loads((VECTORS / "canonical.json").read_text())["cases"]
KEYS = st.text(st.characters(max_codepoint=127), max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))
IN_PROFILE = {"arrays.json", "unicode.json"}


@given(VALUES)
def test_what_is_written_reads_back_as_the_same_value(value):
    written = canonical.dumps(value)
    assert canonical.loads(written) == verify.canonical(written) == value


@given(st.dictionaries(KEYS, LEAVES, min_size=2, max_size=5))
def test_the_order_in_which_keys_were_set_does_not_show(value):
    assert canonical.dumps(dict(reversed(value.items()))) == canonical.dumps(value)


@given(VALUES, st.data())
def test_both_readings_agree_on_bytes_with_one_byte_changed(value, data):
    written = bytearray(canonical.dumps(value))
    written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    assert _ours(bytes(written)) is _verifiers(bytes(written))


@given(st.binary(max_size=30))
def test_both_readings_agree_on_any_bytes(data):
    assert _ours(data) is _verifiers(data)


@pytest.mark.parametrize("case", CASES, ids=[case["desc"] for case in CASES])
def test_the_vectors_hold_in_both_readings(case):
    data = bytes.fromhex(case["bytes"])
    assert _ours(data) is case["accept"]
    assert _verifiers(data) is case["accept"]


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), Decimal(1), 2**53, -(2**53), "\ud800", {"é": 1}, {1: 1}, (1,), b"x", {"a": {"b": [0.5]}}],
    ids=repr,
)
def test_a_value_outside_the_profile_is_refused(value):
    with pytest.raises(canonical.NotCanonical):
        canonical.dumps(value)


def test_nesting_is_bounded_when_writing_and_reading():
    allowed = b"[" * canonical.MAX_DEPTH + b"]" * canonical.MAX_DEPTH
    assert _ours(allowed)
    assert _verifiers(allowed)
    with pytest.raises(canonical.NotCanonical, match="deeper"):
        canonical.dumps([canonical.loads(allowed)])
    assert not _verifiers(b"[" + allowed + b"]")
    for data in (b"[" * 100_000, b"[" * 200 + b"]" * 200, b"1" * 1_000_000):
        assert not _ours(data)
        assert not _verifiers(data)


@pytest.mark.parametrize("name", sorted(IN_PROFILE))
def test_the_public_vectors_inside_the_profile_come_out_byte_for_byte(name):
    folder = shared("rfc8785")
    value = json.loads((folder / "input" / name).read_bytes())
    assert canonical.dumps(value) == (folder / "output" / name).read_bytes().rstrip(b"\n")


@pytest.mark.parametrize("name", ["french.json", "structures.json", "values.json", "weird.json"])
def test_the_public_vectors_outside_the_profile_are_refused(name):
    value = json.loads((shared("rfc8785", "input") / name).read_bytes())
    with pytest.raises(canonical.NotCanonical):
        canonical.dumps(value)


def test_a_whole_float_is_canonical_only_as_the_integer_that_the_rfc_writes():
    folder = shared("rfc8785")
    assert not _ours((folder / "input" / "structures.json").read_bytes())
    assert _ours((folder / "output" / "structures.json").read_bytes())


def test_strings_of_the_public_vectors_are_spelled_as_the_rfc_says():
    folder = shared("rfc8785")
    value = json.loads((folder / "input" / "values.json").read_bytes())["string"]
    assert canonical.dumps(value) in (folder / "output" / "values.json").read_bytes()


def _ours(data: bytes) -> bool:
    try:
        canonical.loads(data)
    except canonical.NotCanonical:
        return False
    return True


def _verifiers(data: bytes) -> bool:
    try:
        verify.canonical(data)
    except verify.Fault:
        return False
    return True
