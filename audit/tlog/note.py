"""Signed notes (C2SP signed-note): any number of signatures, of which this module verifies Ed25519, the type 0x01.

A note is a text ending in a newline, an empty line, and signature lines `— <key name> <base64>`. Everything
is decided on the exact bytes: newline is the only line end, base64 has one spelling, nothing is trimmed.
Where other implementations are lenient this one is not, so that no file means two things.

Keys are written as vkeys: `<name>+<8 hex digits>+<base64 of the type's byte and the public key>`. The other types of
signatures that a note carries, those of witnesses, are made and verified in cosignature.py.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ED25519 = b"\x01"
COSIGNATURE = b"\x04"  #: Ed25519 with a time (C2SP tlog-cosignature)
ML_DSA_44 = b"\x06"  #: ML-DSA-44 with a time, of logs and witnesses (C2SP tlog-cosignature)
KEY_SIZES = {ED25519: 32, COSIGNATURE: 32, ML_DSA_44: 1312}  #: bytes of a public key, by type
MAX_NOTE = 1_000_000  #: bytes, as in Go's note package
MAX_SIGNATURES = 100
_PREFIX = "— "
_P = 2**255 - 19
# The y coordinates of the eight points of small order: a signature under such a key proves nothing.
_SMALL_ORDER_Y = frozenset(
    {
        0,
        1,
        _P - 1,
        int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"),
        int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"),
    }
)


class BadNote(ValueError):
    """A note or a verifier key is malformed, or no trusted key signed the note."""


@dataclass(frozen=True)
class VerifierKey:
    """A named public key, of the size of its kind (`KEY_SIZES`)."""

    name: str
    public: bytes
    kind: bytes = ED25519

    @property
    def key_id(self) -> bytes:
        """The four bytes that stand for the key in a signature line."""
        return hashlib.sha256(self.name.encode() + b"\n" + self.kind + self.public).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{_base64(self.kind + self.public)}"


@dataclass(frozen=True)
class Signature:
    """One signature line: a key's name and id, and what follows the id."""

    name: str
    key_id: bytes
    value: bytes

    def is_by(self, key: VerifierKey) -> bool:
        """Whether the line names this key; whether it is right is another question."""
        return (self.name, self.key_id) == (key.name, key.key_id)

    def line(self) -> str:
        """The line, with its newline."""
        return f"{_PREFIX}{self.name} {_base64(self.key_id + self.value)}\n"


@dataclass(frozen=True)
class Note:
    """A parsed note, nothing verified yet; `text` ends in a newline."""

    text: str
    signatures: tuple[Signature, ...]


def parse_vkey(text: str, kinds: Sequence[bytes] = (ED25519,)) -> VerifierKey:
    """Read a vkey of one of these kinds; refuses any other, a wrong id and Ed25519 keys of small order."""
    parts = text.split("+", 2)
    if len(parts) != 3:
        raise BadNote("verifier key: want name+id+base64")
    name, key_id, encoded = parts
    _check_name(name)
    key = _debase64(encoded)
    kind, public = key[:1], key[1:]
    if kind not in kinds or len(public) != KEY_SIZES[kind]:
        wanted = ", ".join(f"0x{each.hex()} and {KEY_SIZES[each]} bytes" for each in kinds)
        raise BadNote(f"verifier key: want {wanted}")
    if kind != ML_DSA_44:
        _check_public(public)
    result = VerifierKey(name, public, kind)
    if result.key_id.hex() != key_id:
        raise BadNote(f"verifier key: got id {key_id!r}, want {result.key_id.hex()!r}")
    return result


def verifier_key(name: str, private: Ed25519PrivateKey) -> VerifierKey:
    """The public half of a signing key, under its name."""
    _check_name(name)
    return VerifierKey(name, private.public_key().public_bytes_raw())


def sign(text: str, name: str, private: Ed25519PrivateKey) -> bytes:
    """The note: `text` (must end in a newline) with one signature under `name`."""
    _check_text(text)
    key = verifier_key(name, private)
    return f"{text}\n{Signature(name, key.key_id, private.sign(text.encode())).line()}".encode()


def extended(data: bytes, signatures: Sequence[Signature]) -> bytes:
    """The note `data` with further signatures; those that it has already are not written twice."""
    held = parse(data).signatures
    whole = data + "".join(each.line() for each in dict.fromkeys(signatures) if each not in held).encode()
    parse(whole)
    return whole


def parse(data: bytes) -> Note:
    """Split a note into text and signatures, on the exact bytes; nothing is verified."""
    if len(data) > MAX_NOTE:
        raise BadNote(f"note: got {len(data)} bytes, want at most {MAX_NOTE}")
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadNote("note: not UTF-8") from None
    end = whole.rfind("\n\n")
    if end < 0:
        raise BadNote("note: no empty line before the signatures")
    text, block = whole[: end + 1], whole[end + 2 :]
    _check_text(text)
    if not block.endswith("\n"):
        raise BadNote("note: the last signature line does not end")
    lines = block[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise BadNote(f"note: got {len(lines)} signatures, want at most {MAX_SIGNATURES}")
    return Note(text, tuple(parse_line(line) for line in lines))


def open_note(data: bytes, trusted: Sequence[VerifierKey]) -> str:
    """The text of a note that at least one trusted key signed; a wrong signature of a trusted key refuses it.

    Lines of keys we do not know are ignored, as the specification asks.
    """
    note = parse(data)
    verified = 0
    for signature in note.signatures:
        for key in trusted:
            if signature.is_by(key):
                verify(key, signature, note.text)
                verified += 1
    if not verified:
        raise BadNote("note: no signature by a trusted key")
    return note.text


def verify(key: VerifierKey, signature: Signature, text: str) -> None:
    """Raises BadNote unless this is the key's plain Ed25519 signature of `text`."""
    if key.kind != ED25519:
        raise BadNote(f"note: {key.name} has a key of kind 0x{key.kind.hex()}, want 0x01")
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signature.value, text.encode())
    except (InvalidSignature, ValueError):
        raise BadNote(f"note: the signature of {key.name} does not match") from None


def parse_line(line: str) -> Signature:
    """Read one signature line, given without its newline."""
    name, space, encoded = line.removeprefix(_PREFIX).partition(" ")
    if not line.startswith(_PREFIX) or not space:
        raise BadNote("note: malformed signature line")
    _check_name(name)
    value = _debase64(encoded)
    if len(value) < 5:
        raise BadNote("note: signature too short")
    return Signature(name, value[:4], value[4:])


def _check_text(text: str) -> None:
    if not text.endswith("\n"):
        raise BadNote("note: the text does not end in a newline")
    if any(char < " " and char != "\n" for char in text):
        raise BadNote("note: the text holds a control character")


def _check_name(name: str) -> None:
    if not name or "+" in name or any(char.isspace() or char < " " for char in name):
        raise BadNote(f"key name {name!r}: want no space, no plus, not empty")


def _check_public(public: bytes) -> None:
    y = int.from_bytes(public, "little") & (2**255 - 1)
    if y >= _P or y in _SMALL_ORDER_Y:
        raise BadNote("verifier key: the point is not canonical or of small order")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _debase64(text: str) -> bytes:
    """Standard base64 with padding, in its one canonical spelling."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        raise BadNote("malformed base64") from None
    if _base64(data) != text:
        raise BadNote("base64 is not in its canonical spelling")
    return data
