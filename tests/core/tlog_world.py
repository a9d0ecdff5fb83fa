"""A small world for the proofs: a naive tree, a ledger in memory, and bundles that can be taken apart.

The tree here is the definition of RFC 6962 written down as recursion, and the ledger writes envelopes with the
standard library alone, so that nothing under test checks itself.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from audit import verify
from audit.export import bundle
from audit.export.archive import Packer
from audit.export.evidence import Evidence, Leaf, MapRow
from audit.export.report import Renderer
from audit.export.report import plain as plain_report
from audit.tlog import fields, headleaf, note, receipt
from audit.tlog.checkpoint import Checkpoint
from tests.core import judged
from tests.shared_data import shared_data

ORIGIN = "log.example/test"
LOG = UUID("018f0000-0000-7000-8000-000000000001")
OTHER_LOG = UUID("018f0000-0000-7000-8000-000000000002")
THIRD_LOG = UUID("018f0000-0000-7000-8000-000000000003")
KID = UUID("018f0000-0000-7000-8000-0000000000aa")
TENANT = UUID("018f0000-0000-7000-8000-0000000000bb")
STAFF_LOG = uuid5(UUID(verify.STAFF_LOGS), f"{TENANT}/2026-11-21")
VECTORS = Path(__file__).parents[1] / "vectors"


def shared(*path: str) -> Path:
    """A folder of public vectors; the test is skipped, in words, where they are not at hand."""
    return shared_data("vectors", *path)


def naive_root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962 section 2.1, over entries, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + naive_root(leaves[:split]) + naive_root(leaves[split:])).digest()


@dataclass
class StoredRow:
    seq: int
    envelope: bytes
    ciphertext: bytes | None


@dataclass
class MemoryLedger:
    """One session's log, written as the contract of the envelope says. Its rows may be tampered with."""

    log: UUID = LOG
    key: bytes = b"k" * 32
    stored: list[StoredRow] = field(default_factory=list)
    erased: bool = False
    honest: list[bytes] = field(default_factory=list)  # what the head was computed from

    def append(self, kind: str, event: dict[str, Any], ref: int = -1, **changes: Any) -> int:
        seq = len(self.stored)
        bound = {
            "actor": "system",
            "at": f"2026-11-21T{3 + seq // 3600:02d}:{seq // 60 % 60:02d}:{seq % 60:02d}.000000Z",
            "cmd": "018f0000-0000-7000-8000-0000000000cc",
            "epoch": 0,
            "kid": str(KID),
            "kind": kind,
            "log": str(self.log),
            "ref": ref,
            "salt": hashlib.sha256(f"salt{seq}".encode()).hexdigest()[:32],
            "seq": seq,
            "v": 2,
        } | changes
        okm = self.okm(bound)
        assert okm is not None
        payload = plain({"kind": kind} | event)
        if bound["v"] == 2:
            bound.setdefault("pc", fields.commit(okm, payload).hex())
        packed = _packed(payload)
        ciphertext = AESGCM(okm[:32]).encrypt(bytes(12), packed, plain(bound))
        sealed = bound | {"ct": hashlib.sha256(ciphertext).hexdigest(), "kc": okm[32:].hex()}
        self.stored.append(StoredRow(seq, plain(sealed), ciphertext))
        self.honest.append(self.stored[-1].envelope)
        return seq

    def size(self) -> int:
        """How many were honestly appended: tampering with rows does not reach it."""
        return len(self.honest)

    def rows(self) -> Iterator[StoredRow]:
        return iter(sorted(self.stored, key=lambda row: row.seq))

    def okm(self, envelope: dict[str, Any]) -> bytes | None:
        if self.erased:
            return None
        context = bytes.fromhex(envelope["salt"]) + self.log.bytes + envelope["seq"].to_bytes(8, "big")
        return hmac.digest(self.key, b"agentstate/entry/v1" + context + b"\x01", "sha512")


def plain(value: Any) -> bytes:
    """Canonical JSON by the standard library; right for everything these tests write."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _packed(event: bytes) -> bytes:
    return b"\x02" + zlib.compress(event) if len(event) > 256 else b"\x00" + event


@dataclass
class TestSigner:
    """A signer without a memory, so that tests can sign what a real one would refuse."""

    __test__ = False
    key: Ed25519PrivateKey = field(default_factory=lambda: Ed25519PrivateKey.from_private_bytes(b"s" * 32))
    origin: str = ORIGIN

    def vkey(self) -> str:
        return str(note.verifier_key(self.origin, self.key))

    def origin_of(self, log: UUID) -> str:
        return f"{self.origin}/s/{log}"

    def sign_head(self, head: Leaf, _checkpoint: bytes) -> bytes:
        return self.sign_text(headleaf.parse(head.body)[0].body())

    def sign_text(self, text: str) -> bytes:
        return note.sign(text, self.origin, self.key)


SIGNER = TestSigner()
STRANGER = TestSigner(Ed25519PrivateKey.from_private_bytes(b"x" * 32))


@dataclass
class GlobalLog:
    """The log of heads, by definition and by hand; its leaves may be anything."""

    signer: TestSigner = field(default_factory=lambda: SIGNER)
    leaves: list[bytes] = field(default_factory=list)
    latest: dict[str, tuple[int, int]] = field(default_factory=dict)  # log -> what the head map says of it

    def add(self, leaf: bytes) -> int:
        self.leaves.append(leaf)
        return len(self.leaves) - 1

    def add_head(self, log: UUID, entries: list[bytes]) -> int:
        head, before = Checkpoint(self.signer.origin_of(log), len(entries), naive_root(entries)), None
        if str(log) in self.latest:
            index = self.latest[str(log)][0]
            before = headleaf.Before(index, hashlib.sha256(b"\x00" + self.leaves[index]).digest())
        index = self.add(headleaf.body(head, before))
        self.latest[str(log)] = (index, len(entries))
        return index

    def heads_before(self, index: int) -> tuple[bytes, ...]:
        """The leaves that said the log's heads before this one, oldest first."""
        _, before = headleaf.parse(self.leaves[index])
        return () if before is None else (*self.heads_before(before.index), self.leaves[before.index])

    def add_map(self) -> int:
        root = naive_map({self.key(log): row for log, row in self.latest.items()})
        position, count = len(self.leaves), len(self.latest)
        text = f"{verify.MAP_TITLE}\n{self.signer.origin}\n{position}\n{count}\n{base64.b64encode(root).decode()}\n"
        return self.add(text.encode())

    def add_rotation(self, to: TestSigner) -> int:
        text = f"{verify.KEY_TITLE}\n{self.signer.origin}\n{to.vkey()}\n"
        index = self.add(self.signer.sign_text(text))
        self.signer = to
        return index

    def key(self, log: str) -> bytes:
        return hashlib.sha256(f"{self.signer.origin}/s/{log}".encode()).digest()

    def row(self, log: UUID) -> MapRow:
        rows = {self.key(each): row for each, row in self.latest.items()}
        return MapRow(*self.latest[str(log)], tuple(naive_siblings(rows, self.key(str(log)))))

    def leaf(self, index: int) -> Leaf:
        return Leaf(self.leaves[index], index, tuple(naive_path(self.leaves, index)))

    def checkpoint(self, *witnesses: Witness) -> bytes:
        body = Checkpoint(self.signer.origin, len(self.leaves), naive_root(self.leaves)).body()
        signed = self.signer.sign_text(body)
        return signed + b"".join(witness.cosign(body) for witness in witnesses)

    def policy(self) -> bytes:
        return f"log {self.signer.vkey()}\nquorum none\n".encode()

    def evidence(self, log: UUID, head: int, map_leaf: int, *witnesses: Witness, **more: Any) -> Evidence:
        checkpoint = self.checkpoint(*witnesses)
        shown = self.leaf(head), self.leaf(map_leaf), self.row(log), self.policy()
        return Evidence(checkpoint, *shown, self.receipt(head), self.heads_before(head), **more)

    def receipt(self, index: int) -> bytes:
        key, size = note.parse_vkey(self.signer.vkey()), len(self.leaves)
        signature = self.signer.key.sign(receipt.message(key, size, naive_root(self.leaves)))
        return receipt.make(key, index, size, naive_path(self.leaves, index), signature)


@dataclass
class Witness:
    """Cosigns whatever it is shown."""

    name: str = "witness.example"
    at: int = 1_795_300_000  # 21 November 2026
    key: Ed25519PrivateKey = field(default_factory=lambda: Ed25519PrivateKey.from_private_bytes(b"w" * 32))

    def _key(self) -> verify.LogKey:
        return verify.LogKey(self.name, self.key.public_key().public_bytes_raw(), verify.WITNESS)

    def vkey(self) -> str:
        return self._key().vkey

    def cosign(self, body: str) -> bytes:
        signature = self.key.sign(f"cosignature/v1\ntime {self.at}\n{body}".encode())
        value = self._key().key_id + self.at.to_bytes(8, "big") + signature
        return f"— {self.name} {base64.b64encode(value).decode()}\n".encode()


def naive_path(leaves: list[bytes], index: int) -> list[bytes]:
    """PATH of RFC 6962 section 2.1.1, over entries, word for word."""
    if len(leaves) == 1:
        return []
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if index < split:
        return [*naive_path(leaves[:split], index), naive_root(leaves[split:])]
    return [*naive_path(leaves[split:], index - split), naive_root(leaves[:split])]


def naive_map(rows: dict[bytes, tuple[int, int]], depth: int = 0) -> bytes:
    """The root of a head map by its definition."""
    if not rows:
        return bytes(32)
    if len(rows) == 1:
        ((key, (index, size)),) = rows.items()
        return hashlib.sha256(b"\x00" + key + index.to_bytes(8, "big") + size.to_bytes(8, "big")).digest()
    left, right = _halves(rows, depth)
    return hashlib.sha256(b"\x01" + naive_map(left, depth + 1) + naive_map(right, depth + 1)).digest()


def naive_siblings(rows: dict[bytes, tuple[int, int]], key: bytes, depth: int = 0) -> list[bytes]:
    """The hashes beside the way from a row to the root, from the row up."""
    if len(rows) == 1:
        return []
    left, right = _halves(rows, depth)
    own, other = (right, left) if _bit(key, depth) else (left, right)
    return [*naive_siblings(own, key, depth + 1), naive_map(other, depth + 1)]


def _halves(rows: dict[bytes, tuple[int, int]], depth: int) -> tuple[dict, dict]:
    left = {key: row for key, row in rows.items() if not _bit(key, depth)}
    return left, {key: row for key, row in rows.items() if key not in left}


def _bit(key: bytes, depth: int) -> int:
    return key[depth // 8] >> (7 - depth % 8) & 1


def chatter(entries: int, **changes: Any) -> MemoryLedger:
    """A session of so many messages."""
    ledger = MemoryLedger(**changes)
    for number in range(entries):
        ledger.append("message.added", {"role": "customer", "text": f"message {number}", "v": 1})
    return ledger


TRANSFER = {"from_account": "s", "to_account": "c", "amount": {"minor": 430000, "currency": "USD"}}


def transfer_story() -> MemoryLedger:
    """Entries 0 to 6: a transfer is asked for, approved and made."""
    ledger = MemoryLedger()
    ledger.append("session.opened", {"customer": "c1", "team": "t", "agent": "bank", "channel": "phone", "v": 1})
    ledger.append("message.added", {"role": "customer", "text": "Move it, please. " * 20, "by": "", "v": 1})
    ledger.append("approval.requested", requested())
    ledger.append("decision.made", decided(), ref=2, actor="user:u1")
    ledger.append("request.ended", {"request": "r1", "outcome": "approved", "because": "", "v": 1}, ref=2)
    ledger.append("tool.intended", intended(), ref=2)
    ledger.append("tool.returned", returned(), ref=5)
    return ledger


def requested(**changes: Any) -> dict[str, Any]:
    return {"request": "r1", "call": "k1", "arguments": TRANSFER, "quorum": 1, "v": 1} | changes


def decided(**changes: Any) -> dict[str, Any]:
    defaults = {"request": "r1", "decision": "approve", "by": "user:u1", "digest": "d1", "arguments": None, "v": 1}
    return defaults | changes


def intended(**changes: Any) -> dict[str, Any]:
    event = {"call": "k1", "attempt": 1, "arguments": TRANSFER, "request": "r1", "digest": "d1", "v": 1} | changes
    digest = hashlib.sha256(plain([event["arguments"]])).hexdigest()
    return {"arguments_digest": digest} | event


def returned(**changes: Any) -> dict[str, Any]:
    return {"call": "k1", "attempt": 1, "result": {"receipt": "b7"}, "output_path": None, "v": 1} | changes


def in_a_log(ledger: MemoryLedger, signer: TestSigner = SIGNER, staff: MemoryLedger | None = None) -> Evidence:
    """Its head in a global log between heads of other sessions, and of a log of staff: by default of one that has the
    erasure, if there was one.
    """
    log = GlobalLog(signer)
    log.add_head(OTHER_LOG, [b"other"])
    head = log.add_head(ledger.log, ledger.honest)
    log.add_head(THIRD_LOG, [b"third"])
    if not ledger.erased:
        return log.evidence(ledger.log, head, log.add_map())
    staff = staff or staff_log()
    theirs, at = log.add_head(staff.log, staff.honest), log.add_map()
    return log.evidence(ledger.log, head, at, erasures={KID: erasure_proof(log, theirs, staff)})


def staff_log(kind: str = "erasure.begun", kid: UUID = KID, log: UUID = STAFF_LOG) -> MemoryLedger:
    """A log of staff: somebody signed in, and a data subject was erased."""
    staff = MemoryLedger(log)
    staff.append("account.signed_in", {"subject": "user:u1"})
    staff.append(kind, {"approved_by": "user:u2", "basis": "objection", "request": "r", "subject_key": str(kid)})
    return staff


def erasure_proof(log: GlobalLog, head: int, staff: MemoryLedger, seq: int = -1) -> bytes:
    """What a bundle holds of an erasure, written by hand. `head`: the leaf of the global log that is the staff's."""
    row = staff.stored[seq]
    envelope = json.loads(row.envelope)
    okm = staff.okm(envelope)
    assert okm is not None
    assert row.ciphertext is not None
    payload = verify.open_payload(envelope, row.ciphertext, okm)
    leaf = log.leaf(head)
    path = [each.hex() for each in leaf.path]
    return plain(
        {
            "entry": row.envelope.decode(),
            "head": {"body": leaf.body.decode(), "index": head, "path": path},
            "leaves": fields.leaves(okm, payload, lambda pointer, _: pointer in ("/kind", "/subject_key")),
            "path": [each.hex() for each in naive_path(staff.honest, row.seq)],
            "tenant": str(TENANT),
        }
    )


def export(
    ledger: MemoryLedger,
    signer: TestSigner = SIGNER,
    withhold: frozenset[str] = frozenset(),
    render: Renderer = plain_report,
    evidence: Evidence | None = None,
    shows: bundle.Shows | None = None,
) -> bytes:
    """The bundle's bytes."""
    out = io.BytesIO()
    bundle.write(ledger.log, ledger, evidence or in_a_log(ledger, signer), signer, out, withhold, render, shows)
    return out.getvalue()


def unpack(data: bytes) -> dict[str, bytes]:
    """The files of a bundle, as any zip reader gives them."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(files: dict[str, bytes]) -> bytes:
    """A canonical archive of any files."""
    out = io.BytesIO()
    with Packer() as packer:
        for name, data in files.items():
            packer.add(name, data)
        packer.write(out)
    return out.getvalue()


def resign(files: dict[str, bytes], signer: TestSigner = SIGNER, entries: int | None = None) -> dict[str, bytes]:
    """The files with a manifest that fits them, signed: what somebody with a log key can always do."""
    manifest = json.loads(files["manifest.json"])
    rest = {name: data for name, data in files.items() if not name.startswith("manifest.")}
    manifest["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in rest.items()}
    manifest["entries"] = manifest["entries"] if entries is None else entries
    raw = plain(manifest)
    digest = base64.b64encode(hashlib.sha256(raw).digest()).decode()
    text = f"{verify.MANIFEST_TITLE}\n{signer.origin_of(LOG)}\n{digest}\n"
    return rest | {"manifest.json": raw, "manifest.note": signer.sign_text(text)}


def check(
    data: bytes,
    folder: Path,
    vkey: str | bytes = "",
    *,
    log: str = "",
    now: datetime | None = None,
    demand: verify.Demand | None = None,
) -> verify.Verdict:
    """The verdict on these bytes, by the log key or policy that the auditor trusts."""
    path = folder / "bundle"
    path.write_bytes(data)
    now, demand = now or datetime.now(UTC), demand or verify.Demand(session=log)
    verdict = verify.verify(path, vkey or SIGNER.vkey(), now=now, demand=demand)
    judged.note(data, vkey or SIGNER.vkey(), now, demand, verdict)
    return verdict


def named(verdict: verify.Verdict) -> set[int | None]:
    """The entries that the verdict names."""
    return {failure.entry for failure in verdict.failures}


def said(verdict: verify.Verdict) -> str:
    """All failures as one text."""
    return "\n".join(
        f"{failure.entry} {failure.kind} {failure.check}: {failure.message}" for failure in verdict.failures
    )


def memory_folder() -> Path | None:
    """A folder in memory where there is one: tests that write a bundle thousands of times spare the disk."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) else None
