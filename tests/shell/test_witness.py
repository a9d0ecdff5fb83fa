"""Witnesses: the protocol as C2SP tlog-witness says, over real sockets, and how the sequencer collects cosignatures."""

from __future__ import annotations

import base64
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit import asking, globallog, sequencer, signer, witnesses
from audit.tlog import checkpoint, cosignature, note, tree
from audit.witness import Server, Witness
from tests.processes import ROOT, eventually
from tests.shell.test_ledger import TENANT, new_log

NAME, ORIGIN = "witness.example/w1", "log.example/one"
KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
LEAVES = [tree.leaf_hash(bytes([number])) for number in range(20)]
OTHERS = [tree.leaf_hash(b"other"), *LEAVES[1:]]


def request(
    old: int, size: int, leaves: list[bytes] = LEAVES, key: Ed25519PrivateKey = KEY, origin: str = ORIGIN
) -> bytes:
    proof = tree.consistency_proof(old, leaves[:size]) if 0 < old <= size else []
    lines = "".join(base64.b64encode(value).decode() + "\n" for value in proof)
    body = checkpoint.Checkpoint(origin, size, tree.root_of(leaves[:size])).body()
    return f"old {old}\n{lines}\n".encode() + note.sign(body, origin, key)


@pytest.fixture
def witness(tmp_path) -> Witness:
    return Witness(tmp_path / "w", NAME, [note.verifier_key(ORIGIN, KEY)], now=lambda: 1700000000.5)


def status(answer) -> int:
    return int(answer.status)


def test_a_growing_log_is_cosigned_with_the_time(witness):
    key = note.parse_vkey(witness.vkey(), [note.COSIGNATURE])
    for old, size in ((0, 1), (1, 1), (1, 7), (7, 20)):
        answer = witness.add_checkpoint(request(old, size))
        (line,) = cosignature.read_lines(answer.body.encode())
        text = checkpoint.Checkpoint(ORIGIN, size, tree.root_of(LEAVES[:size])).body()
        assert (status(answer), cosignature.verify(key, line, text)) == (200, 1700000000)


def test_another_old_size_is_told_the_right_one(witness):
    witness.add_checkpoint(request(0, 7))
    for old in (0, 3, 9):
        answer = witness.add_checkpoint(request(old, 20))
        assert (status(answer), answer.body, answer.content_type) == (409, "7\n", "text/x.tlog.size")


def test_the_same_size_with_another_root_is_a_conflict(witness):
    witness.add_checkpoint(request(0, 7))
    assert status(witness.add_checkpoint(request(7, 7, OTHERS))) == 409


def test_two_histories_are_not_both_cosigned(witness):
    witness.add_checkpoint(request(0, 7))
    assert status(witness.add_checkpoint(request(7, 20, OTHERS))) == 422
    assert status(witness.add_checkpoint(request(7, 20))) == 200


def test_a_smaller_tree_is_never_cosigned_after_a_larger_one_even_by_the_next_process(witness, tmp_path):
    witness.add_checkpoint(request(0, 7))
    again = Witness(tmp_path / "w", NAME, [note.verifier_key(ORIGIN, KEY)])
    assert again.vkey() == witness.vkey()
    assert status(again.add_checkpoint(request(0, 5))) == 409


def test_an_old_size_above_the_new_is_a_bad_request(witness):
    assert status(witness.add_checkpoint(request(9, 5))) == 400


def test_an_unknown_log_is_not_found_and_a_foreign_signature_forbidden(witness):
    assert status(witness.add_checkpoint(request(0, 5, origin="log.example/two"))) == 404
    foreign = Ed25519PrivateKey.from_private_bytes(b"f" * 32)
    assert status(witness.add_checkpoint(request(0, 5, key=foreign))) == 403


def test_signatures_of_unknown_keys_beside_a_known_one_are_passed_over(witness):
    foreign = Ed25519PrivateKey.from_private_bytes(b"f" * 32)
    signed = request(0, 5)
    line = note.sign("x\n", "stranger.example", foreign).split(b"\n\n")[1]
    assert status(witness.add_checkpoint(signed + line)) == 200


def test_a_proof_from_nothing_must_be_empty(witness):
    whole = request(0, 5).replace(b"old 0\n", b"old 0\n" + base64.b64encode(b"x" * 32) + b"\n")
    assert status(witness.add_checkpoint(whole)) == 422


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"old 0\n",
        b"old 00\n\n",
        b"old -1\n\n",
        b"old +1\n\n",
        b"old 1 \n\n",
        b"OLD 0\n\n",
        b"old 0\r\n\r\n",
        b"old 99999999999999999999\n\n",
        b"old 0\nAAAA\n\n",
        b"old 0\n====\n\n",
        b"old 0\n\nnonsense",
        b"old 0\n" + b"A" * 43 + b"=\n" * 70 + b"\n",
        "old \u0661\n\n".encode(),
        b"\xff\n\n",
    ],
)
def test_what_is_malformed_is_a_bad_request(body, witness):
    assert status(witness.add_checkpoint(body)) == 400


def test_one_flipped_bit_anywhere_in_a_request_is_never_cosigned(witness):
    witness.add_checkpoint(request(0, 3))
    whole = request(3, 7)
    for at in range(len(whole)):
        for bit in range(8):
            changed = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
            assert status(witness.add_checkpoint(changed)) != 200, (at, bit)
    assert status(witness.add_checkpoint(whole)) == 200


def test_of_requests_at_once_the_memory_never_goes_back(witness):
    threads = [
        threading.Thread(target=lambda size=size: witness.add_checkpoint(request(0, size))) for size in range(1, 20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    conflict = witness.add_checkpoint(request(20, 20))
    place = (witness._memory.folder / "heads").read_bytes()
    assert len(place) == 64
    assert conflict.body == f"{int.from_bytes(place[17:24], 'little')}\n"


# --- served, and asked by us


@pytest.fixture
def served(tmp_path) -> Iterator[tuple[Witness, str]]:
    """A witness of this installation's log, and its URL."""
    witness = Witness(tmp_path / "served", NAME, [note.parse_vkey(signer.vkey())])
    server = Server(("127.0.0.1", 0), witness)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield witness, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def ours(served: tuple[Witness, str]) -> list[witnesses.Witness]:
    witness, url = served
    return [witnesses.Witness(note.parse_vkey(witness.vkey(), cosignature.KINDS), url)]


@pytest.mark.django_db
def test_cosignatures_are_collected_stored_and_served_with_the_head(served):
    key = note.parse_vkey(served[0].vkey(), [note.COSIGNATURE])
    for _ in range(3):
        new_log()
        sequencer.run_once(TENANT)
        outcome = witnesses.collect(TENANT, ours(served))[NAME]
        assert abs(outcome.at.timestamp() - time.time()) < 60
        head = globallog.signed_head(TENANT)
        assert list(cosignature.cosigned(head.checkpoint, [key])) == [key]
        assert globallog.cosigned_head(TENANT, [NAME]) == head


@pytest.mark.django_db
def test_a_witness_that_knows_more_than_our_records_is_caught_up_with(served):
    sequencer.run_once(TENANT, extra=[b"one"])
    httpx.post(f"{served[1]}/add-checkpoint", content=b"old 0\n\n" + globallog.signed_head(TENANT).note)
    sequencer.run_once(TENANT, extra=[b"two"])
    assert witnesses.collect(TENANT, ours(served))[NAME].at is not None


@pytest.mark.django_db
def test_a_witness_that_saw_a_longer_log_says_that_ours_was_restored(served, caplog, test_database):
    from django.db import connection, transaction

    sequencer.run_once(TENANT, extra=[b"one"])
    with transaction.atomic():
        sid = transaction.savepoint()
        _run_in_test(lambda: sequencer.run_once(TENANT, extra=[b"two"]))
        witnesses.collect(TENANT, ours(served))
        transaction.savepoint_rollback(sid)
    assert connection.in_atomic_block
    outcome = witnesses.collect(TENANT, ours(served))[NAME]
    assert (outcome.at, outcome.size) == (None, 2)
    assert "was cut off or restored" in caplog.text


def _run_in_test(act) -> None:
    """A round inside a transaction, which only a test may do: the savepoint is rolled back, as a restore would."""
    from django.db import connection

    inner = connection.atomic_blocks.pop()
    try:
        act()
    finally:
        connection.atomic_blocks.append(inner)


@pytest.mark.django_db
def test_a_witness_that_is_away_or_lies_costs_a_word_and_nothing_else(served, caplog, monkeypatch):
    monkeypatch.setattr(witnesses, "SECONDS", 0.3)
    sequencer.run_once(TENANT, extra=[b"leaf"])
    (honest,) = ours(served)
    stranger = note.VerifierKey("other.example", Ed25519PrivateKey.generate().public_key().public_bytes_raw(), b"\x04")
    asked = [witnesses.Witness(stranger, "http://127.0.0.1:9"), witnesses.Witness(stranger, served[1]), honest]
    outcomes = witnesses.collect(TENANT, asked)
    assert outcomes[NAME].at is not None
    assert outcomes["other.example"].why
    assert len(globallog.signed_head(TENANT).cosignatures) == 1


@pytest.mark.django_db(transaction=True)
def test_the_sequencers_companion_asks_by_itself(served, settings, monkeypatch):
    settings.WITNESSES, settings.WITNESS_EVERY = [served[0].vkey(), served[1]], 0.1
    monkeypatch.setattr(asking, "LOOK", 0.02)
    with asking.outside_parties(TENANT):
        for number in range(2):
            sequencer.run_once(TENANT, extra=[bytes([number])])
            eventually(lambda: globallog.signed_head(TENANT).cosignatures, what="cosigned")


@pytest.mark.parametrize("words", [["x"], ["not+a+key", "http://w"], ["x", "y", "z"]])
def test_a_setting_that_names_no_witness_is_refused_at_once(words, settings):
    settings.WITNESSES = words
    with pytest.raises(Exception, match="WITNESSES"):
        witnesses.configured()


def test_it_runs_elsewhere_without_django_or_our_state(tmp_path):
    vkey = str(note.verifier_key(ORIGIN, KEY))
    command = [sys.executable, "-m", "audit.witness", "--dir", str(tmp_path / "own"), "--name", NAME, "--log", vkey]
    env = {"PATH": "", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=env
    )
    try:
        assert process.stdout.readline().startswith(f"witness {NAME}+")
        url = process.stdout.readline().split()[-1]
        answer = httpx.post(f"{url}/add-checkpoint", content=request(0, 3))
        assert (answer.status_code, answer.text.startswith(f"\u2014 {NAME} ")) == (200, True)
        assert httpx.post(f"{url}/elsewhere", content=b"").status_code == 404
        assert httpx.post(f"{url}/add-checkpoint", content=b"x" * 200_000).status_code == 413
    finally:
        process.terminate()
        process.wait()
    assert sorted(path.suffix for path in Path(tmp_path / "own").iterdir()) == ["", "", ".key"]
