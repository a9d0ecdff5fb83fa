"""AES-GCM commits to no key: here is a ciphertext that opens to two texts under two keys. The envelope's commitment
decides which was meant, in the ledger and in the verifier.
"""

from __future__ import annotations

import os
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from audit import keys, ledger, verify
from tests.shell.test_ledger import new_log

BLOCK = 16
POLYNOMIAL = 0xE1 << 120
NONCE = bytes(12)


def times(one: int, other: int) -> int:
    """The product in GF(2^128), with bits in GCM's order (SP 800-38D, algorithm 1)."""
    product = 0
    for bit in range(127, -1, -1):
        if other >> bit & 1:
            product ^= one
        one = (one >> 1) ^ (POLYNOMIAL if one & 1 else 0)
    return product


def power(base: int, exponent: int) -> int:
    result = 1 << 127  # one, in that order
    while exponent:
        if exponent & 1:
            result = times(result, base)
        base, exponent = times(base, base), exponent >> 1
    return result


def block(key: bytes, number: int) -> bytes:
    """One block of AES."""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(number.to_bytes(BLOCK, "big"))


def number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def hashed(secret: int, blocks: list[int]) -> int:
    total = 0
    for each in blocks:
        total = times(total ^ each, secret)
    return total


def for_two_keys(first: bytes, second: bytes, length: int, associated: bytes) -> bytes:
    """A ciphertext and tag that AES-GCM accepts under both keys: the last block but one solves a linear equation."""
    padded = associated + bytes(-len(associated) % BLOCK)
    before = [number(padded[at : at + BLOCK]) for at in range(0, len(padded), BLOCK)]
    blocks = [number(os.urandom(BLOCK)) for _ in range(length)]
    blocks[0] &= (1 << 120) - 1  # both texts begin with the byte that says `not deflated`: see `keys_that_agree`
    blocks[0] |= block(first, 2)[0] << 120
    blocks[-1] = 0
    size = (8 * len(associated)) << 64 | 8 * BLOCK * length
    difference, slope = number(block(first, 1)) ^ number(block(second, 1)), 0
    for key in (first, second):
        secret = number(block(key, 0))
        difference ^= hashed(secret, [*before, *blocks, size])
        slope ^= power(secret, 2)
    blocks[-1] = times(difference, power(slope, 2**128 - 2))
    tag = hashed(number(block(first, 0)), [*before, *blocks, size]) ^ number(block(first, 1))
    return b"".join(each.to_bytes(BLOCK, "big") for each in (*blocks, tag))


def rivals(log: UUID, seq: int) -> tuple[UUID, UUID, bytes]:
    """Two subjects and a salt for which both entry keys have the same first byte of key stream.

    GCM's counter block is nonce and 1 for the tag, nonce and 2 for the first of the text; our nonce is zero.
    """
    one, other = (keys.subject_kid(UUID(int=1), name) for name in ("ada", "bob"))
    while True:
        salt = os.urandom(keys.SALT)
        streams = {block(keys.entry_okm(kid, salt, log, seq)[:32], 2)[0] for kid in (one, other)}
        if len(streams) == 1:
            return one, other, salt


@pytest.mark.django_db
def test_a_ciphertext_built_to_open_under_two_keys_is_refused():
    head = new_log(b"one")
    row = next(ledger.read_rows(head.log))
    true, false, salt = rivals(head.log, 0)
    okm, other = (keys.entry_okm(kid, salt, head.log, 0) for kid in (true, false))
    envelope = ledger.parse_envelope(row.envelope)
    bound = ledger.associated_data(envelope)
    ciphertext = for_two_keys(okm[:32], other[:32], 4, bound)
    texts = [AESGCM(each[:32]).decrypt(NONCE, ciphertext, bound) for each in (okm, other)]
    assert texts[0] != texts[1]
    assert texts[0][:1] == texts[1][:1] == b"\x00"
    facts = verify.read_envelope(row.envelope) | {"kc": okm[32:].hex()}
    del facts["pc"]
    with pytest.raises(verify.Fault, match="not the one that the entry commits to"):
        verify.open_payload(facts, ciphertext, other)


@pytest.mark.django_db
def test_the_ledger_opens_nothing_under_a_key_that_the_envelope_does_not_commit_to():
    row = next(ledger.read_rows(new_log(b"one").log))
    committed = ledger.parse_envelope(row.envelope).kc
    altered = row.envelope.replace(committed.encode(), b"0" * 64)
    with pytest.raises(keys.Unreadable, match="commits to"):
        ledger.open_row(ledger.Row(0, altered, row.ciphertext))
