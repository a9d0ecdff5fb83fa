"""A leaf of the global log that says the head of one log, and which leaf said its head before.

    <origin>
    <size>
    <base64 root>
    after <index> <base64 leaf hash>      (absent in a log's first leaf)

The first three lines are the body of a C2SP tlog-checkpoint. The fourth names the log's leaf before this one by its
index and its RFC 6962 leaf hash, so the newest leaf of a log authenticates all leaves before it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from audit.tlog.checkpoint import BadCheckpoint, Checkpoint
from audit.tlog.tree import HASH_SIZE

WORD = "after"


@dataclass(frozen=True, slots=True)
class Before:
    """The leaf that said a log's head before: its index in the global log, and its leaf hash."""

    index: int
    leaf: bytes


def body(head: Checkpoint, before: Before | None) -> bytes:
    """The leaf's bytes."""
    text = head.body()
    if before is not None:
        text += f"{WORD} {before.index} {base64.b64encode(before.leaf).decode('ascii')}\n"
    return text.encode()


def parse(data: bytes) -> tuple[Checkpoint, Before | None]:
    """The head that a leaf says, and the leaf before it. Raises BadCheckpoint for what `body` would not write."""
    try:
        origin, size, root, *more = data.decode().split("\n")
        head, before = Checkpoint(origin, int(size), base64.b64decode(root)), None
        if more != [""]:
            _, index, leaf = more[0].split(" ")
            before = Before(int(index), base64.b64decode(leaf))
        good = body(head, before) == data and (before is None or (before.index >= 0 and len(before.leaf) == HASH_SIZE))
    except (ValueError, IndexError):  # of the text, a number, base64, a line that is not there, or the head
        good = False
    if not good:
        raise BadCheckpoint("it is no leaf that says the head of a log")
    return head, before
