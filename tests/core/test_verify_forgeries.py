"""What somebody with full power over a bundle might try, with and without a key; and which entry is named."""

from __future__ import annotations

import base64
import json

import pytest

from audit.tlog import note
from audit.tlog.checkpoint import Checkpoint
from tests.core.tlog_world import (
    KID,
    LOG,
    OTHER_LOG,
    SIGNER,
    STRANGER,
    chatter,
    check,
    export,
    naive_root,
    named,
    pack,
    plain,
    resign,
    said,
    unpack,
)

ENTRIES = "session/tile/entries/000.p/5"
PAYLOAD = "session/payload/000.p/5"
DISCLOSURES = "session/disclosures/000.p/5"


def frames(data: bytes, prefix: int) -> list[bytes]:
    result, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + prefix], "big")
        result.append(data[at + prefix : at + prefix + size])
        at += prefix + size
    return result


def join(items: list[bytes], prefix: int) -> bytes:
    return b"".join(len(item).to_bytes(prefix, "big") + item for item in items)


def rearranged(order: list[int]) -> dict[str, bytes]:
    """The files of a five-entry bundle with its entries in another order, number or multiplicity."""
    files = unpack(export(chatter(5)))
    entries, payloads = frames(files[ENTRIES], 2), frames(files[PAYLOAD], 4)
    lines = files[DISCLOSURES].splitlines(keepends=True)
    tile = f"000.p/{len(order)}"
    for name in (ENTRIES, PAYLOAD, DISCLOSURES, "session/tile/0/000.p/5"):
        del files[name]
    files[f"session/tile/entries/{tile}"] = join([entries[at] for at in order], 2)
    files[f"session/payload/{tile}"] = join([payloads[at] for at in order], 4)
    numbered = [json.loads(lines[at]) | {"seq": seq} for seq, at in enumerate(order)]
    files[f"session/disclosures/{tile}"] = b"".join(plain(line) + b"\n" for line in numbered)
    leaves = [naive_root([entries[at]]) for at in order]
    files[f"session/tile/0/{tile}"] = b"".join(leaves)
    return files


REARRANGED = {
    "dropped": ([0, 1, 3, 4], {2, 3}),
    "swapped": ([0, 2, 1, 3, 4], {1, 2}),
    "repeated": ([0, 1, 1, 2, 3, 4], {2, 3, 4, 5}),
    "truncated": ([0, 1, 2], set()),
    "emptied": ([0], set()),
}


@pytest.mark.parametrize("how", REARRANGED)
def test_entries_rearranged_in_the_bundle_are_found_even_under_our_own_manifest(how, tmp_path):
    order, misplaced = REARRANGED[how]
    files = resign(rearranged(order), entries=len(order))
    verdict = check(pack(files), tmp_path)
    assert not verdict.ok
    assert named(verdict) - {None} == misplaced, said(verdict)
    assert "the signed head has 5 entries" in said(verdict) or len(order) == 5


@pytest.mark.parametrize("how", REARRANGED)
def test_entries_rearranged_hashed_and_signed_anew_with_another_key_fail(how, tmp_path):
    order, _ = REARRANGED[how]
    files = rearranged(order)
    entries = frames(files[f"session/tile/entries/000.p/{len(order)}"], 2)
    head = Checkpoint(STRANGER.origin_of(LOG), len(order), naive_root(entries))
    files["session/checkpoint"] = STRANGER.sign_text(head.body())
    verdict = check(pack(resign(files, STRANGER, entries=len(order))), tmp_path)
    assert not verdict.ok
    assert "is not signed by" in said(verdict)


@pytest.mark.parametrize("name", ["report.html", "report.json", "README.txt"])
def test_a_report_that_says_something_else_is_found(name, tmp_path):
    files = unpack(export(chatter(5)))
    files[name] = files[name].replace(b"e", b"3", 1)
    assert f"{name} is not the file that was signed" in said(check(pack(files), tmp_path))


@pytest.mark.parametrize("name", sorted(unpack(export(chatter(5)))))
def test_any_file_left_out_is_missed(name, tmp_path):
    files = unpack(export(chatter(5)))
    del files[name]
    verdict = check(pack(files), tmp_path)
    assert not verdict.ok
    assert name in said(verdict)


@pytest.mark.parametrize("name", ["extra.txt", "session/tile/0/000", "session/tile/entries/001.p/1", "zzz/run.sh"])
def test_any_file_added_is_found_even_under_our_own_manifest(name, tmp_path):
    files = unpack(export(chatter(5)))
    verdict = check(pack(resign(files | {name: b"x"})), tmp_path)
    assert f"{name} does not belong in the bundle" in said(verdict)


def test_hash_tiles_that_lie_are_found_even_under_our_own_manifest(tmp_path):
    files = unpack(export(chatter(5)))
    files["session/tile/0/000.p/5"] = files["session/tile/0/000.p/5"][::-1]
    assert "does not hold the hashes of these entries" in said(check(pack(resign(files)), tmp_path))


def test_the_manifest_of_another_session_does_not_do(tmp_path):
    files, other = unpack(export(chatter(5))), unpack(export(chatter(5, log=OTHER_LOG)))
    files["manifest.note"] = other["manifest.note"]
    assert "signs another manifest" in said(check(pack(files), tmp_path))


def test_the_head_of_another_session_does_not_do(tmp_path):
    files, other = unpack(export(chatter(5))), unpack(export(chatter(5, log=OTHER_LOG)))
    files["session/checkpoint"] = other["session/checkpoint"]
    verdict = check(pack(resign(files)), tmp_path)
    assert "the manifest was signed for another session" in said(verdict)
    assert {0, 1, 2, 3, 4} <= named(verdict)


def test_an_older_genuine_head_does_not_cover_the_entries(tmp_path):
    files, older = unpack(export(chatter(5))), unpack(export(chatter(4)))
    files["session/checkpoint"] = older["session/checkpoint"]
    verdict = check(pack(resign(files)), tmp_path)
    assert named(verdict) == {None, 4}


def test_a_head_is_not_taken_from_a_note_that_is_none(tmp_path):
    files = unpack(export(chatter(5)))
    files["session/checkpoint"], files["manifest.note"] = files["manifest.note"], files["session/checkpoint"]
    verdict = check(pack(files), tmp_path)
    assert "the note is not that of a manifest" in said(verdict)
    assert "origin" in said(verdict)


@pytest.mark.parametrize(
    "origin", ["log.example/test", f"log.example/other/s/{LOG}", "log.example/test/s/x", f"{LOG}", f"/s/{LOG}"]
)
def test_a_head_under_another_origin_is_refused(origin, tmp_path):
    files = unpack(export(chatter(5)))
    root = naive_root([row.envelope for row in chatter(5).stored])
    files["session/checkpoint"] = note.sign(Checkpoint(origin, 5, root).body(), SIGNER.origin, SIGNER.key)
    assert "the head's origin is" in said(check(pack(resign(files)), tmp_path))


LINES = {
    "of another entry": {"okm": "0" * 128, "seq": 3},
    "with another key": {"okm": "0" * 128, "seq": 2},
    "too short": {"okm": "0" * 126, "seq": 2},
    "in upper case": {"okm": "A" * 128, "seq": 2},
    "that is no mapping": [],
    "that says it is lost": {"seq": 2, "state": "unreadable"},
    "that invents a state": {"seq": 2, "state": "unimportant"},
    "that claims an erasure": {"seq": 2, "state": "erased"},
    "with a number for a key": {"okm": 5, "seq": 2},
    "with more than belongs": {"okm": "0" * 128, "seq": 2, "state": "withheld"},
    "numbered by a truth value": {"okm": "0" * 128, "seq": True},
}


@pytest.mark.parametrize("how", LINES)
def test_a_disclosure_line_that_is_wrong_names_its_entry(how, tmp_path):
    files = unpack(export(chatter(5)))
    lines = files[DISCLOSURES].splitlines(keepends=True)
    lines[2] = plain(LINES[how]) + b"\n"
    files[DISCLOSURES] = b"".join(lines)
    verdict = check(pack(resign(files)), tmp_path)
    assert named(verdict) == {2}, said(verdict)


@pytest.mark.parametrize("name", [ENTRIES, PAYLOAD, DISCLOSURES])
def test_a_file_of_entries_that_is_cut_short_is_reported_with_the_entries_it_held(name, tmp_path):
    files = unpack(export(chatter(5)))
    files[name] = files[name][:-3]
    verdict = check(pack(resign(files)), tmp_path)
    assert not verdict.ok
    assert "entries 0 to 4" in said(verdict)


@pytest.mark.parametrize("more", [b"\0\0\0\x05extra", b"\0\0\0\0", b"\0\0\0\x09short", b"\0"])
def test_a_payload_behind_the_last_entry_is_found_even_under_our_own_manifest(more, tmp_path):
    files = unpack(export(chatter(5)))
    files[PAYLOAD] += more
    assert "entries 0 to 4" in said(check(pack(resign(files)), tmp_path))


def test_a_ciphertext_that_opens_to_two_texts_cannot_be_disclosed_twice(tmp_path):
    """AES-GCM does not commit to its key; the commitment in the envelope does."""
    files = unpack(export(chatter(5)))
    lines = files[DISCLOSURES].splitlines(keepends=True)
    okm = json.loads(lines[2])["okm"]
    lines[2] = plain({"okm": "ff" * 32 + okm[64:], "seq": 2}) + b"\n"
    files[DISCLOSURES] = b"".join(lines)
    assert "does not open" in said(check(pack(resign(files)), tmp_path))


def test_a_manifest_signed_twice_is_refused_for_its_second_signature_is_covered_by_nothing(tmp_path):
    files = unpack(export(chatter(5)))
    files["manifest.note"] += b"\xe2\x80\x94 other " + base64.b64encode(bytes(68)) + b"\n"
    assert "2 signatures" in said(check(pack(files), tmp_path))


def test_a_key_id_in_the_kid_field_says_which_entries_an_erasure_excuses(tmp_path):
    ledger = chatter(2)
    ledger.append("subject.erased", {"v": 1}, kid=str(OTHER_LOG))
    ledger.erased = True
    failures = check(export(ledger), tmp_path).failures
    assert {failure.entry for failure in failures if failure.check == "payload"} == {0, 1}
    assert json.loads(ledger.stored[0].envelope)["kid"] == str(KID)
