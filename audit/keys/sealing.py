"""What is encrypted under a subject's key: entries, and all that is derived from them.

AES-256-GCM under a key that is used once: HKDF over the subject's key with a random salt. AES-GCM does not commit to
its key, so half of what is derived is a commitment, which stands in the clear beside the ciphertext.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import zlib
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from audit.keys.errors import Unreadable
from audit.keys.subjects import subject_key

SALT = 16  # bytes
NONCE = bytes(12)  # every derived key is used once, because its salt is random
ENTRY_LABEL = b"agentstate/entry/v1"
SEAL_LABEL = b"agentstate/seal/v1"
TOKEN_LABEL = b"agentstate/token/v1"
RAW, DEFLATED = b"\x00", b"\x02"
WORTH_DEFLATING = 256  # bytes of plaintext


def derive(key: bytes, label: bytes, salt: bytes, context: bytes) -> bytes:
    """64 bytes: an AES key (32) and a key commitment (32). HKDF-Expand of RFC 5869 with SHA-512, one block."""
    return hmac.digest(key, label + salt + context + b"\x01", hashlib.sha512)


def entry_okm(kid: UUID, salt: bytes, log: UUID, seq: int) -> bytes:
    """The key material of one entry: what a bundle discloses to open that entry and no other. Raises Erased."""
    return derive(subject_key(kid), ENTRY_LABEL, salt, log.bytes + seq.to_bytes(8, "big"))


def encrypt(okm: bytes, plaintext: bytes, associated: bytes) -> bytes:
    """The ciphertext of `plaintext` (deflated when that helps) under the first 32 bytes of `okm`."""
    return AESGCM(okm[:32]).encrypt(NONCE, _packed(plaintext), associated)


def decrypt(okm: bytes, ciphertext: bytes, associated: bytes) -> bytes:
    """The inverse of `encrypt`. Raises Unreadable."""
    try:
        packed = AESGCM(okm[:32]).decrypt(NONCE, ciphertext, associated)
    except InvalidTag:
        raise Unreadable() from None
    return _unpacked(packed)


def _packed(plaintext: bytes) -> bytes:
    if len(plaintext) >= WORTH_DEFLATING:
        deflated = zlib.compress(plaintext, 1)
        if len(deflated) < len(plaintext):
            return DEFLATED + deflated
    return RAW + plaintext


def _unpacked(packed: bytes) -> bytes:
    form, body = packed[:1], packed[1:]
    if form == DEFLATED:
        return zlib.decompress(body)
    if form == RAW:
        return body
    raise Unreadable(f"unknown form {form!r}")


def seal(kid: UUID, purpose: str, plaintext: bytes) -> bytes:
    """Derived data (a snapshot, a projection's personal columns) under the subject's own key."""
    salt = os.urandom(SALT)
    okm = derive(subject_key(kid), SEAL_LABEL, salt, purpose.encode())
    return salt + encrypt(okm, plaintext, purpose.encode())


def unseal(kid: UUID, purpose: str, sealed: bytes) -> bytes:
    """The inverse of `seal`. Raises Erased or Unreadable."""
    okm = derive(subject_key(kid), SEAL_LABEL, sealed[:SALT], purpose.encode())
    return decrypt(okm, sealed[SALT:], purpose.encode())


def token(kid: UUID, purpose: str, data: bytes) -> bytes:
    """32 bytes by which equal `data` of one subject is recognised, and tried out by nobody without the subject's key.

    Raises Erased.
    """
    return derive(subject_key(kid), TOKEN_LABEL, b"", purpose.encode() + b"\x00" + data)[:32]
