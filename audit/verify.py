"""The verifier: says whether an exported session is whole and unaltered. One file, on purpose.

    python -m audit.verify BUNDLE --key VKEY        (or: python verify.py BUNDLE --key VKEY)

It needs Python 3.11 and `cryptography`; it imports nothing else of the project and needs no Django, database
or network, so an auditor can read it from top to bottom and keep a copy. It is a second reading of the
formats in audit/tlog, not a user of it.

What it proves, given a log key or a policy that the auditor got from elsewhere than the bundle: the signed head
of the global log is by that key, and cosigned by as many witnesses as the policy asks for; the session's head
stands in that log, and the newest head map in it says that there is no later one, so the end was not cut off;
the head's root is the root over exactly the entries in the bundle, in this order; every disclosed payload
is the one whose hash and key commitment the entry holds, and every field that is shown alone is one that the entry
commits to; every payload that is said to be erased was erased by staff, on a record that stands in the same log;
every file, the report too, is the one that was signed; every value in entries.csv, entries.jsonl and report.json is
that of the entry which was proved.
What it cannot prove: what README.txt, report.html and report.pdf say (whoever holds the log key can sign other
ones; `--report OUT` writes a page from what was proved); that what was recorded was true then; that nobody is shown
another history, unless a witness that the operator does not run cosigned; that the session did not go on after the
head map.

Order of reading: archive (the zip, byte for byte), JSON, notes and keys, policy, tree, the global log, time,
entry, story (what the entries say together), tables, page, verifier, proofs, command line. All failures are
collected; nothing here raises at a hostile file.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import html
import io
import json
import os
import re
import shutil
import stat
import struct
import sys
import tempfile
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256, shake_256
from typing import Any, BinaryIO, NoReturn
from uuid import UUID, uuid5

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = "agentstate-export/4"
MANIFEST_TITLE = "agentstate export manifest v1"
CHUNK = 256  #: entries per file, as in C2SP tlog-tiles
TOP_FILES = ("README.txt", "entries.csv", "entries.jsonl", "policy", "report.html", "report.json", "report.pdf")
LOG_FILES = (
    *("log/checkpoint", "log/head.tlog-proof", "log/headmap.json", "log/headmap.tlog-proof"),
    "receipts/head.cbor",
)
EXPORTS_FORMAT = "agentstate-exports/1"  #: many bundles in one archive
EXPORTS_TITLE = "agentstate exports manifest v1"
EXPORTS_FILES = ("README.txt", "log/checkpoint", "policy", "sessions.csv", "sessions.jsonl")
UNPROVED_FILES = ("README.txt", "report.html", "report.pdf")  #: signed, and nothing more: nobody can compare a PDF
UNPROVED_LISTS = ("sessions.csv", "sessions.jsonl")  #: but for the names of the sessions and their numbers of entries
MAP_TITLE = "agentstate headmap/1"
KEY_TITLE = "agentstate key/1"
AFTER = "after"  #: begins the line of a head's leaf that names the leaf of the session's head before
RESTAMP_TITLE = "agentstate restamp/1"
RESTAMPS_FORMAT = "agentstate-restamps/1"
MAX_RESTAMPS = 100  #: time stamps one over the other
PROOF_TITLE = "c2sp.org/tlog-proof@v1"
MAX_BUNDLE = 2**32 - 1  #: bytes; the archive has no zip64 form
MAX_ENTRIES = 2**22
MAX_PAYLOAD = 2**25  #: bytes of one ciphertext, and of one event when unpacked
MIN_PAYLOAD = 17  #: bytes of one ciphertext: one that says how it is packed, and the tag of AES-GCM
MAX_TEXT = 2**25  #: bytes of a manifest or of one file of disclosures
MAX_NOTE = 1_000_000
MAX_HEADS = 2**25  #: bytes of the leaves that said a session's earlier heads
MAX_POLICY = 100_000
MAX_FAILURES = 1_000  #: kept in full; further ones are counted
CLOCK_TOLERANCE = timedelta(minutes=2)  #: writers on several machines may disagree by this much
FUTURE_TOLERANCE = timedelta(days=1)  #: the auditor's own clock may be wrong by this much
ERASED_BY = "subject.erased"  #: the kind of the entry that must stand behind every erased payload
PRUNED_BY = "payload.pruned"  #: of the entry that names the payloads deleted when their retention term was over
#: how a payload may stand in a bundle without being shown: the exporter chose to seal it; all of it had to be sealed,
#: since the entry (of version 1) commits to no fields of which single ones could be shown; or it is gone
CLOSED = ("withheld", "indivisible", "erased", "pruned")
SEALED_BY = "session.sealed"  #: of the entry after which nothing stands but these three
RECORDED_BY = "snapshot.recorded"  #: of the entry before a pruning in a session that goes on
ERASURE_KINDS = ("erasure.begun", "erasure.key_destroyed")  #: of the entries of staff that put an erasure on record
STAFF_LOGS = "3b0c8a52-6d0b-5a0e-8a3d-5f5c6f1d2e90"  #: namespace (UUID version 5) of the ids of logs of staff


class Fault(Exception):
    """One part of the bundle is not what it has to be; the text says what was found and what was wanted."""


class Hidden(Exception):
    """A check would need a field that is not shown."""


class Shown(dict[str, Any]):
    """What is shown of an object that may have other members; those are asked for in vain, not missing."""

    def __missing__(self, name: str) -> NoReturn:
        raise Hidden


@dataclass(frozen=True)
class Failure:
    """One thing that does not hold. `entry` is the position it concerns, None for the bundle as a whole."""

    entry: int | None
    kind: str
    check: str
    message: str


@dataclass
class Verdict:
    """Everything found. `ok` only if nothing failed and the end was reached."""

    failures: list[Failure] = field(default_factory=list)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("entries", "disclosed", "partly", "withheld", "indivisible", "erased", "pruned", "failures"), 0
        )
    )
    head: dict[str, Any] | None = None
    log: dict[str, Any] | None = None  #: the global log's head, who cosigned it, and how fresh it is
    timestamp: dict[str, str] | None = None
    proof: dict[str, Any] | None = None  #: what a proof document proves
    key: dict[str, str] | None = None
    sessions: int | None = None  #: how many, in an export of many
    unproved: tuple[str, ...] = ()  #: files that are signed, and whose content is not proved
    finished: bool = False

    @property
    def ok(self) -> bool:
        return self.finished and not self.counts["failures"]

    def fail(self, check: str, message: str, entry: int | None = None, kind: str = "") -> None:
        self.counts["failures"] += 1
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(Failure(entry, kind, check, message))

    def take(self, other: Verdict, where: str) -> None:
        """Add the findings of one part; its failures say that they are of `where`."""
        for name, count in other.counts.items():
            self.counts[name] += count
        for failure in other.failures[: MAX_FAILURES - len(self.failures)]:
            self.failures.append(replace(failure, message=f"{where}: {failure.message}"))
        if not other.finished and not other.counts["failures"]:
            self.fail("bundle", f"{where}: was not read to its end")

    def as_json(self) -> dict[str, Any]:
        many = {} if self.sessions is None else {"sessions": self.sessions}
        return (
            many
            | {
                "ok": self.ok,
                "failures": [asdict(failure) for failure in self.failures],
                "counts": self.counts,
                "head": self.head,
                "log": self.log,
                "timestamp": self.timestamp,
                "key": self.key,
                "unproved": list(self.unproved),
            }
            | ({"proof": self.proof} if self.proof else {})
        )


# --- archive --------------------------------------------------------------------------------------
# Files are stored, not deflated: two zlib builds may deflate the same bytes differently, and then the archive
# rebuilt from an honest bundle would not be the bundle. It also leaves nothing that could expand.

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_DATE = 0x21  # 1 January 1980, the zero of zip
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*", re.ASCII)


def local_header(name: str, crc: int, size: int) -> bytes:
    """The bytes before a member's content in the canonical archive."""
    raw = name.encode("ascii")
    return _LOCAL.pack(b"PK\x03\x04", 20, 0, 0, 0, _DATE, crc, size, size, len(raw), 0) + raw


def central_header(name: str, crc: int, size: int, offset: int) -> bytes:
    """A member's line in the archive's table of contents."""
    raw = name.encode("ascii")
    mode = 0o100644 << 16
    sizes = (crc, size, size, len(raw))
    return _CENTRAL.pack(b"PK\x01\x02", 0x0314, 20, 0, 0, 0, _DATE, *sizes, 0, 0, 0, 0, mode, offset) + raw


def end_record(members: int, directory_size: int, directory_offset: int) -> bytes:
    """The last bytes of the canonical archive; no comment."""
    return _END.pack(b"PK\x05\x06", 0, 0, members, members, directory_size, directory_offset, 0)


@dataclass(frozen=True)
class Member:
    """Where a file lies in the archive, and its digest."""

    offset: int
    size: int
    sha256: str


class Window:
    """A part of a file, read as if it were a file."""

    def __init__(self, file: BinaryIO | Window, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset if whence == os.SEEK_SET else self._size + offset
        return self._at

    def read(self, size: int) -> bytes:
        self._file.seek(self._start + self._at)
        data = self._file.read(min(size, max(self._size - self._at, 0)))
        self._at += len(data)
        return data


class Archive:
    """The zip, read front to back and compared with the one canonical archive of the same content."""

    def __init__(self, file: BinaryIO | Window, verdict: Verdict) -> None:
        self._file = file
        self._verdict = verdict
        self.members: dict[str, Member] = {}
        self._directory: list[bytes] = []
        self._read()

    def read(self, name: str, limit: int) -> bytes:
        """The content of a member of at most `limit` bytes."""
        member = self._member(name)
        if member.size > limit:
            raise Fault(f"{name}: got {member.size} bytes, want at most {limit}")
        self._file.seek(member.offset)
        return self._file.read(member.size)

    def window(self, name: str) -> Window:
        """A member as a file, to be read in parts."""
        member = self._member(name)
        return Window(self._file, member.offset, member.size)

    def frames(self, name: str, limit: int) -> Iterator[bytes]:
        """The frames of a payload file (four bytes of length, then content), one in memory at a time."""
        member = self._member(name)
        if member.size <= limit // 4:
            yield from _frames(name, self.read(name, limit), limit)
            return
        at, end = member.offset, member.offset + member.size
        while at < end:
            self._file.seek(at)
            size = int.from_bytes(self._file.read(min(4, end - at)), "big")
            if at + 4 + size > end or size > limit:
                raise Fault(f"{name}: a frame of {size} bytes, want at most {min(limit, max(end - at - 4, 0))}")
            yield self._file.read(size)
            at += 4 + size

    def _member(self, name: str) -> Member:
        if name not in self.members:
            raise Fault(f"{name} is missing")
        return self.members[name]

    def _read(self) -> None:
        total = self._file.seek(0, os.SEEK_END)
        if total > MAX_BUNDLE:
            raise Fault(f"the bundle has {total} bytes, want at most {MAX_BUNDLE}")
        at = 0
        while self._peek(at) == b"PK\x03\x04":
            at = self._read_member(at, total)
        directory = b"".join(self._directory)
        expected = directory + end_record(len(self.members), len(directory), at)
        if total - at != len(expected) or self._slice(at, len(expected)) != expected:
            self._verdict.fail("archive", "the table of contents is not the canonical one for these files")
        if list(self.members) != sorted(self.members):
            self._verdict.fail("archive", "the files are not in order")

    def _read_member(self, at: int, total: int) -> int:
        """Take in the member whose header is at `at`; returns where it ends."""
        head = self._slice(at, _LOCAL.size)
        if len(head) < _LOCAL.size:
            raise Fault("the archive ends inside a header")
        size: int = _LOCAL.unpack(head)[8]
        name_size: int = _LOCAL.unpack(head)[9]
        if name_size > 200 or at + _LOCAL.size + name_size + size > total or len(self.members) >= 0xFFFF:
            raise Fault(f"the archive is malformed at byte {at}")
        name = self._slice(at + _LOCAL.size, name_size).decode("latin-1")
        if not _NAME.fullmatch(name) or name in self.members:
            raise Fault(f"the archive holds a forbidden or repeated name: {name[:80]!r}")
        start = at + _LOCAL.size + name_size
        crc, sha256 = self._digests(start, size)
        if self._slice(at, start - at) != local_header(name, crc, size):
            self._verdict.fail("archive", f"{name}: its header is not the canonical one for its content")
        self.members[name] = Member(start, size, sha256)
        self._directory.append(central_header(name, crc, size, at))
        return start + size

    def _digests(self, at: int, size: int) -> tuple[int, str]:
        crc, digest = 0, sha256()
        self._file.seek(at)
        while size:
            block = self._file.read(min(size, 2**20))
            if not block:
                raise Fault("the file became shorter while it was read")
            crc = zlib.crc32(block, crc)
            digest.update(block)
            size -= len(block)
        return crc, digest.hexdigest()

    def _peek(self, at: int) -> bytes:
        return self._slice(at, 4)

    def _slice(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)


def _frames(name: str, data: bytes, limit: int) -> Iterator[bytes]:
    """The same of content that is in memory."""
    at, end = 0, len(data)
    while at < end:
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 4 + size > end or size > limit:
            raise Fault(f"{name}: a frame of {size} bytes, want at most {min(limit, max(end - at - 4, 0))}")
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def tile_path(index: int, width: int) -> str:
    """A tile's path, as C2SP tlog-tiles has it: 1234067 is x001/x234/067; a partial one ends in .p/width."""
    path = f"{index % 1000:03d}"
    while index >= 1000:
        index //= 1000
        path = f"x{index % 1000:03d}/{path}"
    return path if width == CHUNK else f"{path}.p/{width}"


def tiles(count: int) -> Iterator[tuple[int, int]]:
    """(index, width) of the tiles that hold `count` items."""
    for index in range((count + CHUNK - 1) // CHUNK):
        yield index, min(CHUNK, count - index * CHUNK)


def layout(entries: int) -> Iterator[str]:
    """The name of every file of a bundle with so many entries."""
    yield from (*TOP_FILES, *LOG_FILES, "manifest.json", "manifest.note", "session/checkpoint")
    for index, width in tiles(entries):
        path = tile_path(index, width)
        yield from (f"session/tile/entries/{path}", f"session/payload/{path}", f"session/disclosures/{path}")
    level, count = 0, entries
    while count:
        yield from (f"session/tile/{level}/{tile_path(index, width)}" for index, width in tiles(count))
        level, count = level + 1, count // CHUNK


#: files that a bundle may hold or not: the session's earlier heads, rotations of the log key, a timestamp, proofs of
#: erasures and from older heads
OPTIONAL = re.compile(
    r"log/(?:heads|checkpoint\.tsr|keys/[0-9]{3}\.tlog-proof|erasures/[0-9a-f-]{36}\.json|consistency/(?:0|[1-9][0-9]{0,15}))",
    re.ASCII,
)


# --- JSON -----------------------------------------------------------------------------------------


_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Number(str):
    """A JSON number that is not an integer, as the text in which it was written."""


def canonical(data: bytes) -> Any:
    """The value of canonical JSON (RFC 8785; ASCII keys, integers below 2^53 only); Fault on other bytes."""
    value = strict_json(data)
    if write_canonical(value) != data:
        raise Fault("not canonical JSON")
    return value


def strict_json(data: bytes) -> Any:
    """Any JSON without repeated keys; numbers that are no integers stay text (`Number`)."""
    try:
        return _decode(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Fault("not valid JSON") from None


def write_canonical(value: Any) -> bytes:
    """The canonical bytes of a value; Fault if the profile has no room for it."""
    _check_profile(value, 0)
    try:
        return _encode(value).encode("utf-8")
    except (UnicodeEncodeError, ValueError, RecursionError):
        raise Fault("not canonical JSON") from None


def digest_of(*parts: Any) -> str:
    """SHA-256, in hex, over the JSON array of `parts` with sorted keys, as events compute their digests."""
    try:
        return sha256(_exact(list(parts)).encode("utf-8")).hexdigest()
    except (UnicodeEncodeError, RecursionError):
        raise Fault("a value that no event can hold") from None


def _check_profile(value: Any, depth: int) -> None:
    kind = type(value)
    if kind is dict or kind is list:
        if depth >= 100:
            raise Fault("not canonical JSON: nested too deeply")
        if kind is dict and not all(map(str.isascii, value)):
            raise Fault("not canonical JSON: a key that is not ASCII")
        for item in value.values() if kind is dict else value:
            if type(item) is not str:
                _check_profile(item, depth + 1)
    elif kind is Number or (kind is int and abs(value) >= 2**53):
        raise Fault("not canonical JSON: a number that is no integer below 2^53")


def _exact(value: Any) -> str:
    """JSON with sorted keys in which every number keeps its text."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Shown):
        raise Hidden
    if isinstance(value, dict):
        return "{" + ",".join(f"{_exact(key)}:{_exact(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_exact(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key appears twice")
    return result


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decode = json.JSONDecoder(object_pairs_hook=_object, parse_float=Number, parse_constant=_no_constant).decode


# --- notes and keys -------------------------------------------------------------------------------

_P = 2**255 - 19
_SMALL_ORDER = {0, 1, _P - 1} | {
    int.from_bytes(bytes.fromhex(text), "little")
    for text in (
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
}


LOG, WITNESS = 1, 4  #: the types of key that notes know: a log's signature, a witness's cosignature


@dataclass(frozen=True)
class LogKey:
    """An Ed25519 key as a vkey names it: name+id+base64(type and 32 bytes)."""

    name: str
    public: bytes
    form: int = LOG

    @property
    def key_id(self) -> bytes:
        return sha256(self.name.encode() + b"\n" + bytes([self.form]) + self.public).digest()[:4]

    @property
    def vkey(self) -> str:
        encoded = base64.b64encode(bytes([self.form]) + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{encoded}"


def read_vkey(text: str, form: int = LOG) -> LogKey:
    """Parse a vkey, strictly; keys of small order are refused, for anybody could sign under them."""
    parts = text.split("+", 2)
    if len(parts) != 3 or not _is_name(parts[0]):
        raise Fault("the key is not a vkey (name+id+base64)")
    raw = _unbase64(parts[2])
    if len(raw) != 33 or raw[0] != form:
        raise Fault(f"the key is not an Ed25519 vkey of type {form}")
    key = LogKey(parts[0], raw[1:], form)
    y = int.from_bytes(key.public, "little") & (2**255 - 1)
    if y >= _P or y in _SMALL_ORDER:
        raise Fault("the key is of small order or not canonical")
    if key.vkey != text:
        raise Fault(f"the key's id does not belong to it: got {parts[1]!r}, want {key.key_id.hex()!r}")
    return key


def open_note(data: bytes, key: LogKey, *, alone: bool) -> str:
    """The text of a note that `key` signed. With `alone`, no other signature may stand beside it."""
    text, lines = split_note(data)
    if alone and len(lines) > 1:
        raise Fault(f"the note has {len(lines)} signatures")
    if not sum(_signed(line, text, key) is not None for line in lines):
        raise Fault(f"the note is not signed by {key.vkey}")
    return text


def split_note(data: bytes) -> tuple[str, list[str]]:
    """Text and signature lines of a note, on its exact bytes; no signature is looked at."""
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Fault("the note is not UTF-8") from None
    end = whole.rfind("\n\n")
    text, block = whole[: end + 1], whole[end + 2 :]
    if end < 0 or not block.endswith("\n") or any(char < " " and char != "\n" for char in text):
        raise Fault("the note is malformed")
    lines = block[:-1].split("\n")
    if len(lines) > 100:
        raise Fault(f"the note has {len(lines)} signatures")
    return text, lines


def _signed(line: str, text: str, key: LogKey) -> int | None:
    """When the key signed `text` by this line (seconds since 1970; 0 of a log's, which tells no time); None if the
    line is another key's, Fault if it is wrong.
    """
    mark, _, rest = line.partition(" ")
    name, _, encoded = rest.partition(" ")
    value = _unbase64(encoded)
    if mark != "—" or not _is_name(name) or len(value) < 5:
        raise Fault("the note has a malformed signature line")
    if (name, value[:4]) != (key.name, key.key_id):
        return None
    at, signature, signed = 0, value[4:], text
    if key.form == WITNESS:
        at, signature = int.from_bytes(signature[:8], "big"), signature[8:]
        signed = f"cosignature/v1\ntime {at}\n{text}"
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signature, signed.encode())
    except (InvalidSignature, ValueError):
        raise Fault(f"the signature of {key.name} does not match the note") from None
    return at


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(char.isspace() or char < " " for char in name)


def _unbase64(text: str) -> bytes:
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        raise Fault("malformed base64") from None
    if base64.b64encode(data).decode() != text:
        raise Fault("base64 that is not in its canonical spelling")
    return data


@dataclass(frozen=True)
class Head:
    """A head: of a session (`log` is its id) or of the global log (""), its number of entries and RFC 6962 root."""

    log: str
    size: int
    root: bytes


def read_session_head(text: str, name: str) -> Head:
    """Parse the body of a checkpoint of a session of the log called `name`."""
    origin, head = _read_body(text)
    prefix, _, log = origin.rpartition("/s/")
    if prefix != name or not _UUID.fullmatch(log):
        raise Fault(f"the head's origin is {origin[:120]!r}, want {name}/s/ and a session id")
    return Head(log, head.size, head.root)


def read_log_head(text: str, name: str) -> Head:
    """Parse the body of a checkpoint of the global log called `name`."""
    origin, head = _read_body(text)
    if origin != name:
        raise Fault(f"the head's origin is {origin[:120]!r}, want {name}")
    return head


def _read_body(text: str) -> tuple[str, Head]:
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] or not _NUMBER.fullmatch(lines[1]):
        raise Fault("the head is not three lines of origin, size and root")
    return lines[0], Head("", int(lines[1]), _hash(lines[2]))


@dataclass(frozen=True)
class HeadLeaf:
    """A leaf of the global log that says the head of a session, and which leaf said its head before: index and hash."""

    body: bytes
    head: Head
    before: tuple[int, bytes] | None


def read_head_leaf(body: bytes, name: str) -> HeadLeaf:
    """Parse a leaf: the body of a checkpoint of a session of the log called `name`, then a line `after` if it is not
    the session's first.
    """
    try:
        lines = body.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise Fault("the leaf of the head is not UTF-8") from None
    head = read_session_head("\n".join([*lines[:3], ""]), name)
    if lines[3:] == [""]:
        return HeadLeaf(body, head, None)
    words = lines[3].split(" ") if len(lines) == 5 and not lines[4] else []
    if len(words) != 3 or words[0] != AFTER or not _NUMBER.fullmatch(words[1]):
        raise Fault("the leaf of the head is malformed after its third line")
    return HeadLeaf(body, head, (int(words[1]), _hash(words[2])))


def read_heads(data: bytes, last: HeadLeaf, index: int, name: str) -> list[HeadLeaf]:
    """The leaves that said a session's heads before leaf `index`, `last`, did: oldest first, one behind the other.
    Fault unless each is the one that the next names.
    """
    leaves: list[list[bytes]] = []
    lines = data.split(b"\n")
    if lines.pop():
        raise Fault("log/heads ends inside a line")
    for line in lines:
        if not leaves or (len(leaves[-1]) >= 3 and not line.startswith(AFTER.encode() + b" ")):
            leaves.append([])
        leaves[-1].append(line + b"\n")
    found: list[HeadLeaf] = []
    for each in reversed(leaves):
        leaf = read_head_leaf(b"".join(each), name)
        if last.before is None or last.before[1] != _leaf(leaf.body) or last.before[0] >= index:
            raise Fault("log/heads holds a leaf that the one after it does not name")
        if leaf.head.log != last.head.log or leaf.head.size > last.head.size:
            raise Fault(f"the log said {leaf.head.size} entries, and then {last.head.size}: the session was cut off")
        index, last = last.before[0], leaf
        found.append(leaf)
    if last.before is not None:
        raise Fault(f"log/heads does not hold leaf {last.before[0]}, which said the session's head before")
    return found[::-1]


def _hash(text: str) -> bytes:
    value = _unbase64(text)
    if len(value) != 32:
        raise Fault(f"a hash has {len(value)} bytes, want 32")
    return value


_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)


# --- policy ---------------------------------------------------------------------------------------


@dataclass
class Policy:
    """Whom the auditor trusts (C2SP tlog-policy): keys of logs, witnesses, and which of them must have cosigned."""

    logs: list[LogKey] = field(default_factory=list)
    witnesses: dict[str, LogKey] = field(default_factory=dict)
    groups: dict[str, tuple[int, list[str]]] = field(default_factory=dict)  #: name -> how many of which
    quorum: str = ""

    def met(self, cosigned: set[str], name: str = "") -> bool:
        """Whether those witnesses are enough."""
        name = name or self.quorum
        if name == "none":
            return True
        if name not in self.groups:
            return name in cosigned
        want, members = self.groups[name]
        return sum(self.met(cosigned, member) for member in members) >= want


def read_policy(data: bytes) -> Policy:
    """Parse a policy; Fault on anything that the specification does not allow."""
    if len(data) > MAX_POLICY or re.search(rb"[^\t\n\x20-\x7e\x80-\xff]", data):
        raise Fault("the policy is too long or holds a control character")
    policy, used = Policy(), set[str]()
    # Latin-1 maps each octet to one character: names are octets, as the specification wants them.
    for line in data.decode("latin-1").split("\n"):
        words = [word for word in re.split(r"[ \t]+", line) if word]
        if words and not words[0].startswith("#"):
            _read_rule(policy, words, used)
    if not policy.quorum:
        raise Fault("the policy names no quorum")
    return policy


def _read_rule(policy: Policy, words: list[str], used: set[str]) -> None:
    match words:
        case ["log", vkey, *url] if len(url) < 2:
            _add(policy.logs, read_vkey(vkey))
        case ["witness", name, vkey, *url] if len(url) < 2:
            _check_new(policy, name)
            key = read_vkey(vkey, WITNESS)
            _add(list(policy.witnesses.values()), key)
            policy.witnesses[name] = key
        case ["group", name, number, *members] if members:
            _check_new(policy, name)
            policy.groups[name] = _how_many(number, len(members)), members
            for member in members:
                if member in used or member not in policy.witnesses | policy.groups or member == name:
                    raise Fault(f"the policy's group {name!r} names {member!r}, which is unknown or used before")
                used.add(member)
        case ["quorum", name] if not policy.quorum:
            if name != "none" and name not in policy.witnesses | policy.groups:
                raise Fault(f"the policy's quorum {name!r} is unknown")
            policy.quorum = name
        case _:
            raise Fault(f"the policy has a line that cannot be read: {' '.join(words)[:80]!r}")


def _add(keys: list[LogKey], key: LogKey) -> None:
    if any(key.public == other.public for other in keys):
        raise Fault("the policy names one key twice")
    keys.append(key)


def _check_new(policy: Policy, name: str) -> None:
    if name == "none" or name in policy.witnesses or name in policy.groups:
        raise Fault(f"the policy uses the name {name!r} twice")


def _how_many(number: str, members: int) -> int:
    if number in ("any", "all"):
        return 1 if number == "any" else members
    if not re.fullmatch(r"[1-9][0-9]{0,4}", number) or int(number) > members:
        raise Fault(f"the policy asks for {number[:20]!r} of {members}")
    return int(number)


# --- tree -----------------------------------------------------------------------------------------


class Tree:
    """RFC 6962, leaf by leaf: keeps the roots of perfect subtrees, and the hashes that tiles are made of."""

    def __init__(self) -> None:
        self.size = 0
        self._subtrees: list[bytes] = []
        self._levels: list[list[bytes]] = []  # _levels[l]: the hashes of the tile at level l that is being filled
        self.tiles: dict[str, str] = {}  # name of tile -> sha256 of its content

    def add(self, entry: bytes) -> None:
        self.add_hash(_leaf(entry))

    def add_hash(self, carried: bytes) -> None:
        """Add a leaf of which the hash is known."""
        self._hold(0, carried)
        self.size += 1
        subtree, height = self.size, 0
        while not subtree & 1:
            carried = _node(self._subtrees.pop(), carried)
            subtree, height = subtree >> 1, height + 1
            if not height & 7:  # the root of a full tile, which is a hash of the level above
                level = height >> 3
                self._write(level - 1, (self.size >> height) - 1, self._levels[level - 1])
                self._levels[level - 1] = []
                self._hold(level, carried)
        self._subtrees.append(carried)

    def root(self) -> bytes:
        if not self._subtrees:
            return sha256(b"").digest()
        result = self._subtrees[-1]
        for left in reversed(self._subtrees[:-1]):
            result = _node(left, result)
        return result

    def finish(self) -> None:
        """Write down the partial tiles, once the last entry is in."""
        for level, hashes in enumerate(self._levels):
            if hashes:
                self._write(level, (self.size >> (8 * level)) // CHUNK, hashes)

    def _hold(self, level: int, value: bytes) -> None:
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(value)

    def _write(self, level: int, index: int, hashes: list[bytes]) -> None:
        name = f"session/tile/{level}/{tile_path(index, len(hashes))}"
        self.tiles[name] = sha256(b"".join(hashes)).hexdigest()


def _leaf(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root_of_proof(index: int, size: int, leaf: bytes, path: list[bytes]) -> bytes:
    """The root to which an inclusion proof leads (RFC 9162 section 2.1.3.2)."""
    if not 0 <= index < size:
        raise Fault(f"the proof is for leaf {index} of {size}")
    inner = (index ^ (size - 1)).bit_length()
    if len(path) != inner + (index >> inner).bit_count():
        raise Fault(f"the proof has {len(path)} hashes, want {inner + (index >> inner).bit_count()}")
    for level, other in enumerate(path):
        on_the_left = level >= inner or index >> level & 1
        leaf = _node(other, leaf) if on_the_left else _node(leaf, other)
    return leaf


def check_consistency(old: Head, new: Head, path: list[bytes]) -> None:
    """Fault unless the log of `new` begins with that of `old` (RFC 9162 section 2.1.4.2)."""
    wrong = Fault(f"the log of {new.size} entries does not continue the one of {old.size}: two histories")
    if old.size > new.size:
        raise Fault(f"the log has {new.size} entries, and had {old.size} before: it was cut off")
    if old.size in (0, new.size):
        if path or old.root != (new.root if old.size else sha256(b"").digest()):
            raise wrong
        return
    hashes = path if old.size & (old.size - 1) else [old.root, *path]
    node, last = old.size - 1, new.size - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    if not hashes:
        raise wrong
    first = second = hashes[0]
    for value in hashes[1:]:
        if not last:
            raise wrong
        if node & 1 or node == last:
            first, second = _node(value, first), _node(value, second)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            second = _node(second, value)
        node, last = node >> 1, last >> 1
    if last or (first, second) != (old.root, new.root):
        raise wrong


# --- the global log -------------------------------------------------------------------------------
# A tree whose leaves are heads of sessions, head maps and rotations of its key (docs/ledger.md has the formats).


@dataclass(frozen=True)
class LogProof:
    """A leaf of the global log and its proof (C2SP tlog-proof); the leaf's bytes are its extra data."""

    body: bytes
    index: int
    path: list[bytes]
    checkpoint: bytes


def read_proof(data: bytes) -> LogProof:
    """Parse a tlog-proof; Fault on bytes that the format would not have written."""
    top, blank, checkpoint = data.partition(b"\n\n")
    try:
        lines = top.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise Fault("the proof is not ASCII") from None
    if len(lines) < 3 or lines[0] != PROOF_TITLE or not blank or len(lines) > 70:
        raise Fault("the proof is not a tlog-proof with its leaf as extra data")
    extra, index = lines[1].removeprefix("extra "), lines[2].removeprefix("index ")
    if lines[1] != f"extra {extra}" or lines[2] != f"index {index}" or not _NUMBER.fullmatch(index):
        raise Fault("the proof is malformed")
    return LogProof(_unbase64(extra), int(index), [_hash(line) for line in lines[3:]], checkpoint)


def root_of_map(origin: str, log: str, index: int, size: int, siblings: list[bytes]) -> bytes:
    """The root of a head map that says: the newest head of `log` is leaf `index` and has `size` entries.

    The map is a compact sparse Merkle tree over SHA-256 of the log's origin; `siblings` stand from the leaf up.
    """
    key = sha256(f"{origin}/s/{log}".encode()).digest()
    bits = int.from_bytes(key, "big")
    value = sha256(b"\x00" + key + index.to_bytes(8, "big") + size.to_bytes(8, "big")).digest()
    for depth, other in zip(range(len(siblings) - 1, -1, -1), siblings, strict=True):
        value = _node(other, value) if bits >> (255 - depth) & 1 else _node(value, other)
    return value


def write_cbor(value: Any) -> bytes:
    """Deterministic CBOR (RFC 8949 section 4.2) of integers, bytes, text, lists, mappings in their order, and None."""
    match value:
        case None:
            return b"\xf6"
        case int():
            return _cbor_head(0, value) if value >= 0 else _cbor_head(1, -1 - value)
        case bytes():
            return _cbor_head(2, len(value)) + value
        case str():
            return _cbor_head(3, len(value.encode())) + value.encode()
        case list():
            return _cbor_head(4, len(value)) + b"".join(map(write_cbor, value))
    return _cbor_head(5, len(value)) + b"".join(write_cbor(part) for item in value.items() for part in item)


def _cbor_head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    extra = 3 if number >= 2**32 else 2 if number >= 2**16 else 1 if number >= 2**8 else 0
    return bytes([major << 5 | 24 + extra]) + number.to_bytes(1 << extra, "big")


def check_receipt(data: bytes, key: LogKey, head: Head, proof: LogProof) -> None:
    """Fault unless `data` is the COSE receipt (RFC 9942) of the leaf of `proof` under `head`, signed by `key`.

    All but the signature follows from the proof, so it is written anew and compared, not parsed.
    """
    header = {1: -8, 4: f"{key.name}+{key.key_id.hex()}".encode(), 15: {1: key.name, 2: str(head.size)}, 395: 1}
    protected = write_cbor(header)
    inclusion = write_cbor([head.size, proof.index, proof.path])
    parts = b"".join(map(write_cbor, (protected, {396: {-1: [inclusion]}}, None)))
    if data[:-64] != b"\xd2\x84" + parts + _cbor_head(2, 64):
        raise Fault("receipts/head.cbor is not the receipt of this head by this key")
    try:
        signed = write_cbor(["Signature1", protected, b"", head.root])
        Ed25519PublicKey.from_public_bytes(key.public).verify(data[-64:], signed)
    except (InvalidSignature, ValueError):
        raise Fault("receipts/head.cbor: its signature does not match") from None


# --- time -----------------------------------------------------------------------------------------


def read_timestamp(data: bytes) -> tuple[bytes, str, str]:
    """(SHA-256 that is stamped, time, when the first of its certificates ends or "") of an RFC 3161 response. Its
    signature is NOT checked: openssl ts does that.
    """
    try:
        token = _der(_der(data)[0][1])[1][1]
        signed = _der(_der(_der(token)[1][1])[0][1])
        content = _der(_der(_der(_der(signed[2][1])[1][1])[0][1])[0][1])
        imprint = _der(content[2][1])
        digest, at = imprint[1][1], content[4][1].decode("ascii")
        certificates = _der(signed[3][1]) if signed[3][0] == 0xA0 else []
        until = min((_end(certificate) for _, certificate in certificates), default="")
    except (IndexError, UnicodeDecodeError):
        raise Fault("the timestamp is not an RFC 3161 response") from None
    if len(digest) != 32 or not re.fullmatch(r"[0-9]{14}(\.[0-9]+)?Z", at):
        raise Fault("the timestamp is not over SHA-256, or tells no time")
    return digest, at, until


def _end(certificate: bytes) -> str:
    """When an X.509 certificate ends, in the form YYYYMMDDhhmmssZ."""
    fields = _der(_der(certificate)[0][1])
    validity = fields[4 if fields[0][0] == 0xA0 else 3][1]
    form, value = _der(validity)[1]
    text = value.decode("ascii")
    if form == 0x17:  # UTCTime, of the years 1950 to 2049
        text = ("19" if text >= "5" else "20") + text
    if not re.fullmatch(r"[0-9]{14}Z", text):
        raise IndexError
    return text


def check_restamps(data: bytes, token: bytes) -> tuple[int, str]:
    """How many newer stamps stand one over the other above `token`, and until when the newest can be believed."""
    said = canonical(data)
    good = isinstance(said, dict) and set(said) == {"format", "restamps"} and said["format"] == RESTAMPS_FORMAT
    if not good or not isinstance(said["restamps"], list) or not 0 < len(said["restamps"]) <= MAX_RESTAMPS:
        raise Fault(f"the newer stamps are not in the form {RESTAMPS_FORMAT}")
    _, at, until = read_timestamp(token)
    for each in said["restamps"]:
        good = isinstance(each, dict) and set(each) == {"document", "token"}
        if not good or {type(value) for value in each.values()} != {str}:
            raise Fault("a newer stamp is malformed")
        lines, newer = each["document"].split("\n"), _unbase64(each["token"])
        if lines[0] != RESTAMP_TITLE or sha256(token).hexdigest() not in lines[2:-1]:
            raise Fault("a newer stamp is not over the one before it")
        digest, later, end = read_timestamp(newer)
        if digest != sha256(each["document"].encode()).digest():
            raise Fault("a newer stamp is over another text")
        if later[:14] < at[:14] or (until and later[:14] > until[:14]):
            raise Fault(f"a newer stamp is of {later}: the one before it is of {at} and ended {until}")
        token, at, until = newer, later, end
    return len(said["restamps"]), until


def _der(data: bytes) -> list[tuple[int, bytes]]:
    """(tag, content) of the DER items that stand one after another in `data`."""
    items, at = [], 0
    while at < len(data):
        tag, size, at = data[at], data[at + 1], at + 2
        if size & 0x80:
            count = size & 0x7F
            if not 1 <= count <= 4:
                raise IndexError
            size, at = int.from_bytes(data[at : at + count], "big"), at + count
        if at + size > len(data):
            raise IndexError
        items.append((tag, data[at : at + size]))
        at += size
    return items


# --- entry ----------------------------------------------------------------------------------------

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_ENVELOPE: dict[str, re.Pattern[str] | type[int]] = {
    "actor": re.compile(r"[^\x00-\x1f]{1,200}"),
    "at": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z", re.ASCII),
    "cmd": _UUID,
    "ct": re.compile(r"[0-9a-f]{64}", re.ASCII),
    "epoch": int,
    "kc": re.compile(r"[0-9a-f]{64}", re.ASCII),
    "kid": _UUID,
    "kind": re.compile(r"[a-z][a-z_]*(?:\.[a-z][a-z_]*)+", re.ASCII),
    "log": _UUID,
    "pc": re.compile(r"[0-9a-f]{64}", re.ASCII),  # not in version 1
    "ref": int,
    "salt": re.compile(r"[0-9a-f]{32}", re.ASCII),
    "seq": int,
    "v": int,
}


def read_envelope(data: bytes) -> dict[str, Any]:
    """The envelope of an entry; Fault unless it has exactly the keys and forms of its version."""
    if data.isascii() and (common := _COMMON.fullmatch(data.decode("ascii"))):
        found: dict[str, Any] = common.groupdict()
        for name in _INTEGERS:
            found[name] = int(found[name])
        return found
    envelope = strict_json(data)
    version = envelope.get("v") if isinstance(envelope, dict) else None
    if type(version) is not int or version not in (1, 2):
        raise Fault(f"the envelope is of version {version!r}, want 1 or 2")
    if set(envelope) != set(_ENVELOPE) - ({"pc"} if version == 1 else set()):
        raise Fault(f"the envelope does not have exactly the fields of version {version}")
    for name, value in envelope.items():
        form = _ENVELOPE[name]
        if isinstance(form, re.Pattern):
            good = isinstance(value, str) and form.fullmatch(value) is not None
        else:
            good = type(value) is int and (-1 if name == "ref" else 0) <= value < 2**53
        if not good:
            raise Fault(f"the envelope's field {name!r} is malformed")
    if _envelope_text(envelope) != data:
        raise Fault("not canonical JSON")
    return envelope


def _in_common(name: str, form: re.Pattern[str] | type[int]) -> str:
    """The part of `_COMMON` for one field."""
    if name == "actor":
        return '"actor":"(?P<actor>[ !#-\\[\\]-~]{1,200})"'
    if isinstance(form, re.Pattern):
        return f'"{name}":"(?P<{name}>{form.pattern})"'
    return f'"{name}":(?P<{name}>{"2" if name == "v" else "0|[1-9][0-9]{0,14}" + ("|-1" if name == "ref" else "")})'


#: an envelope of version 2 in which nothing needs an escape, as nearly all are: what matches is canonical and complete
_COMMON = re.compile(r"\{" + ",".join(_in_common(*each) for each in sorted(_ENVELOPE.items())) + r"\}", re.ASCII)
_INTEGERS = [name for name, form in _ENVELOPE.items() if form is int]


def _envelope_text(envelope: dict[str, Any], *without: str) -> bytes:
    """Canonical JSON of an envelope of good form: but for the actor, no text in it needs an escape."""
    parts = []
    for name in sorted(envelope):
        value = envelope[name]
        if name not in without:
            quoted = _encode(value) if name == "actor" else f'"{value}"'
            parts.append(f'"{name}":{value if type(value) is int else quoted}')
    try:
        return ("{" + ",".join(parts) + "}").encode("utf-8")
    except UnicodeEncodeError:
        raise Fault("not canonical JSON") from None


def open_payload(envelope: dict[str, Any], ciphertext: bytes, okm: bytes) -> bytes:
    """The event of an entry, decrypted under a disclosed key (32 bytes of key, 32 bytes of commitment).

    The commitment is checked first: AES-GCM alone could be opened to two different texts under two keys. Last the
    commitment to the event's fields, from which single ones are shown.
    """
    plain = _decrypted(envelope, _envelope_text(envelope, "ct", "kc"), ciphertext, okm)
    _check_fields(envelope, okm, plain)
    return plain


def open_event(envelope: dict[str, Any], data: bytes, ciphertext: bytes, okm: bytes) -> dict[str, Any]:
    """As `open_payload` and `read_event` of it, for an entry whose bytes are at hand: the payload is parsed once."""
    plain = _decrypted(envelope, _sealed(data), ciphertext, okm)
    try:
        text = plain.decode("utf-8")
        event = _decode(text)
        found = _fields_of_compact(event, text)
        if found and (root := _root_of_fields(okm, found)).hex() == envelope.get("pc", root.hex()):
            if event.get("kind") != envelope["kind"]:
                raise Fault(f"the payload is not an event of kind {envelope['kind']}")
            return event  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass  # what follows says what is wrong with it
    _check_fields(envelope, okm, plain)
    return read_event(plain, envelope["kind"])


def _sealed(data: bytes) -> bytes:
    """The bytes of an envelope of good form without `ct` and `kc`. What is looked for stands nowhere else: within a
    text a quote is escaped.
    """
    ct, kc = data.index(b'"ct":"'), data.index(b'"kc":"')
    return data[:ct] + data[ct + 72 : kc] + data[kc + 72 :]


def _decrypted(envelope: dict[str, Any], sealed: bytes, ciphertext: bytes, okm: bytes) -> bytes:
    """What a ciphertext opens to under the key to which the entry commits, unpacked."""
    if okm[32:].hex() != envelope["kc"]:
        raise Fault("the disclosed key is not the one that the entry commits to")
    try:
        plain = AESGCM(okm[:32]).decrypt(bytes(12), ciphertext, sealed)
    except (InvalidTag, ValueError, OverflowError):
        raise Fault("the payload does not open: it or the envelope was altered") from None
    if plain[:1] not in (b"\x00", b"\x02"):
        raise Fault("the payload is packed in an unknown way")
    return plain[1:] if plain[:1] == b"\x00" else _unpack(plain[1:])


def _check_fields(envelope: dict[str, Any], okm: bytes, plain: bytes) -> None:
    if "pc" in envelope and fields_root(okm, plain).hex() != envelope["pc"]:
        raise Fault("the fields of the payload are not those that the entry commits to")


def _unpack(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(data, MAX_PAYLOAD)
    except zlib.error:
        raise Fault("the payload does not unpack") from None
    if not unpacker.eof or unpacker.unused_data:
        raise Fault(f"the payload does not unpack into at most {MAX_PAYLOAD} bytes")
    return plain


# Fields: the members of a payload in the order of their names, an object of up to 32 members replaced by its own down
# to the fourth name; each hashed with a salt of its own, which follows from the entry's key.

REMEMBERED = 4_096  #: characters of a payload whose names are remembered for the next
_quoted = json.encoder.encode_basestring
_SPACE = re.compile(r"[ \t\n\r]*")
_scan = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def fields_root(okm: bytes, payload: bytes) -> bytes:
    """The RFC 6962 root over the salted fields of a payload."""
    try:
        whole = payload.decode("utf-8")
        return _root_of_fields(okm, _fields_of_compact(_decoded(whole), whole) or list(_fields(whole, "/", 1)))
    except (ValueError, IndexError, RecursionError):
        raise Fault("the payload has no fields that could be hashed") from None


def _decoded(text: str) -> Any:
    try:
        return _decode(text)
    except ValueError:
        return None


def _root_of_fields(okm: bytes, texts: list[str]) -> bytes:
    """The root over `"pointer":value` of each field. ValueError where one has no bytes."""
    salts = shake_256(okm + b"agentstate/fields/v1").digest(16 * len(texts))
    at, row = 0, list[bytes]()
    for text in texts:
        row.append(sha256(b"\x00" + salts[at : at + 16] + text.encode("utf-8")).digest())
        at += 16
    return _root_of(row)


def _root_of(row: list[bytes]) -> bytes:
    """The RFC 6962 root over leaf hashes: row by row, a last one without a neighbour moves up as it is."""
    if not row:
        return sha256(b"").digest()
    while len(row) > 1:
        pairs = zip(row[::2], row[1::2], strict=False)
        row = [sha256(b"\x01" + left + right).digest() for left, right in pairs] + row[len(row) & ~1 :]
    return row[0]


def _fields_of_compact(value: Any, text: str) -> list[str]:
    """`"pointer":value` of each field, where the payload is written as Python writes JSON: then every value in it is
    too, and none has to be looked for in the text. Empty where it is written in another way, or is long.
    """
    found: list[str] = []
    if type(value) is not dict or len(text) > REMEMBERED or _gather_fields(value, "/", 1, found) != text:
        return []
    return found


def _gather_fields(members: dict[str, Any], prefix: str, depth: int, found: list[str]) -> str:
    """Add the fields of an object; its own text."""
    texts = {}
    for name, quoted, start, below in _places(prefix, tuple(members)):
        value = members[name]
        kind = type(value)
        if kind is dict and depth <= 4 and 1 <= len(value) <= 32:
            written = _gather_fields(value, below, depth + 1, found)
        else:
            written = _quoted(value) if kind is str else str(value) if kind is int else _compact(value)
            found.append(start + written)
        texts[name] = quoted + written
    return "{" + ",".join([texts[name] for name in members]) + "}"


@lru_cache(maxsize=500)
def _places(prefix: str, names: tuple[str, ...]) -> list[tuple[str, str, str, str]]:
    """Of members in order: the name, `"name":`, `"pointer":`, what the pointers below begin with. Events of a kind
    have the same names, again and again.
    """
    found = []
    for name in sorted(names):
        pointer = prefix + name.replace("~", "~0").replace("/", "~1")
        found.append((name, f"{_quoted(name)}:", f"{_quoted(pointer)}:", f"{pointer}/"))
    return found


def open_leaves(envelope: dict[str, Any], leaves: list[Any]) -> Shown:
    """What is shown of an event whose fields stand in `leaves`, in order: [pointer, salt, value], or the hash of one
    that is hidden. Fault unless they are the fields that the entry commits to.
    """
    if "pc" not in envelope:
        raise Fault("an entry of version 1 commits to no fields, so that none can be shown alone")
    hashes, event = list[bytes](), Shown()
    before: tuple[str, ...] = ()
    for leaf in leaves:
        if isinstance(leaf, str) and _is_digest(leaf):
            hashes.append(bytes.fromhex(leaf))
            continue
        names, text, value = _shown(leaf)
        if names <= before or (before and names[: len(before)] == before):
            raise Fault("the fields that are shown are not in order")
        hashes.append(_leaf(text))
        inner: dict[str, Any] = event
        for name in names[:-1]:
            inner = inner.setdefault(name, Shown())
        inner[names[-1]] = value
        before = names
    if _root_of(hashes).hex() != envelope["pc"]:
        raise Fault("the fields that are shown are not those that the entry commits to")
    if event.get("kind") != envelope["kind"]:
        raise Fault(f"the payload is not shown to be an event of kind {envelope['kind']}")
    return event


def _shown(leaf: Any) -> tuple[tuple[str, ...], bytes, Any]:
    """(names of the pointer, salt and text that are hashed, value) of a field that is shown."""
    if not isinstance(leaf, list) or len(leaf) != 3 or not all(isinstance(part, str) for part in leaf):
        raise Fault("a field that is shown is not [pointer, salt, value]")
    pointer, salt, text = leaf
    names = tuple(name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:])
    if not _POINTER.fullmatch(pointer) or not re.fullmatch(r"[0-9a-f]{32}", salt, re.ASCII) or len(names) > 5:
        raise Fault("a field that is shown is malformed")
    value = strict_json(text.encode("utf-8"))
    if text != text.strip(" \t\n\r") or (len(names) <= 4 and isinstance(value, dict) and 1 <= len(value) <= 32):
        raise Fault("a field that is shown is no field: it has space around it, or members of its own")
    return names, bytes.fromhex(salt) + f"{_encode(pointer)}:{text}".encode(), value


_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)+")


def _fields(text: str, prefix: str, depth: int) -> Iterator[str]:
    """`"pointer":value` of each field of the JSON object `text`."""
    members = dict(_members(text))
    for name in sorted(members):
        value, pointer = members[name], prefix + name.replace("~", "~0").replace("/", "~1")
        inner = list(_members(value)) if value[0] == "{" and depth <= 4 else []
        if 1 <= len(inner) <= 32:
            yield from _fields(value, pointer + "/", depth + 1)
        else:
            yield f"{_encode(pointer)}:{value}"


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The names of a JSON object, and their values as they are written."""
    at = _past_space(text, 0)
    if text[at] != "{":
        raise ValueError("no object")
    at = _past_space(text, at + 1)
    while text[at] != "}":
        name, at = _scan(text, at)
        if not isinstance(name, str):
            raise ValueError("no name")
        start = _past_space(text, _past_space(text, at) + 1)
        _, at = _scan(text, start)
        yield name, text[start:at]
        at = _past_space(text, at)
        if text[at] == ",":
            at = _past_space(text, at + 1)


def _past_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def read_event(plain: bytes, kind: str) -> dict[str, Any]:
    """The event as a mapping; its own kind must be the envelope's."""
    event = strict_json(plain)
    if not isinstance(event, dict) or event.get("kind") != kind:
        raise Fault(f"the payload is not an event of kind {kind}")
    return event


def guess_kind(data: bytes) -> str:
    """The kind that a damaged envelope seems to have, for naming it."""
    found = re.search(rb'"kind":"([a-z_.]{1,60})"', data)
    return found[1].decode() if found else ""


# --- story ----------------------------------------------------------------------------------------


ANSWERS = {
    "tool.returned": "tool.intended",
    "tool.failed": "tool.intended",
    "tool.intended": "approval.requested",
    "decision.made": "approval.requested",
    "request.ended": "approval.requested",
}  #: kind -> the kind of the entry that its `ref` must point to; an intent that needed nobody points nowhere


@dataclass
class Request:
    """An approval.requested and what became of it, as far as later entries must agree with it."""

    seq: int
    call: str
    quorum: int
    arguments: str  # digest of what an approval at this point would let through; an edit replaces it; empty: hidden
    outcome: str = ""
    approvals: list[tuple[str, str, str]] = field(default_factory=list)  # by, permit digest, arguments' digest


class Story:
    """What the entries say together: results answer intents, and gated intents rest on decisions.

    Kinds and references stand in the envelopes and are always checked, the rest where events are disclosed. What
    is sealed or hidden, or damaged and therefore reported by itself, is not held against the others.
    """

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._kinds: list[str] = []  # by seq; empty where the envelope cannot be read
        self._sealed: set[str] = set()  # kinds of which an event cannot be read
        self._intents: dict[int, tuple[str, int]] = {}  # seq -> call and attempt
        self._returned: dict[int | str, int] = {}  # an intent's seq, and a call's id -> seq of the result
        self._requests: dict[str, Request] = {}
        self._decided_on: set[int] = set()  # seqs of the requests on which there is a decision
        self._recorded = (-2, 0)  # seq of the newest recorded state, and for how many entries it stands
        self._alone = -1  # seq of a pruning just before, in front of which no state was recorded

    def add(self, seq: int, envelope: dict[str, Any] | None, event: dict[str, Any] | None) -> None:
        kind = envelope["kind"] if envelope else ""
        self._follows(kind)
        self._kinds.append(kind)
        if event is None:
            self._sealed.add(kind)
        if envelope is None:
            return
        try:
            self._refers(seq, kind, envelope["ref"])
            if event is not None:
                self._tells(seq, kind, event, envelope)
        except Hidden:
            self._sealed.add(kind)
        except Fault as fault:
            self._verdict.fail("story", str(fault), seq, kind)
        except (KeyError, TypeError, AttributeError, ValueError):
            self._verdict.fail("story", "the event lacks a field that its kind has", seq, kind)

    def _follows(self, kind: str) -> None:
        """What a pruning stands between: a recorded state before it, or the seal behind it."""
        if self._alone >= 0 and kind not in (SEALED_BY, ""):
            self._unrecorded()
        before = self._kinds[-1] if self._kinds else "nothing"
        self._alone = len(self._kinds) if kind == PRUNED_BY and before not in (RECORDED_BY, "") else -1

    def end(self) -> None:
        """After the last entry."""
        if self._alone >= 0:
            self._unrecorded()

    def _unrecorded(self) -> None:
        message = "the session went on, and no state was recorded before it that stands for what was pruned"
        self._verdict.fail("story", message, self._alone, PRUNED_BY)

    def _stands_for(self, seq: int, event: dict[str, Any]) -> None:
        """The state that was recorded just before a pruning stands for all that it names."""
        recorded, upto = self._recorded
        last = max(each["last"] for each in event["ranges"])
        if recorded == seq - 1 and last >= upto:
            raise Fault(f"it names entry {last}, and the state recorded before it stands for the first {upto}")

    def _refers(self, seq: int, kind: str, ref: int) -> None:
        """What the envelopes alone show: each answers an entry of the right kind, and a call returns once."""
        if kind not in ANSWERS or (kind == "tool.intended" and ref < 0):
            return
        if not 0 <= ref < seq or self._kinds[ref] not in (ANSWERS[kind], ""):
            raise Fault(f"it answers entry {ref}, which is no {ANSWERS[kind]} before it")
        if kind == "tool.returned":
            self._returns(ref, seq)
        if kind == "decision.made":
            self._decided_on.add(ref)
        if kind == "tool.intended" and ref not in self._decided_on and "" not in self._sealed:
            raise Fault(f"it rests on the request of entry {ref}, which nobody has decided before")

    def _returns(self, what: int | str, seq: int) -> None:
        if what in self._returned:
            raise Fault(f"the call already has its result: entry {self._returned[what]}")
        self._returned[what] = seq

    def _tells(self, seq: int, kind: str, event: dict[str, Any], envelope: dict[str, Any]) -> None:
        match kind:
            case "approval.requested":
                self._requested(seq, event)
            case "decision.made":
                self._decided(event, envelope)
            case "request.ended":
                if (request := self._request(event, envelope)) is not None:
                    request.outcome = str(event["outcome"])
            case "tool.intended":
                self._intends(seq, event, envelope)
            case "tool.returned" | "tool.failed":
                intent = self._intents.get(envelope["ref"])
                if intent and (event["call"], event["attempt"]) != intent:
                    raise Fault(f"it answers entry {envelope['ref']}, which intends another call or attempt")
                if kind == "tool.returned":
                    self._returns(str(event["call"]), seq)
            case "snapshot.recorded":
                if type(event["upto"]) is not int or not 0 < event["upto"] <= seq:
                    raise Fault(f"it does not stand for entries before it: {seq} do")
                self._recorded = (seq, event["upto"])
            case "payload.pruned":
                self._stands_for(seq, event)

    def _requested(self, seq: int, event: dict[str, Any]) -> None:
        if event["request"] in self._requests:
            raise Fault(f"request {event['request']} was made before")
        self._requests[event["request"]] = Request(
            seq, str(event["call"]), int(event["quorum"]), _digest_of_arguments(event)
        )

    def _request(self, event: dict[str, Any], envelope: dict[str, Any]) -> Request | None:
        """The request that an event names; None if it cannot be read."""
        request = self._requests.get(event["request"])
        if request is None:
            self._must_be_sealed("approval.requested", f"request {event['request']} was never made")
        elif request.seq != envelope["ref"]:
            raise Fault(f"it answers entry {envelope['ref']}, but names the request of entry {request.seq}")
        return request

    def _decided(self, event: dict[str, Any], envelope: dict[str, Any]) -> None:
        if event["by"] != envelope["actor"]:
            raise Fault(f"the decision is {event['by']}'s, but was recorded by {envelope['actor']}")
        request = self._request(event, envelope)
        if request is None:
            return
        if request.outcome:
            raise Fault(f"request {event['request']} had ended before as {request.outcome}")
        if event["decision"] == "edit":
            request.arguments = _digest_of_arguments(event)
        if event["decision"] in ("approve", "edit"):
            request.approvals.append((event["by"], _if_shown(event, "digest"), request.arguments))

    def _intends(self, seq: int, event: dict[str, Any], envelope: dict[str, Any]) -> None:
        self._intents[seq] = (event["call"], event["attempt"])
        arguments = _digest_of_arguments(event)
        if arguments and _if_shown(event, "arguments_digest") not in (arguments, ""):
            raise Fault("its digest is not that of its arguments")
        if not event["request"] and envelope["ref"] >= 0:
            raise Fault(f"it names no request, but rests on entry {envelope['ref']}")
        if event["request"] and (request := self._request(event, envelope)) is not None:
            self._rests(request, event, arguments)

    def _rests(self, request: Request, event: dict[str, Any], arguments: str) -> None:
        """The call was approved before, by as many people as were asked for, with exactly these arguments."""
        name = f"it rests on request {event['request']}"
        if request.call != event["call"]:
            raise Fault(f"{name}, which was made for call {request.call}")
        if request.outcome and request.outcome not in ("approved", "edited"):
            raise Fault(f"{name}, which had ended as {request.outcome}")
        if not request.outcome:
            self._must_be_sealed("request.ended", f"{name}, which had not ended")
        exactly = (_if_shown(event, "digest"), arguments)
        approvers = {by for by, *what in request.approvals if all(map(_agree, what, exactly))}
        if len(approvers) < max(request.quorum, 1):
            want = f"got {len(approvers)} approvals of exactly this call before it, want {request.quorum}"
            self._must_be_sealed("decision.made", f"{name}: {want}")

    def _must_be_sealed(self, kind: str, otherwise: str) -> None:
        """What is missing may stand in an entry that cannot be read; else it is a fault."""
        if not self._sealed & {kind, ""}:
            raise Fault(otherwise)


def _digest_of_arguments(event: dict[str, Any]) -> str:
    """The digest of an event's arguments; empty where a part of them is hidden."""
    try:
        return digest_of(event["arguments"])
    except Hidden:
        return ""


def _if_shown(event: dict[str, Any], name: str) -> str:
    """A digest in an event; empty where it is hidden."""
    try:
        return str(event[name])
    except Hidden:
        return ""


def _agree(one: str, other: str) -> bool:
    """Whether two digests are the same, as far as both are shown."""
    return one == other or not one or not other


# --- tables ---------------------------------------------------------------------------------------
# The entries again, one a row, for programs and spreadsheets. Each row is compared with the entry that was proved, by
# value: in what order an object has its names, and how values are spaced and escaped, is free.

COLUMNS = ("seq", "at", "actor", "kind", "answers", "state", "event")
TABLES = ("entries.csv", "entries.jsonl", "report.json")
#: what begins a formula in a spreadsheet; the wide forms count too, for some programs read them as the narrow ones
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_in_table = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_CELL = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",\r\n]*))(,|\Z)')


def table_row(envelope: dict[str, Any], state: str, event: dict[str, Any] | None) -> dict[str, Any]:
    """One entry as the tables have it. `answers` is None where it answers none; a number that is no integer is text."""
    answers = envelope["ref"] if envelope["ref"] >= 0 else None
    return {name: envelope[name] for name in ("seq", "at", "actor", "kind")} | {
        "answers": answers,
        "state": state,
        "event": event,
    }


def table_cell(value: Any) -> str:
    """One cell as text. An apostrophe before what a spreadsheet would take for a formula makes it a text there."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = str(value) if isinstance(value, str) else _in_table(value)
    text = text.replace("\x00", "�")
    return f"'{text}" if text.lstrip(" \u00a0").startswith(FORMULA) else text


def table_line(cells: Iterable[str]) -> str:
    """A line of RFC 4180, every cell quoted, without its end."""
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


def same_value(found: Any, wanted: Any) -> bool:
    """Whether a table has the value that was proved. Half a character, which no UTF-8 has, stands there as `?`."""
    pairs = [(found, wanted)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(other, dict):
            if type(one) is not dict or one.keys() != other.keys():
                return False
            pairs += [(one[name], other[name]) for name in other]
        elif isinstance(other, list):
            if type(one) is not list or len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif isinstance(other, str):
            if type(one) is not str or one != other.encode("utf-8", "replace").decode():
                return False
        elif type(one) is not type(other) or one != other:
            return False
    return True


class _Reading(io.RawIOBase):
    """A window, read by the standard library."""

    def __init__(self, window: Window) -> None:
        self._window = window

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._window.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Table:
    """entries.jsonl: an object a line."""

    NAME = "entries.jsonl"

    def __init__(self, archive: Archive, count: int) -> None:
        self._lines = io.BufferedReader(_Reading(archive.window(self.NAME)), 2**16)
        self._left = count

    def begin(self) -> None:
        """Check what stands before the first row."""

    def end(self, facts: dict[str, Any] | None, sound: bool) -> None:
        """Check what stands behind the last row. `facts`: the head that was proved; `sound`: nothing failed before."""
        if self._lines.read(1):
            raise Fault("it holds more than the entries")

    def skip(self) -> None:
        """Past the row of an entry that was not proved."""
        self._left -= 1
        while (part := self._lines.readline(2**16)) and not part.endswith(b"\n"):
            pass

    def differs(self, row: dict[str, Any], event: str) -> list[str]:
        """The columns whose values are not those of the row, whose event has the JSON text `event`. Fault where that
        row is not what comes next.
        """
        self._left -= 1
        wanted = self._line(row, event)
        line = self._row(8 * len(wanted) + 1_000)
        if line == wanted:
            return []
        found, wanted_values = self._values(line), self._wanted(row)
        if set(found) != set(COLUMNS) or not same_value(found["seq"], wanted_values["seq"]):
            raise Fault("the row of this entry is not the next one")
        return [name for name in COLUMNS if not same_value(found[name], wanted_values[name])]

    def _row(self, limit: int) -> bytes:
        return self._next(limit)

    def _next(self, limit: int) -> bytes:
        line = self._lines.readline(limit)
        if not line.endswith(b"\n"):
            raise Fault("it ends before this row" if not line else "a line has no end, or is far too long")
        return line[:-1]

    def _line(self, row: dict[str, Any], event: str) -> bytes:
        """The row as the exporter writes it; what equals it need not be parsed."""
        answers = "null" if row["answers"] is None else row["answers"]
        return (
            f'{{"actor": {_quoted(row["actor"])}, "answers": {answers}, "at": "{row["at"]}", "event": {event},'
            f' "kind": "{row["kind"]}", "seq": {row["seq"]}, "state": "{row["state"]}"}}'
        ).encode("utf-8", "replace")

    def _wanted(self, row: dict[str, Any]) -> dict[str, Any]:
        return row

    def _values(self, line: bytes) -> dict[str, Any]:
        found = strict_json(line)
        if not isinstance(found, dict):
            raise Fault("a line is no row")
        return found


class JsonTable(Table):
    """report.json: the rows with the head that they stand under, a row a line."""

    NAME = "report.json"
    _parted = True  # whether there is a comma behind each row but the last

    def begin(self) -> None:
        if self._next(100) != b'{"entries": [':
            raise Fault("it does not begin with its entries")

    def end(self, facts: dict[str, Any] | None, sound: bool) -> None:
        last = self._next(MAX_NOTE)
        super().end(facts, sound)
        if not last.startswith(b"]") or not self._parted:
            raise Fault("it holds other rows than the entries")
        said = strict_json(b'{"entries": [' + last)
        if not isinstance(said, dict) or set(said) != {"entries", "head", "warnings"}:
            raise Fault("it does not end with its head")
        if facts is not None and not same_value(said["head"], facts):
            raise Fault("its head is not the one that was proved")
        if sound and said["warnings"] != []:
            raise Fault("it warns of something that is not so")

    def _row(self, limit: int) -> bytes:
        line = super()._row(limit)
        self._parted &= line.endswith(b",") == bool(self._left)
        return line.removesuffix(b",")


class CsvTable(Table):
    """entries.csv: RFC 4180, with a byte order mark."""

    NAME = "entries.csv"

    def begin(self) -> None:
        if self._next(1_000) != f"\ufeff{table_line(COLUMNS)}\r".encode():
            raise Fault("its titles are not those of the columns")

    def _line(self, row: dict[str, Any], event: str) -> bytes:
        actor, answers = table_cell(row["actor"]).replace('"', '""'), row["answers"]
        event = "" if row["event"] is None else event.replace('"', '""')
        return (
            f'"{row["seq"]}","{row["at"]}","{actor}","{row["kind"]}","{"" if answers is None else answers}",'
            f'"{row["state"]}","{event}"\r'
        ).encode("utf-8", "replace")

    def _wanted(self, row: dict[str, Any]) -> dict[str, Any]:
        return {name: row[name] if name == "event" else table_cell(row[name]) for name in COLUMNS}

    def _values(self, line: bytes) -> dict[str, Any]:
        try:
            text = line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            raise Fault("a line is not UTF-8") from None
        cells, at = list[str](), 0
        while at <= len(text) and len(cells) < len(COLUMNS) + 1 and (found := _CELL.match(text, at)):
            cells.append(found[1].replace('""', '"') if found[1] is not None else found[2])
            at = found.end() + (not found[3])
        if at <= len(text) or len(cells) != len(COLUMNS):
            raise Fault("a line is no row")
        values: dict[str, Any] = dict(zip(COLUMNS, cells, strict=True))
        return values | {"event": strict_json(values["event"].encode()) if values["event"] else None}


class Tables:
    """The three tables of a bundle, held against its entries one by one."""

    def __init__(self, archive: Archive, count: int, verdict: Verdict) -> None:
        self._verdict = verdict
        self._tables = list[Table]()
        for table in (CsvTable, Table, JsonTable):
            if table.NAME in archive.members:  # else the manifest's check has said so
                self._tables.append(table(archive, count))
        self._each(lambda table: table.begin(), None, "")

    def compare(self, row: dict[str, Any] | None) -> None:
        """The row of the next entry; None of one that was not proved."""
        if row is None:
            self._each(lambda table: table.skip(), None, "")
            return
        try:
            event = _in_table(row["event"])
        except RecursionError:
            self._verdict.fail("table", "an event that is nested too deeply for a table", row["seq"], row["kind"])
            self._tables.clear()
            return

        self._each(lambda table: self._compare(table, row, event), row["seq"], row["kind"])

    def _compare(self, table: Table, row: dict[str, Any], event: str) -> None:
        for name in table.differs(row, event):
            message = f"{table.NAME}: its {name} is not that of the entry"
            self._verdict.fail("table", message, row["seq"], row["kind"])

    def end(self, head: Head | None, key: LogKey) -> None:
        """After the last entry."""
        facts: dict[str, Any] | None = None
        if head is not None:
            facts = {"log": head.log, "origin": f"{key.name}/s/{head.log}", "size": head.size}
            facts |= {"root": head.root.hex(), "key": key.vkey}
        sound = not self._verdict.counts["failures"]
        self._each(lambda table: table.end(facts, sound), None, "")

    def _each(self, check: Callable[[Table], None], seq: int | None, kind: str) -> None:
        """A table that is not of its form is read no further."""
        for table in list(self._tables):
            try:
                check(table)
            except Fault as fault:
                self._verdict.fail("table", f"{table.NAME}: {fault}", seq, kind)
                self._tables.remove(table)


# --- page -----------------------------------------------------------------------------------------
# What a person reads, made from nothing but what was proved. No script; every text escaped, and characters that are
# invisible or turn others around shown by name.

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #191a1b }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top }
td, dt, dd { overflow-wrap: anywhere; unicode-bidi: isolate }
dl { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr; gap: 0 1rem; margin: .2rem 0; font-size: 13px }
dt { color: #55585c } dd { margin: 0; white-space: pre-wrap }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
""".replace("\n", " ")
#: invisible, and neither of a category that is nor a mark that belongs to the letter before it
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_HIDDEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")  #: categories of characters that nobody sees


def shown_text(text: str) -> str:
    """A text of a stranger as HTML: escaped, its hidden characters by name, as `[U+202E RIGHT-TO-LEFT OVERRIDE]`."""
    if text.isascii() and text.isprintable():
        return html.escape(text)
    return html.escape("".join(map(_visible, text)))


def _visible(char: str) -> str:
    if char == "\n" or (unicodedata.category(char) not in _HIDDEN and not _BLANK.match(char)):
        return char
    name = unicodedata.name(char, "control character" if unicodedata.category(char) == "Cc" else "no name")
    return f"[U+{ord(char):04X} {name}]"


def members_of(event: Any) -> Iterator[tuple[str, str]]:
    """(JSON pointer, value as it is read) of every value in an event, in order; an empty one is itself a value."""
    waiting = [("", event)]
    while waiting:
        pointer, value = waiting.pop()
        if isinstance(value, dict) and value:
            below = [(f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}", each) for name, each in value.items()]
            waiting += sorted(below, key=lambda each: each[0], reverse=True)
        elif isinstance(value, list) and value:
            waiting += [(f"{pointer}/{at}", value[at]) for at in range(len(value) - 1, -1, -1)]
        else:
            yield pointer, str(value) if isinstance(value, str) else _in_table(value)


class Page:
    """The page of one run. Rows lie in temporary files, so that memory does not grow with the entries."""

    def __init__(self) -> None:
        self._all: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - they go with the page
        self._decisions: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115
        self._session = ""

    def begin(self, session: str) -> None:
        """The rows that follow are of this session."""
        self._session = session
        self._put(self._all, f'<tr><th colspan="5" id="s{session}">Session {session}</tr>\n')

    def add(self, row: dict[str, Any]) -> None:
        """An entry that was proved."""
        seq, at, actor = row["seq"], row["at"][:19].replace("T", " "), shown_text(row["actor"])
        answers = "" if row["answers"] is None else f", answers {row['answers']}"
        values = "".join(f"<dt>{shown_text(name)}<dd>{shown_text(text)}" for name, text in members_of(row["event"]))
        content = f"<dl>{values}</dl>" if row["event"] is not None else ""
        what = f"<td>{row['kind']}{answers}<td>{row['state']}{content}"
        self._put(self._all, f'<tr id="s{self._session}-{seq}"><td>{seq}<td>{at}<td>{actor}{what}</tr>\n')
        if row["kind"] == "decision.made":
            link = f'<a href="#s{self._session}-{seq}">{seq}</a>'
            self._put(self._decisions, f"<tr><td>{link}<td>{at}<td>{actor}{what}</tr>\n")

    def write(self, out: BinaryIO, verdict: Verdict) -> None:
        """The whole page, under the verdict."""
        title = "What was proved of an export"
        about = html.escape("\n".join(in_words(verdict)))
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        self._put(
            out,
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style></head><body>'
            f"<h1>{title}</h1><p>verify.py wrote this page, from what it proved and nothing else. Times are UTC."
            f" Characters that nobody sees stand here by name.</p><pre>{about}</pre>\n",
        )
        for heading, rows in (("What people decided", self._decisions), ("All entries", self._all)):
            titles = "<th>Entry<th>Time<th>Who<th>What<th>Content"
            self._put(out, f"<h2>{heading}</h2><table><thead><tr>{titles}</tr></thead><tbody>\n")
            rows.seek(0)
            shutil.copyfileobj(rows, out)
            self._put(out, "</tbody></table>\n")
        self._put(out, "</body></html>\n")

    def _put(self, file: BinaryIO, text: str) -> None:
        file.write(text.encode("utf-8", "replace"))


# --- the verifier ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Demand:
    """What the auditor asks for beyond a sound bundle; nothing by default."""

    session: str = ""  #: the bundle has to be of this session
    held: bytes = b""  #: an older signed head, of the global log or of the session, from the auditor's own records
    held_proof: list[bytes] | None = None  #: that the log continues it; else taken from the bundle
    min_size: int = 0  #: the global log must have as many entries at least
    max_age: timedelta | None = None  #: of the newest cosignature
    receipt: Receipt | None = None  #: of a command: the session has to hold what it says
    restamps: bytes = b""  #: newer time stamps over the bundle's own


class Verifier:
    """One run over one bundle; `run` never raises for what the bundle holds."""

    def __init__(
        self, archive: Archive, policy: Policy, verdict: Verdict, now: datetime, page: Page | None = None
    ) -> None:
        self._archive = archive
        self._policy = policy
        self._verdict = verdict
        self._now = now
        self._page = page
        self._soonest = now + FUTURE_TOLERANCE  # what lies behind it cannot be
        self._key = policy.logs[0]  # until the global log's head says which log, and its rotations which key
        self._log: Head | None = None  # the global log's head, once it is trusted
        self._log_head: Head | None = None  # the same, as it is read
        self._head: Head | None = None
        self._head_text = ""
        self._tree = Tree()
        self._story = Story(verdict)
        self._latest = ""  # the latest time of a sound entry; text order is time order
        self._erased: dict[str, list[int]] = {}  # kid -> entries said to be erased
        self._erasures: set[str] = set()  # kids for which an entry records the erasure
        self._pruned: list[int] = []  # entries said to be pruned
        self._prunings: list[tuple[int, int]] = []  # the ranges that entries name; (0, seq) where one is not disclosed
        self._sealed = False
        self._earlier: dict[int, list[tuple[bytes, str]]] = {}  # number of entries -> roots of earlier heads, and whose
        self._held: Receipt | None = None
        self._kept = False  # whether the first entries are those of the receipt

    @property
    def key(self) -> LogKey:
        """The log's key as the rotations in the bundle made it."""
        return self._key

    def run(self, demand: Demand) -> None:
        self._held = demand.receipt
        self._checked("log", lambda: self._check_log(demand))
        count = self._check_manifest()
        self._check_head(demand.session)
        self._checked("held", lambda: self._hold_head(demand.held))
        self._checked("tail", self._check_tail)
        self._checked("timestamp", lambda: self._check_timestamp(demand.restamps))
        self._tables = Tables(self._archive, count, self._verdict)
        if self._page is not None and self._head is not None:
            self._page.begin(self._head.log)
        for index, width in tiles(count):
            self._check_chunk(index, width)
        self._story.end()
        self._check_tree()
        self._checked("receipt", lambda: self._check_held(demand.receipt))
        self._check_erasures()
        self._check_prunings()
        self._tables.end(self._head, self._key)
        self._verdict.finished = True

    def _checked(self, what: str, check: Callable[[], None]) -> None:
        try:
            check()
        except Fault as fault:
            self._verdict.fail(what, str(fault))

    def _check_log(self, demand: Demand) -> None:
        """The global log's head: by a key that the auditor trusts, cosigned as the policy asks, continuing what was
        held before.
        """
        text, lines = split_note(self._archive.read("log/checkpoint", MAX_NOTE))
        name = text.split("\n", 1)[0]
        self._key = next((key for key in self._policy.logs if key.name == name), self._key)
        head = read_log_head(text, self._key.name)
        self._log_head = head
        self._key = self._newest_key(head)
        if not any(_signed(line, text, self._key) is not None for line in lines):
            raise Fault(f"the log's head is not signed by {self._key.vkey}")
        self._log = head
        cosigned = self._cosigned(lines, text)
        at = datetime.fromtimestamp(max(cosigned.values()), UTC).isoformat() if cosigned else ""
        self._verdict.log = {"name": name, "size": head.size, "root": head.root.hex(), "key": self._key.vkey}
        self._verdict.log |= {"witnesses": sorted(cosigned), "cosigned_at": at}
        if not self._policy.met(set(cosigned)):
            self._verdict.fail("log", f"cosigned by {sorted(cosigned)}: the policy asks for {self._policy.quorum}")
        self._check_fresh(demand, max(cosigned.values(), default=0))
        if demand.held and _is_of_log(demand.held):
            self._check_continues(demand)
        self._check_own_policy()

    def _hold_head(self, held: bytes) -> None:
        """Take an older head of this session: its entries must begin with those of that head."""
        if not held or _is_of_log(held) or self._head is None:
            return
        old = read_session_head(split_note(held)[0], self._key.name)
        if old.log != self._head.log:
            raise Fault(f"the head that you hold is of session {old.log}")
        if old.size > self._head.size:
            raise Fault(f"you hold a head of {old.size} entries, and there are {self._head.size}: its end was cut off")
        self._earlier.setdefault(old.size, []).append((old.root, "you hold"))
        assert self._verdict.head is not None
        self._verdict.head["continues"] = old.size

    def _check_own_policy(self) -> None:
        """The policy in the bundle, which nobody is asked to trust, names the key that signed it."""
        own = read_policy(self._archive.read("policy", MAX_POLICY))
        if self._key.public not in {key.public for key in own.logs}:
            self._verdict.fail("log", "the policy in the bundle does not name the key that signed it")

    def _newest_key(self, head: Head) -> LogKey:
        """The key that the auditor's became by rotations, each signed by the one before and standing in the log."""
        key, number, before = self._key, 0, -1
        while (name := f"log/keys/{number:03d}.tlog-proof") in self._archive.members:
            proof = self._proved(name, head)
            text, lines = split_note(proof.body)
            parts = text.split("\n")
            if len(parts) != 4 or parts[0] != KEY_TITLE or parts[1] != self._key.name or proof.index <= before:
                raise Fault(f"{name} is no rotation of the log's key, or not in order")
            if any(_signed(line, text, key) is not None for line in lines):
                key = read_vkey(parts[2])
            number, before = number + 1, proof.index
        return key

    def _proved(self, name: str, head: Head) -> LogProof:
        """The leaf that a proof in the bundle shows to stand under the global log's head."""
        proof = read_proof(self._archive.read(name, MAX_NOTE))
        if proof.checkpoint != self._archive.read("log/checkpoint", MAX_NOTE):
            raise Fault(f"{name} is a proof for another head")
        try:
            root = root_of_proof(proof.index, head.size, _leaf(proof.body), proof.path)
        except Fault as fault:
            raise Fault(f"{name}: {fault}") from None
        if root != head.root:
            raise Fault(f"{name} does not lead to the log's root: it is for another leaf or another tree")
        return proof

    def _cosigned(self, lines: list[str], text: str) -> dict[str, int]:
        """When the policy's witnesses cosigned, in seconds since 1970, by their names in the policy."""
        found: dict[str, int] = {}
        for name, key in self._policy.witnesses.items():
            for line in lines:
                at = _signed(line, text, key)
                if at is None:
                    continue
                if at > (self._now + FUTURE_TOLERANCE).timestamp():
                    raise Fault(f"witness {name} cosigned at a time that is still to come")
                found[name] = max(at, found.get(name, 0))
        return found

    def _check_fresh(self, demand: Demand, newest: int) -> None:
        assert self._log is not None
        if self._log.size < demand.min_size:
            self._verdict.fail("log", f"the log has {self._log.size} entries, want at least {demand.min_size}")
        if demand.max_age is not None and self._now.timestamp() - newest > demand.max_age.total_seconds():
            said = datetime.fromtimestamp(newest, UTC).isoformat() if newest else "never"
            self._verdict.fail("log", f"last cosigned {said}: that is older than was asked for")

    def _check_continues(self, demand: Demand) -> None:
        """The log continues the head that the auditor holds. That one was signed by this key or one before it."""
        assert self._log is not None
        text, _ = split_note(demand.held)
        old = read_log_head(text, self._key.name)
        path = demand.held_proof
        name = f"log/consistency/{old.size}"
        if path is None and name in self._archive.members:
            path = read_hashes(self._archive.read(name, MAX_NOTE))
        if path is None and 0 < old.size < self._log.size:
            raise Fault(f"the bundle holds no proof from the head of {old.size} entries; give one with --consistency")
        check_consistency(old, self._log, path or [])
        assert self._verdict.log is not None
        self._verdict.log["continues"] = old.size

    def _check_tail(self) -> None:
        """The session's head stands in the global log, and the newest head map says that it is the latest."""
        if self._log is None or self._head is None:
            return
        proof = self._proved("log/head.tlog-proof", self._log)
        leaf = read_head_leaf(proof.body, self._key.name)
        if leaf.head != self._head:
            raise Fault("the head that is proved to stand in the log is not the one of this session")
        self._checked("heads", lambda: self._check_heads(leaf, proof.index))
        self._checked("receipt", lambda: self._check_receipt(proof))
        said = self._proved("log/headmap.tlog-proof", self._log)
        lines = said.body.split(b"\n")
        if len(lines) != 6 or lines[:2] != [MAP_TITLE.encode(), self._key.name.encode()] or lines[5]:
            raise Fault("log/headmap.tlog-proof proves no head map")
        if lines[2] != str(said.index).encode():
            raise Fault("the head map stands at another place in the log than it says")
        latest, size, siblings = self._map_row()
        root = root_of_map(self._key.name, self._head.log, latest, size, siblings)
        if root != _hash(lines[4].decode("ascii", "replace")):
            raise Fault("log/headmap.json does not lead to the root of the head map")
        if (latest, size) != (proof.index, self._head.size):
            raise Fault(
                f"the newest head of this session is leaf {latest} with {size} entries, the bundle shows leaf"
                f" {proof.index} with {self._head.size}: its end was cut off"
            )
        assert self._verdict.head is not None
        self._verdict.head |= {"leaf": proof.index, "latest_as_of": said.index}

    def _check_heads(self, leaf: HeadLeaf, index: int) -> None:
        """The earlier heads of this session, from leaf to leaf; its entries must begin with those of each."""
        data = self._archive.read("log/heads", MAX_HEADS) if "log/heads" in self._archive.members else b""
        heads = read_heads(data, leaf, index, self._key.name)
        for each in heads:
            self._earlier.setdefault(each.head.size, []).append((each.head.root, "the log said"))
        assert self._verdict.head is not None
        self._verdict.head["earlier"] = len(heads)

    def _check_receipt(self, proof: LogProof) -> None:
        assert self._log is not None
        check_receipt(self._archive.read("receipts/head.cbor", MAX_NOTE), self._key, self._log, proof)

    def _map_row(self) -> tuple[int, int, list[bytes]]:
        row = canonical(self._archive.read("log/headmap.json", MAX_NOTE))
        good = isinstance(row, dict) and set(row) == {"index", "siblings", "size"}
        if not good or any(type(row[name]) is not int or row[name] < 0 for name in ("index", "size")):
            raise Fault("log/headmap.json is malformed")
        siblings = row["siblings"]
        if not isinstance(siblings, list) or len(siblings) > 256 or not all(map(_is_digest, siblings)):
            raise Fault("log/headmap.json is malformed")
        return row["index"], row["size"], [bytes.fromhex(each) for each in siblings]

    def _check_timestamp(self, restamps: bytes) -> None:
        if "log/checkpoint.tsr" not in self._archive.members:
            if restamps:
                raise Fault("there is no time stamp here that newer ones could be over")
            return
        token = self._archive.read("log/checkpoint.tsr", MAX_NOTE)
        digest, at, until = read_timestamp(token)
        if digest != sha256(self._archive.read("log/checkpoint", MAX_NOTE)).digest():
            raise Fault("log/checkpoint.tsr stamps another head")
        self._verdict.timestamp = {"at": at, "signature": "not checked here: use openssl ts -verify", "until": until}
        if restamps:
            newer, until = check_restamps(restamps, token)
            self._verdict.timestamp |= {"until": until, "renewed": str(newer)}
        self._verdict.timestamp["sha256"] = sha256(token).hexdigest()
        self._verdict.timestamp["ended"] = "yes" if until and until < f"{self._now:%Y%m%d%H%M%S}" else "no"

    def _check_manifest(self) -> int:
        """Every file is one that the log key signed; returns how many entries the bundle says it holds."""
        data = self._archive.read("manifest.json", MAX_TEXT)
        try:
            note = self._archive.read("manifest.note", MAX_NOTE)
            lines = open_note(note, self._key, alone=True).split("\n")
            if len(lines) != 4 or lines[0] != MANIFEST_TITLE or lines[3]:
                raise Fault("the note is not that of a manifest")
            if _unbase64(lines[2]) != sha256(data).digest():
                raise Fault("the note signs another manifest")
            self._manifest_origin = lines[1]
        except Fault as fault:
            self._manifest_origin = ""
            self._verdict.fail("manifest", f"manifest.note: {fault}")
        manifest = canonical(data)
        count = self._manifest_count(manifest)
        self._check_files(manifest["files"], count)
        return count

    def _manifest_count(self, manifest: Any) -> int:
        good = isinstance(manifest, dict) and set(manifest) == {"entries", "files", "format"}
        if not good or manifest["format"] != FORMAT or not isinstance(manifest["files"], dict):
            raise Fault(f"manifest.json is not that of {FORMAT}")
        count = manifest["entries"]
        if type(count) is not int or not 0 <= count <= MAX_ENTRIES:
            raise Fault(f"manifest.json: got {count!r} entries, want 0 to {MAX_ENTRIES}")
        return count

    def _check_files(self, files: dict[str, Any], count: int) -> None:
        expected = set(layout(count))
        members = {name for name in self._archive.members if not OPTIONAL.fullmatch(name)}
        for name in sorted(expected ^ members):
            state = "is missing" if name in expected else "does not belong in the bundle"
            self._verdict.fail("manifest", f"{name} {state}")
        signed = {name: member.sha256 for name, member in self._archive.members.items()}
        for name in ("manifest.json", "manifest.note"):
            signed.pop(name, None)
        for name in sorted(set(files) | set(signed)):
            if files.get(name) != signed.get(name):
                self._verdict.fail("manifest", f"{name} is not the file that was signed")

    def _check_head(self, expected_log: str) -> None:
        try:
            text = open_note(self._archive.read("session/checkpoint", MAX_NOTE), self._key, alone=False)
            head = read_session_head(text, self._key.name)
        except Fault as fault:
            self._verdict.fail("head", f"session/checkpoint: {fault}")
            return
        self._head, self._head_text = head, text
        self._verdict.head = {"log": head.log, "size": head.size, "root": head.root.hex()}
        if self._manifest_origin and self._manifest_origin != f"{self._key.name}/s/{head.log}":
            self._verdict.fail("head", "the manifest was signed for another session")
        if expected_log and head.log != expected_log:
            self._verdict.fail("head", f"this is session {head.log}, want {expected_log}")

    def _check_chunk(self, index: int, width: int) -> None:
        """Check up to 256 entries. A file that cannot be read is reported once; the rest is still checked."""
        first, path = index * CHUNK, tile_path(index, width)
        envelopes = self._part(f"session/tile/entries/{path}", first, width, self._envelopes)
        disclosures = self._part(f"session/disclosures/{path}", first, width, self._disclosures)
        payloads = self._payloads(f"session/payload/{path}", first, width)
        for at in range(width):
            self._check_entry(first + at, envelopes[at], next(payloads), disclosures[at])
        next(payloads, None)  # which tells of payloads that belong to no entry

    def _part(self, name: str, first: int, width: int, reader: Callable[[str], list[Any]]) -> list[Any]:
        try:
            items = reader(name)
            if len(items) != width:
                raise Fault(f"{name}: got {len(items)} items, want {width}")
            return items
        except Fault as fault:
            self._verdict.fail("chunk", f"entries {first} to {first + width - 1}: {fault}", first)
            return [None] * width

    def _envelopes(self, name: str) -> list[bytes]:
        data = self._archive.read(name, CHUNK * (2 + 0xFFFF))
        result, at = [], 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 2], "big")
            if at + 2 + size > len(data):
                raise Fault(f"{name} ends inside an entry")
            result.append(data[at + 2 : at + 2 + size])
            at += 2 + size
        return result

    def _disclosures(self, name: str) -> list[Any]:
        data = self._archive.read(name, MAX_TEXT)
        if data and not data.endswith(b"\n"):
            raise Fault(f"{name} ends inside a line")
        return [_opens(line) or canonical(line) for line in data.split(b"\n")[:-1]]

    def _payloads(self, name: str, first: int, width: int) -> Iterator[bytes | None]:
        """One item per entry, then no more; None where the file gives nothing to read."""
        given = 0
        try:
            for frame in self._archive.frames(name, MAX_PAYLOAD):
                given += 1
                if given <= width:
                    yield frame
            if given != width:
                raise Fault(f"{name}: got {given} payloads, want {width}")
        except Fault as fault:
            self._verdict.fail("chunk", f"entries {first} to {first + width - 1}: {fault}", first)
        for _ in range(width - given):
            yield None

    def _check_entry(self, seq: int, data: bytes | None, ciphertext: bytes | None, disclosure: Any) -> None:
        self._verdict.counts["entries"] += 1
        failures = self._verdict.counts["failures"]
        envelope = event = row = None
        if data is not None:
            self._tree.add(data)
            if self._tree.size in self._earlier:
                self._check_earlier(seq)
            if self._held is not None and self._tree.size == self._held.size:
                self._kept = (self._tree.root(), _leaf(data)) == (self._held.root, self._held.leaf)
            try:
                if not data:
                    raise Fault("the entry is missing")
                envelope = read_envelope(data)
                self._check_place(seq, envelope)
            except Fault as fault:
                self._verdict.fail("envelope", str(fault), seq, guess_kind(data))
        if envelope is not None:
            try:
                state, event = self._disclosed(seq, envelope, data or b"", ciphertext, disclosure)
                row = table_row(envelope, state, event)
            except Fault as fault:
                self._verdict.fail("payload", str(fault), seq, envelope["kind"])
            if self._verdict.counts["failures"] == failures:
                # Later entries are measured against sound ones only, so that an altered time names one entry.
                self._latest = max(self._latest, envelope["at"])
            else:
                row = None
        self._tables.compare(row)
        if self._page is not None and row is not None:
            self._page.add(row)
        self._story.add(seq, envelope, event)

    def _check_place(self, seq: int, envelope: dict[str, Any]) -> None:
        """The entry belongs here: its number, its log, what it refers to, its time."""

        def fail(message: str) -> None:
            self._verdict.fail("place", message, seq, envelope["kind"])

        if envelope["seq"] != seq:
            fail(f"the entry says it is number {envelope['seq']}, and stands at {seq}")
        if self._head and envelope["log"] != self._head.log:
            fail(f"the entry is of another log: {envelope['log']}")
        if self._head and seq >= self._head.size:
            fail(f"the entry lies beyond the signed head of {self._head.size} entries")
        if self._sealed and envelope["kind"] not in (ERASED_BY, PRUNED_BY, SEALED_BY):
            fail("it stands behind the seal of its session")
        self._sealed |= envelope["kind"] == SEALED_BY
        if envelope["ref"] >= seq:
            fail(f"it refers to entry {envelope['ref']}, which does not come before it")
        self._check_time(envelope["at"], fail)

    def _check_time(self, text: str, fail: Callable[[str], None]) -> None:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            fail(f"{text} is no time")
            return
        if at > self._soonest or text < "2020":
            fail(f"its time {text} cannot be")
        elif text < self._latest and at < datetime.fromisoformat(self._latest) - CLOCK_TOLERANCE:
            fail(f"its time {text} lies before that of an earlier entry, {self._latest}")

    def _disclosed(
        self, seq: int, envelope: dict[str, Any], data: bytes, ciphertext: bytes | None, disclosure: Any
    ) -> tuple[str, dict[str, Any] | None]:
        """Check the payload against the envelope; how it stands in the bundle, and the event, or the part of it that is
        shown, if it is disclosed.
        """
        state, opens = read_disclosure(disclosure, seq)
        if envelope["kind"] == ERASED_BY:
            self._erasures.add(envelope["kid"])
        if envelope["kind"] == PRUNED_BY and state not in ("disclosed", "partly"):
            self._prunings.append((0, seq))
        if ciphertext and sha256(ciphertext).hexdigest() != envelope["ct"]:
            raise Fault("the payload is not the one whose hash the entry holds")
        self._verdict.counts[state] += 1
        if state == "erased":
            self._erased.setdefault(envelope["kid"], []).append(seq)
            return state, None
        if state == "pruned":
            self._pruned.append(seq)
            return state, None
        if not ciphertext:
            raise Fault("the payload is missing")
        if len(ciphertext) < MIN_PAYLOAD:
            raise Fault(f"the payload has {len(ciphertext)} bytes, want {MIN_PAYLOAD}: no key could open it")
        if state == "indivisible" and "pc" in envelope:
            raise Fault("said to be indivisible, and commits to its fields, each of which could be shown alone")
        if state in CLOSED:
            return state, None
        event: dict[str, Any]
        if isinstance(opens, bytes):
            event = open_event(envelope, data, ciphertext, opens)
        else:
            event = open_leaves(envelope, opens)
        if envelope["kind"] == PRUNED_BY:
            hidden = isinstance(event, Shown) and "ranges" not in event
            self._prunings += [(0, seq)] if hidden else read_ranges(event, seq)
        return state, event

    def _check_tree(self) -> None:
        self._tree.finish()
        for name, member in self._archive.members.items():
            if re.match(r"session/tile/[0-9]", name) and self._tree.tiles.get(name) != member.sha256:
                self._verdict.fail("tree", f"{name} does not hold the hashes of these entries")
        if self._head is None:
            return
        if self._tree.size != self._head.size:
            self._verdict.fail("head", f"the signed head has {self._head.size} entries, got {self._tree.size}")
        if self._tree.root() != self._head.root:
            self._verdict.fail(
                "head",
                "the signed root is not that of these entries: one was altered, left out, added or moved",
            )

    def _check_earlier(self, seq: int) -> None:
        """The entries so far are those of every earlier head of so many."""
        root = self._tree.root()
        for other, whose in self._earlier[self._tree.size]:
            if other != root:
                self._verdict.fail(
                    "held" if whose == "you hold" else "heads",
                    f"{whose} another head of {self._tree.size} entries: some were taken back or rewritten",
                    seq,
                )

    def _check_held(self, held: Receipt | None) -> None:
        """The session holds what somebody was told when they gave a command."""
        if held is None:
            return
        if self._head is None or self._head.log != held.session:
            raise Fault(f"the receipt is of session {held.session}")
        if self._head.size < held.size:
            raise Fault(f"{held.size} entries were acknowledged, and there are {self._head.size}: its end was cut off")
        if not self._kept:
            raise Fault(f"the first {held.size} entries are not those that were acknowledged")

    def _check_erasures(self) -> None:
        """Behind every erased payload there is an entry here that says so, and one of staff with its proof."""
        proofs = {name[13:-5]: name for name in self._archive.members if name.startswith("log/erasures/")}
        for kid, entries in self._erased.items():
            if kid not in self._erasures:
                for seq in entries:
                    self._verdict.fail("payload", "said to be erased, and no entry records the erasure", seq)
            if kid not in proofs:
                for seq in entries:
                    self._verdict.fail("erasure", "said to be erased, and no proof says that staff erased it", seq)
        for kid, name in proofs.items():
            try:
                self._check_erasure(kid, name)
            except Fault as fault:
                self._verdict.fail("erasure", f"{name}: {fault}")

    def _check_erasure(self, kid: str, name: str) -> None:
        """An entry of a log of staff, which stands under the global log's head, has the erasure of this key. Of what it
        says only that is shown.
        """
        if kid not in self._erased:
            raise Fault("nothing here was erased under this key")
        if self._log is None:
            return
        said = canonical(self._archive.read(name, MAX_NOTE))
        good = isinstance(said, dict) and set(said) == {"entry", "head", "leaves", "path", "tenant"}
        if not good or type(said["entry"]) is not str or not isinstance(said["leaves"], list):
            raise Fault("the proof is malformed")
        try:
            data, tenant = said["entry"].encode(), UUID(str(said["tenant"]))
            head = read_head_leaf(self._leaf(said["head"], "the head of staff").body, self._key.name).head
        except ValueError:
            raise Fault("the proof is malformed") from None
        envelope = read_envelope(data)
        day = envelope["at"][:10]
        if head.log != str(uuid5(UUID(STAFF_LOGS), f"{tenant}/{day}")) or str(tenant) != said["tenant"]:
            raise Fault(f"the head is not that of the log of staff of {day}")
        if root_of_proof(envelope["seq"], head.size, _leaf(data), _hashes(said["path"])) != head.root:
            raise Fault("the entry does not stand in the log of staff")
        event = open_leaves(envelope, said["leaves"])
        if envelope["log"] != head.log or event.get("kind") not in ERASURE_KINDS or event.get("subject_key") != kid:
            raise Fault("the entry of staff is not about the erasure of this key")

    def _leaf(self, leaf: Any, name: str) -> LogProof:
        """A leaf of the global log, proven to stand under its head."""
        good = isinstance(leaf, dict) and set(leaf) == {"body", "index", "path"} and type(leaf["body"]) is str
        if not good or type(leaf["index"]) is not int or self._log_head is None:
            raise Fault(f"{name} is malformed")
        proof = LogProof(leaf["body"].encode(), leaf["index"], _hashes(leaf["path"]), b"")
        if root_of_proof(proof.index, self._log_head.size, _leaf(proof.body), proof.path) != self._log_head.root:
            raise Fault(f"{name} does not stand in the log: it is for another leaf or another head")
        return proof

    def _check_prunings(self) -> None:
        for seq in self._pruned:
            if not any(first <= seq <= last for first, last in self._prunings):
                self._verdict.fail("payload", "said to be pruned, and no entry records that", seq)


class ManyVerifier:
    """One run over an export of many sessions: every bundle, that they share one head of the log, and the list."""

    def __init__(
        self, archive: Archive, policy: Policy, verdict: Verdict, now: datetime, page: Page | None = None
    ) -> None:
        self._archive = archive
        self._policy = policy
        self._verdict = verdict
        self._now = now
        self._page = page
        self._key = policy.logs[0]  # until a bundle says which key it became

    def run(self, demand: Demand) -> None:
        if demand.session or demand.receipt or (demand.held and not _is_of_log(demand.held)):
            raise Fault("this is an export of many sessions: take the bundle of the one out of its folder `sessions`")
        checkpoint = self._archive.read("log/checkpoint", MAX_NOTE)
        name = checkpoint.split(b"\n", 1)[0].decode("utf-8", "replace")
        self._key = next((key for key in self._policy.logs if key.name == name), self._key)
        rows = self._rows()
        for session, entries in rows.items():
            if entries is not None:
                self._check_bundle(session, entries, checkpoint, demand)
        self._check_manifest(rows, name)
        if not any(entries is not None for entries in rows.values()):
            self._check_alone(checkpoint)
        self._verdict.sessions = len(rows)
        self._verdict.finished = True

    def _rows(self) -> dict[str, int | None]:
        """The sessions of the list with their numbers of entries; None where the bundle went with its data subject."""
        data = self._archive.read("sessions.jsonl", MAX_TEXT)
        if not data.endswith(b"\n"):
            raise Fault("sessions.jsonl ends inside a line, or lists nothing")
        rows: dict[str, int | None] = {}
        for line in data.split(b"\n")[:-1]:
            row = strict_json(line)
            session = row.get("session") if isinstance(row, dict) else None
            if not isinstance(session, str) or not _UUID.fullmatch(session) or session in rows:
                raise Fault("sessions.jsonl has a line that names no session, or one twice")
            entries = row.get("entries")
            gone = entries is None and row.get("status") == "erased"
            if not gone and (type(entries) is not int or not 0 <= entries <= MAX_ENTRIES):
                raise Fault(f"sessions.jsonl: the line of session {session} is malformed")
            rows[session] = None if gone else entries
        return rows

    def _check_bundle(self, session: str, entries: int, checkpoint: bytes, demand: Demand) -> None:
        verdict = Verdict()
        try:
            bundle = Archive(self._archive.window(f"sessions/{session}.zip"), verdict)
            if bundle.read("log/checkpoint", MAX_NOTE) != checkpoint:
                verdict.fail("log", "its head of the log is not the one that all share")
            run = Verifier(bundle, self._policy, verdict, self._now, self._page)
            run.run(replace(demand, session=session))
            if verdict.head is None or verdict.head["size"] != entries:
                verdict.fail("list", f"the list says that it has {entries} entries")
            if verdict.ok:
                self._key, self._verdict.log = run.key, verdict.log
                self._verdict.timestamp = verdict.timestamp
        except Fault as fault:
            verdict.fail("bundle", str(fault))
        self._verdict.take(verdict, f"session {session}")

    def _check_manifest(self, rows: dict[str, int | None], name: str) -> None:
        """Every file is one that the log key signed, and none is missing."""
        data = self._archive.read("manifest.json", MAX_TEXT)
        try:
            lines = open_note(self._archive.read("manifest.note", MAX_NOTE), self._key, alone=True).split("\n")
            if len(lines) != 4 or lines[:2] != [EXPORTS_TITLE, name] or lines[3]:
                raise Fault("the note is not that of a manifest of many sessions")
            if _unbase64(lines[2]) != sha256(data).digest():
                raise Fault("the note signs another manifest")
        except Fault as fault:
            self._verdict.fail("manifest", f"manifest.note: {fault}")
        manifest = canonical(data)
        good = isinstance(manifest, dict) and set(manifest) == {"entries", "files", "format", "sessions"}
        if not good or manifest["format"] != EXPORTS_FORMAT or not isinstance(manifest["files"], dict):
            raise Fault(f"manifest.json is not that of {EXPORTS_FORMAT}")
        entries = sum(count for count in rows.values() if count is not None)
        if [manifest["entries"], manifest["sessions"]] != [entries, len(rows)]:
            self._verdict.fail("manifest", "manifest.json counts other sessions or entries than the list")
        expected = {*EXPORTS_FILES, *(f"sessions/{each}.zip" for each, count in rows.items() if count is not None)}
        signed = {each: member.sha256 for each, member in self._archive.members.items()}
        for each in ("manifest.json", "manifest.note"):
            if signed.pop(each, None) is None:
                self._verdict.fail("manifest", f"{each} is missing")
        for each in sorted(expected ^ set(signed)):
            state = "is missing" if each in expected else "does not belong in the export"
            self._verdict.fail("manifest", f"{each} {state}")
        for each in sorted(set(manifest["files"]) | set(signed)):
            if manifest["files"].get(each) != signed.get(each):
                self._verdict.fail("manifest", f"{each} is not the file that was signed")

    def _check_alone(self, checkpoint: bytes) -> None:
        """Where no bundle is left, the head of the log is checked by itself."""
        text, lines = split_note(checkpoint)
        read_log_head(text, self._key.name)
        if not any(_signed(line, text, self._key) is not None for line in lines):
            self._verdict.fail("log", f"the log's head is not signed by {self._key.vkey}")


def read_ranges(event: dict[str, Any], seq: int) -> list[tuple[int, int]]:
    """The ranges (first and last entry) that entry `seq` says were pruned; they lie before it. Fault otherwise."""
    ranges = event.get("ranges")
    if not isinstance(ranges, list) or not ranges:
        raise Fault("it names no range of pruned entries")
    found = []
    for each in ranges:
        if not isinstance(each, dict) or set(each) != {"first", "last"} or {type(at) for at in each.values()} != {int}:
            raise Fault("a range of pruned entries is malformed")
        if not 0 <= each["first"] <= each["last"] < seq:
            raise Fault(f"entries {each['first']} to {each['last']} do not lie before it")
        found.append((each["first"], each["last"]))
    return found


def _opens(line: bytes) -> tuple[int, bytes] | None:
    """(number, okm) of a line that discloses an entry by its key, the most frequent kind; it is canonical as it is."""
    found = _OPENS.fullmatch(line)
    return (int(found[2]), bytes.fromhex(found[1].decode())) if found else None


_OPENS = re.compile(rb'\{"okm":"([0-9a-f]{128})","seq":(0|[1-9][0-9]{0,14})\}')


def read_disclosure(line: Any, seq: int) -> tuple[str, bytes | list[Any]]:
    """("disclosed", okm), ("partly", leaves), or one of the other STATES with b""; Fault on anything else."""
    if type(line) is tuple and line[0] == seq:
        return "disclosed", line[1]
    if not isinstance(line, dict) or line.get("seq") != seq or type(line["seq"]) is not int:
        raise Fault("the line that discloses it is missing or of another entry")
    if set(line) == {"okm", "seq"} and re.fullmatch(r"[0-9a-f]{128}", str(line["okm"]), re.ASCII):
        return "disclosed", bytes.fromhex(line["okm"])
    if set(line) == {"leaves", "seq"} and isinstance(line["leaves"], list):
        return "partly", line["leaves"]
    if set(line) == {"seq", "state"} and line["state"] in CLOSED:
        return str(line["state"]), b""
    if line.get("state") == "unreadable":
        raise Fault("its key could not be had at the export: the entry or the key's row was altered")
    raise Fault("the line that discloses it is malformed")


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text, re.ASCII) is not None


def read_hashes(data: bytes) -> list[bytes]:
    """The hashes of a consistency proof: one a line, in base64."""
    text = data.decode("ascii", "replace")
    if text and not text.endswith("\n"):
        raise Fault("the consistency proof ends inside a line")
    return [_hash(line) for line in text.split("\n")[:-1]]


def verify(
    path: str | os.PathLike[str],
    trusted: str | bytes,
    *,
    log: str = "",
    now: datetime | None = None,
    demand: Demand | None = None,
    page: Page | None = None,
) -> Verdict:
    """Check the bundle or proof at `path` with a log's vkey (text) or a policy (bytes).

    `log` is short for a demand that names but the session; `page` takes the entries of a bundle down.
    """
    verdict = Verdict()
    try:
        policy = _policy_of(trusted, verdict)
        with _open_regular(path) as file:
            if (start := file.read(len(PROOF_TITLE)))[:1] == b"{" or start == PROOF_TITLE.encode():
                whole = start + file.read(MAX_PROOF)
                at = now or datetime.fromtimestamp(time.time(), UTC)
                _check_proof(whole, policy, verdict, at, demand or Demand(session=log))
                return verdict
            verdict.unproved = UNPROVED_FILES
            archive = Archive(file, verdict)
            at = now or datetime.fromtimestamp(time.time(), UTC)
            many = "sessions.jsonl" in archive.members
            verdict.unproved += UNPROVED_LISTS if many else ()
            reader = ManyVerifier if many else Verifier
            reader(archive, policy, verdict, at, page).run(demand or Demand(session=log))
    except Fault as fault:
        verdict.fail("bundle", str(fault))
    except OSError as error:
        verdict.fail("bundle", f"cannot be read: {error.strerror or error}")
    except Exception as error:  # whatever a hostile file provokes is a verdict, never a traceback
        verdict.fail("bundle", f"cannot be checked: {type(error).__name__}")
    return verdict


def _open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    # O_NONBLOCK: opening a pipe must not wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Fault("the bundle is not a regular file")
    return os.fdopen(descriptor, "rb")


# --- proofs ---------------------------------------------------------------------------------------
# A proof is one document about a part of a session (docs/proofs.md), or a tlog-proof of one leaf. It rests on the same
# signed head as a bundle, so it is the same verifier that reads that head.

PROOF_FORMAT = "agentstate-proof/1"
PROVED = "value.proved"  #: the kind of the entry that says which value a path of the state had
MAX_PROOF = 2**25  #: bytes
_PROOF_PARTS = {
    "entry": {"head", "entry", "path"},
    "range": {"head", "entries", "range"},
    "session": {"head", "entries", "tail"},
    "absence": {"session", "map", "proof"},
    "consistency": {"session", "head", "old", "path", "last"},
}


@dataclass(frozen=True)
class Receipt:
    """What somebody was told when they gave a command: the session had `size` entries, with this root and last leaf."""

    session: str
    size: int
    root: bytes
    leaf: bytes


def read_receipt(data: bytes) -> Receipt:
    """Parse a receipt: JSON with session, size, root and leaf, and whatever else the answer held."""
    said = strict_json(data)
    good = isinstance(said, dict) and _is_digest(said.get("root")) and _is_digest(said.get("leaf"))
    if (
        not good
        or type(said.get("size")) is not int
        or said["size"] < 1
        or not _UUID.fullmatch(str(said.get("session")))
    ):
        raise Fault("the receipt does not name session, size, root and leaf")
    return Receipt(said["session"], said["size"], bytes.fromhex(said["root"]), bytes.fromhex(said["leaf"]))


class _Parts:
    """The parts of a proof under the names that a bundle has for them."""

    def __init__(self, log: Any) -> None:
        good = isinstance(log, dict) and set(log) == {"checkpoint", "rotations"} and type(log["checkpoint"]) is str
        if not good or not isinstance(log["rotations"], list):
            raise Fault("the proof holds no head of the log")
        self.members = {f"log/keys/{at:03d}.tlog-proof": leaf for at, leaf in enumerate(log["rotations"])}
        self._checkpoint = log["checkpoint"].encode()

    def read(self, name: str, limit: int) -> bytes:
        """The signed head."""
        if len(self._checkpoint) > limit:
            raise Fault(f"the head has {len(self._checkpoint)} bytes, want at most {limit}")
        return self._checkpoint


class ProofVerifier(Verifier):
    """One run over one proof document; `run` raises Fault at the first thing that does not hold."""

    def __init__(self, data: bytes, policy: Policy, verdict: Verdict, now: datetime) -> None:
        document = canonical(data)
        if not isinstance(document, dict) or document.get("format") != PROOF_FORMAT:
            raise Fault(f"the file is no proof in the form {PROOF_FORMAT}")
        kind = document.get("kind")
        if not isinstance(kind, str) or kind not in _PROOF_PARTS:
            raise Fault("the proof is of an unknown kind")
        if set(document) != _PROOF_PARTS[kind] | {"format", "kind", "log"}:
            raise Fault(f"the proof does not have exactly the parts of its kind, {kind}")
        self._document, self._kind = document, kind
        self._parts = _Parts(document["log"])
        super().__init__(self._parts, policy, verdict, now)  # type: ignore[arg-type]
        self._said: dict[str, Any] = {"kind": kind}

    def run(self, demand: Demand) -> None:
        self._check_log(demand)
        checks = {
            "entry": self._check_one,
            "range": self._check_range,
            "session": self._check_whole,
            "absence": self._check_absence,
            "consistency": self._check_growth,
        }
        checks[self._kind]()
        about = self._head.log if self._head else str(self._said.get("absent", ""))
        if demand.session and about != demand.session:
            raise Fault(f"the proof is about {about or 'no session'}, want {demand.session}")
        if demand.receipt:
            self._check_promise(demand.receipt)
        self._verdict.proof = self._said
        self._verdict.finished = True

    def _check_own_policy(self) -> None:
        """A proof holds none."""

    def _proved(self, name: str, head: Head) -> LogProof:
        return self._leaf(self._parts.members[name], name)

    def _read_head(self) -> Head:
        """The session's head."""
        leaf = self._leaf(self._document["head"], "the session's head")
        head = read_head_leaf(leaf.body, self._key.name).head
        self._head = head
        self._verdict.head = {"log": head.log, "size": head.size, "root": head.root.hex(), "leaf": leaf.index}
        return head

    def _check_one(self) -> None:
        head = self._read_head()
        envelope, told = self._entry(self._document["entry"], head)
        seq, leaf = told["seq"], _leaf(envelope)
        if root_of_proof(seq, head.size, leaf, _hashes(self._document["path"])) != head.root:
            raise Fault(f"the entry is not number {seq} of this session")
        self._said["entries"] = [told]
        event = told.get("event")
        if told["kind"] == PROVED and event is not None:
            if not {"path", "value", "state", "written"} <= set(event):
                raise Fault("the entry proves no value")
            self._said["value"] = {name: event[name] for name in ("path", "value", "state", "written")}

    def _check_range(self) -> None:
        head, proof = self._read_head(), self._document["range"]
        good = isinstance(proof, dict) and set(proof) == {"before", "end", "parts", "start"}
        if not good or type(proof["start"]) is not int or type(proof["end"]) is not int:
            raise Fault("the proof of the range is malformed")
        parts = proof["parts"]
        if not isinstance(parts, list):
            raise Fault("the proof of the range is malformed")
        leaves = self._entries(head, proof["start"])
        if len(leaves) != proof["end"] - proof["start"]:
            raise Fault(f"got {len(leaves)} entries, the range has {proof['end'] - proof['start']}")
        before, paths = _hashes(proof["before"]), [_hashes(part) for part in parts]
        check_range((proof["start"], proof["end"]), leaves, before, paths, head)

    def _check_whole(self) -> None:
        head = self._read_head()
        leaves = self._entries(head, 0)
        if len(leaves) != head.size or _grown([], 0, leaves) != head.root:
            raise Fault(f"the entries are not the {head.size} of the session's head")
        self._check_latest(head)
        last = self._said["entries"][-1] if leaves else {}
        self._said["sealed"] = last.get("kind") in (SEALED_BY, ERASED_BY, PRUNED_BY) and any(
            each["kind"] == SEALED_BY for each in self._said["entries"]
        )

    def _check_latest(self, head: Head) -> None:
        """The newest head map calls this head the session's latest."""
        tail = self._document["tail"]
        if not isinstance(tail, dict) or set(tail) != {"map", "siblings"}:
            raise Fault("the proof of the session's end is malformed")
        said, root = self._map(tail["map"])
        assert self._verdict.head is not None
        index = self._verdict.head["leaf"]
        if root_of_map(self._key.name, head.log, index, head.size, _hashes(tail["siblings"])) != root:
            raise Fault("the head map does not call this head the session's latest: its end was cut off")
        self._said["as_of"] = self._verdict.head["latest_as_of"] = said.index

    def _map(self, leaf: Any) -> tuple[LogProof, bytes]:
        """A head map that stands in the log, and its root."""
        said = self._leaf(leaf, "the head map")
        lines = said.body.split(b"\n")
        if len(lines) != 6 or lines[:2] != [MAP_TITLE.encode(), self._key.name.encode()] or lines[5]:
            raise Fault("the leaf is no head map")
        if lines[2] != str(said.index).encode():
            raise Fault("the head map stands at another place in the log than it says")
        return said, _hash(lines[4].decode("ascii", "replace"))

    def _check_absence(self) -> None:
        session, proof = self._document["session"], self._document["proof"]
        if not isinstance(session, str) or not _UUID.fullmatch(session):
            raise Fault("the proof names no session")
        good = isinstance(proof, dict) and set(proof) == {"other", "siblings", "value"} and proof["value"] is None
        if not good or not (proof["other"] is None or isinstance(proof["other"], list)):
            raise Fault("the proof of absence is malformed")
        said, root = self._map(self._document["map"])
        if root_without(f"{self._key.name}/s/{session}", _hashes(proof["siblings"]), proof["other"]) != root:
            raise Fault("the head map does not say that there is no such session")
        self._said |= {"absent": session, "as_of": said.index}

    def _check_growth(self) -> None:
        session, old, last = (self._document[name] for name in ("session", "old", "last"))
        if not isinstance(old, dict) or set(old) != {"root", "size"} or not _is_digest(old["root"]):
            raise Fault("the older head is malformed")
        if type(old["size"]) is not int or old["size"] < 1:
            raise Fault("the older head is malformed")
        before = Head("", old["size"], bytes.fromhex(old["root"]))
        self._said |= {"old": old, "session": session}
        if session == "":
            if self._document["head"] is not None or last is not None or self._log_head is None:
                raise Fault("the proof is about a session, and names none")
            check_consistency(before, self._log_head, _hashes(self._document["path"]))
            return
        head = self._read_head()
        if session != head.log or not isinstance(last, dict) or set(last) != {"leaf", "path"}:
            raise Fault("the proof is malformed, or of another session")
        check_consistency(before, head, _hashes(self._document["path"]))
        leaf = _hashes([last["leaf"]])[0]
        if root_of_proof(before.size - 1, before.size, leaf, _hashes(last["path"])) != before.root:
            raise Fault("the last entry of the older head is another")
        self._said["leaf"] = last["leaf"]

    def _check_promise(self, held: Receipt) -> None:
        if self._kind != "consistency" or self._document["session"] != held.session:
            raise Fault("a receipt is checked against a proof of consistency of its session, or an export")
        old = self._said["old"]
        if (old["size"], old["root"], self._said["leaf"]) != (held.size, held.root.hex(), held.leaf.hex()):
            raise Fault(f"the receipt is of {held.size} entries under another root: the session is not what it was")
        self._said["receipt"] = "held"

    def _entries(self, head: Head, first: int) -> list[bytes]:
        """The leaf hashes of the entries, which stand one behind the other from `first` on."""
        items = self._document["entries"]
        if not isinstance(items, list):
            raise Fault("the proof holds no list of entries")
        told, leaves = [], []
        for at, item in enumerate(items):
            envelope, each = self._entry(item, head)
            if each["seq"] != first + at:
                raise Fault(f"entry {each['seq']} stands where entry {first + at} should")
            told.append(each)
            leaves.append(_leaf(envelope))
        self._said["entries"] = told
        return leaves

    def _entry(self, item: Any, head: Head) -> tuple[bytes, dict[str, Any]]:
        """The bytes of an entry's envelope, and what the proof shows of it."""
        if not isinstance(item, dict) or set(item) != {"envelope", "shown"} or type(item["envelope"]) is not str:
            raise Fault("an entry is malformed")
        data = item["envelope"].encode()
        envelope = read_envelope(data)
        if envelope["log"] != head.log:
            raise Fault(f"entry {envelope['seq']} is of another session")
        told = {name: envelope[name] for name in ("seq", "kind", "at", "actor")}
        return data, told | self._shown(envelope, item["shown"])

    def _shown(self, envelope: dict[str, Any], shown: Any) -> dict[str, Any]:
        """What is shown of a payload, checked against what the envelope commits to."""
        if not isinstance(shown, dict):
            raise Fault("an entry is malformed")
        if set(shown) == {"closed"} and shown["closed"] in ("erased", "pruned", "withheld"):
            return {"closed": shown["closed"]}
        if set(shown) == {"okm", "payload"} and type(shown["payload"]) is str:
            if not re.fullmatch(r"[0-9a-f]{128}", str(shown["okm"]), re.ASCII):
                raise Fault("an entry is opened with no key")
            okm, payload = bytes.fromhex(shown["okm"]), shown["payload"].encode()
            if okm[32:].hex() != envelope["kc"]:
                raise Fault("the disclosed key is not the one that the entry commits to")
            if fields_root(okm, payload).hex() != envelope.get("pc"):
                raise Fault("the payload is not the one that the entry commits to")
            return {"event": read_event(payload, envelope["kind"])}
        if set(shown) == {"fields"} and isinstance(shown["fields"], list) and shown["fields"]:
            fields = read_fields(shown["fields"], str(envelope.get("pc")))
            return {"fields": fields, "withheld": shown["fields"][0]["count"] - len(fields)}
        raise Fault("an entry is malformed")


def read_fields(fields: list[Any], root: str) -> dict[str, Any]:
    """Values by JSON Pointer, each proven to be a field of the payload behind `root`."""
    found: dict[str, Any] = {}
    before, of = -1, None
    for each in fields:
        if not isinstance(each, dict) or set(each) != {"count", "index", "path", "pointer", "salt", "value"}:
            raise Fault("a field is malformed")
        index, count, pointer, value = (each[name] for name in ("index", "count", "pointer", "value"))
        good = type(index) is int and type(count) is int and type(pointer) is str and type(value) is str
        if (
            not good
            or not re.fullmatch(r"[0-9a-f]{32}", str(each["salt"]), re.ASCII)
            or value != value.strip(" \t\r\n")
        ):
            raise Fault("a field is malformed")
        if index <= before or of not in (None, count) or not pointer.startswith("/"):
            raise Fault("the fields are not in order, or of several payloads")
        before, of = index, count
        leaf = _leaf(bytes.fromhex(each["salt"]) + f"{_encode(pointer)}:{value}".encode())
        if root_of_proof(index, count, leaf, _hashes(each["path"])).hex() != root:
            raise Fault(f"{pointer[:120]!r} is no field of this entry with this value")
        found[pointer] = strict_json(value.encode())
    return found


def check_range(
    part: tuple[int, int], leaves: list[bytes], before: list[bytes], paths: list[list[bytes]], head: Head
) -> None:
    """Fault unless these are leaves [start, end) of the tree: one or two subtrees cover them, each a part of it."""
    start, end = part
    if not 0 <= start < end <= head.size:
        raise Fault(f"the range is {start} to {end} of {head.size} entries")
    covers = subtrees(start, end)
    first, middle = covers[0]
    if len(paths) != len(covers) or len(before) != (start - first).bit_count():
        raise Fault("the proof of the range has not the hashes that it needs")
    roots = [_grown(before, start - first, leaves[: middle - start])]
    if len(covers) > 1:
        roots.append(_grown([], 0, leaves[middle - start :]))
    for cover, root, path in zip(covers, roots, paths, strict=True):
        if root_of_subtree(cover, head.size, root, path) != head.root:
            raise Fault("the entries are not these of the session: one is missing, altered or moved")


def subtrees(start: int, end: int) -> list[tuple[int, int]]:
    """The one or two ranges of leaves, each a subtree, that cover [start, end) and end with it."""
    if end - start == 1:
        return [(start, end)]
    last = end - 1
    low = (1 << (start ^ last).bit_length() - 1) - 1
    middle, left = last & ~low, (~start & low).bit_length()
    return [(start >> left << left, middle), (middle, end)]


def root_of_subtree(part: tuple[int, int], size: int, root: bytes, path: list[bytes]) -> bytes:
    """The root of a tree of `size` leaves to which a proof leads that the subtree `part` has `root` and is in it."""
    if not 0 <= part[0] < part[1] <= size:
        raise Fault(f"the part is {part[0]} to {part[1]} of {size} entries, and has to hold one of them")
    first, last, edge = part[0], part[1] - 1, size - 1
    while first != last and (last == edge or last & 1):
        first, last, edge = first >> 1, last >> 1, edge >> 1
    hashes = [root, *path] if first == last else path
    if not hashes:
        raise Fault("the proof of the range is too short")
    inner = whole = hashes[0]
    for value in hashes[1:]:
        if not edge:
            raise Fault("the proof of the range is too long")
        if last & 1 or last == edge:
            inner = _node(value, inner) if first < last else inner
            whole = _node(value, whole)
            while not last & 1:
                first, last, edge = first >> 1, last >> 1, edge >> 1
        else:
            whole = _node(whole, value)
        first, last, edge = first >> 1, last >> 1, edge >> 1
    if edge or inner != root:
        raise Fault("the proof of the range does not fit its entries")
    return whole


def root_without(origin: str, siblings: list[bytes], other: list[Any] | None) -> bytes:
    """The root of a head map that has no row for `origin`: its place is empty, or held by one `other` (key, value)."""
    key = sha256(origin.encode()).digest()
    value = bytes(32)
    if len(siblings) > 256 or (siblings and siblings[0] == bytes(32)):
        raise Fault("the head map is not of the form that it has")
    if other is not None:
        if len(other) != 2 or not _is_digest(other[0]) or not re.fullmatch(r"[0-9a-f]{32}", str(other[1]), re.ASCII):
            raise Fault("the row that stands in the way is malformed")
        stands = bytes.fromhex(other[0])
        shared = 256 - (int.from_bytes(key, "big") ^ int.from_bytes(stands, "big")).bit_length()
        if stands == key or shared < len(siblings):
            raise Fault("the row that stands in the way is elsewhere")
        value = sha256(b"\x00" + stands + bytes.fromhex(other[1])).digest()
    bits = int.from_bytes(key, "big")
    for depth, sibling in zip(range(len(siblings) - 1, -1, -1), siblings, strict=True):
        value = _node(sibling, value) if bits >> (255 - depth) & 1 else _node(value, sibling)
    return value


def _grown(before: list[bytes], size: int, leaves: list[bytes]) -> bytes:
    """The root after `leaves` were added to the perfect subtrees (largest first) of a tree of `size`."""
    nodes = list(before)
    for leaf in leaves:
        carried, rest = leaf, size
        while rest & 1:
            carried, rest = _node(nodes.pop(), carried), rest >> 1
        nodes.append(carried)
        size += 1
    if not nodes:
        return sha256(b"").digest()
    root = nodes.pop()
    while nodes:
        root = _node(nodes.pop(), root)
    return root


def _hashes(values: Any) -> list[bytes]:
    if not isinstance(values, list) or len(values) > 256 or not all(map(_is_digest, values)):
        raise Fault("a list of hashes is malformed")
    return [bytes.fromhex(value) for value in values]


def check_tlog_proof(data: bytes, policy: Policy, verdict: Verdict) -> None:
    """A tlog-proof of an entry under its session's signed head, or of a leaf under the global log's."""
    proof = read_proof(data)
    text, lines = split_note(proof.checkpoint)
    origin, head = _read_body(text)
    key = next(
        (key for key in policy.logs if origin == key.name or origin.startswith(f"{key.name}/s/")), policy.logs[0]
    )
    if not any(_signed(line, text, key) is not None for line in lines):
        raise Fault(f"the head is not signed by {key.vkey}")
    verdict.key = {"vkey": key.vkey, "source": "given"}
    if root_of_proof(proof.index, head.size, _leaf(proof.body), proof.path) != head.root:
        raise Fault(f"the entry is not number {proof.index} of the {head.size} under this head")
    said: dict[str, Any] = {"kind": "tlog-proof", "origin": origin, "index": proof.index, "size": head.size}
    if origin == key.name:
        cosigned = {
            name for name, one in policy.witnesses.items() if any(_signed(at, text, one) is not None for at in lines)
        }
        if not policy.met(cosigned):
            raise Fault(f"cosigned by {sorted(cosigned)}: the policy asks for {policy.quorum}")
        said["leaf"] = proof.body.decode("utf-8", "replace")
    else:
        envelope = read_envelope(proof.body)
        session = read_session_head(text, key.name).log
        if (envelope["log"], envelope["seq"]) != (session, proof.index):
            raise Fault("the entry is of another session, or says that it has another number")
        verdict.head = {"log": session, "size": head.size, "root": head.root.hex()}
        said["entries"] = [{name: envelope[name] for name in ("seq", "kind", "at", "actor")} | {"closed": "withheld"}]
    verdict.proof = said
    verdict.finished = True


def verify_proof(
    data: bytes, trusted: str | bytes, *, now: datetime | None = None, demand: Demand | None = None
) -> Verdict:
    """Check a proof document or a tlog-proof with a log's vkey (text) or a policy (bytes). Never raises."""
    verdict = Verdict()
    try:
        policy = _policy_of(trusted, verdict)
        _check_proof(data, policy, verdict, now or datetime.fromtimestamp(time.time(), UTC), demand or Demand())
    except Fault as fault:
        verdict.fail("proof", str(fault))
    except Exception as error:
        verdict.fail("proof", f"cannot be checked: {type(error).__name__}")
    return verdict


def _check_proof(data: bytes, policy: Policy, verdict: Verdict, now: datetime, demand: Demand) -> None:
    if len(data) > MAX_PROOF:
        raise Fault(f"the proof has more than {MAX_PROOF} bytes")
    if demand.held and not _is_of_log(demand.held):
        raise Fault("the head of a session is compared with an export of it, not with a proof")
    if demand.restamps:
        raise Fault("a proof holds no time stamp that newer ones could be over")
    if data.startswith(PROOF_TITLE.encode()):
        if demand.receipt or demand.session or demand.held or demand.min_size or demand.max_age:
            raise Fault("a tlog-proof is checked by itself")
        check_tlog_proof(data, policy, verdict)
        return
    ProofVerifier(data, policy, verdict, now).run(demand)


def _policy_of(trusted: str | bytes, verdict: Verdict) -> Policy:
    policy = read_policy(trusted) if isinstance(trusted, bytes) else Policy([read_vkey(trusted)], quorum="none")
    if not policy.logs:
        raise Fault("the policy names no log")
    verdict.key = {"vkey": policy.logs[0].vkey, "source": "given"}
    return policy


# --- command line ---------------------------------------------------------------------------------


def find_key(given: str | None, bundle: str) -> tuple[str, str]:
    """(vkey, where it came from); Fault when there is none."""
    if given is not None and given.count("+") >= 2 and not os.path.exists(given):
        return given, "given with --key"
    path = given if given is not None else f"{bundle}.vkey"
    try:
        text = _small_file(path).decode("utf-8").removesuffix("\n")
    except (Fault, UnicodeDecodeError):
        raise Fault(f"no log key: {path} cannot be read; give one with --key") from None
    return text, f"given with --key {path}" if given is not None else f"taken from {path}, beside the bundle"


def find_trust(key: str | None, policy: str | None, bundle: str) -> tuple[str | bytes, str]:
    """(vkey or policy, where it came from); Fault when there is neither."""
    if policy is not None:
        return _small_file(policy), f"given with --policy {policy}"
    return find_key(key, bundle)


def _small_file(path: str) -> bytes:
    try:
        with _open_regular(path) as file:
            return file.read(MAX_NOTE)
    except (OSError, ValueError):
        raise Fault(f"{path} cannot be read") from None


def _is_of_log(held: bytes) -> bool:
    """Whether a signed head is one of the global log: the origin of a session's has /s/ before its id."""
    return b"/s/" not in held.partition(b"\n")[0]


def read_held(path: str) -> tuple[bytes, Receipt | None]:
    """What an auditor kept: a signed head (of the log, of the session, or the one of an older bundle), or a receipt."""
    data = _small_file(path)
    if data.startswith(b"PK"):
        with _open_regular(path) as file:
            return Archive(file, Verdict()).read("session/checkpoint", MAX_NOTE), None
    return (b"", read_receipt(data)) if data.startswith(b"{") else (data, None)


def main(arguments: list[str] | None = None) -> int:
    """Print the verdict; 0 only if everything holds, 1 if not, 2 for wrong usage."""
    options = _parser().parse_args(arguments)
    verdict = Verdict()
    page = Page() if options.report else None
    try:
        trusted, source = find_trust(options.key, options.policy, options.bundle)
        verdict = verify(options.bundle, trusted, demand=_demand(options), page=page)
        if verdict.key:
            verdict.key["source"] = source
    except Fault as fault:
        verdict.fail("key", str(fault))
    if page is not None and verdict.ok:
        _write_page(page, options.report, verdict)
    print(json.dumps(verdict.as_json(), indent=1) if options.json else "\n".join(in_words(verdict)))
    return 0 if verdict.ok else 1


def _write_page(page: Page, path: str, verdict: Verdict) -> None:
    """Write the page to a new file; where that fails, the verdict says so."""
    if verdict.proof:
        verdict.fail("report", "a page is written of an export, and this is a proof")
        return
    try:
        with open(path, "xb") as out:  # never over a file that is there: it could be the bundle
            page.write(out, verdict)
    except OSError as error:
        verdict.fail("report", f"{path} cannot be written: {error.strerror or error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="audit.verify", description="Verify an exported session, or a proof.")
    parser.add_argument("bundle", metavar="FILE")
    parser.add_argument("--key", metavar="VKEY", help="the log's key, or a file that holds it, from your own records")
    parser.add_argument("--policy", metavar="FILE", help="keys, witnesses and quorum, in place of --key")
    parser.add_argument("--log", metavar="SESSION", default="", help="the session that the bundle has to be of")
    parser.add_argument(
        "--held", metavar="FILE", help="an older bundle, signed head or receipt: this one must continue it"
    )
    parser.add_argument("--consistency", metavar="FILE", help="the proof that it does, if the bundle holds none")
    parser.add_argument("--min-size", metavar="N", type=int, default=0, help="entries that the log must have at least")
    parser.add_argument("--max-age", metavar="HOURS", type=float, help="since the newest cosignature of a witness")
    parser.add_argument("--receipt", metavar="FILE", help="of a command: the session must hold what it says")
    parser.add_argument("--restamps", metavar="FILE", help="newer time stamps over the bundle's own")
    parser.add_argument("--report", metavar="OUT", help="if all holds, write a page (HTML) of what was proved")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    return parser


def _demand(options: argparse.Namespace) -> Demand:
    held, receipt = read_held(options.held) if options.held else (b"", None)
    return Demand(
        session=options.log,
        held=held,
        held_proof=read_hashes(_small_file(options.consistency)) if options.consistency else None,
        min_size=options.min_size,
        max_age=timedelta(hours=options.max_age) if options.max_age is not None else None,
        receipt=read_receipt(_small_file(options.receipt)) if options.receipt else receipt,
        restamps=_small_file(options.restamps) if options.restamps else b"",
    )


def _proof_in_words(said: dict[str, Any]) -> Iterator[str]:
    """What a proof proves; everything that it quotes in ASCII, for it comes from a stranger."""
    yield f"Proof    {said['kind']}"
    if "absent" in said:
        yield f"         there is no session {said['absent']} as of leaf {said['as_of']} of the log"
    if "old" in said:
        yield f"         it continues the head of {said['old']['size']} entries, root {said['old']['root']}"
    for each in said.get("entries", ()):
        yield f"Entry    {each['seq']} {each['kind']} at {each['at']} by {ascii(each['actor'])[1:-1]}"
        shown = {name: each[name] for name in ("event", "fields", "withheld", "closed") if name in each}
        yield f"         {json.dumps(shown, sort_keys=True)}"
    if "value" in said:
        yield "Value    {path} after {state} entries: ".format(**said["value"]) + json.dumps(said["value"]["value"])
    if "sealed" in said:
        yield f"End      nothing after entry {len(said['entries']) - 1} as of leaf {said['as_of']} of the log"


def _end_in_words(stamp: dict[str, str]) -> Iterator[str]:
    """Until when a time stamp can be believed, and what to do."""
    if "renewed" in stamp:
        yield f"         {stamp['renewed']} newer stamps are over it, whose signatures are for openssl as well"
    if not stamp["until"]:
        yield "         it holds no certificate: until when it can be believed is not known here"
    elif stamp["ended"] == "yes":
        yield f"         WARNING: its authority's certificate ended {stamp['until']}. Ask for a newer stamp over it,"
        yield f"         LOG/restamps/{stamp['sha256']}, and give that with --restamps"
    else:
        yield f"         can be believed until {stamp['until']}, when its authority's certificate ends. Before that"
        yield f"         fetch the newer stamp over it, LOG/restamps/{stamp['sha256']}"


NO_WITNESS = "         no witness that you trust cosigned: another auditor may have been shown another history"


def in_words(verdict: Verdict) -> Iterator[str]:
    """The verdict, line by line, for a person: first what of the file it does not speak of."""
    if verdict.unproved:
        yield f"NOT PROVED  {', '.join(verdict.unproved)}: signed, but whoever holds the log key can sign others."
        yield f"         Read {', '.join(TABLES)}, which are compared with the entries, or the page of --report OUT."
    if verdict.key:
        yield f"Key      {verdict.key['vkey']}"
        yield f"         {verdict.key['source']}"
        if "beside the bundle" in verdict.key["source"]:
            yield "         WARNING: who made the bundle made this file too. Compare it with your own copy."
    if verdict.log:
        yield f"Log      {verdict.log['size']} entries, root {verdict.log['root']}"
        witnesses = ", ".join(ascii(name)[1:-1] for name in verdict.log["witnesses"])
        yield f"         cosigned by {witnesses} at {verdict.log['cosigned_at']}" if witnesses else NO_WITNESS
    if verdict.timestamp:
        yield f"Time     {verdict.timestamp['at']} (signature {verdict.timestamp['signature']})"
        yield from _end_in_words(verdict.timestamp)
    if verdict.head:
        yield f"Session  {verdict.head['log']}"
        yield f"Head     {verdict.head['size']} entries, root {verdict.head['root']}"
        if "leaf" in verdict.head:
            latest = (
                ", the latest as of leaf {latest_as_of}".format(**verdict.head)
                if "latest_as_of" in verdict.head
                else ""
            )
            yield f"         leaf {verdict.head['leaf']} of the log{latest}"
        if verdict.head.get("earlier"):
            yield f"         after {verdict.head['earlier']} earlier heads, each the beginning of these entries"
        if "continues" in verdict.head:
            yield f"         it continues the head of {verdict.head['continues']} entries that you hold"
    if verdict.proof:
        yield from _proof_in_words(verdict.proof)
    if verdict.sessions is not None:
        yield f"Sessions {verdict.sessions}"
    counts = verdict.counts
    told = "{disclosed} disclosed, {partly} partly disclosed, {withheld} withheld, {erased} erased, {pruned} pruned"
    if not verdict.proof:
        yield f"Entries  {counts['entries']}: {told.format(**counts)}"
    if counts["indivisible"]:
        yield f"         {counts['indivisible']} indivisible: of an entry of version 1 no part can be shown alone"
    for failure in verdict.failures:
        place = "bundle" if failure.entry is None else f"entry {failure.entry} ({failure.kind or 'kind unknown'})"
        # ascii(): a hostile bundle must not be able to write control sequences to the auditor's terminal.
        yield f"FAIL     {place}: {failure.check}: {ascii(failure.message)[1:-1]}"
    if counts["failures"] > len(verdict.failures):
        yield f"FAIL     and {counts['failures'] - len(verdict.failures)} more"
    yield "OK: every check holds." if verdict.ok else f"NOT OK: {counts['failures']} checks failed."


if __name__ == "__main__":
    sys.exit(main())
