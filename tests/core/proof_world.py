"""Proof documents of small worlds: the ledger and the global log of tlog_world, computed by definition."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from audit import verify
from audit.proofs import document
from audit.proofs.document import Last, Opened, Tail, Trust
from audit.tlog import fields, headmap, subtree, tiles
from audit.tlog.proof import Proof
from audit.tlog.tree import leaf_hash
from tests.core.tlog_world import (
    LOG,
    OTHER_LOG,
    SIGNER,
    THIRD_LOG,
    GlobalLog,
    MemoryLedger,
    chatter,
    naive_path,
    naive_root,
    plain,
)

ABSENT = UUID("018f0000-0000-7000-8000-0000000000ff")


class Leaves:
    """The tiles of a tree in memory."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        written = tiles.growth(0, [leaf_hash(entry) for entry in entries], self)
        self._held = {(tile.level, tile.index): data for tile, data in written}

    def read_tiles(self, tiles: Sequence[tiles.Tile]) -> list[bytes]:
        return [self._held[each.level, each.index] for each in tiles]


class World:
    """One session of some messages and a proven value, in a global log between others."""

    def __init__(self, entries: int = 5, ledger: MemoryLedger | None = None) -> None:
        self.ledger = ledger or chatter(entries)
        self.log = GlobalLog()
        self.log.add_head(OTHER_LOG, [b"other"])
        self.head = self.log.add_head(LOG, self.ledger.honest)
        self.log.add_head(THIRD_LOG, [b"third"])
        self.map = self.log.add_map()
        self.trust = Trust(self.log.checkpoint())
        self.envelopes = [row.envelope for row in self.ledger.stored]

    def opened(self, seq: int, *pointers: str) -> Opened:
        row = self.ledger.stored[seq]
        okm = self.ledger.okm(verify.read_envelope(row.envelope))
        if okm is None:
            return Opened(row.envelope, closed="erased")
        payload = verify.open_payload(verify.read_envelope(row.envelope), row.ciphertext or b"", okm)
        if pointers:
            return Opened(row.envelope, fields=tuple(fields.disclose(okm, payload, one)[0] for one in pointers))
        return Opened(row.envelope, okm, payload)

    def entry(self, seq: int = 1, *pointers: str) -> bytes:
        path = naive_path(self.envelopes, seq)
        return document.entry(self.trust, self.log.leaf(self.head), self.opened(seq, *pointers), path)

    def extract(self, start: int, end: int) -> bytes:
        proof = subtree.prove_range(start, end, len(self.envelopes), Leaves(self.envelopes))
        shown = [self.opened(seq) for seq in range(start, end)]
        return document.extract(self.trust, self.log.leaf(self.head), shown, proof)

    def complete(self) -> bytes:
        tail = Tail(self.log.leaf(self.map), self.log.row(LOG).siblings)
        shown = [self.opened(seq) for seq in range(len(self.envelopes))]
        return document.complete(self.trust, self.log.leaf(self.head), shown, tail)

    def absence(self, session: UUID = ABSENT) -> bytes:
        held = headmap.MemoryMap()
        held.set({self.log.key(name): headmap.value_of(*row) for name, row in self.log.latest.items()})
        proof = headmap.prove(self.log.key(str(session)), held)
        return document.absence(self.trust, str(session), self.log.leaf(self.map), proof)

    def growth(self, size: int) -> bytes:
        old, path = self.envelopes[:size], []
        if size < len(self.envelopes):
            path = tiles.consistency_proof(size, len(self.envelopes), Leaves(self.envelopes))
        last = Last(leaf_hash(old[-1]), tuple(naive_path(old, size - 1)))
        return document.growth(self.trust, str(LOG), self.log.leaf(self.head), size, naive_root(old), path, last)

    def log_growth(self, size: int) -> bytes:
        leaves, path = self.log.leaves, []
        if size < len(leaves):
            path = tiles.consistency_proof(size, len(leaves), Leaves(leaves))
        return document.log_growth(self.trust, size, naive_root(leaves[:size]), path)

    def tlog_entry(self, seq: int) -> bytes:
        signed = SIGNER.sign_head(self.log.leaf(self.head), b"")
        return Proof(seq, tuple(naive_path(self.envelopes, seq)), signed, self.envelopes[seq]).write()

    def tlog_head(self) -> bytes:
        return self.log.leaf(self.head).proof(self.trust.checkpoint)

    def receipt(self, size: int) -> verify.Receipt:
        old = self.envelopes[:size]
        return verify.Receipt(str(LOG), size, naive_root(old), leaf_hash(old[-1]))

    def every(self) -> dict[str, bytes]:
        """One proof of each kind."""
        return {
            "entry": self.entry(1),
            "field": self.entry(2, "/text"),
            "range": self.extract(1, 4),
            "session": self.complete(),
            "absence": self.absence(),
            "session growth": self.growth(3),
            "log growth": self.log_growth(2),
            "tlog entry": self.tlog_entry(3),
            "tlog head": self.tlog_head(),
        }


def valued(value: object = 7) -> MemoryLedger:
    """A session whose last entry proves a value of its state."""
    ledger = chatter(3)
    ledger.append("value.proved", {"path": "state.limit", "value": value, "state": 3, "written": 1, "v": 1})
    return ledger


def check(data: bytes, vkey: str = "", **demand: object) -> verify.Verdict:
    """The verdict on a proof by the log's key."""
    return verify.verify_proof(data, vkey or SIGNER.vkey(), demand=verify.Demand(**demand))  # type: ignore[arg-type]


def rewritten(data: bytes, change) -> bytes:
    """The document with `change` made to what it holds, written canonically."""
    said = verify.strict_json(data)
    change(said)
    return plain(said)
