"""Cosignatures (C2SP tlog-cosignature): a witness states when it saw a head that extends all it saw before.

A cosignature is a line of the signed checkpoint, and holds its time. Two kinds exist: Ed25519 (0x04) signs the whole
body behind two lines of its own; ML-DSA-44 (0x06) signs a structure of names, time, size and root, and may be a log's
own second signature, too; its time may then be 0, which says nothing about when.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey

from audit.tlog import checkpoint
from audit.tlog.note import COSIGNATURE, MAX_SIGNATURES, ML_DSA_44, BadNote, Signature, VerifierKey, parse, parse_line

KINDS = (COSIGNATURE, ML_DSA_44)
MAX_TIME = 2**63 - 1

_TIME = 8  # bytes in front of the signature
_SIGNATURE = {COSIGNATURE: 64, ML_DSA_44: 2420}
_LABEL = b"subtree/v1\n\x00"


def key_of(name: str, private: Ed25519PrivateKey | MLDSA44PrivateKey) -> VerifierKey:
    """The public half of a cosigning key, under its name."""
    kind = COSIGNATURE if isinstance(private, Ed25519PrivateKey) else ML_DSA_44
    return VerifierKey(name, private.public_key().public_bytes_raw(), kind)


def make(text: str, name: str, private: Ed25519PrivateKey | MLDSA44PrivateKey, at: int) -> Signature:
    """The line by which `name` states that it saw the head `text` (a checkpoint's body) at `at` (POSIX seconds).

    One Ed25519 key serves one name: the name is not in what it signs. Raises BadCheckpoint, or BadNote for a time or
    name that cannot be written.
    """
    key = key_of(name, private)
    return Signature(name, key.key_id, at.to_bytes(_TIME, "big") + private.sign(_message(key, text, at)))


def verify(key: VerifierKey, signature: Signature, text: str) -> int:
    """The time (POSIX seconds) of the key's cosignature of `text`. Raises BadNote or BadCheckpoint."""
    if key.kind not in KINDS:
        raise BadNote(f"cosignature: {key.name} has a key of kind 0x{key.kind.hex()}, want 0x04 or 0x06")
    if not signature.is_by(key) or len(signature.value) != _TIME + _SIGNATURE[key.kind]:
        raise BadNote(f"cosignature: the line is not one of {key.name}")
    at, value = int.from_bytes(signature.value[:_TIME], "big"), signature.value[_TIME:]
    message = _message(key, text, at)
    try:
        if key.kind == COSIGNATURE:
            Ed25519PublicKey.from_public_bytes(key.public).verify(value, message)
        else:
            MLDSA44PublicKey.from_public_bytes(key.public).verify(value, message)
    except (InvalidSignature, ValueError):
        raise BadNote(f"cosignature: that of {key.name} does not match") from None
    return at


def cosigned(data: bytes, keys: Sequence[VerifierKey]) -> dict[VerifierKey, int]:
    """Which of `keys` cosigned the note `data`, and when: the latest, where one did twice.

    Lines of other keys are passed over. Raises BadNote where a line of one of `keys` is wrong, for then the note was
    tampered with.
    """
    signed = parse(data)
    found: dict[VerifierKey, int] = {}
    for line in signed.signatures:
        for key in keys:
            if line.is_by(key):
                found[key] = max(verify(key, line, signed.text), found.get(key, 0))
    return found


def read_lines(data: bytes) -> tuple[Signature, ...]:
    """The lines that a witness answered, of whatever keys; nothing is verified. Raises BadNote."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadNote("cosignatures: not UTF-8") from None
    lines = text.split("\n")
    if lines.pop() != "" or not 0 < len(lines) <= MAX_SIGNATURES:
        raise BadNote(f"cosignatures: want 1 to {MAX_SIGNATURES} lines, each with its end")
    return tuple(parse_line(line) for line in lines)


def _message(key: VerifierKey, text: str, at: int) -> bytes:
    """What is signed."""
    head = checkpoint.parse(text)
    if not 0 <= at <= MAX_TIME:
        raise BadNote(f"cosignature: got the time {at}, want 0 to {MAX_TIME}")
    if key.kind == COSIGNATURE:
        return f"cosignature/v1\ntime {at}\n{text}".encode()
    names = [_short(key.name), _short(head.origin)]
    return b"".join([_LABEL, names[0], _number(at), names[1], _number(0), _number(head.size), head.root])


def _short(name: str) -> bytes:
    raw = name.encode()
    if not 0 < len(raw) < 256:
        raise BadNote(f"cosignature: got a name of {len(raw)} bytes, want 1 to 255")
    return bytes([len(raw)]) + raw


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")
