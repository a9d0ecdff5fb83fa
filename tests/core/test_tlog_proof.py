"""Proof files: one spelling, and a proof of that entry under that head or of nothing."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.tlog import checkpoint, note, proof, tree
from audit.tlog.checkpoint import BadCheckpoint, Checkpoint
from audit.tlog.note import BadNote
from audit.tlog.proof import BadProof, Proof
from tests.core.tlog_naive import NaiveTree, mutations
from tests.core.tlog_world import ORIGIN, SIGNER, STRANGER

WORLD = NaiveTree([f"entry {number}".encode() for number in range(100)])
KEY = note.parse_vkey(SIGNER.vkey())


def signed(size: int, root: bytes, origin: str = ORIGIN) -> bytes:
    return SIGNER.sign_text(Checkpoint(origin, size, root).body())


def head_of(data: bytes) -> Checkpoint:
    return checkpoint.open_signed(data, [KEY])


def made(index: int, size: int, extra: bytes = b"") -> Proof:
    return Proof(index, tuple(WORLD.path(index, 0, size)), signed(size, WORLD.mth(0, size)), extra)


def refused(data: bytes, entry: bytes) -> bool:
    try:
        proof.verify(data, entry, head_of)
    except (BadProof, BadNote, BadCheckpoint):
        return True
    return False


def test_a_proof_is_the_text_of_the_specification():
    one = made(2, 3, b"more")
    assert one.write().decode() == (
        "c2sp.org/tlog-proof@v1\nextra bW9yZQ==\nindex 2\n"
        + base64.b64encode(WORLD.mth(0, 2)).decode()
        + "\n\n"
        + one.checkpoint.decode()
    )
    assert proof.parse(one.write()) == one


@pytest.mark.parametrize("size", range(1, 101))
def test_every_entry_of_every_small_log_is_proven_and_nothing_else(size):
    for index in range(size):
        data = made(index, size).write()
        entry = f"entry {index}".encode()
        assert proof.verify(data, entry, head_of) == Checkpoint(ORIGIN, size, WORLD.mth(0, size))
        assert refused(data, entry + b" ")


def test_no_mutation_of_the_hashes_index_or_head_is_a_proof():
    for size in (1, 2, 3, 7, 8, 33):
        head = signed(size, WORLD.mth(0, size))
        for index in range(size):
            hashes = WORLD.path(index, 0, size)
            for changed in mutations(hashes, WORLD.leaves[99]):
                assert not tree.verify_inclusion(index, size, WORLD.leaves[index], changed, WORLD.mth(0, size))
            entry = f"entry {index}".encode()
            for other in range(size):
                assert other == index or refused(Proof(other, tuple(hashes), head).write(), entry)
            assert refused(Proof(index, tuple(hashes), signed(size, WORLD.mth(0, size + 1))).write(), entry)


def test_every_bit_of_a_proof_counts():
    data = made(5, 11).write()
    for at in range(len(data)):
        for bit in range(8):
            changed = data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
            assert refused(changed, b"entry 5"), changed


def test_a_proof_cut_off_anywhere_or_with_more_behind_it_is_refused():
    data = made(5, 11).write()
    assert all(refused(data[:end], b"entry 5") for end in range(len(data)))
    assert all(refused(data + more, b"entry 5") for more in (b"\n", b" ", b"x", b"\x00", b"\xff"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("index 5", "index 05"),
        ("index 5", "index +5"),
        ("index 5", "index 5 "),
        ("index 5", "index  5"),
        ("index 5", "Index 5"),
        ("index 5", "index \u0665"),
        ("index 5", "index -5"),
        ("index 5", "index 99999999999999999999"),
        ("index 5", "index 5\nindex 5"),
        ("index 5", "extra \nindex 5"),
        ("index 5", "extra bW9yZQ\nindex 5"),
        ("index 5", "extra bW9yZR==\nindex 5"),
        ("index 5", "extra bW9yZQ==\nextra bW9yZQ==\nindex 5"),
        ("index 5\n", ""),
        ("@v1", "@v2"),
        ("\n", "\r\n"),
        ("=\n", "=\n "),
        ("=\n", "=\n\n"),
    ],
)
def test_a_proof_in_any_other_spelling_is_refused(old, new):
    data = made(5, 11).write().decode().replace(old, new, 1).encode()
    with pytest.raises(BadProof):
        proof.parse(data)


@given(st.integers(0, 2**63 - 1), st.lists(st.binary(min_size=32, max_size=32), max_size=63), st.binary(max_size=99))
def test_what_is_written_reads_back(index, hashes, extra):
    one = Proof(index, tuple(hashes), signed(1, bytes(32)), extra)
    assert proof.parse(one.write()) == one


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_otherwise(data):
    with pytest.raises(BadProof):
        proof.parse(data)
    with pytest.raises(BadProof):
        proof.parse(b"c2sp.org/tlog-proof@v1\nindex 1\n" + data)


@pytest.mark.parametrize("hashes", [(b"",), (bytes(31),), (bytes(33),), (bytes(32),) * 64])
def test_hashes_that_no_proof_holds_are_not_written(hashes):
    with pytest.raises(BadProof):
        Proof(0, hashes, signed(1, bytes(32))).write()


def test_a_head_of_another_log_or_by_a_stranger_proves_nothing():
    hashes, root = tuple(WORLD.path(0, 0, 2)), WORLD.mth(0, 2)
    assert refused(Proof(0, hashes, signed(2, root, ORIGIN + "/s/1")).write(), b"entry 0")
    assert refused(Proof(0, hashes, STRANGER.sign_text(Checkpoint(ORIGIN, 2, root).body())).write(), b"entry 0")


def test_each_trusted_key_speaks_for_its_own_log_only():
    other = note.VerifierKey("other.example", KEY.public)
    body = Checkpoint("other.example", 1, bytes(32)).body()
    with pytest.raises(BadNote):
        checkpoint.open_signed(SIGNER.sign_text(body), [KEY, other])
    part = Checkpoint(ORIGIN + "/s/1", 1, bytes(32))
    assert checkpoint.open_signed(SIGNER.sign_text(part.body()), [KEY], origin=part.origin) == part
