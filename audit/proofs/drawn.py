"""What a log's tree says of single entries, whatever became of the rows: for samples, which must not stop at a gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from uuid import UUID

import msgspec

from agentstate.errors import Broken
from audit import globallog, ledger
from audit.globallog import Place
from audit.proofs import sessiontree
from audit.proofs.sessiontree import LogTiles
from audit.tlog import tiles, tree
from audit.tlog.tiles import BadTile


class Standing(StrEnum):
    """What became of an entry under a signed head."""

    SOUND = "sound"  # its bytes are the leaf that the tree has there
    ALTERED = "altered"  # the tree has another leaf there
    UNREADABLE = "unreadable"  # its bytes are no envelope
    MISSING = "missing"  # there is no such row
    UNPROVEN = "unproven"  # it is there, but the log's entries do not lead to its head


class Found(msgspec.Struct, frozen=True):
    """One entry: `kind` and `at` are empty where it cannot be read; `leaf` is the hash of the stored bytes, `held` the
    one that leads to the signed root, each empty where there is none.
    """

    log: UUID
    seq: int
    standing: Standing
    kind: str = ""
    at: str = ""
    leaf: bytes = b""
    held: bytes = b""


def look(tenant: UUID, log: UUID, seqs: Sequence[int], index: int, size: int) -> dict[int, Found]:
    """The entries `seqs` of the log whose head of `size` entries is leaf `index` of the global log."""
    held = _held(tenant, log, seqs, Place(index, size))
    rows = ledger.run(
        "SELECT seq, envelope FROM audit_entry WHERE log = %(log)s AND seq = ANY(%(seqs)s)",
        {"log": log, "seqs": list(seqs)},
    )
    stored = {seq: bytes(data) for seq, data in rows}
    return {seq: _found(log, seq, stored.get(seq), held.get(seq, b"")) for seq in seqs}


def _found(log: UUID, seq: int, data: bytes | None, held: bytes) -> Found:
    if data is None:
        return Found(log, seq, Standing.MISSING, held=held)
    leaf = tree.leaf_hash(data)
    try:
        envelope = ledger.parse_envelope(data)
    except Broken:
        return Found(log, seq, Standing.UNREADABLE, leaf=leaf, held=held)
    standing = Standing.SOUND if leaf == held else Standing.ALTERED if held else Standing.UNPROVEN
    return Found(log, seq, standing, envelope.kind, envelope.at, leaf, held)


def _held(tenant: UUID, log: UUID, seqs: Sequence[int], place: Place) -> dict[int, bytes]:
    """The leaf that the tree has at each place, where it can still be told. What was kept of the tree is asked first:
    it may know a leaf whose row is gone. Where it leads nowhere the tree is made anew.
    """
    try:
        root = globallog.head_body(tenant, place).root
    except (globallog.Altered, globallog.NotThere):
        return {}
    found = dict(_proven(log, seqs, place.size, root))
    if left := [seq for seq in seqs if seq not in found]:
        sessiontree.forget(log)
        found |= dict(_proven(log, left, place.size, root))
    return found


def _proven(log: UUID, seqs: Sequence[int], size: int, root: bytes) -> Iterable[tuple[int, bytes]]:
    held = LogTiles(log)
    for seq in seqs:
        try:
            (leaf,) = tiles.hashes([(seq, seq + 1)], size, held)
            path = tiles.inclusion_proof(seq, size, held)
        except (BadTile, tree.BadTree):
            continue
        if tree.verify_inclusion(seq, size, leaf, path, root):
            yield seq, leaf
