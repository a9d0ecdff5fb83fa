"""The verifier's own reading of field commitments agrees with the ledger's, and holds every entry to them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import verify
from audit.tlog import fields
from tests.core.tlog_world import MemoryLedger, chatter, check, export, named, said

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
LAYOUTS = st.sampled_from([{"indent": None}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}])
OKM = bytes(range(64))


@given(st.dictionaries(NAMES, VALUES, max_size=5), LAYOUTS)
def test_two_implementations_commit_to_the_same_fields(payload, layout):
    text = json.dumps(payload, **layout).encode()
    assert verify.fields_root(OKM, text) == fields.commit(OKM, text)


@pytest.mark.parametrize("members", [0, 1, 31, 32, 33])
@pytest.mark.parametrize("depth", [1, 3, 4, 5, 9])
def test_they_agree_at_the_bounds_of_what_is_parted(members, depth):
    payload: object = {f"name{number}": number for number in range(members)}
    for _ in range(depth):
        payload = {"in/ner~": payload, "other": [{}]}
    text = json.dumps(payload).encode()
    assert verify.fields_root(OKM, text) == fields.commit(OKM, text)


def test_an_entry_whose_commitment_is_of_other_fields_is_named(tmp_path):
    ledger = chatter(3)
    ledger.append("message.added", {"role": "customer", "text": "hello", "v": 1}, pc="0" * 64)
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {3}
    assert "the fields of the payload are not those that the entry commits to" in said(verdict)


def test_entries_without_field_commitments_are_of_version_1_and_still_read(tmp_path):
    ledger = MemoryLedger()
    for version in (1, 1, 2):
        ledger.append("message.added", {"role": "customer", "text": "hello", "v": 1}, v=version)
    verdict = check(export(ledger), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["disclosed"] == 3


def test_an_entry_of_version_2_without_a_commitment_is_refused(tmp_path):
    ledger = chatter(2)
    row = ledger.stored[1]
    row.envelope = json.dumps(
        {name: value for name, value in json.loads(row.envelope).items() if name != "pc"}, separators=(",", ":")
    ).encode()
    verdict = check(export(ledger), tmp_path)
    assert 1 in named(verdict)
    assert "exactly the fields of version 2" in said(verdict)


NO_FIELDS = [b"", b"[]", b'"x"', b"{", b'{"a"', b'{"a":', b'{"a":1', b"\xff", b"{" * 5000]
NO_NAMES = [b'{null:1,"a":2}', b"{[1]:2}", b"{{}:2}", b"{true:1}", b"{NaN:1}", b'{"\\ud800":1}']


@pytest.mark.parametrize("text", NO_FIELDS + NO_NAMES)
def test_what_has_no_fields_is_a_fault_and_no_traceback(text):
    with pytest.raises(verify.Fault):
        verify.fields_root(OKM, text)
