"""COSE receipts: the structure of RFC 9942, by the book, and nothing that differs from it in one byte."""

from __future__ import annotations

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from audit.tlog import note, receipt
from audit.tlog.receipt import BadReceipt
from tests.core.tlog_naive import NaiveTree, flipped, mutations
from tests.core.tlog_world import ORIGIN, SIGNER, STRANGER

WORLD = NaiveTree([f"entry {number}".encode() for number in range(100)])
KEY = note.parse_vkey(SIGNER.vkey())


def made(index: int, size: int, path: list[bytes] | None = None) -> bytes:
    signature = SIGNER.key.sign(receipt.message(KEY, size, WORLD.mth(0, size)))
    return receipt.make(KEY, index, size, WORLD.path(index, 0, size) if path is None else path, signature)


def refused(data: bytes, entry: bytes, key: note.VerifierKey = KEY) -> bool:
    try:
        receipt.verify(data, entry, key)
    except BadReceipt:
        return True
    return False


def test_a_receipt_is_the_structure_of_the_specification():
    sign1 = cbor2.loads(made(5, 11))
    protected, unprotected, payload, signature = sign1.value
    assert sign1.tag == 18
    assert payload is None
    kid = f"{ORIGIN}+{KEY.key_id.hex()}".encode()
    assert cbor2.loads(protected) == {1: -8, 4: kid, 15: {1: ORIGIN, 2: "11"}, 395: 1}
    (proof,) = unprotected[396][-1]
    assert cbor2.loads(proof) == [11, 5, WORLD.path(5, 0, 11)]
    signed = cbor2.dumps(["Signature1", protected, b"", WORLD.mth(0, 11)])
    Ed25519PublicKey.from_public_bytes(KEY.public).verify(signature, signed)


@pytest.mark.parametrize("size", [*range(1, 34), 63, 64, 65, 99, 100])
def test_every_entry_has_a_receipt_that_holds_for_it_alone(size):
    for index in range(size):
        data = made(index, size)
        found = receipt.verify(data, f"entry {index}".encode(), KEY)
        assert (found.index, found.size, found.issuer) == (index, size, ORIGIN)
        assert refused(data, f"entry {index + 1}".encode())


def test_no_mutation_of_the_path_or_place_holds():
    for size in (1, 2, 3, 8, 13):
        for index in range(size):
            entry = f"entry {index}".encode()
            for path in mutations(WORLD.path(index, 0, size), WORLD.leaves[99]):
                if all(len(value) == 32 for value in path):
                    assert refused(made(index, size, path), entry)
                else:
                    with pytest.raises(BadReceipt):
                        made(index, size, path)
            for other in range(size):
                assert other == index or refused(made(other, size, WORLD.path(index, 0, size)), entry)


def test_every_bit_of_a_receipt_counts():
    data = made(5, 11)
    assert not any(not refused(flipped(data, bit), b"entry 5") for bit in range(len(data) * 8))


def test_a_receipt_cut_off_anywhere_or_with_more_behind_it_is_refused():
    data = made(5, 11)
    assert all(refused(data[:end], b"entry 5") for end in range(len(data)))
    assert all(refused(data + more, b"entry 5") for more in (b"\x00", b"\xf6", data))


def test_another_key_or_name_does_not_open_it():
    other = note.VerifierKey("other.example", KEY.public)
    stranger = note.parse_vkey(STRANGER.vkey())
    assert refused(made(5, 11), b"entry 5", other)
    assert refused(made(5, 11), b"entry 5", stranger)
    assert refused(made(5, 11), b"entry 5", note.VerifierKey(KEY.name, KEY.public, note.COSIGNATURE))


def _forms() -> list[object]:
    """Receipts that say the same in another form, or something like it."""
    sign1 = cbor2.loads(made(5, 11))
    protected, unprotected, payload, signature = sign1.value
    header, proof = cbor2.loads(protected), unprotected[396][-1][0]
    tagged = [
        [protected, unprotected, WORLD.mth(0, 11), signature],
        [protected, unprotected, b"", signature],
        [protected, dict(unprotected) | {1: -8}, payload, signature],
        [protected, {396: {-1: [proof, proof]}}, payload, signature],
        [protected, {396: {-1: [proof], -2: []}}, payload, signature],
        [protected, {396: {-1: []}}, payload, signature],
        [protected, {396: {-1: [cbor2.dumps([11.0, 5, WORLD.path(5, 0, 11)])]}}, payload, signature],
        [protected, {}, payload, signature],
        [header, unprotected, payload, signature],
        [cbor2.dumps(dict(header) | {395: 2}), unprotected, payload, signature],
        [cbor2.dumps(dict(header) | {1: -7}), unprotected, payload, signature],
        [cbor2.dumps({key: header[key] for key in (4, 1, 15, 395)}), unprotected, payload, signature],
        [protected, unprotected, payload, signature.hex()],
        [protected, unprotected, payload],
        [protected, unprotected, payload, signature, None],
        {},
    ]
    return [sign1.value, cbor2.CBORTag(98, sign1.value), *(cbor2.CBORTag(18, parts) for parts in tagged)]


@pytest.mark.parametrize("form", _forms(), ids=lambda _: "")
def test_a_receipt_in_any_other_form_is_refused(form):
    assert refused(cbor2.dumps(form), b"entry 5")


@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_fail_otherwise(data):
    for bad in (data, b"\xd2\x84" + data, b"\xd2\x84\x40" + data):
        with pytest.raises(BadReceipt):
            receipt.parse(bad)


@pytest.mark.parametrize(
    "bad",
    [
        b"\x9f" * 10_000,
        b"\x81" * 10_000,
        b"\xd2" * 10_000,
        b"\x5b" + b"\xff" * 8,
        b"\x9b" + b"\xff" * 8,
        b"\x00" * 20_000,
    ],
)
def test_hostile_bytes_end_in_a_refusal(bad):
    with pytest.raises(BadReceipt):
        receipt.parse(bad)


@pytest.mark.parametrize(
    ("index", "size", "signature"), [(0, 0, 64), (1, 1, 64), (-1, 1, 64), (0, 2**63, 64), (0, 1, 63)]
)
def test_what_is_no_receipt_is_not_made(index, size, signature):
    with pytest.raises(BadReceipt):
        receipt.make(KEY, index, size, [], bytes(signature))
    with pytest.raises(BadReceipt):
        receipt.message(KEY, 1, bytes(31))
