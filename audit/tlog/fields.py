"""Salted commitments to the fields of a payload: one field can be shown, with proof, and the others stay closed.

A payload is a JSON object. Its *fields* are its members in the order of their names (as UTF-8); a member whose value is
an object of 1 to 32 members, not deeper than four names, is replaced by that object's members. Each field is hashed
with a salt of its own, and the root over all of them (RFC 6962) stands in the entry's envelope as `pc`:

    salts = SHAKE-256(okm ‖ "agentstate/fields/v1"), 16 bytes for each field, in order
    leaf  = SHA-256(00 ‖ salt ‖ JSON string of the field's JSON Pointer ‖ ":" ‖ the value's bytes as in the payload)

`okm` is the entry's key material: whoever may open the entry can recompute every salt, and when the subject's key dies
the salts die with it, so no leaf can be guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256, shake_256
from typing import Any

import msgspec

from audit.tlog import tree

LABEL = b"agentstate/fields/v1"
SALT = 16  #: bytes
MAX_MEMBERS = 32  #: of an object that is replaced by its members
MAX_DEPTH = 4  #: names in the pointer of an object that is replaced

_FEW = 256  # fields, up to which the order of the joins is remembered
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_string = msgspec.json.Encoder().encode
_value = msgspec.json.Decoder().decode


class BadFields(ValueError):
    """The payload is no JSON object, has no such field, or a disclosed field is not of its form."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field, shown: everything that `verify` needs beside the root.

    `value` is JSON as in the payload; `path` is the inclusion proof of leaf `index` of `count`, nearest hash first.
    """

    pointer: str
    value: bytes
    salt: bytes
    index: int
    count: int
    path: tuple[bytes, ...]

    def as_json(self) -> dict[str, Any]:
        """The field for canonical JSON: the value as text, bytes in hexadecimal."""
        return {
            "count": self.count,
            "index": self.index,
            "path": [part.hex() for part in self.path],
            "pointer": self.pointer,
            "salt": self.salt.hex(),
            "value": self.value.decode(),
        }


def commit(okm: bytes, payload: bytes) -> bytes:
    """The root (32 bytes) over the fields of `payload` under the entry's key material. Raises BadFields.

    On the way of every append: some ten microseconds for ten fields.
    """
    texts = _texts(payload)
    if not texts:
        return tree.EMPTY_ROOT
    salts = shake_256(okm + LABEL).digest(SALT * len(texts))
    nodes = [sha256(b"\x00" + salts[16 * at : 16 * at + 16] + text).digest() for at, text in enumerate(texts)]
    for left, right in _joins(len(nodes)) if len(nodes) <= _FEW else _planned(len(nodes)):
        nodes.append(sha256(b"\x01" + nodes[left] + nodes[right]).digest())
    return nodes[-1]


def disclose(okm: bytes, payload: bytes, pointer: str) -> tuple[Field, ...]:
    """The field at this JSON Pointer, or those below it where an object was replaced by its members.

    Raises BadFields where there is none: a part of a field that is hashed as a whole cannot be shown alone.
    """
    every = fields(okm, payload)
    found = tuple(each for each in every if each.pointer == pointer or each.pointer.startswith(pointer + "/"))
    if not found:
        raise BadFields(f"no field at {pointer[:200]!r}")
    return found


def fields(okm: bytes, payload: bytes) -> list[Field]:
    """Every field of the payload, in order, with its proof."""
    texts = _texts(payload)
    salts = shake_256(okm + LABEL).digest(SALT * len(texts))
    salted = [salts[SALT * at : SALT * (at + 1)] for at in range(len(texts))]
    leaves = [_leaf(salt, text) for salt, text in zip(salted, texts, strict=True)]
    found = []
    for index, (salt, text) in enumerate(zip(salted, texts, strict=True)):
        end = _end_of_string(text)
        pointer, path = str(_value(text[:end])), tuple(tree.inclusion_proof(index, leaves))
        found.append(Field(pointer, text[end + 1 :], salt, index, len(texts), path))
    return found


def leaves(okm: bytes, payload: bytes, shown: Callable[[str, bytes], bool]) -> list[list[str] | str]:
    """All fields in order, for a line of disclosures: [pointer, salt in hex, value] of those that `shown` (called with
    pointer and value) says may be seen, of the others the leaf's hash in hex. Raises BadFields.
    """
    texts = _texts(payload)
    salts = shake_256(okm + LABEL).digest(SALT * len(texts))
    found: list[list[str] | str] = []
    for at, text in enumerate(texts):
        salt, end = salts[SALT * at : SALT * (at + 1)], _end_of_string(text)
        pointer, value = str(_value(text[:end])), text[end + 1 :]
        found.append([pointer, salt.hex(), value.decode()] if shown(pointer, value) else _leaf(salt, text).hex())
    return found


def verify(field: Field, expected_root: bytes) -> bool:
    """Whether the payload behind this root has this field; a malformed one is False."""
    try:
        _value(field.value)
        text = _string(field.pointer) + b":" + field.value
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    if len(field.salt) != SALT or not field.pointer.startswith("/") or field.value != field.value.strip(b" \t\r\n"):
        return False
    return tree.verify_inclusion(field.index, field.count, _leaf(field.salt, text), field.path, expected_root)


def parse(document: object) -> Field:
    """Read what `Field.as_json` wrote; nothing is verified. Raises BadFields."""
    try:
        read = msgspec.convert(document, _Written, strict=True)
        path = tuple(bytes.fromhex(part) for part in read.path)
        found = Field(read.pointer, read.value.encode(), bytes.fromhex(read.salt), read.index, read.count, path)
    except (msgspec.ValidationError, ValueError) as error:
        raise BadFields(f"field: {error}") from None
    if found.as_json() != document:
        raise BadFields("field: not in its canonical form")
    return found


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    count: int
    index: int
    path: list[str]
    pointer: str
    salt: str
    value: str


def _texts(payload: bytes) -> list[bytes]:
    """`"pointer":value` of every field, in order."""
    texts: list[bytes] = []
    try:
        members = _members(payload)
        _collect(members, _top(tuple(members)), 1, texts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFields(f"payload: {error}") from None
    return texts


Places = Sequence[tuple[str, bytes, str]]  # of members in order: name, `"pointer":`, and the pointer of what is in it


def _collect(members: dict[str, msgspec.Raw], places: Places, depth: int, texts: list[bytes]) -> None:
    for name, start, below in places:
        value = bytes(members[name])
        if value[:1] == b"{" and depth <= MAX_DEPTH:
            inner = _members(value)
            if 0 < len(inner) <= MAX_MEMBERS:
                _collect(inner, _places(below, inner), depth + 1, texts)
                continue
        texts.append(start + value)


def _places(prefix: str, names: Iterable[str]) -> Places:
    found = []
    for name in sorted(names):
        pointer = prefix + (name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name)
        found.append((name, _string(pointer) + b":", pointer + "/"))
    return found


@lru_cache(maxsize=_FEW)
def _top(names: tuple[str, ...]) -> Places:
    """The places of a payload's own members: their names are those of a kind of event, the same again and again."""
    return _places("/", names)


def _planned(count: int) -> list[tuple[int, int]]:
    """Which two nodes of an RFC 6962 tree are joined next, until one is left: 0 to count - 1 are the leaves, and every
    join is the node after the last. Row by row; a last one without a neighbour moves up as it is.
    """
    plan: list[tuple[int, int]] = []
    row = list(range(count))
    while len(row) > 1:
        above = list(range(count + len(plan), count + len(plan) + len(row) // 2))
        plan += zip(row[::2], row[1::2], strict=False)
        row = above + row[len(row) & ~1 :]
    return plan


_joins = lru_cache(maxsize=_FEW)(_planned)


def _leaf(salt: bytes, text: bytes) -> bytes:
    return sha256(b"\x00" + salt + text).digest()


def _end_of_string(text: bytes) -> int:
    """Where the JSON string at the start of `text` ends."""
    at = 1
    while text[at] != 0x22:
        at += 2 if text[at] == 0x5C else 1
    return at + 1
