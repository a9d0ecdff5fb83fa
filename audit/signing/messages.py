"""What is said between the signer and those who ask it: one JSON object a line, the answer to it the next line back.

Private to us; both ends are of one version. Bytes are base64, as msgspec writes them.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

LONGEST = 4_000_000  # bytes of a line


class Status(msgspec.Struct, frozen=True, tag="status"):
    """Asks for keys, memory and downtimes."""


class SignGlobal(msgspec.Struct, frozen=True, tag="global"):
    """Asks for a head of the global log."""

    size: int
    root: bytes
    old: int
    proof: list[bytes]


class SignHead(msgspec.Struct, frozen=True, tag="head"):
    """Asks for the head of one log, with its proof in a signed global head."""

    log: UUID
    size: int
    root: bytes
    index: int
    proof: list[bytes]
    head: bytes


class SignText(msgspec.Struct, frozen=True, tag="text"):
    """Asks for a note over any text that is no head."""

    text: str


class SignReceipt(msgspec.Struct, frozen=True, tag="receipt"):
    """Asks for the signature of COSE receipts under the tree of a signed global head."""

    head: bytes


class Announce(msgspec.Struct, frozen=True, tag="announce"):
    """Asks for the note that introduces a new key, which is made now."""


class Activate(msgspec.Struct, frozen=True, tag="activate"):
    """Says that the new key stands in a signed global head, so that it may sign."""

    index: int
    proof: list[bytes]
    head: bytes


Request = Status | SignGlobal | SignHead | SignText | SignReceipt | Announce | Activate


class Signed(msgspec.Struct, frozen=True, tag="signed"):
    """A signed note."""

    note: bytes


class Attested(msgspec.Struct, frozen=True, tag="attested"):
    """The signature (64 bytes) of every receipt under that head, and the key that made it."""

    vkey: str
    signature: bytes


class Behind(msgspec.Struct, frozen=True, tag="behind"):
    """The last head that was signed has this size: prove from there."""

    size: int


class Downtime(msgspec.Struct, frozen=True):
    """The signer did not run in between."""

    since: datetime
    until: datetime


class Known(msgspec.Struct, frozen=True, tag="known"):
    """Keys (the one that signs now, that of the second signature or "", and all, oldest first), the notes that
    introduced them, the size of the last head, downtimes.
    """

    vkey: str
    second: str
    vkeys: list[str]
    introductions: list[bytes]
    size: int
    downtimes: list[Downtime]


class Refusal(msgspec.Struct, frozen=True, tag="refused"):
    """Why not."""

    code: str
    detail: str


Answer = Signed | Attested | Behind | Known | Refusal
