"""Every threat of the design to a session's entries and heads, by a superuser of the database; and who finds it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings

from agentstate.clock import now
from audit import erasure, globallog, keys, ledger, sequencer, signer, staff, verify
from audit.export import bundle
from audit.export.gather import Installation, gather
from audit.export.report import plain
from audit.export.source import LedgerSource
from audit.signing.memory import Memory
from audit.tlog import canonical
from audit.tlog.checkpoint import Checkpoint
from tests.core.tlog_world import STRANGER, MemoryLedger, TestSigner, in_a_log, said
from tests.shell.attack_world import (
    FLIP,
    HELD_HEAD,
    RECEIPT,
    SIGNATURE,
    VERIFIER,
    Superuser,
    copied,
    exported,
    found_by,
    kept,
    receipt_holds,
    restored,
    spoken,
    talk,
    verdict_of,
)
from tests.shell.test_ledger import TENANT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def superuser(test_database) -> Superuser:
    return Superuser(test_database)


def named(verdict) -> set[int]:
    return {failure.entry for failure in verdict.failures if failure.entry is not None}


def test_nobody_finds_anything_where_nothing_was_done(superuser, tmp_path):
    head = talk()
    held = kept(head)
    assert found_by(held, tmp_path) == set()
    spoken(head, "more")
    assert found_by(held, tmp_path) == set()


@pytest.mark.parametrize(("table", "column"), [("audit_entry", "envelope"), ("audit_payload", "ciphertext")])
def test_an_edited_entry_is_named_by_the_verifier(table, column, superuser, tmp_path):
    held = kept(talk())
    edit = f"UPDATE {table} SET {column} = {FLIP.format(column, 20)} WHERE log = %s AND seq = 3"
    assert superuser.run(edit, held.log) == 1
    assert found_by(held, tmp_path) == ({VERIFIER, RECEIPT} if table == "audit_entry" else {VERIFIER})
    assert named(verdict_of(held, tmp_path)) == {3}


def edited(superuser: Superuser, log) -> None:
    """The author of entry 3 becomes somebody else, in an envelope that is as well-formed as before."""
    envelope = canonical.loads(next(row.envelope for row in ledger.read_rows(log, 3)))
    data = canonical.dumps({**envelope, "actor": "user:somebody-else"})
    assert superuser.run("UPDATE audit_entry SET envelope = %s WHERE log = %s AND seq = 3", data, log) == 1


def test_an_edited_entry_under_a_head_hashed_anew_is_refused_at_the_next_signature(superuser, tmp_path):
    held = kept(talk())
    edited(superuser, held.log)
    superuser.rehash(held.log)
    with pytest.raises(signer.HeadRefused, match="signed another before"):
        exported(held.log, tmp_path)
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_an_edited_entry_under_a_whole_history_hashed_anew_is_refused_at_the_next_signature(superuser, tmp_path):
    held = kept(talk())
    edited(superuser, held.log)
    superuser.rewrite_history(held.log)
    spoken(talk(), "another session goes on")
    with pytest.raises(signer.HeadRefused, match="does not continue"):
        sequencer.run_once(TENANT)
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_an_edited_entry_hashed_anew_before_it_was_ever_signed_is_named_for_it_does_not_open(superuser, tmp_path):
    """The payload is bound to its envelope under a key that the superuser does not have."""
    head = talk()
    edited(superuser, head.log)
    superuser.rehash(head.log)
    held = kept(head)
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}
    assert named(verdict_of(held, tmp_path)) == {3}


def test_a_dropped_entry_is_named_by_the_verifier(superuser, tmp_path):
    held = kept(talk())
    superuser.drop(held.log, 3)
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}
    assert named(verdict_of(held, tmp_path)) == {3}


def test_a_dropped_entry_that_was_never_signed_is_named_when_the_others_move_up(superuser, tmp_path):
    head = talk()
    superuser.drop(head.log, 3)
    for table in ("audit_entry", "audit_payload"):
        superuser.run(f"UPDATE {table} SET seq = seq - 1 WHERE log = %s AND seq > 3", head.log)
    superuser.rehash(head.log)
    held = kept(head)
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}
    assert named(verdict_of(held, tmp_path)) == {3, 4}


def test_swapped_entries_are_named_by_the_verifier(superuser, tmp_path):
    held = kept(talk())
    for table in ("audit_entry", "audit_payload"):
        for old, new in ((2, 99), (3, 2), (99, 3)):
            superuser.run(f"UPDATE {table} SET seq = %s WHERE log = %s AND seq = %s", new, held.log, old)
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}
    assert named(verdict_of(held, tmp_path)) == {2, 3}


def test_an_inserted_entry_is_named_by_the_verifier(superuser, tmp_path):
    held = kept(talk())
    inserted(superuser, held.log, 6)
    assert found_by(held, tmp_path) == {VERIFIER}
    assert named(verdict_of(held, tmp_path)) == {6}


def test_an_inserted_entry_that_gets_signed_is_named_for_nobody_without_the_subjects_key_can_seal_one(
    superuser, tmp_path
):
    held = kept(talk())
    inserted(superuser, held.log, 6)
    superuser.rehash(held.log)
    assert found_by(held, tmp_path) == {VERIFIER}
    assert named(verdict_of(held, tmp_path)) == {6}


def inserted(superuser: Superuser, log, seq: int, **facts: str) -> None:
    """An entry that the application never wrote, as good as one can be made without a key."""
    model = next(ledger.read_rows(log, 3))
    envelope = canonical.dumps({**canonical.loads(model.envelope), "seq": seq, "cmd": str(uuid4()), **facts})
    superuser.run("INSERT INTO audit_entry (log, seq, envelope) VALUES (%s, %s, %s)", log, seq, envelope)
    superuser.run("INSERT INTO audit_payload (log, seq, ciphertext) VALUES (%s, %s, %s)", log, seq, model.ciphertext)


def test_an_entry_forged_under_a_key_that_never_was_is_named_for_no_erasure_is_on_the_record_of_staff(
    superuser, tmp_path
):
    """Nobody can read a word of it, so it would pass for erased, with an erasure and a request forged beside it. But
    what staff did stands in a log whose entries cannot be forged without a key.
    """
    held, nobody = kept(talk()), uuid4()
    superuser.run(
        "INSERT INTO audit_subjectkey (kid, tenant, blind, kek_ref, created, closing_at, destroyed_at) VALUES"
        " (%s, %s, %s, 'gone', now(), now(), now())",
        *(nobody, TENANT, nobody.bytes),
    )
    for seq, kind in ((6, "message.added"), (7, "subject.erased")):
        inserted(superuser, held.log, seq, kid=str(nobody), kind=kind)
    superuser.rehash(held.log)
    staff_log = staff.log_of(TENANT, now())
    staff.record(TENANT, now(), "test.done", "system", "", {"subject_key": str(nobody)})  # of another kind
    model = next(ledger.read_rows(staff_log))
    forged = canonical.dumps({**canonical.loads(model.envelope), "seq": 1, "kind": erasure.BEGUN})
    superuser.run("INSERT INTO audit_entry (log, seq, envelope) VALUES (%s, 1, %s)", staff_log, forged)
    superuser.run("INSERT INTO audit_payload VALUES (%s, 1, %s)", staff_log, model.ciphertext)
    assert VERIFIER in found_by(held, tmp_path)
    assert named(verdict_of(held, tmp_path)) == {6, 7}


class Dishonest(LedgerSource):
    """An exporter, with the signer at hand, that would rather not show what stands in the ledger."""

    def okm(self, envelope: dict[str, Any]) -> None:
        """Gone, it says."""


def test_an_entry_that_a_dishonest_exporter_calls_erased_is_named_for_staff_erased_nobody(tmp_path):
    head = talk(3)
    kid = UUID(ledger.parse_envelope(next(ledger.read_rows(head.log)).envelope).kid)
    erasure.tombstone(head.log, kid, seals=True)
    held = kept(ledger.read_head(head.log))
    out = tmp_path / "bundle.zip"
    with out.open("wb") as file:
        bundle.write(held.log, Dishonest(held.log), gather(held.log), Installation(), file, render=plain)
    verdict = verify.verify(out, held.vkey)
    assert {(failure.entry, failure.check) for failure in verdict.failures} == {(seq, "erasure") for seq in range(4)}


@pytest.mark.parametrize("signed", [True, False])
def test_a_replayed_entry_is_named_by_the_verifier(signed, superuser, tmp_path):
    head = talk()
    held = kept(head)
    for table, column in (("audit_entry", "envelope"), ("audit_payload", "ciphertext")):
        again = f"INSERT INTO {table} (log, seq, {column}) SELECT log, 6, {column} FROM {table}"
        assert superuser.run(f"{again} WHERE log = %s AND seq = 1", held.log) == 1
    if signed:
        superuser.rehash(held.log)
    assert found_by(held, tmp_path) == {VERIFIER}
    assert named(verdict_of(held, tmp_path)) == {6}


def test_an_entry_of_a_foreign_session_is_named_by_the_verifier(superuser, tmp_path):
    held, other = kept(talk()), talk()
    for table, column in (("audit_entry", "envelope"), ("audit_payload", "ciphertext")):
        theirs = f"(SELECT {column} FROM {table} WHERE log = %s AND seq = 2)"
        superuser.run(f"UPDATE {table} SET {column} = {theirs} WHERE log = %s AND seq = 2", other.log, held.log)
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}
    assert named(verdict_of(held, tmp_path)) == {2}


def test_a_truncated_tail_is_named_by_the_verifier(superuser, tmp_path):
    held = kept(talk())
    superuser.drop(held.log, 4, 5)
    assert found_by(held, tmp_path) == {VERIFIER, RECEIPT}
    assert named(verdict_of(held, tmp_path)) == {4, 5}


def test_a_truncated_tail_under_a_head_hashed_anew_is_refused_at_the_next_signature(superuser, tmp_path):
    held = kept(talk())
    superuser.drop(held.log, 4, 5)
    superuser.rehash(held.log)
    with pytest.raises(signer.HeadRefused, match=r"cut off, altered or restored.*Got 4 entries; signed 6 before"):
        exported(held.log, tmp_path)
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_a_truncated_tail_under_a_whole_history_hashed_anew_is_refused_at_the_next_signature(superuser, tmp_path):
    held = kept(talk())
    superuser.drop(held.log, 4, 5)
    superuser.rewrite_history(held.log)
    talk()
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_a_tail_cut_off_before_it_was_ever_signed_is_found_by_the_receipt_that_the_client_holds_alone(
    superuser, tmp_path
):
    """Nothing but the receipt has left the database at that moment. The sequencer leaves it some 250 ms."""
    longer = spoken(head := talk(), "I object.")
    superuser.drop(longer.log, head.size)
    superuser.rehash(longer.log)
    held = kept(longer)
    assert found_by(held, tmp_path) == {RECEIPT}


def test_an_old_genuine_head_put_back_is_refused_at_the_next_signature(superuser, tmp_path):
    """Every byte of it was once the installation's own."""
    before = talk()
    kept(before)
    held = kept(spoken(before, "I object."))
    superuser.drop(held.log, before.size)
    superuser.run(
        "UPDATE audit_head SET size = %s, frontier = %s WHERE log = %s", before.size, before.frontier, held.log
    )
    with pytest.raises(signer.HeadRefused, match="Got 6 entries; signed 7 before"):
        exported(held.log, tmp_path)
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_the_head_of_a_foreign_session_is_refused_at_the_next_signature(superuser, tmp_path):
    held, other = kept(talk()), talk()
    superuser.run("UPDATE audit_head SET frontier = %s WHERE log = %s", other.frontier, held.log)
    with pytest.raises(signer.HeadRefused, match="signed another before"):
        exported(held.log, tmp_path)
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_the_leaf_of_a_foreign_session_is_not_taken_for_ones_own(superuser, tmp_path):
    """The places of two sessions in the global log are exchanged."""
    one, other = kept(talk()), kept(talk())
    places = {held.log: globallog.latest_place(held.log).index for held in (one, other)}
    for held, foreign in ((one, other), (other, one)):
        superuser.run('UPDATE audit_place SET "index" = %s WHERE log = %s', places[foreign.log], held.log)
    assert found_by(one, tmp_path) == {SIGNATURE}


def test_a_proof_for_another_tree_gets_no_signature_under_it(superuser, tmp_path):
    """The leaf beside the session's is another, so that its path leads to another root than the signed one."""
    held, beside = kept(talk()), kept(talk())
    place = globallog.latest_place(beside.log)
    superuser.run("UPDATE audit_glog SET body = 'another leaf' WHERE \"index\" = %s", place.index)
    with pytest.raises(signer.HeadRefused, match=r"is not in the global log of \d+ leaves"):
        exported(held.log, tmp_path)
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_a_signed_head_of_another_tree_is_not_taken_for_ones_own(superuser, tmp_path):
    """Of the same size, by a key that the attacker made under our name: our own is asked for again."""
    held = kept(talk())
    liar, size = TestSigner(STRANGER.key, settings.LOG_ORIGIN), globallog.signed_head(TENANT).size
    note = liar.sign_text(Checkpoint(settings.LOG_ORIGIN, size, b"r" * 32).body())
    assert superuser.run("UPDATE audit_signedhead SET note = %s WHERE size = %s", note, size) == 1
    assert note not in exported(held.log, tmp_path).read_bytes()
    assert found_by(held, tmp_path) == set()


@pytest.mark.parametrize("more", [1, 10**9])
def test_a_signed_head_of_a_size_that_the_log_never_had_leads_to_no_export(more, superuser, tmp_path):
    held = kept(talk())
    liar, size = TestSigner(STRANGER.key, settings.LOG_ORIGIN), globallog.signed_head(TENANT).size + more
    note = liar.sign_text(Checkpoint(settings.LOG_ORIGIN, size, b"r" * 32).body())
    forged = "INSERT INTO audit_signedhead (tenant, size, signed_at, note) VALUES (%s, %s, now(), %s)"
    superuser.run(forged, TENANT, size, note)
    with pytest.raises(globallog.Altered, match="signed by no key of this log"):
        exported(held.log, tmp_path)


def test_a_lying_log_key_fails_under_the_one_that_the_auditor_has(superuser, tmp_path):
    """The whole bundle made anew, over other entries, with a key of the attacker's under the installation's name."""
    held = kept(talk())
    liar = TestSigner(STRANGER.key, settings.LOG_ORIGIN)
    rows = [row.envelope for row in ledger.read_rows(held.log)][:4]
    out, evidence = tmp_path / "forged.zip", in_a_log(MemoryLedger(log=held.log, honest=rows), liar)
    with out.open("wb") as file:
        bundle.write(held.log, LedgerSource(held.log), evidence, liar, file)
    assert "is not signed by" in said(verify.verify(out, held.vkey))
    assert not receipt_holds(held, out)


def test_a_lying_subject_key_is_named_by_the_verifier(superuser, tmp_path):
    """Another subject's key in the place of the right one: entries commit to their own."""
    head = talk()
    held, other = kept(head), keys.subject_kid(TENANT, "somebody else")
    kid = keys.subject_kid(TENANT, "somebody")
    theirs = "(SELECT wrapped FROM audit_subjectkey WHERE kid = %s)"
    assert superuser.run(f"UPDATE audit_subjectkey SET wrapped = {theirs} WHERE kid = %s", other, kid) == 1
    assert found_by(held, tmp_path) == {VERIFIER}
    assert named(verdict_of(held, tmp_path)) == set(range(head.size))


def test_two_histories_are_not_both_signed(superuser, tmp_path, test_database):
    """A copy of the database goes its own way: the first that is signed for is the only one."""
    head = talk()
    kept(head)
    copy = copied(test_database)
    held = kept(spoken(head, "what one auditor is shown"))
    restored(test_database, copy)
    spoken(head, "what the other is to be shown")
    assert found_by(held, tmp_path) == {SIGNATURE}


def test_two_histories_shown_to_two_auditors_are_found_by_a_held_head_where_the_signer_forgets(
    superuser, tmp_path, test_database
):
    """The operator restores the signer's memory with the database: no part of the house can notice."""
    head = talk()
    kept(head)
    copy, memory = copied(test_database), remembered(test_database)
    held = kept(spoken(head, "what one auditor is shown"))
    restored(test_database, copy)
    put_back(test_database, memory)
    spoken(head, "what the other is shown", "and more of it")
    talk()
    assert found_by(held, tmp_path) == {HELD_HEAD, RECEIPT}


def test_a_restored_backup_of_everything_is_found_by_a_held_head_and_receipt_alone(superuser, tmp_path, test_database):
    head = talk()
    kept(head)
    copy, memory = copied(test_database), remembered(test_database)
    held = kept(spoken(head, "I object."))
    restored(test_database, copy)
    put_back(test_database, memory)
    assert found_by(held, tmp_path) == {HELD_HEAD, RECEIPT}


def remembered(database) -> bytes:
    return (database.signer.state_dir / "signer" / "heads").read_bytes()


def put_back(database, memory: bytes) -> None:
    (database.signer.state_dir / "signer" / "heads").write_bytes(memory)
    database.signer.signer.memory = Memory(database.signer.state_dir / "signer")
