"""The global log around a session: its head, witnesses, rotations, the head map; and the lies that they uncover."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
from datetime import UTC, datetime, timedelta

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from audit import verify
from audit.export import bundle
from audit.tlog.checkpoint import Checkpoint
from tests.core.tlog_world import (
    LOG,
    OTHER_LOG,
    SIGNER,
    STRANGER,
    THIRD_LOG,
    GlobalLog,
    TestSigner,
    Witness,
    chatter,
    check,
    export,
    in_a_log,
    naive_root,
    pack,
    resign,
    said,
    unpack,
)

SUCCESSOR = TestSigner(Ed25519PrivateKey.from_private_bytes(b"2" * 32))
OWN = Witness()
FOREIGN = Witness("other.example", key=Ed25519PrivateKey.from_private_bytes(b"v" * 32))
NOW = datetime.fromtimestamp(OWN.at, UTC) + timedelta(hours=1)


def policy(*witnesses: Witness, quorum: str = "") -> bytes:
    lines = [f"log {SIGNER.vkey()}"]
    lines += [f"witness w{number} {witness.vkey()}" for number, witness in enumerate(witnesses)]
    lines += [quorum or f"group all-of-them all {' '.join(f'w{n}' for n in range(len(witnesses)))}\nquorum all-of-them"]
    return "\n".join(lines).encode() + b"\n"


def world(entries: int = 5):
    """A ledger, the global log that its head stands in, and the head's index."""
    ledger, log = chatter(entries), GlobalLog()
    log.add_head(OTHER_LOG, [b"other"])
    return ledger, log, log.add_head(ledger.log, ledger.honest)


def test_the_verdict_says_which_log_and_as_of_when(tmp_path):
    verdict = check(export(chatter(5)), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.log is not None
    assert (verdict.log["name"], verdict.log["size"], verdict.log["witnesses"]) == (SIGNER.origin, 4, [])
    assert verdict.head is not None
    assert verdict.head["latest_as_of"] == 3


def test_a_truncated_session_with_an_older_genuine_head_is_found(tmp_path):
    """The end was cut off and everything signed anew; only the head map knows of the later head."""
    ledger, log, early = world(3)
    for number in range(2):
        ledger.append("message.added", {"role": "customer", "text": f"later {number}", "v": 1})
    log.add_head(ledger.log, ledger.honest)
    evidence = log.evidence(ledger.log, early, log.add_map())
    del ledger.stored[3:]
    verdict = check(export(ledger, evidence=evidence), tmp_path)
    assert "its end was cut off" in said(verdict)


def test_a_head_map_from_before_the_last_entries_tells_as_of_when_it_speaks(tmp_path):
    """Nothing is wrong with it: what came later is beyond what the bundle claims."""
    ledger, log, head = world()
    at = log.add_map()
    evidence = log.evidence(ledger.log, head, at)
    log.add_head(ledger.log, [*ledger.honest, b"later"])
    verdict = check(export(ledger, evidence=evidence), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.head is not None
    assert verdict.head["latest_as_of"] == at


def test_the_head_of_a_foreign_session_does_not_pass(tmp_path):
    ledger, log, _ = world()
    foreign = log.add_head(THIRD_LOG, [b"third"])
    row = log.row(ledger.log)
    evidence = dataclasses.replace(log.evidence(ledger.log, foreign, log.add_map()), row=row)
    verdict = check(export(ledger, evidence=evidence), tmp_path, log=str(ledger.log))
    assert "want 018f0000-0000-7000-8000-000000000001" in said(verdict)


def test_a_head_map_of_another_log_does_not_pass(tmp_path):
    ledger, log, head = world()
    other = GlobalLog(latest={str(LOG): (9, 9)})
    log.leaves.append(other.leaves[other.add_map()])
    verdict = check(export(ledger, evidence=log.evidence(ledger.log, head, len(log.leaves) - 1)), tmp_path)
    assert "another place in the log than it says" in said(verdict)


def test_a_head_that_no_map_mentions_does_not_pass(tmp_path):
    ledger, log, head = world()
    row = log.row(ledger.log)
    del log.latest[str(ledger.log)]
    evidence = dataclasses.replace(log.evidence(OTHER_LOG, head, log.add_map()), row=row)
    assert "does not lead to the root of the head map" in said(check(export(ledger, evidence=evidence), tmp_path))


@pytest.mark.parametrize("name", ["log/head.tlog-proof", "log/headmap.tlog-proof"])
def test_a_proof_for_another_tree_does_not_pass(name, tmp_path):
    files = unpack(export(chatter(5)))
    other = unpack(export(chatter(6)))
    verdict = check(pack(resign(files | {name: other[name]})), tmp_path)
    assert "is a proof for another head" in said(verdict)


@pytest.mark.parametrize("name", ["policy", *verify.LOG_FILES])
def test_evidence_of_the_log_changed_anywhere_is_rejected_even_under_our_own_manifest(name, tmp_path):
    files = unpack(export(chatter(2)))
    for at in range(len(files[name])):
        changed = files[name][:at] + bytes([files[name][at] ^ 1]) + files[name][at + 1 :]
        verdict = check(pack(resign(files | {name: changed})), tmp_path)
        assert not verdict.ok or name == "policy", at
        assert {failure.check for failure in verdict.failures} <= {"log", "tail", "receipt"}, (at, said(verdict))


def test_a_receipt_of_another_leaf_or_by_another_key_does_not_pass(tmp_path):
    ledger, log, head = world()
    whole = log.evidence(ledger.log, head, log.add_map())
    stranger = GlobalLog(STRANGER, log.leaves)
    for receipt in (log.receipt(0), stranger.receipt(head), whole.receipt[:-1], whole.receipt + b"\x00", b""):
        verdict = check(export(ledger, evidence=dataclasses.replace(whole, receipt=receipt)), tmp_path)
        assert [failure.check for failure in verdict.failures] == ["receipt"]


@given(st.recursive(
    st.none() | st.integers(-(2**64), 2**64 - 1) | st.binary(max_size=300) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.integers(-300, 300), inner, max_size=5),
))  # fmt: skip
def test_the_verifiers_own_cbor_is_that_of_the_library(value):
    assert cbor2.loads(verify.write_cbor(value)) == value
    if not isinstance(value, list | dict):
        assert verify.write_cbor(value) == cbor2.dumps(value, canonical=True)


def test_a_head_signed_by_a_stranger_does_not_pass(tmp_path):
    ledger, log, head = world()
    log.signer = STRANGER
    verdict = check(export(ledger, evidence=log.evidence(ledger.log, head, log.add_map())), tmp_path)
    assert "is not signed by" in said(verdict)


# --- witnesses


def cosigned(*witnesses: Witness) -> bytes:
    ledger, log, head = world()
    return export(ledger, evidence=log.evidence(ledger.log, head, log.add_map(), *witnesses))


def test_what_the_policy_asks_for_is_enough(tmp_path):
    verdict = check(cosigned(OWN, FOREIGN), tmp_path, policy(OWN, FOREIGN), now=NOW)
    assert verdict.ok, said(verdict)
    assert verdict.log is not None
    assert (verdict.log["witnesses"], verdict.log["cosigned_at"][:10]) == (["w0", "w1"], "2026-11-21")


def test_a_cosignature_that_the_policy_asks_for_is_missed(tmp_path):
    assert "the policy asks for" in said(check(cosigned(OWN), tmp_path, policy(OWN, FOREIGN), now=NOW))
    assert check(cosigned(OWN), tmp_path, policy(OWN, FOREIGN, quorum="group g any w0 w1\nquorum g"), now=NOW).ok


def test_a_cosignature_under_a_false_time_does_not_count(tmp_path):
    lying = dataclasses.replace(OWN, at=OWN.at + 10 * 86400)
    assert "still to come" in said(check(cosigned(lying), tmp_path, policy(OWN), now=NOW))
    files = unpack(cosigned(OWN))
    note = files["log/checkpoint"].rpartition(b" ")
    value = bytearray(base64.b64decode(note[2]))
    value[11] ^= 1  # within the time
    assert "does not match the note" in said(
        check(pack(files | {"log/checkpoint": note[0] + b" " + base64.b64encode(value) + b"\n"}), tmp_path, policy(OWN))
    )


def test_witnesses_that_nobody_asked_for_are_ignored(tmp_path):
    verdict = check(cosigned(FOREIGN), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.log is not None
    assert verdict.log["witnesses"] == []


def test_a_stale_cosignature_is_refused_when_freshness_is_asked_for(tmp_path):
    fresh, stale = verify.Demand(max_age=timedelta(hours=2)), verify.Demand(max_age=timedelta(minutes=30))
    assert check(cosigned(OWN), tmp_path, policy(OWN), now=NOW, demand=fresh).ok
    assert "older than was asked for" in said(check(cosigned(OWN), tmp_path, policy(OWN), now=NOW, demand=stale))
    assert "last cosigned never" in said(check(cosigned(), tmp_path, now=NOW, demand=fresh))


# --- what the auditor holds


def test_a_log_that_continues_the_held_head_passes(tmp_path):
    ledger, log, head = world()
    held = log.checkpoint()
    at = log.add_map()
    evidence = log.evidence(ledger.log, head, at, consistency={2: (naive_root([log.leaves[2]]),)})
    verdict = check(export(ledger, evidence=evidence), tmp_path, demand=verify.Demand(held=held))
    assert verdict.ok, said(verdict)
    assert verdict.log is not None
    assert verdict.log["continues"] == 2


def test_two_histories_shown_to_two_auditors_are_found_when_they_compare(tmp_path):
    ledger, log, head = world()
    other = GlobalLog(leaves=[b"another history", *log.leaves[1:]])
    path = (naive_root([log.leaves[log.add_map()]]),)
    evidence = log.evidence(ledger.log, head, 2, consistency={2: path})
    verdict = check(export(ledger, evidence=evidence), tmp_path, demand=verify.Demand(held=other.checkpoint()))
    assert "two histories" in said(verdict)


def test_a_log_that_became_shorter_is_found(tmp_path):
    ledger, log, head = world()
    longer = GlobalLog(leaves=[*log.leaves, b"x", b"y", b"z"])
    demand = verify.Demand(held=longer.checkpoint(), min_size=5)
    evidence = log.evidence(ledger.log, head, log.add_map())
    told = said(check(export(ledger, evidence=evidence), tmp_path, demand=demand))
    assert "it was cut off" in told
    assert "want at least 5" in told


def test_without_a_proof_the_held_head_is_not_taken_for_continued(tmp_path):
    ledger, log, head = world()
    held = log.checkpoint()
    evidence = log.evidence(ledger.log, head, log.add_map())
    assert "holds no proof" in said(check(export(ledger, evidence=evidence), tmp_path, demand=verify.Demand(held=held)))


# --- rotation of the log key


def rotated(last: TestSigner = SUCCESSOR) -> bytes:
    ledger, log = chatter(3), GlobalLog()
    rotation = log.add_rotation(SUCCESSOR)
    head = log.add_head(ledger.log, ledger.honest)
    at = log.add_map()
    log.signer = last
    out = io.BytesIO()
    evidence = log.evidence(ledger.log, head, at, rotations=(log.leaf(rotation),))
    bundle.write(ledger.log, ledger, evidence, last, out)
    return out.getvalue()


@pytest.mark.parametrize("trusted", [SIGNER, SUCCESSOR])
def test_a_rotation_leads_from_the_old_key_to_the_new(trusted, tmp_path):
    verdict = check(rotated(), tmp_path, trusted.vkey())
    assert verdict.ok, said(verdict)
    assert verdict.log is not None
    assert verdict.log["key"] == SUCCESSOR.vkey()


def test_after_a_rotation_the_old_key_signs_nothing_any_more(tmp_path):
    assert "is not signed by" in said(check(rotated(SIGNER), tmp_path))


def test_a_rotation_that_the_old_key_did_not_sign_leads_nowhere(tmp_path):
    ledger, log = chatter(3), GlobalLog(STRANGER)
    rotation = log.add_rotation(SUCCESSOR)
    head = log.add_head(ledger.log, ledger.honest)
    out = io.BytesIO()
    evidence = log.evidence(ledger.log, head, log.add_map(), rotations=(log.leaf(rotation),))
    bundle.write(ledger.log, ledger, evidence, SUCCESSOR, out)
    assert "is not signed by" in said(check(out.getvalue(), tmp_path))


# --- policies


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        "quorum none",
        "log nonsense\nquorum none",
        f"log {SIGNER.vkey()}\n",
        f"log {SIGNER.vkey()}\nlog {SIGNER.vkey()}\nquorum none",
        f"log {SIGNER.vkey()}\nquorum none\nquorum none",
        f"log {SIGNER.vkey()}\nquorum w",
        f"log {SIGNER.vkey()}\nwitness none {OWN.vkey()}\nquorum none",
        f"log {SIGNER.vkey()}\nwitness w {SIGNER.vkey()}\nquorum none",
        f"log {SIGNER.vkey()}\nwitness w {OWN.vkey()}\nwitness v {OWN.vkey()}\nquorum none",
        f"log {SIGNER.vkey()}\nwitness w {OWN.vkey()}\ngroup g 2 w\nquorum g",
        f"log {SIGNER.vkey()}\nwitness w {OWN.vkey()}\ngroup g 0 w\nquorum g",
        f"log {SIGNER.vkey()}\nwitness w {OWN.vkey()}\ngroup g any w w\nquorum g",
        f"log {SIGNER.vkey()}\nwitness w {OWN.vkey()}\ngroup g any g\nquorum g",
        f"log {SIGNER.vkey()}\ngroup g any\nquorum g",
        f"log {SIGNER.vkey()}\r\nquorum none",
        f"log {SIGNER.vkey()}\nquorum none\nwhatever",
    ],
)
def test_a_policy_that_is_none_is_refused(text, tmp_path):
    verdict = check(export(chatter(1)), tmp_path, text.encode())
    assert not verdict.ok
    assert [failure.check for failure in verdict.failures] == ["bundle"]


def test_comments_spaces_and_addresses_in_a_policy_are_read_over(tmp_path):
    text = f"# ours\n\n \tlog  {SIGNER.vkey()}\thttps://log.example \nquorum none"
    assert check(export(chatter(1)), tmp_path, text.encode()).ok


# --- time


def test_a_timestamp_over_another_head_does_not_pass(tmp_path):
    ledger = chatter(2)
    evidence = dataclasses.replace(in_a_log(ledger), timestamp=b"0\x03nonsense")
    assert "not an RFC 3161 response" in said(check(export(ledger, evidence=evidence), tmp_path))


# --- earlier heads of the session


def grown(*sizes: int, last: int = 9):
    """A ledger of which the log said these heads before, and the evidence of its newest."""
    ledger, log = chatter(last), GlobalLog()
    for size in (*sizes, last):
        head = log.add_head(ledger.log, ledger.honest[:size])
        log.add_head(OTHER_LOG, [b"other"])
    return ledger, log, log.evidence(ledger.log, head, log.add_map())


def test_every_earlier_head_that_the_log_said_is_the_beginning_of_these_entries(tmp_path):
    ledger, _, evidence = grown(1, 2, 5, 8)
    verdict = check(export(ledger, evidence=evidence), tmp_path)
    assert (verdict.ok, verdict.head["earlier"]) == (True, 4), said(verdict)
    assert "after 4 earlier heads" in "\n".join(verify.in_words(verdict))


@pytest.mark.parametrize("cut", [3, 4])
def test_a_session_cut_back_and_grown_past_an_earlier_head_is_refused(cut, tmp_path):
    """The log said five entries, of which the last were taken back; everything else is as a log key can make it."""
    ledger, log = chatter(9), GlobalLog()
    log.add_head(ledger.log, ledger.honest[:cut])
    log.add_head(ledger.log, [*ledger.honest[:cut], *[b"taken back"] * (5 - cut)])
    head = log.add_head(ledger.log, ledger.honest)
    verdict = check(export(ledger, evidence=log.evidence(ledger.log, head, log.add_map())), tmp_path)
    assert [(failure.check, failure.entry) for failure in verdict.failures] == [("heads", 4)], said(verdict)
    assert "the log said another head of 5 entries: some were taken back or rewritten" in said(verdict)


@pytest.mark.parametrize("forged", ["one left out", "the first left out", "one more", "none", "another", "half a line"])
def test_a_chain_of_heads_that_is_not_the_one_which_the_log_names_is_refused(forged, tmp_path):
    ledger, _, evidence = grown(1, 2, 5)
    first, second, third = evidence.heads
    chains = {
        "one left out": (first, third),
        "the first left out": (second, third),
        "one more": (first, first, second, third),
        "none": (),
        "another": (first, second, third.replace(b"\n5\n", b"\n6\n")),
        "half a line": (first, second, third[:-1]),
    }
    bundled = export(ledger, evidence=dataclasses.replace(evidence, heads=chains[forged]))
    verdict = check(bundled, tmp_path)
    assert "heads" in {failure.check for failure in verdict.failures}, said(verdict)


@pytest.mark.parametrize("line", ["after 0", "after x x", "before 0 {hash}", "after 00 {hash}", "after 0 {hash} ", "x"])
def test_a_leaf_with_another_fourth_line_is_no_head(line, tmp_path):
    ledger, log, _ = world()
    text = line.format(hash=base64.b64encode(bytes(32)).decode())
    head = log.add(log.leaves[-1] + f"{text}\n".encode())
    log.latest[str(ledger.log)] = (head, 5)
    evidence = log.evidence(ledger.log, head - 1, log.add_map())
    evidence = dataclasses.replace(evidence, head=log.leaf(head), receipt=log.receipt(head))
    with pytest.raises(ValueError):
        export(ledger, evidence=evidence)
    with pytest.raises(verify.Fault):
        verify.read_head_leaf(log.leaves[head], SIGNER.origin)


def kept(ledger, size: int) -> bytes:
    """The signed head of the session as it was with so many entries."""
    head = Checkpoint(SIGNER.origin_of(ledger.log), size, naive_root(ledger.honest[:size]))
    return SIGNER.sign_text(head.body())


@pytest.mark.parametrize("size", [1, 5, 9])
def test_a_session_that_begins_with_the_held_head_passes(size, tmp_path):
    ledger, _, evidence = grown(5)
    verdict = check(export(ledger, evidence=evidence), tmp_path, demand=verify.Demand(held=kept(ledger, size)))
    assert (verdict.ok, verdict.head["continues"]) == (True, size), said(verdict)


def test_a_session_that_does_not_extend_the_held_head_is_refused(tmp_path):
    ledger, _, evidence = grown(5)
    rewritten = Checkpoint(SIGNER.origin_of(ledger.log), 6, naive_root([*ledger.honest[:4], b"x", b"y"]))
    foreign = Checkpoint(SIGNER.origin_of(OTHER_LOG), 1, naive_root([b"other"]))
    longer = Checkpoint(SIGNER.origin_of(ledger.log), 10, naive_root([*ledger.honest, b"x"]))
    bundled = export(ledger, evidence=evidence)
    for head, words in (
        (rewritten, "you hold another head of 6 entries: some were taken back or rewritten"),
        (foreign, f"the head that you hold is of session {OTHER_LOG}"),
        (longer, "you hold a head of 10 entries, and there are 9: its end was cut off"),
    ):
        verdict = check(bundled, tmp_path, demand=verify.Demand(held=SIGNER.sign_text(head.body())))
        assert (words in said(verdict), verdict.ok) == (True, False), said(verdict)


def test_the_command_takes_an_older_bundle_a_head_or_a_receipt_as_what_is_held(tmp_path, capsys):
    ledger, _, evidence = grown(5)
    (tmp_path / "new.zip").write_bytes(export(ledger, evidence=evidence))
    older = dataclasses.replace(ledger, stored=ledger.stored[:5])
    log = GlobalLog()
    at = log.add_head(ledger.log, ledger.honest[:5])
    (tmp_path / "older.zip").write_bytes(export(older, evidence=log.evidence(ledger.log, at, log.add_map())))
    (tmp_path / "head").write_bytes(kept(ledger, 5))
    leaf = hashlib.sha256(b"\x00" + ledger.honest[4]).hexdigest()
    facts = {"session": str(ledger.log), "size": 5, "root": naive_root(ledger.honest[:5]).hex(), "leaf": leaf}
    (tmp_path / "receipt").write_text(json.dumps(facts))
    told = [str(tmp_path / "new.zip"), "--key", SIGNER.vkey()]
    for name in ("older.zip", "head", "receipt"):
        assert verify.main([*told, "--held", str(tmp_path / name)]) == 0, capsys.readouterr().out
    (tmp_path / "receipt").write_text(json.dumps(facts | {"leaf": "0" * 64}))
    (tmp_path / "head").write_bytes(SIGNER.sign_text(Checkpoint(SIGNER.origin_of(ledger.log), 5, bytes(32)).body()))
    for name in ("head", "receipt"):
        assert verify.main([*told, "--held", str(tmp_path / name)]) == 1
    back = [str(tmp_path / "older.zip"), "--key", SIGNER.vkey(), "--held", str(tmp_path / "new.zip")]
    assert verify.main(back) == 1
    assert "you hold a head of 9 entries, and there are 5" in capsys.readouterr().out
