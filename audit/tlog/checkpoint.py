"""The body of a C2SP tlog-checkpoint: origin, tree size, root, one line each.

A checkpoint is the text of a signed note (note.py). Extension lines are allowed by the specification but not
recommended and not covered by every cosignature type; we write none and accept none.
On pages a checkpoint is called a *signed head*.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass

from audit.tlog import note

_SIZE = re.compile(r"(?:0|[1-9][0-9]{0,18})", re.ASCII)


class BadCheckpoint(ValueError):
    """The text is not a checkpoint body in the strict form that we write."""


@dataclass(frozen=True)
class Checkpoint:
    """What a log claims: under `origin`, `size` entries have this 32-byte `root`."""

    origin: str
    size: int
    root: bytes

    def body(self) -> str:
        """The three lines that are signed."""
        if not self.origin or "\n" in self.origin or self.size < 0 or len(self.root) != 32:
            raise BadCheckpoint("want a one-line origin, a size of at least 0 and a 32-byte root")
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode('ascii')}\n"


def parse(text: str) -> Checkpoint:
    """Read a body; anything that `Checkpoint.body` would not have written is refused."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] != "":
        raise BadCheckpoint(f"got {len(lines) - 1} lines, want 3")
    origin, size, encoded, _ = lines
    if not _SIZE.fullmatch(size):
        raise BadCheckpoint(f"size: got {size[:24]!r}, want a decimal number without leading zeros")
    try:
        result = Checkpoint(origin, int(size), base64.b64decode(encoded.encode("ascii"), validate=True))
    except (binascii.Error, ValueError):
        raise BadCheckpoint("root: malformed base64") from None
    if result.body() != text:
        raise BadCheckpoint("not in its canonical spelling")
    return result


def open_signed(data: bytes, trusted: Sequence[note.VerifierKey], *, origin: str | None = None) -> Checkpoint:
    """The head in the signed note `data`, signed by a trusted key and of the log `origin` (default: a trusted key's
    name). Raises note.BadNote or BadCheckpoint.
    """
    head = parse(note.open_note(data, trusted))
    wanted = [key.name for key in trusted] if origin is None else [origin]
    if head.origin not in wanted:
        raise BadCheckpoint(f"origin: got {head.origin[:200]!r}, want {' or '.join(wanted)[:200]!r}")
    if origin is None:
        # Several logs may be trusted: the head of one has to be signed by that one.
        note.open_note(data, [key for key in trusted if key.name == head.origin])
    return head
