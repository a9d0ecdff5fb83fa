"""What somebody with full power over the database might try before we export and sign, unknowing; and which entry is
named.
"""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.core.tlog_world import (
    OTHER_LOG,
    MemoryLedger,
    chatter,
    check,
    export,
    in_a_log,
    named,
    plain,
    said,
    transfer_story,
)

CHANGES = {
    "actor": "user:somebody-else",
    "at": "2026-11-21T03:00:01.000001Z",
    "cmd": "018f0000-0000-7000-8000-0000000000cd",
    "ct": "0" * 64,
    "epoch": 1,
    "kc": "0" * 64,
    "kid": "018f0000-0000-7000-8000-0000000000ab",
    "kind": "message.changed",
    "log": str(OTHER_LOG),
    "pc": "0" * 64,
    "ref": 0,
    "salt": "0" * 32,
    "seq": 3,
    "v": 1,
}


def edited(ledger: MemoryLedger, number: int, /, **changes: object) -> None:
    """Write other values into a stored envelope."""
    row = ledger.stored[number]
    row.envelope = plain(json.loads(row.envelope) | changes)


@pytest.mark.parametrize("field", sorted(CHANGES))
def test_every_field_of_an_envelope_changed_in_the_database_names_the_entry(field, tmp_path):
    ledger = chatter(5)
    edited(ledger, 2, **{field: CHANGES[field]})
    verdict = check(export(ledger), tmp_path)
    assert not verdict.ok
    assert named(verdict) - {None} == {2}, said(verdict)
    assert "the signed root is not that of these entries" in said(verdict)


def test_every_byte_of_an_envelope_changed_in_the_database_names_the_entry(tmp_path):
    honest = chatter(3).stored[1].envelope
    for at in range(len(honest)):
        ledger = chatter(3)
        ledger.stored[1].envelope = honest[:at] + bytes([honest[at] ^ 1]) + honest[at + 1 :]
        verdict = check(export(ledger), tmp_path)
        assert named(verdict) - {None} == {1}, (at, said(verdict))


def test_every_byte_of_a_ciphertext_changed_in_the_database_names_the_entry(tmp_path):
    honest = chatter(3).stored[1].ciphertext
    assert honest is not None
    for at in range(len(honest)):
        ledger = chatter(3)
        ledger.stored[1].ciphertext = honest[:at] + bytes([honest[at] ^ 1]) + honest[at + 1 :]
        verdict = check(export(ledger), tmp_path)
        assert named(verdict) == {1}, (at, said(verdict))
        assert verdict.failures[0].kind == "message.added"


def test_a_row_deleted_from_the_middle_is_named(tmp_path):
    ledger = chatter(5)
    del ledger.stored[2]
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {None, 2}
    assert "the entry is missing" in said(verdict)


def test_rows_deleted_from_the_end_are_named(tmp_path):
    ledger = chatter(5)
    del ledger.stored[3:]
    assert named(check(export(ledger), tmp_path)) == {None, 3, 4}


def test_a_row_renumbered_leaves_a_gap_and_a_stranger(tmp_path):
    ledger = chatter(5)
    ledger.stored[2].seq = 77
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {None, 2, 5}
    assert "says it is number 2, and stands at 5" in said(verdict)


def test_the_last_row_renumbered_is_found_though_the_order_is_the_same(tmp_path):
    ledger = chatter(5)
    ledger.stored[4].seq = 5
    assert named(check(export(ledger), tmp_path)) == {None, 4, 5}


def test_two_rows_swapped_are_both_named(tmp_path):
    ledger = chatter(5)
    first, second = ledger.stored[1], ledger.stored[3]
    first.seq, second.seq = 3, 1
    assert named(check(export(ledger), tmp_path)) == {None, 1, 3}


def test_a_row_added_beyond_the_head_is_named(tmp_path):
    ledger = chatter(5)
    ledger.append("message.added", {"role": "customer", "text": "forged", "v": 1})
    ledger.honest.pop()
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {None, 5}
    assert "beyond the signed head of 5 entries" in said(verdict)


def test_an_entry_repeated_over_another_is_named(tmp_path):
    ledger = chatter(5)
    ledger.stored[3] = dataclasses.replace(ledger.stored[2], seq=3)
    assert named(check(export(ledger), tmp_path)) == {None, 3}


def test_an_entry_of_another_session_is_named(tmp_path):
    ledger = chatter(5)
    ledger.stored[3] = chatter(5, log=OTHER_LOG).stored[3]
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {None, 3}
    assert "another log" in said(verdict)


def test_a_payload_deleted_without_an_erasure_is_named(tmp_path):
    ledger = chatter(5)
    ledger.stored[3].ciphertext = None
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {3}
    assert "no entry records that" in said(verdict)


def test_the_payload_of_another_entry_is_named(tmp_path):
    ledger = chatter(5)
    ledger.stored[3].ciphertext = ledger.stored[2].ciphertext
    assert named(check(export(ledger), tmp_path)) == {3}


def test_a_subject_key_exchanged_in_the_database_names_every_entry_under_it(tmp_path):
    ledger = chatter(3)
    ledger.key = b"z" * 32
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {0, 1, 2}
    assert "not the one that the entry commits to" in said(verdict)


def test_a_head_of_other_entries_is_found(tmp_path):
    ledger = chatter(5)
    ledger.honest[0] += b" "
    verdict = check(export(ledger), tmp_path)
    assert "the signed root is not that of these entries" in said(verdict)


def test_an_envelope_too_long_for_its_frame_is_found_and_does_not_stop_the_export(tmp_path):
    ledger = chatter(3)
    ledger.stored[1].envelope += b" " * 70_000
    assert named(check(export(ledger), tmp_path)) == {None, 1}


def test_all_tampered_entries_are_named_not_only_the_first(tmp_path):
    ledger = chatter(300)
    for seq in (0, 17, 255, 256, 299):
        edited(ledger, seq, actor="mallory")
    assert named(check(export(ledger), tmp_path)) == {None, 0, 17, 255, 256, 299}


def test_what_appended_during_the_export_is_left_out_and_is_no_offence(tmp_path):
    ledger = chatter(5)
    evidence = in_a_log(ledger)
    ledger.append("message.added", {"role": "customer", "text": "meanwhile", "v": 1})
    verdict = check(export(ledger, evidence=evidence), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["entries"] == 5


def test_whoever_holds_the_log_key_still_cannot_change_an_envelope_unseen(tmp_path):
    """Everything hashed and signed anew with the genuine key: the payload is bound to the envelope it was made with."""
    ledger = transfer_story()
    edited(ledger, 3, actor="user:u2")
    ledger.honest = [row.envelope for row in ledger.stored]
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {3}
    assert verdict.failures[0].kind == "decision.made"
