"""Proof files (C2SP tlog-proof): that one entry is in a log, to be checked far away from it.

A proof is text: a title, extra data if there is any, the entry's index, the hashes of its inclusion proof (nearest
first) and, after an empty line, the signed checkpoint word for word. It is read strictly: what `write` would not have
written is refused. Files are named `.tlog-proof`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

from audit.tlog import checkpoint, note, tree
from audit.tlog.note import MAX_NOTE
from audit.tlog.ranges import MAX_SIZE

TITLE = "c2sp.org/tlog-proof@v1"
MAX_HASHES = 63  #: of a log of fewer than 2^63 entries
MAX_EXTRA = 2**20  #: bytes
MAX_PROOF = MAX_NOTE + 2 * MAX_EXTRA

_INDEX = re.compile(r"index (0|[1-9][0-9]{0,18})", re.ASCII)
_EXTRA = "extra "


class BadProof(ValueError):
    """The file is no proof in its one spelling, or it does not prove what it should."""


@dataclass(frozen=True, slots=True)
class Proof:
    """That the entry at `index` is in the tree of `checkpoint` (the bytes of a signed note, not verified yet).

    `hashes` are of 32 bytes, nearest first. `extra` is vouched for by nobody.
    """

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes = b""

    def write(self) -> bytes:
        """The file. Raises BadProof when it could not be read back."""
        if not 0 <= self.index <= MAX_SIZE or len(self.hashes) > MAX_HASHES or len(self.extra) > MAX_EXTRA:
            raise BadProof(f"index, number of hashes or extra data are out of bounds: {self.index}, {len(self.hashes)}")
        if any(len(value) != tree.HASH_SIZE for value in self.hashes) or len(self.checkpoint) > MAX_NOTE:
            raise BadProof("a hash is not of 32 bytes, or the checkpoint is too long")
        lines = [TITLE, *([_EXTRA + _base64(self.extra)] if self.extra else []), f"index {self.index}"]
        lines += [_base64(value) for value in self.hashes]
        return "\n".join([*lines, "", ""]).encode() + self.checkpoint


def parse(data: bytes) -> Proof:
    """Read a file; nothing is verified. Raises BadProof for anything that `Proof.write` would not have written."""
    if len(data) > MAX_PROOF:
        raise BadProof(f"proof: got {len(data)} bytes, want at most {MAX_PROOF}")
    head, empty, signed = data.partition(b"\n\n")
    lines = head.decode("ascii", "replace").split("\n")
    if not empty or lines[0] != TITLE:
        raise BadProof(f"proof: want {TITLE!r} first and an empty line before the checkpoint")
    extra = lines.pop(1) if len(lines) > 1 and lines[1].startswith(_EXTRA) else ""
    index = _INDEX.fullmatch(lines[1]) if len(lines) > 1 else None
    if index is None or len(lines) - 2 > MAX_HASHES:
        raise BadProof(f"proof: want an index and at most {MAX_HASHES} hashes")
    hashes = tuple(_debase64(line) for line in lines[2:])
    result = Proof(int(index[1]), hashes, signed, _debase64(extra.removeprefix(_EXTRA)))
    try:
        checkpoint.parse(note.parse(signed).text)
    except (note.BadNote, checkpoint.BadCheckpoint) as error:
        raise BadProof(f"proof: {error}") from None
    if result.write() != data:
        raise BadProof("proof: not in its canonical spelling")
    return result


def verify(data: bytes, entry: bytes, open_head: Callable[[bytes], checkpoint.Checkpoint]) -> checkpoint.Checkpoint:
    """The head under which `entry` (its bytes, not its hash) is proven by the file `data`.

    `open_head` says who is trusted: it takes the bytes of a signed checkpoint and raises when that is not to be
    believed (policy.Policy.open_head, or checkpoint.open_signed with the keys at hand).
    """
    proof = parse(data)
    head = open_head(proof.checkpoint)
    leaf = tree.leaf_hash(entry)
    if not tree.verify_inclusion(proof.index, head.size, leaf, proof.hashes, head.root):
        raise BadProof(f"the entry is not at {proof.index} of the {head.size} entries of {head.origin}")
    return head


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _debase64(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        raise BadProof(f"proof: malformed base64 {text[:60]!r}") from None
