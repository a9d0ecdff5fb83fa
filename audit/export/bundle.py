"""What goes into an export, and in which form.

    README.txt                     how to verify it, and what that proves
    manifest.json  manifest.note   SHA-256 of every other file; the log key's signature over that
    report.html  .pdf              what a person reads: signed, and proved by nothing
    entries.csv    entries.jsonl   the entries, one a row: for spreadsheets, and for programs
    report.json                    the same rows with the head that they stand under
    policy                         log key, witnesses and quorum (C2SP tlog-policy), to compare with one's own
    log/checkpoint                 the global log's signed head, with what witnesses cosigned
    log/head.tlog-proof            that the session's head is a leaf of that log (C2SP tlog-proof)
    log/headmap.tlog-proof  .json  that a head map is one too, and that it calls this head the session's latest
    receipts/head.cbor             the same as log/head.tlog-proof, as a COSE receipt (RFC 9942)
    log/heads                      the leaves that said this session's heads before, oldest first; each names the one
                                   before it by index and hash, and so does the newest, in log/head.tlog-proof
    log/keys/...                   rotations of the log key, if any; log/checkpoint.tsr an RFC 3161 timestamp
    log/consistency/N              that the log continues its head of N entries, which somebody holds
    log/erasures/KEY.json          that staff erased a data subject of whom something is gone here: their entry, of
                                   which only this much is shown, under a head of their log that is a leaf too
    session/checkpoint             the session's signed head (C2SP tlog-checkpoint)
    session/tile/...               entries and hashes (C2SP tlog-tiles): any client of such logs can read them
    session/payload/...            ciphertexts, in files of 256: four bytes of length, then the ciphertext;
                                   length 0 where there is none
    session/disclosures/...        one line of JSON per entry: the key material (`okm`) that opens it and no
                                   other, or the fields that are shown with the hashes of those that are masked
                                   (`leaves`, audit/tlog/fields.py), or why there is neither

Nothing is repaired on the way: a ledger that was tampered with is exported as it is, with warnings, so that
the verifier can name the entry. Where a row is missing, an empty entry stands in its place.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol
from uuid import UUID

from agentstate.errors import AgentStateError, Broken
from audit import verify
from audit.export import readme, report, tables
from audit.export.archive import Packer, TooLarge
from audit.export.evidence import Evidence, Leaf
from audit.tlog import canonical, fields, headleaf, tree

MAX_ENVELOPE = 0xFFFF  # bytes: entry bundles have two bytes of length


class HeadMalformed(Broken):
    """The head row of this log was altered: its frontier does not fit its size."""

    code = "head_malformed"
    remedy = "Compare the ledger with a backup and with the last export."


class Row(Protocol):
    """One stored entry. `ciphertext` is None where there is none any more."""

    @property
    def seq(self) -> int: ...
    @property
    def envelope(self) -> bytes: ...
    @property
    def ciphertext(self) -> bytes | None: ...


class Source(Protocol):
    """Where one log is read from."""

    def size(self) -> int:
        """How many entries the head row counts now."""

    def rows(self) -> Iterator[Row]:
        """All stored rows of the log in order of seq, whatever they hold."""

    def okm(self, envelope: dict[str, Any]) -> bytes | None:
        """The 64 bytes that open this entry; None if its subject was erased; Broken if they cannot be had."""


class Signs(Protocol):
    """What the bundle needs of a signer (audit.signer)."""

    def vkey(self) -> str: ...
    def sign_head(self, head: Leaf, checkpoint: bytes) -> bytes:
        """The note over a session's head that is proved to stand under the global head that it signed."""

    def sign_text(self, text: str) -> bytes: ...


#: whether a field may be seen in a masked export: the entry's kind, the field's pointer, its value as JSON
Shows = Callable[[str, str, bytes], bool]


@dataclass
class Summary:
    """What was exported, and what was odd about it."""

    size: int
    root: str
    warnings: list[str] = field(default_factory=list)


def write(
    log: UUID,
    source: Source,
    evidence: Evidence,
    signer: Signs,
    out: BinaryIO,
    withhold: frozenset[str] = frozenset(),
    render: report.Renderer = report.render,
    shows: Shows | None = None,
    remarks: Sequence[str] = (),
) -> Summary:
    """Write the bundle of `log` to `out`, up to the head that `evidence` proves. Entries of the kinds in `withhold`
    keep their content sealed; with `shows`, so do all fields of the others but those that it says may be seen.
    `remarks` are what is known of alterations: README.txt and the report say them first.

    Raises TooLarge, or the signer's HeadRefused when the head cannot be signed.
    """
    head, _ = headleaf.parse(evidence.head.body)
    if head.size > verify.MAX_ENTRIES:
        raise TooLarge(f"Got {head.size} entries, want at most {verify.MAX_ENTRIES}.")
    with Packer() as packer:
        packer.add("session/checkpoint", signer.sign_head(evidence.head, evidence.checkpoint))
        for name, data in evidence.files():
            packer.add(name, data)
        session = _Session(packer, source, withhold, shows)
        entries = session.write(head.size)
        for kid in sorted(session.erased):
            if kid in evidence.erasures:
                packer.add(f"log/erasures/{kid}.json", evidence.erasures[kid])
        summary = Summary(head.size, head.root.hex(), [*remarks, *session.warnings(head.size, head.root)])
        about = report.ReportHead(
            str(log),
            head.origin,
            summary.size,
            summary.root,
            signer.vkey(),
            tuple(summary.warnings),
            masked=shows is not None,
        )
        told = list(_report_entries(packer, entries))
        _write_report(packer, render(about, told), about.warnings)
        _write_tables(packer, about, told)
        _write_manifest(packer, signer, head.origin, entries)
        packer.write(out)
    return summary


class _Session:
    """Writes the folder `session`, 256 entries at a time."""

    def __init__(self, packer: Packer, source: Source, withhold: frozenset[str], shows: Shows | None) -> None:
        self._packer = packer
        self._source = source
        self._withhold = withhold
        self._shows = shows
        self._leaves: list[bytes] = []
        self._odd: dict[str, list[int]] = {}
        self.erased: set[UUID] = set()  #: keys under which something is said to be erased

    def write(self, size: int) -> int:
        """Write all files; returns how many entries they hold."""
        chunk: list[Row | None] = []
        for row in self._placed(size):
            chunk.append(row)
            if len(chunk) == verify.CHUNK:
                self._write_chunk(chunk)
                chunk = []
        if chunk:
            self._write_chunk(chunk)
        self._write_hashes()
        return len(self._leaves)

    def warnings(self, size: int, root: bytes) -> list[str]:
        """What does not hold, in words."""
        result = [f"{what}: {_some(entries)}" for what, entries in self._odd.items()]
        if len(self._leaves) != size or tree.root_of(self._leaves) != root:
            result.append("The entries are not those of the head: the ledger was altered.")
        return result

    def _placed(self, size: int) -> Iterator[Row | None]:
        """The rows, each at the position its seq says, None where one is missing; strangers come last.

        The head row is read last: rows between the head that is exported and that one were appended meanwhile, and
        are left out.
        """
        position = 0
        strangers: list[Row] = []
        for row in self._source.rows():
            if not position <= row.seq < size:
                strangers.append(row)
                continue
            yield from self._gap(position, row.seq)
            yield row
            position = row.seq + 1
        yield from self._gap(position, size)
        size_now = self._source.size()
        for row in strangers:
            if not size <= row.seq < size_now:
                self._odd.setdefault("Rows that the head does not count", []).append(row.seq)
                yield row

    def _gap(self, start: int, stop: int) -> Iterator[None]:
        for seq in range(start, stop):
            self._odd.setdefault("Entries that are missing", []).append(seq)
            yield None

    def _write_chunk(self, rows: list[Row | None]) -> None:
        first = len(self._leaves)
        path = verify.tile_path(first // verify.CHUNK, len(rows))
        entries, payloads, lines = bytearray(), bytearray(), bytearray()
        for at, row in enumerate(rows):
            envelope = row.envelope[:MAX_ENVELOPE] if row else b""
            ciphertext = (row.ciphertext or b"") if row else b""
            entries += len(envelope).to_bytes(2, "big") + envelope
            payloads += len(ciphertext).to_bytes(4, "big") + ciphertext
            lines += canonical.dumps({"seq": first + at} | self._disclosure(first + at, envelope, ciphertext)) + b"\n"
            self._leaves.append(tree.leaf_hash(envelope))
        self._packer.add(f"session/tile/entries/{path}", bytes(entries))
        self._packer.add(f"session/payload/{path}", bytes(payloads))
        self._packer.add(f"session/disclosures/{path}", bytes(lines))

    def _disclosure(self, seq: int, data: bytes, ciphertext: bytes) -> dict[str, Any]:
        """How the payload stands in the bundle. One that is gone is said to be so even where it would be withheld."""
        try:
            envelope = verify.read_envelope(data)
            if ciphertext and envelope["kind"] in self._withhold:
                return {"state": "withheld"}
            okm = self._source.okm(envelope)
            if okm is None:
                self.erased.add(UUID(envelope["kid"]))
                return {"state": "erased"}
            if not ciphertext:
                return {"state": "pruned"}
            return {"okm": okm.hex()} if self._shows is None else _masked(envelope, ciphertext, okm, self._shows)
        except (verify.Fault, AgentStateError, ValueError, OverflowError):
            self._odd.setdefault("Entries that cannot be opened", []).append(seq)
            return {"state": "unreadable"}

    def _write_hashes(self) -> None:
        """The hash tiles of all levels; a full tile's root is one hash of the level above."""
        level, hashes = 0, self._leaves
        while hashes:
            above = []
            for index, width in verify.tiles(len(hashes)):
                tile = hashes[index * verify.CHUNK : index * verify.CHUNK + width]
                self._packer.add(f"session/tile/{level}/{verify.tile_path(index, width)}", b"".join(tile))
                if width == verify.CHUNK:
                    above.append(tree.root_of(tile))
            level, hashes = level + 1, above


def _masked(envelope: dict[str, Any], ciphertext: bytes, okm: bytes, shows: Shows) -> dict[str, Any]:
    """The fields that may be seen. All of an entry of version 1 stays sealed: its fields cannot be shown one by one."""
    if "pc" not in envelope:
        return {"state": "indivisible"}
    payload = verify.open_payload(envelope, ciphertext, okm)
    leaves = fields.leaves(okm, payload, lambda pointer, value: shows(envelope["kind"], pointer, value))
    return {"leaves": leaves} if any(isinstance(leaf, str) for leaf in leaves) else {"okm": okm.hex()}


def _write_report(packer: Packer, rendered: report.Report, warnings: Sequence[str]) -> None:
    packer.add("report.html", rendered.html)
    packer.add("report.pdf", rendered.pdf)
    packer.add("README.txt", readme.of(warnings).encode("ascii", "replace"))


def _write_tables(packer: Packer, about: report.ReportHead, told: list[report.ReportEntry]) -> None:
    """What the verifier holds against the entries, value by value."""
    rows = [verify.table_row(_placed(entry), entry.state, entry.event) for entry in told]
    head = {"log": about.log, "origin": about.origin, "size": about.size, "root": about.root, "key": about.vkey}
    packer.add("entries.csv", tables.csv_table(verify.COLUMNS, rows))
    packer.add("entries.jsonl", tables.json_lines(rows))
    packer.add("report.json", tables.document(rows, {"head": head, "warnings": list(about.warnings)}))


def _placed(entry: report.ReportEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("seq", "at", "actor", "kind", "ref")}


def _report_entries(packer: Packer, entries: int) -> Iterator[report.ReportEntry]:
    """The entries again, read from what was packed, so that the report shows what the bundle holds."""
    for index, width in verify.tiles(entries):
        path = verify.tile_path(index, width)
        envelopes = _frames(packer.read(f"session/tile/entries/{path}"), 2)
        payloads = _frames(packer.read(f"session/payload/{path}"), 4)
        lines = packer.read(f"session/disclosures/{path}").splitlines()
        for at, (envelope, payload, line) in enumerate(zip(envelopes, payloads, lines, strict=True)):
            yield _report_entry(index * verify.CHUNK + at, envelope, payload, canonical.loads(line))


def _report_entry(seq: int, data: bytes, ciphertext: bytes, line: dict[str, Any]) -> report.ReportEntry:
    if not data:
        return report.ReportEntry(seq, "", "", "", -1, "missing", None)
    try:
        envelope = verify.read_envelope(data)
    except verify.Fault:
        return report.ReportEntry(seq, verify.guess_kind(data), "", "", -1, "unreadable", None)
    state = line.get("state", "partly" if "leaves" in line else "disclosed")
    event: dict[str, Any] | None = None
    try:
        if state == "partly":
            event = verify.open_leaves(envelope, line["leaves"])
        elif state == "disclosed":
            plain = verify.open_payload(envelope, ciphertext, bytes.fromhex(line["okm"]))
            event = verify.read_event(plain, envelope["kind"])
    except verify.Fault:
        state = "unreadable"
    return report.ReportEntry(seq, envelope["kind"], envelope["at"], envelope["actor"], envelope["ref"], state, event)


def _write_manifest(packer: Packer, signer: Signs, origin: str, entries: int) -> None:
    manifest = canonical.dumps({"entries": entries, "files": packer.digests(), "format": verify.FORMAT})
    digest = base64.b64encode(hashlib.sha256(manifest).digest()).decode("ascii")
    note = signer.sign_text(f"{verify.MANIFEST_TITLE}\n{origin}\n{digest}\n")
    packer.add("manifest.json", manifest)
    packer.add("manifest.note", note)


def _frames(data: bytes, prefix: int) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + prefix], "big")
        yield data[at + prefix : at + prefix + size]
        at += prefix + size


def _some(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:10])
    return f"{shown} and {len(numbers) - 10} more." if len(numbers) > 10 else f"{shown}."
