"""An honest bundle verifies, whatever its size; what the verifier says about it is true."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime

import pytest

from audit import verify
from audit.export import archive
from audit.export.report import Report, plain
from tests.core.tlog_world import (
    LOG,
    OTHER_LOG,
    SIGNER,
    STRANGER,
    chatter,
    check,
    export,
    naive_root,
    said,
    transfer_story,
    unpack,
)

SIZES = [0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 1000]


@pytest.mark.parametrize("size", SIZES)
def test_a_session_of_any_size_verifies(size, tmp_path):
    verdict = check(export(chatter(size)), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts == {
        "entries": size,
        "disclosed": size,
        "partly": 0,
        "withheld": 0,
        "indivisible": 0,
        "erased": 0,
        "pruned": 0,
        "failures": 0,
    }


def test_the_head_that_is_reported_is_the_root_by_definition(tmp_path):
    ledger = chatter(300)
    verdict = check(export(ledger), tmp_path)
    root = naive_root([row.envelope for row in ledger.stored])
    at = {"leaf": 1, "latest_as_of": 3, "earlier": 0}
    assert verdict.head == {"log": str(LOG), "size": 300, "root": root.hex()} | at


def test_the_story_of_an_approved_transfer_verifies(tmp_path):
    verdict = check(export(transfer_story()), tmp_path, log=str(LOG))
    assert verdict.ok, said(verdict)


def test_the_same_session_gives_the_same_bytes():
    assert export(transfer_story()) == export(transfer_story())


def test_any_zip_reader_can_open_the_bundle():
    with zipfile.ZipFile(io.BytesIO(export(chatter(3)))) as bundle:
        assert bundle.testzip() is None
        assert bundle.namelist() == sorted(bundle.namelist())
        assert {info.date_time for info in bundle.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_withheld_content_stays_sealed_and_everything_else_still_holds(tmp_path):
    data = export(transfer_story(), withhold=frozenset({"message.added"}))
    verdict = check(data, tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["withheld"] == 1
    files = unpack(data)
    assert not any(b"Move it" in content for content in files.values())


def test_disclosed_content_stands_in_the_report_for_people_and_for_programs():
    files = unpack(export(transfer_story()))
    assert b"Move it" in files["report.html"]
    entries = json.loads(files["report.json"])["entries"]
    assert entries[5]["event"]["arguments"]["amount"] == {"minor": 430000, "currency": "USD"}


def test_the_report_is_safe_against_what_a_customer_typed():
    ledger = chatter(0)
    ledger.append("message.added", {"role": "customer", "text": "<script>alert(1)</script>", "v": 1})
    page = unpack(export(ledger))["report.html"]
    assert b"<script" not in page
    assert b"&lt;script&gt;" in page


def test_a_registered_renderer_writes_the_report(monkeypatch, tmp_path):
    from audit.export import report

    monkeypatch.setattr(report, "_renderers", {"": plain})
    told = lambda head, entries: f"{head.log} {len(list(entries))}".encode()  # noqa: E731
    report.register(lambda head, entries: Report(told(head, entries), b""))
    data = export(chatter(4), render=report.render)
    assert unpack(data)["report.html"] == f"{LOG} 4".encode()
    assert check(data, tmp_path).ok


def test_the_session_folder_is_a_log_in_the_tiled_layout():
    ledger = chatter(600)
    files = unpack(export(ledger))
    assert {name for name in files if name.startswith("session/tile/")} == {
        *(f"session/tile/entries/{path}" for path in ("000", "001", "002.p/88")),
        *(f"session/tile/0/{path}" for path in ("000", "001", "002.p/88")),
        "session/tile/1/000.p/2",
    }
    leaf = hashlib.sha256(b"\x00" + ledger.stored[511].envelope).digest()
    assert files["session/tile/0/001"][-32:] == leaf
    assert files["session/tile/1/000.p/2"][:32] == naive_root([row.envelope for row in ledger.stored[:256]])


@pytest.mark.parametrize(
    ("index", "width", "path"),
    [(0, 256, "000"), (1234067, 256, "x001/x234/067"), (999, 1, "999.p/1"), (1000, 256, "x001/000")],
)
def test_tile_paths_are_written_as_the_standard_says(index, width, path):
    assert verify.tile_path(index, width) == path


def test_a_bundle_of_another_session_is_not_taken_for_the_one_asked_for(tmp_path):
    verdict = check(export(chatter(2, log=OTHER_LOG)), tmp_path, log=str(LOG))
    assert not verdict.ok
    assert f"want {LOG}" in said(verdict)


def test_another_key_than_the_auditors_is_not_accepted(tmp_path):
    data = export(transfer_story(), STRANGER)
    assert check(data, tmp_path, STRANGER.vkey()).ok
    verdict = check(data, tmp_path)
    assert not verdict.ok
    assert "is not signed by" in said(verdict)


def test_an_erased_session_without_a_recorded_erasure_is_reported_entry_by_entry(tmp_path):
    ledger = chatter(3)
    ledger.erased = True
    verdict = check(export(ledger), tmp_path)
    assert {failure.entry for failure in verdict.failures} == {0, 1, 2}
    assert "no entry records the erasure" in said(verdict)


def test_an_erased_session_whose_erasure_is_recorded_verifies_without_its_ciphertexts(tmp_path):
    ledger = chatter(3)
    ledger.append("subject.erased", {"v": 1})
    ledger.erased = True
    for row in ledger.stored:
        row.ciphertext = None
    verdict = check(export(ledger), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["erased"] == 4


def pruned(ranges, behind=("session.sealed",), upto=0):
    """Three entries without their payloads, and the tombstone that names some of them; before it, with `upto`, a state
    that stands for so many.
    """
    ledger = chatter(3)
    for row in ledger.stored:
        row.ciphertext = None
    if upto:
        ledger.append("snapshot.recorded", {"upto": upto, "digest": "d", "form": "f", "v": 1})
    ledger.append("payload.pruned", {"ranges": ranges, "retention": "short", "due": "", "v": 1})
    for kind in behind:
        ledger.append(kind, {"text": "", "v": 1})
    return export(ledger)


def test_pruned_payloads_are_counted_apart_from_erased_ones(tmp_path):
    verdict = check(pruned([{"first": 0, "last": 2}]), tmp_path)
    assert verdict.ok, said(verdict)
    assert (verdict.counts["pruned"], verdict.counts["erased"], verdict.counts["disclosed"]) == (3, 0, 2)


def test_a_payload_that_no_entry_names_as_pruned_is_reported(tmp_path):
    verdict = check(pruned([{"first": 0, "last": 1}]), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(2, "payload")]
    assert "no entry records that" in said(verdict)


@pytest.mark.parametrize(
    "ranges",
    [
        [],
        None,
        5,
        [[0, 2]],
        [{"first": 0}],
        [{"first": 0, "last": 9}],
        [{"first": 2, "last": 0}],
        [{"first": True, "last": 2}],
    ],
)
def test_ranges_that_cannot_be_are_reported(ranges, tmp_path):
    verdict = check(pruned(ranges), tmp_path)
    assert (3, "payload") in [(failure.entry, failure.check) for failure in verdict.failures]


def test_what_stands_behind_a_seal_is_reported_unless_it_is_a_tombstone(tmp_path):
    every = [{"first": 0, "last": 2}]
    fine = check(pruned(every, ["session.sealed", "subject.erased", "session.sealed"]), tmp_path)
    assert fine.ok, said(fine)
    verdict = check(pruned(every, ["session.sealed", "message.added"]), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(5, "place")]


@pytest.mark.parametrize("behind", [[], ["message.added"]])
def test_a_session_that_goes_on_is_not_pruned_without_a_recorded_state(behind, tmp_path):
    every = [{"first": 0, "last": 2}]
    assert check(pruned(every, behind, upto=3), tmp_path).ok
    verdict = check(pruned(every, behind), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(3, "story")]
    assert "no state was recorded before it" in said(verdict)


@pytest.mark.parametrize(("upto", "entry"), [(2, 4), (4, 3), (True, 3), ("3", 3)])
def test_a_recorded_state_stands_for_all_that_is_pruned_and_for_nothing_to_come(upto, entry, tmp_path):
    verdict = check(pruned([{"first": 0, "last": 2}], ["message.added"], upto), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(entry, "story")]


def test_times_that_cannot_be_are_reported_with_the_entry(tmp_path):
    ledger = chatter(2)
    ledger.append("message.added", {"text": "late", "v": 1}, at="2026-11-21T02:00:00.000000Z")
    ledger.append("message.added", {"text": "never", "v": 1}, at="2026-02-30T02:00:00.000000Z")
    ledger.append("message.added", {"text": "later", "v": 1}, at="2031-01-01T00:00:00.000000Z")
    verdict = check(export(ledger), tmp_path, now=datetime(2026, 11, 22, tzinfo=UTC))
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(at, "place") for at in (2, 3, 4)]


def test_writers_whose_clocks_differ_a_little_are_no_offence(tmp_path):
    ledger = chatter(2)
    ledger.append("message.added", {"text": "x", "v": 1}, at="2026-11-21T02:59:30.000000Z")
    assert check(export(ledger), tmp_path).ok


def test_a_session_too_large_for_one_file_is_refused_before_anything_is_written(monkeypatch):
    monkeypatch.setattr(archive, "MAX_BUNDLE", 5_000)
    with pytest.raises(archive.TooLarge) as refused:
        export(chatter(10))
    assert refused.value.code == "export_too_large"


def test_the_key_that_was_used_is_part_of_the_verdict(tmp_path):
    verdict = check(export(chatter(1)), tmp_path)
    assert verdict.key == {"vkey": SIGNER.vkey(), "source": "given"}
