"""Salted commitments to a payload's fields, against a second reading of their definition."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import verify
from audit.tlog import fields, tree
from audit.tlog.fields import BadFields
from tests.core.tlog_naive import NaiveTree, flipped, mutations

OKM = bytes(range(64))
EVENT = {
    "amount": {"currency": "EUR", "minor": 4300, "split": {"a": 1, "b": []}},
    "by": "agent",
    "empty": {},
    "kind": "tool.intended",
    "list": [{"x": 1}, 2],
    "note": 'rent "für" \n\u2028',
    "~t/l~1": None,
}
NAMES = st.one_of(
    st.text(max_size=4), st.sampled_from(["a", "b", "~", "/", "~1", '"', "\\", "é", "\u2028", "\U0001f600"])
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
PAYLOADS = st.dictionaries(NAMES, VALUES, max_size=12)


def plain(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def naive(value: dict, pointer: str = "", depth: int = 1) -> list[tuple[str, bytes]]:
    """Pointers and values of all fields, in order: the definition, on parsed JSON."""
    found = []
    for name in sorted(value, key=str.encode):
        here = pointer + "/" + name.replace("~", "~0").replace("/", "~1")
        inner = value[name]
        if isinstance(inner, dict) and 1 <= len(inner) <= 32 and depth <= 4:
            found += naive(inner, here, depth + 1)
        else:
            found.append((here, plain(inner)))
    return found


def naive_root(value: dict, okm: bytes = OKM) -> bytes:
    parts = naive(value)
    salts = hashlib.shake_256(okm + b"agentstate/fields/v1").digest(16 * len(parts))
    texts = [plain(pointer) + b":" + text for pointer, text in parts]
    entries = [salts[16 * at : 16 * at + 16] + text for at, text in enumerate(texts)]
    return NaiveTree(entries).mth(0, len(entries))


@given(PAYLOADS)
def test_the_commitment_is_that_of_the_definition(payload):
    assert fields.commit(OKM, plain(payload)) == naive_root(payload)
    assert verify.fields_root(OKM, plain(payload)) == naive_root(payload)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 31, 32, 33, 100, 255, 256, 257, 600])
def test_objects_of_any_width_are_committed_to(count):
    payload = {f"f{number}": number for number in range(count)}
    assert fields.commit(OKM, plain(payload)) == naive_root(payload)
    assert fields.commit(OKM, plain({"inner": payload})) == naive_root({"inner": payload})
    assert len(fields.fields(OKM, plain({"inner": payload}))) == (count if 1 <= count <= 32 else 1)


def test_objects_are_taken_apart_four_names_deep():
    deep: dict = {"e": {"f": 1}}
    payload = {"a": {"b": {"c": {"d": deep}}}}
    assert [each.pointer for each in fields.fields(OKM, plain(payload))] == ["/a/b/c/d/e"]
    assert fields.commit(OKM, plain(payload)) == naive_root(payload)


@given(PAYLOADS.filter(bool))
def test_every_field_is_shown_with_a_proof_that_holds_in_both_readings(payload):
    root = fields.commit(OKM, plain(payload))
    every = fields.fields(OKM, plain(payload))
    assert [(each.pointer, each.value) for each in every] == naive(payload)
    for each in every:
        assert fields.verify(each, root)
        assert fields.parse(json.loads(json.dumps(each.as_json()))) == each
        leaf = hashlib.sha256(b"\x00" + each.salt + plain(each.pointer) + b":" + each.value).digest()
        assert tree.root_from_inclusion(each.index, each.count, leaf, each.path) == root


def test_a_field_says_nothing_of_another_value_name_place_or_payload():
    root = fields.commit(OKM, plain(EVENT))
    (shown,) = fields.disclose(OKM, plain(EVENT), "/amount/minor")
    assert (shown.value, shown.count) == (b"4300", 10)
    lies = [replace(shown, value=value) for value in (b"4301", b"4300 ", b" 4300", b"4300,1", b"", b"04300", b"nul")]
    lies += [
        replace(shown, pointer=pointer)
        for pointer in ("/amount/currency", "amount/minor", "", "/amount", "/amount/minor/")
    ]
    lies += [replace(shown, salt=salt) for salt in (b"", shown.salt[:-1], shown.salt + b"\x00", flipped(shown.salt, 3))]
    lies += [replace(shown, index=index) for index in range(-1, 12) if index != shown.index]
    lies += [replace(shown, count=count) for count in range(shown.index + 1)]
    lies += [replace(shown, path=tuple(path)) for path in mutations(list(shown.path), bytes(32))]
    assert not any(fields.verify(lie, root) for lie in lies)
    for other in (EVENT | {"by": "person"}, EVENT | {"more": 1}):
        assert not fields.verify(shown, fields.commit(OKM, plain(other)))
    assert not fields.verify(shown, fields.commit(flipped(OKM, 511), plain(EVENT)))


def test_a_value_cannot_be_read_as_a_longer_name():
    root = fields.commit(OKM, plain({"a": "b"}))
    (shown,) = fields.disclose(OKM, plain({"a": "b"}), "/a")
    for lie in (replace(shown, pointer='/a":"b', value=b""), replace(shown, pointer="/", value=b'a":"b"')):
        assert not fields.verify(lie, root)


def test_an_object_is_shown_as_its_fields_and_a_part_of_a_field_not_at_all():
    shown = fields.disclose(OKM, plain(EVENT), "/amount")
    assert [each.pointer for each in shown] == [
        "/amount/currency",
        "/amount/minor",
        "/amount/split/a",
        "/amount/split/b",
    ]
    (escaped,) = fields.disclose(OKM, plain(EVENT), "/~0t~1l~01")
    assert escaped.value == b"null"
    for pointer in ("/list/0", "/am", "amount", "/absent", "/by/"):
        with pytest.raises(BadFields):
            fields.disclose(OKM, plain(EVENT), pointer)


def test_equal_values_under_other_keys_and_at_other_places_look_unlike():
    payload = plain({f"f{number}": "yes" for number in range(20)})
    salts = {each.salt for okm in (OKM, flipped(OKM, 0)) for each in fields.fields(okm, payload)}
    assert len(salts) == 40


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"1",
        b"[]",
        b'"x"',
        b"null",
        b"{",
        b'{"a":}',
        b'{"a":1}x',
        b'{"a":1,}',
        b'{"\xff":1}',
        b'{"a":' + b"[" * 10**5,
    ],
)
def test_what_is_no_object_is_refused(payload):
    with pytest.raises(BadFields):
        fields.commit(OKM, payload)


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"index": "0"},
        {"index": 1.0},
        {"path": [1]},
        {"path": ["0"]},
        {"salt": "AB"},
        {"salt": " 00"},
        {"value": 1},
    ],
)
def test_a_field_in_any_other_form_is_refused(change):
    (shown,) = fields.disclose(OKM, plain(EVENT), "/by")
    with pytest.raises(BadFields):
        fields.parse(shown.as_json() | change)
