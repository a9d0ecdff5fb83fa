"""The primitives under the ledger, on the public vectors: AES-GCM as it seals payloads, HKDF as it derives keys."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from audit import keys
from tests.core.tlog_world import shared


def extract(salt: bytes, secret: bytes, digest: str) -> bytes:
    """HKDF-Extract of RFC 5869 section 2.2, word for word."""
    return hmac.new(salt or bytes(hashlib.new(digest).digest_size), secret, digest).digest()


def expand(key: bytes, info: bytes, size: int, digest: str) -> bytes:
    """HKDF-Expand of RFC 5869 section 2.3, word for word."""
    blocks, last = b"", b""
    for number in range(1, -(-size // hashlib.new(digest).digest_size) + 1):
        last = hmac.new(key, last + info + bytes([number]), digest).digest()
        blocks += last
    return blocks[:size]


def cases(name: str) -> list[dict]:
    """Every case of a wycheproof file; values that are hexadecimal as bytes, its group's sizes beside them."""
    groups = json.loads((shared("wycheproof") / name).read_text())["testGroups"]
    return [
        {key: value for key, value in group.items() if key != "tests"} | case
        for group in groups
        for case in group["tests"]
    ]


def test_hkdf_as_written_here_gives_the_public_vectors():
    checked = 0
    for case in cases("hkdf_sha256_test.json"):
        secret, salt, info, okm = (bytes.fromhex(case[part]) for part in ("ikm", "salt", "info", "okm"))
        if case["result"] == "valid":
            assert expand(extract(salt, secret, "sha256"), info, case["size"], "sha256") == okm, case["comment"]
            checked += 1
        else:
            assert case["size"] > 255 * 32
    assert checked > 70


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=20), st.binary(max_size=20), st.binary(max_size=40))
def test_entry_keys_are_one_block_of_the_same_expansion(key, label, salt, context):
    assert keys.derive(key, label, salt, context) == expand(key, label + salt + context, 64, "sha512")


def test_aes_gcm_opens_what_is_valid_and_nothing_else():
    checked = {"valid": 0, "invalid": 0}
    for case in cases("aes_gcm_test.json"):
        if (case["keySize"], case["ivSize"]) != (256, 96):
            continue
        key, nonce, aad, text, sealed, tag = (
            bytes.fromhex(case[part]) for part in ("key", "iv", "aad", "msg", "ct", "tag")
        )
        checked[case["result"]] += 1
        if case["result"] == "valid":
            assert AESGCM(key).encrypt(nonce, text, aad) == sealed + tag
            assert AESGCM(key).decrypt(nonce, sealed + tag, aad) == text
        else:
            with pytest.raises(InvalidTag):
                AESGCM(key).decrypt(nonce, sealed + tag, aad)
    assert min(checked.values()) > 20
