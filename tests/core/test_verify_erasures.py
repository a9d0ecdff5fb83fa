"""What is said to be erased was erased by staff, on a record in the same global log; else the verifier says so."""

from __future__ import annotations

import dataclasses
import json
from uuid import UUID

import pytest

from tests.core.tlog_world import (
    KID,
    OTHER_LOG,
    GlobalLog,
    MemoryLedger,
    chatter,
    check,
    erasure_proof,
    export,
    in_a_log,
    named,
    pack,
    plain,
    resign,
    said,
    staff_log,
    unpack,
)

NAME = f"log/erasures/{KID}.json"
SOMEBODY = UUID("018f0000-0000-7000-8000-0000000000ee")


def erased() -> MemoryLedger:
    """Three messages of somebody who was erased since."""
    ledger = chatter(3)
    ledger.append("subject.erased", {"v": 1})
    ledger.erased = True
    for row in ledger.stored:
        row.ciphertext = None
    return ledger


def without_proof() -> bytes:
    """The bundle of a dishonest exporter, who has the log key: it just says so."""
    files = unpack(export(erased()))
    del files[NAME]
    return pack(dict(sorted(resign(files).items())))


def test_an_erasure_that_nothing_proves_is_reported_entry_by_entry(tmp_path):
    verdict = check(without_proof(), tmp_path)
    assert named(verdict) == {0, 1, 2, 3}
    assert {failure.check for failure in verdict.failures} == {"erasure"}


def test_of_the_entry_of_staff_nothing_is_shown_but_kind_and_key(tmp_path):
    shown = json.loads(unpack(export(erased()))[NAME])["leaves"]
    assert [leaf[0] for leaf in shown if isinstance(leaf, list)] == ["/kind", "/subject_key"]
    assert len(shown) == 5
    assert check(export(erased(), evidence=in_a_log(erased(), staff=staff_log("erasure.key_destroyed"))), tmp_path).ok


STAFF = {
    "of another key": staff_log(kid=SOMEBODY),
    "of another kind": staff_log("erasure.asked"),
    "in a log that is not of staff": staff_log(log=OTHER_LOG),
}


@pytest.mark.parametrize("what", STAFF)
def test_an_entry_of_staff_about_something_else_proves_no_erasure(what, tmp_path):
    verdict = check(export(erased(), evidence=in_a_log(erased(), staff=STAFF[what])), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(None, "erasure")], said(verdict)


FORGED = {
    "an entry that was altered": lambda proof: proof | {"entry": proof["entry"].replace("T03:00:01", "T03:00:02")},
    "a head that is no leaf": lambda proof: proof | {"head": proof["head"] | {"index": 0}},
    "a path of another entry": lambda proof: proof | {"path": ["00" * 32]},
    "a field of another value": lambda proof: (
        proof | {"leaves": [*proof["leaves"][:4], [*proof["leaves"][4][:2], f'"{SOMEBODY}"']]}
    ),
    "a key that is hidden": lambda proof: proof | {"leaves": [*proof["leaves"][:4], "00" * 32]},
    "another tenant": lambda proof: proof | {"tenant": str(KID)},
    "a tenant that is none": lambda proof: proof | {"tenant": "x"},
    "a part too many": lambda proof: proof | {"more": 1},
    "no leaves": lambda proof: proof | {"leaves": None},
    "no object": lambda _proof: [],
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_proof_of_an_erasure_is_refused(what, tmp_path):
    files = unpack(export(erased()))
    files[NAME] = plain(FORGED[what](json.loads(files[NAME])))
    verdict = check(pack(resign(files)), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(None, "erasure")], said(verdict)


def test_a_proof_under_another_global_head_is_refused(tmp_path):
    foreign, staff = GlobalLog(leaves=[b"another"] * 4), staff_log()
    forged = {KID: erasure_proof(foreign, foreign.add_head(staff.log, staff.honest), staff)}
    evidence = dataclasses.replace(in_a_log(erased()), erasures=forged)
    assert "does not stand in the log" in said(check(export(erased(), evidence=evidence), tmp_path))


def test_a_proof_of_an_erasure_that_concerns_nothing_here_does_not_belong_in_the_bundle(tmp_path):
    files = unpack(export(chatter(2))) | {NAME: unpack(export(erased()))[NAME]}
    assert "nothing here was erased" in said(check(pack(dict(sorted(resign(files).items()))), tmp_path))
