"""What proves a session's head in a bundle: the global log's signed head, and that the session's head and the newest
head map stand under it.

Pure data; audit/export/gather.py takes it from this installation's log.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from audit.tlog import canonical
from audit.tlog.proof import Proof


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the global log: its bytes, its index, and its inclusion proof, nearest hash first."""

    body: bytes
    index: int
    path: tuple[bytes, ...]

    def proof(self, checkpoint: bytes) -> bytes:
        """The C2SP tlog-proof under a signed head, with the leaf's bytes as extra data."""
        return Proof(self.index, self.path, checkpoint, self.body).write()


@dataclass(frozen=True, slots=True)
class MapRow:
    """What the head map says of a log: its newest head's index in the global log and its size; the hashes beside the
    way from that row to the map's root, from the row up.
    """

    index: int
    size: int
    siblings: tuple[bytes, ...]


@dataclass(frozen=True)
class Evidence:
    """Everything outside the session's own entries that a bundle holds."""

    checkpoint: bytes  #: the global log's signed head, a note with all its cosignatures
    head: Leaf  #: the session's head
    map: Leaf  #: the newest head map
    row: MapRow  #: what it says of this session
    policy: bytes
    receipt: bytes  #: of the session's head, a COSE receipt (RFC 9942)
    heads: tuple[bytes, ...] = ()  #: the leaves that said its heads before, oldest first
    rotations: tuple[Leaf, ...] = ()  #: of the log key, oldest first
    timestamp: bytes = b""  #: RFC 3161 response over the signed head; empty: none
    consistency: Mapping[int, tuple[bytes, ...]] = field(default_factory=dict)  #: size of an older head -> proof
    erasures: Mapping[UUID, bytes] = field(default_factory=dict)  #: key -> proof that staff erased it

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The files of a bundle that hold it, but for those of `erasures`, which depend on what is shown."""
        yield "policy", self.policy
        yield "log/checkpoint", self.checkpoint
        yield "receipts/head.cbor", self.receipt
        if self.heads:
            yield "log/heads", b"".join(self.heads)
        yield "log/head.tlog-proof", self.head.proof(self.checkpoint)
        yield "log/headmap.tlog-proof", self.map.proof(self.checkpoint)
        siblings = [sibling.hex() for sibling in self.row.siblings]
        yield (
            "log/headmap.json",
            canonical.dumps({"index": self.row.index, "siblings": siblings, "size": self.row.size}),
        )
        for number, leaf in enumerate(self.rotations):
            yield f"log/keys/{number:03d}.tlog-proof", leaf.proof(self.checkpoint)
        if self.timestamp:
            yield "log/checkpoint.tsr", self.timestamp
        for size, path in self.consistency.items():
            yield f"log/consistency/{size}", "".join(f"{_base64(value)}\n" for value in path).encode("ascii")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
