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


class Growth(msgspec.Struct, frozen=True, array_like=True):
    """A leaf of the global log that says the head of one log, and that this log grew to it from `old` entries: the
    frontier that it had then, and the nodes that follow (audit.tlog.growth). `via`: sizes that a node ends.
    """

    body: bytes
    old: int = 0
    frontier: bytes = b""
    nodes: bytes = b""
    via: tuple[int, ...] = ()


class Admit(msgspec.Struct, frozen=True, tag="admit"):
    """Asks whether these heads may stand in the global log after its present leaves, `size` with this root. At most one
    head of each log.
    """

    size: int
    root: bytes
    heads: list[Growth]


class SignGlobal(msgspec.Struct, frozen=True, tag="global"):
    """Asks for a head of the global log: it had `old` leaves and this frontier, and `leaves` follow."""

    size: int
    root: bytes
    old: int
    frontier: bytes
    leaves: list[bytes]


class Report(msgspec.Struct, frozen=True, tag="report"):
    """Says that a decision was committed as an entry of this head. Nobody waits for an answer."""

    log: UUID
    size: int
    root: bytes


class Confirm(msgspec.Struct, frozen=True, tag="confirm"):
    """Shows that a log grew from a reported head to the newest that was signed: its frontier then, and the nodes."""

    log: UUID
    old: int
    frontier: bytes
    nodes: bytes


class Dismiss(msgspec.Struct, frozen=True, tag="dismiss"):
    """Says that an operator has looked into a reported head that nobody signs, and that it is waited for no more."""

    log: UUID
    size: int


class SignHead(msgspec.Struct, frozen=True, tag="head"):
    """Asks for the head of one log that is leaf `index`, `body`, of a signed global head. Where the log was signed for
    since, `growth` is the consistency proof to that newer head.
    """

    body: bytes
    index: int
    proof: list[bytes]
    head: bytes
    growth: list[bytes]


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


Request = (
    Status | Admit | SignGlobal | Report | Confirm | Dismiss | SignHead | SignText | SignReceipt | Announce | Activate
)


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


class Unproved(msgspec.Struct, frozen=True, array_like=True):
    """A head that may not stand in the global log: the log, the sizes that it must be proved to have grown from (the
    last that was signed, then those that were reported since), and why not.
    """

    log: UUID
    sizes: tuple[int, ...]
    why: str


class Admitted(msgspec.Struct, frozen=True, tag="admitted"):
    """All heads may stand in the global log but these."""

    unproved: list[Unproved]


class Reported(msgspec.Struct, frozen=True, array_like=True):
    """A reported head that is neither signed nor extended by a signed one: of this log and size, for so many seconds.
    `signed`: of which size its log was signed last; 0: never.
    """

    log: UUID
    size: int
    seconds: float
    signed: int


class Downtime(msgspec.Struct, frozen=True):
    """The signer did not run in between."""

    since: datetime
    until: datetime


class Known(msgspec.Struct, frozen=True, tag="known"):
    """Keys (the one that signs now, that of the second signature or "", and all, oldest first), the notes that
    introduced them, the size of the last head, downtimes, the reported heads that wait, oldest first, and the logs of
    which the newest head was refused.
    """

    vkey: str
    second: str
    vkeys: list[str]
    introductions: list[bytes]
    size: int
    downtimes: list[Downtime]
    reported: list[Reported]
    refused: list[UUID]


class Refusal(msgspec.Struct, frozen=True, tag="refused"):
    """Why not."""

    code: str
    detail: str


Answer = Signed | Attested | Behind | Admitted | Known | Refusal
