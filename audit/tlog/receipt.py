"""COSE receipts of inclusion (RFC 9942): a tlog-proof's twin for programs that read CBOR.

A receipt is a COSE_Sign1 whose payload, the tree's root, is left out: whoever checks it recomputes the root from the
entry and the inclusion proof in the unprotected header, and verifies the signature over that. Protected are the
algorithm (EdDSA), the key's id (name and id as in a vkey), as issuer the log's origin, as subject the tree's size (the
root alone does not fix it), and the verifiable data structure, 1: RFC9162_SHA256. The bytes are deterministic CBOR
(RFC 8949 section 4.2), and no others are read.

What the log's key signs here begins with the byte 0x84, which no text does: a signed note cannot be taken for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.tlog import tree
from audit.tlog.note import ED25519, VerifierKey
from audit.tlog.ranges import MAX_SIZE

MAX_RECEIPT = 2**14  #: bytes; the largest that is made has 63 hashes

_SIGN1 = 18  # the tag of COSE_Sign1
_ALGORITHM, _KEY_ID, _CLAIMS, _STRUCTURE, _PROOFS = 1, 4, 15, 395, 396
_EDDSA, _ISSUER, _SUBJECT, _RFC9162_SHA256, _INCLUSION = -8, 1, 2, 1, -1


class BadReceipt(ValueError):
    """The bytes are no receipt in their one spelling, or it does not prove what it should."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """That the entry at `index` is among the first `size` of the log `issuer`; `path` is its proof, nearest first."""

    issuer: str
    key_id: bytes
    size: int
    index: int
    path: tuple[bytes, ...]
    signature: bytes

    def write(self) -> bytes:
        """The receipt's bytes."""
        proof = _encoded([self.size, self.index, list(self.path)])
        parts = [
            _protected(self.issuer, self.key_id, self.size),
            {_PROOFS: {_INCLUSION: [proof]}},
            None,
            self.signature,
        ]
        return _encoded(cbor2.CBORTag(_SIGN1, parts))


def message(key: VerifierKey, size: int, root: bytes) -> bytes:
    """What the log's key signs for every receipt under this tree (Sig_structure of RFC 9052)."""
    if len(root) != tree.HASH_SIZE:
        raise BadReceipt(f"root: got {len(root)} bytes, want {tree.HASH_SIZE}")
    return _message(_protected(key.name, _key_id(key), size), root)


def make(key: VerifierKey, index: int, size: int, path: Sequence[bytes], signature: bytes) -> bytes:
    """The receipt of the entry at `index` of `size`, with the signature (64 bytes) of `message`."""
    if key.kind != ED25519 or len(signature) != 64 or not 0 <= index < size <= MAX_SIZE:
        raise BadReceipt("want an Ed25519 key and signature, and an index within the size")
    if any(len(value) != tree.HASH_SIZE for value in path):
        raise BadReceipt(f"path: want hashes of {tree.HASH_SIZE} bytes")
    return Receipt(key.name, _key_id(key), size, index, tuple(path), signature).write()


def parse(data: bytes) -> Receipt:
    """Read a receipt; nothing is verified. Raises BadReceipt for anything that `Receipt.write` would not write."""
    if len(data) > MAX_RECEIPT:
        raise BadReceipt(f"receipt: got {len(data)} bytes, want at most {MAX_RECEIPT}")
    try:
        protected, unprotected, _, signature = _decoded(data).value
        header = _decoded(protected)
        (proof,) = unprotected[_PROOFS][_INCLUSION]
        size, index, path = _decoded(proof)
        found = Receipt(header[_CLAIMS][_ISSUER], header[_KEY_ID], size, index, tuple(path), signature)
        same = found.write() == data
    except BadReceipt:
        raise
    except Exception as error:
        # Whatever shape the bytes had, it was not the one above; the decoder raises errors of many kinds.
        raise BadReceipt(f"receipt: not of its form ({type(error).__name__})") from None
    if not same or not _is_typed(found):
        raise BadReceipt("receipt: not in its one spelling")
    return found


def verify(data: bytes, entry: bytes, key: VerifierKey) -> Receipt:
    """The receipt in `data`, which proves that `entry` (its bytes, not its hash) is in the log whose key this is."""
    found = parse(data)
    if key.kind != ED25519 or (found.issuer, found.key_id) != (key.name, _key_id(key)):
        raise BadReceipt(f"receipt: it names {found.issuer[:200]!r} and not the key of {key.name[:200]!r}")
    try:
        root = tree.root_from_inclusion(found.index, found.size, tree.leaf_hash(entry), found.path)
        Ed25519PublicKey.from_public_bytes(key.public).verify(found.signature, message(key, found.size, root))
    except tree.BadTree as error:
        raise BadReceipt(f"receipt: {error}") from None
    except (InvalidSignature, ValueError):
        raise BadReceipt("receipt: the signature does not match this entry under this key") from None
    return found


def _protected(issuer: str, key_id: bytes, size: int) -> bytes:
    claims = {_ISSUER: issuer, _SUBJECT: str(size)}
    header = {_ALGORITHM: _EDDSA, _KEY_ID: key_id, _CLAIMS: claims, _STRUCTURE: _RFC9162_SHA256}
    return _encoded(header)


def _message(protected: bytes, root: bytes) -> bytes:
    return _encoded(["Signature1", protected, b"", root])


def _key_id(key: VerifierKey) -> bytes:
    return f"{key.name}+{key.key_id.hex()}".encode()


def _is_typed(found: Receipt) -> bool:
    """Python takes True for 1 and 1.0 for 1; CBOR does not, but lists and strings could still be of any kind."""
    numbers = type(found.size) is int and type(found.index) is int and 0 <= found.index < found.size <= MAX_SIZE
    hashes = all(type(value) is bytes and len(value) == tree.HASH_SIZE for value in found.path)
    strings = type(found.issuer) is str and type(found.key_id) is bytes and type(found.signature) is bytes
    return numbers and hashes and strings and len(found.signature) == 64


def _encoded(value: object) -> bytes:
    return cbor2.dumps(value, canonical=True)


def _decoded(data: object) -> Any:
    if type(data) is not bytes:
        raise BadReceipt("receipt: want a byte string")
    return cbor2.loads(data)
