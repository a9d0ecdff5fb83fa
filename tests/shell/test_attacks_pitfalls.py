"""The known ways in which ledgers of others were deceived, tried on this one. tests/shell/attacks.py numbers them."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings

from agentstate.clock import now
from agentstate.engine.instants import stamp
from audit import globallog, keys, ledger, sequencer, signer, structure, verify
from audit.tlog import canonical, checkpoint, note, tree
from tests import cast
from tests.core.tlog_world import ORIGIN, GlobalLog, chatter, check, export, naive_path, said
from tests.shell.attack_world import (
    RECEIPT,
    VERIFIER,
    Superuser,
    exported,
    found_by,
    kept,
    spoken,
    talk,
    verdict_of,
)
from tests.shell.test_attacks_restored import stopped
from tests.shell.test_ledger import TENANT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def superuser(test_database) -> Superuser:
    return Superuser(test_database)


def envelope_of(head: ledger.Head, seq: int = 0) -> bytes:
    return next(ledger.read_rows(head.log, seq)).envelope


def test_an_envelope_that_went_through_jsonb_means_the_same_and_is_named(superuser, tmp_path):
    held = kept(talk())
    through = "convert_to(convert_from(envelope, 'UTF8')::jsonb::text, 'UTF8')"
    before = envelope_of(talk())
    superuser.run(f"UPDATE audit_entry SET envelope = {through} WHERE log = %s AND seq = 2", held.log)
    altered = next(ledger.read_rows(held.log, 2)).envelope
    assert set(json.loads(altered)) == set(json.loads(before))
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}


@pytest.mark.parametrize("at", ["2026-11-21T03:00:00.123456789Z", "2026-11-21T03:00:00Z", "2026-11-21T03:00:00.1Z"])
def test_a_time_is_one_text_of_six_digits_which_no_database_has_rounded(at):
    head = talk()
    envelope = canonical.loads(envelope_of(head))
    assert canonical.dumps(envelope) == envelope_of(head)
    assert verify.read_envelope(envelope_of(head))["at"] == envelope["at"]
    with pytest.raises(verify.Fault, match="'at' is malformed"):
        verify.read_envelope(canonical.dumps({**envelope, "at": at}))


@pytest.mark.parametrize(
    "text",
    ['{"a":1.0}', '{"a":1e3}', '{"a":-0.0}', '{"a":9007199254740992}', '{"a":1,"a":2}', '{"a":"\\ud800"}', '{"a":NaN}'],
)
def test_numbers_and_names_on_which_readers_disagree_are_refused_by_both_readings(text):
    with pytest.raises(canonical.NotCanonical):
        canonical.loads(text.encode())
    with pytest.raises(verify.Fault):
        verify.canonical(text.encode())


def test_of_what_was_said_nothing_remains_that_could_be_guessed(superuser):
    """Twice the same low-entropy text, and every digest of it that comes to mind."""
    head = talk(1)
    head = spoken(head, "approved", "approved")
    one, other = (canonical.loads(envelope_of(head, seq)) for seq in (1, 2))
    for name in ("ct", "kc", "pc", "salt"):
        assert one[name] != other[name]
    payload = canonical.dumps({"kind": "test.said", "text": "approved"})
    texts = (b"approved", b'"approved"', payload, b'"/text":"approved"')
    salts = (b"", bytes.fromhex(one["salt"]), one["salt"].encode(), head.log.bytes, one["kid"].encode())
    guesses = {
        hashlib.sha256(mark + salt + text).hexdigest() for mark in (b"", b"\0") for salt in salts for text in texts
    }
    assert not guesses & set(one.values())


def test_an_old_export_shown_again_is_refused_by_the_size_that_the_auditor_knows_of(tmp_path):
    head = talk()
    held = kept(head)
    old = exported(held.log, tmp_path)
    newer = kept(spoken(head, "I object."))
    size = verify.read_log_head(verify.split_note(newer.checkpoint)[0], settings.LOG_ORIGIN).size
    assert verify.verify(old, held.vkey).ok
    assert "want at least" in said(verify.verify(old, held.vkey, demand=verify.Demand(min_size=size)))
    assert "it was cut off" in said(verify.verify(old, held.vkey, demand=verify.Demand(held=newer.checkpoint)))


def test_a_stolen_log_key_rewrites_nothing_of_which_an_auditor_holds_a_head(tmp_path):
    """The thief signs as well as we do, and makes another history of the same session, longer than the held one."""
    honest, forged = GlobalLog(), GlobalLog()
    ledger_, lie = chatter(4), chatter(3)
    honest.add_head(ledger_.log, ledger_.honest)
    held = honest.checkpoint()
    head = forged.add_head(lie.log, lie.honest)
    evidence = forged.evidence(lie.log, head, forged.add_map())
    data = export(lie, evidence=evidence)
    assert check(data, tmp_path).ok
    proof = naive_path(forged.leaves, 0)
    verdict = check(data, tmp_path, demand=verify.Demand(held=held, held_proof=proof))
    assert "two histories" in said(verdict)


def test_an_inner_node_is_not_taken_for_an_entry_and_a_tile_that_lies_gets_no_signature(superuser, tmp_path):
    hashes = [tree.leaf_hash(b"one"), tree.leaf_hash(b"two")]
    root = tree.root_of(hashes)
    assert not tree.verify_inclusion(0, 1, tree.leaf_hash(b"".join(hashes)), [], root)
    head = talk()
    sequencer.run_once(TENANT, extra=[b"leaf %d" % number for number in range(300)])
    assert superuser.run("UPDATE audit_tile SET data = overlay(data placing '\\x00'::bytea from 40), root = data") > 0
    with pytest.raises((signer.HeadRefused, signer.NotSigned)):
        exported(head.log, tmp_path)


def test_what_is_larger_than_an_entry_may_be_stands_in_the_payload(tmp_path):
    held = kept(spoken(talk(), "x" * 1_000_000))
    assert len(envelope_of(talk())) < 4_096
    assert max(len(row.envelope) for row in ledger.read_rows(held.log)) < 4_096
    assert found_by(held, tmp_path) == set()


def test_a_head_with_a_line_more_is_refused_by_both_readings():
    text = checkpoint.Checkpoint(ORIGIN, 3, b"r" * 32).body()
    for more in ("extension\n", "\n", "— \n"):
        with pytest.raises(checkpoint.BadCheckpoint):
            checkpoint.parse(text + more)
        with pytest.raises(verify.Fault):
            verify.read_log_head(text + more, ORIGIN)


def test_a_superuser_who_drops_the_triggers_is_found_by_the_verifier(test_database, tmp_path):
    held = kept(talk())
    with test_database.administrator(test_database.name) as administrator:
        administrator.execute("DROP TRIGGER append_only ON audit_entry")
        administrator.execute("DELETE FROM audit_entry WHERE log = %s AND seq = 2", [held.log])
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}


def test_a_byte_changed_in_the_pages_of_a_table_on_the_disk_is_found_by_the_verifier(test_database, tmp_path):
    """With the server down, and its own checksums told to look away."""
    if not test_database.stack.embedded:
        pytest.skip("needs the embedded server's own files")
    held = kept(talk())
    with test_database.administrator(test_database.name) as administrator:
        administrator.execute(f'ALTER DATABASE "{test_database.name}" SET ignore_checksum_failure = on')
        administrator.execute("CHECKPOINT")
        (path,) = administrator.execute("SELECT pg_relation_filepath('audit_entry')").fetchone()
    with stopped(test_database):
        flip_on_disk(test_database.stack.postgres_dir / path, f'"log":"{held.log}"'.encode())
    assert VERIFIER in found_by(held, tmp_path)
    assert {failure.entry for failure in verdict_of(held, tmp_path).failures if failure.entry is not None} == {0}


def flip_on_disk(path: Path, near: bytes) -> None:
    data = bytearray(path.read_bytes())
    at = data.rindex(near) + len('"log":"')  # rows are put into a page from its end: the last one is the first entry
    data[at] ^= 1
    path.write_bytes(data)


def test_the_global_log_of_one_tenant_says_nothing_of_another_and_names_nobody():
    head, stranger = talk(), uuid4()
    said_there = [ledger.Draft("test.said", b'{"kind":"test.said"}')]
    batch = ledger.Batch(said_there, keys.subject_kid(stranger, "ada"), "user:ada", stamp(now()), uuid4())
    theirs = ledger.create(uuid4(), stranger, batch)
    sequencer.run_once(TENANT, with_map=True)
    bodies = b"".join(body for _, body in globallog.bodies(TENANT, 0, globallog.state(TENANT).size))
    assert str(head.log).encode() in bodies
    for word in (str(theirs.log), str(stranger), str(TENANT), "ada", "somebody", "sentence"):
        assert word.encode() not in bodies


def test_an_emptied_table_names_every_entry_and_a_dropped_one_is_on_record(superuser, test_database, tmp_path):
    held, tenant = kept(talk()), cast.tenant().pk
    structure.record(tenant, now())
    superuser.run("DROP TABLE audit_receipt")
    assert structure.record(tenant, now())
    before, after = structure.history(tenant)
    assert before["catalogue"] != after["catalogue"]
    assert before["migrations"] == after["migrations"]
    superuser.run("TRUNCATE audit_entry, audit_payload")
    assert {failure.entry for failure in verdict_of(held, tmp_path).failures} >= set(range(held.size))
    assert structure.record(tenant, now())


P = 2**255 - 19
LOW_ORDER = (
    *(0, 1, P - 1, P, P + 1),
    int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"),
    int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"),
)


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("y", LOW_ORDER)
def test_a_key_under_which_anybody_can_sign_is_refused_by_both_readings(y, sign):
    public = (y | sign << 255).to_bytes(32, "little")
    key_id = hashlib.sha256(b"log.example\n\x01" + public).digest()[:4]
    vkey = f"log.example+{key_id.hex()}+{base64.b64encode(bytes([1]) + public).decode()}"
    with pytest.raises(note.BadNote, match="small order"):
        note.parse_vkey(vkey)
    with pytest.raises(verify.Fault, match="small order"):
        verify.read_vkey(vkey)


LENIENT = {
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r", 1),
    "U+2028": lambda data: data.replace(b"\n", "\u2028".encode(), 1),
    "no blank line": lambda data: data.replace(b"\n\n", b"\n"),
    "plus": lambda data: _sized(data, "+%s"),
    "leading zero": lambda data: _sized(data, "0%s"),
    "underscore": lambda data: _sized(data, "1_%s"),
    "space": lambda data: _sized(data, " %s"),
    "hyphen for dash": lambda data: data.replace("—".encode(), b"-"),
    "no last newline": lambda data: data[:-1],
    "base64 without padding": lambda data: data.replace(b"=\n", b"\n", 1),
}


def _sized(data: bytes, form: str) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join([lines[0], (form % lines[1].decode()).encode(), *lines[2:]])


@pytest.mark.parametrize("spelling", LENIENT)
def test_a_head_that_a_lenient_reader_takes_is_refused_by_both_readings(spelling):
    held = kept(talk())
    data = LENIENT[spelling](held.checkpoint)
    key = verify.read_vkey(held.vkey)
    assert checkpoint.open_signed(held.checkpoint, [note.parse_vkey(held.vkey)])
    with pytest.raises((note.BadNote, checkpoint.BadCheckpoint)):
        checkpoint.open_signed(data, [note.parse_vkey(held.vkey)])
    with pytest.raises(verify.Fault):
        verify.read_log_head(verify.open_note(data, key, alone=False), key.name)
