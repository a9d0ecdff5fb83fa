"""Shapes of proofs, and of what a check of one finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from sessions.http.bodies import About, Body, Chars, Command, Object, Range, Words

PROOF_KIND = ("entry", "range", "session", "absence", "consistency")
MAX_VKEY = 500  # characters


class Proof(Struct, frozen=True):
    """A document that stands alone: kept as it came, byte for byte, `audit/verify.py` checks it."""

    format: str
    kind: Annotated[str, Words(PROOF_KIND)]
    log: Annotated[Object, About("the global log's signed head, and rotations of its key")]


class TlogProof(Struct, frozen=True):
    entry: Annotated[str, About("C2SP tlog-proof of the entry's envelope under the session's signed head")]
    head: Annotated[str, About("C2SP tlog-proof of that head in the global log")]
    receipt: Annotated[str, About("the same as a COSE receipt (RFC 9942), in base64")]


class CheckProof(Body, kw_only=True):
    """A proof, and whose key it is held against."""

    proof: Annotated[Any, About("a proof document as object or as text, or a tlog-proof as text")]
    vkey: Annotated[str, Chars(MAX_VKEY, "a log's key; without it, this log's own")] | UnsetType = UNSET
    session: Annotated[str, Chars(36, "the session that it has to be about")] | UnsetType = UNSET


class ProveValue(Command, kw_only=True):
    """A place of the state, now or after so many entries."""

    path: Annotated[str, Chars(400, "state.<name>[.<name>...]")]
    of: Annotated[int, Range(1, 2**53, "entries; without it, the state now")] | UnsetType = UNSET


class CheckFailure(Struct, frozen=True):
    check: str
    message: str


class Checked(Struct, frozen=True):
    ok: bool
    failures: Sequence[CheckFailure]
    key: Annotated[str, About("the vkey that it was held against")]
    session: Annotated[str, About("the session that it is about, or empty")]
    size: Annotated[int, About("entries of the session under the head that it rests on, or 0")]
    proof: Annotated[Object | None, About("what it proves; null where it proves nothing")]
