"""The monitor: follows a public log from outside and says aloud when it lies. One file, on purpose.

    python -m audit.monitor URL --key VKEY --state DIR      (or: python monitor.py URL ...)

It needs Python 3.11 and `cryptography`; it imports nothing else of the project and sees nothing but the public
addresses (C2SP tlog-tiles below URL), so anybody can run it anywhere and read it from top to bottom. It is a third
reading of the formats in audit/tlog, not a user of it.

Each look: fetch the newest signed head; download every leaf since the last one; recompute the tree from all leaves ever
seen and compare its root with the signed one (so it is one log that only grew); check the form of each leaf, that no
log of a session ever shrinks, that each of its heads names the one before it, every head map by recomputing it, and the
chain of the log's keys; check who cosigned and how fresh that is; compare with the head that others hold, and ask
witnesses whether they saw the same. What it saw is kept in DIR (SQLite), with the newest signed head in DIR/head for
other auditors to compare with theirs.

What does not hold ends it with status 1, with words, and with a file of evidence: the signed heads, and proofs. A log
under another key or origin ends it with status 4, and the file names the keys. A log that cannot be reached, or says
nothing new for too long, is status 3; wrong usage is 2.

Order of reading: notes and keys, policy, tree, the head map, the log over HTTP, memory, leaves, monitor, command line.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import os
import re
import sqlite3
import sys
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

WIDTH = 256  #: entries of a bundle, hashes of a tile, as in C2SP tlog-tiles
MAX_BUNDLE = WIDTH * (2 + 0xFFFF)
MAX_NOTE = 1_000_000
MAX_POLICY = 100_000
MAX_FINDINGS = 20  #: put into one file of evidence
SECONDS = 20.0  #: for an answer
PATIENCE = 60.0  #: at most, between two tries when the log asks us to wait
TRIES = 5
MOST_UNSIGNED = 2**20  #: leaves that are read for a head of which only they can show the key that signed it
AHEAD = 3.0  #: seconds that a log may take to publish what a witness has seen already
MAP_TITLE, KEY_TITLE, GAP_TITLE = "agentstate headmap/1", "agentstate key/1", "agentstate gap/1"


class Fault(Exception):
    """Something is not of its form; the text says what."""


class Unreachable(Exception):
    """The log, or somebody who is asked about it, does not answer."""


class Lie(Exception):
    """What the log said does not hold. `evidence` is for the file: heads, proofs, leaves."""

    def __init__(self, kind: str, words: str, **evidence: Any) -> None:
        super().__init__(words)
        self.kind, self.evidence = kind, evidence


class Stranger(Lie):
    """The log is signed under another key or origin: it is not the log that this monitor follows."""

    def __init__(self, words: str, **evidence: Any) -> None:
        super().__init__("stranger", f"not the log I follow: {words}", **evidence)


# --- notes and keys -------------------------------------------------------------------------------

_P = 2**255 - 19
_SMALL_ORDER = {0, 1, _P - 1} | {
    int.from_bytes(bytes.fromhex(text), "little")
    for text in (
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
}
LOG, WITNESS = 1, 4  #: the types of key: a log's signature, a witness's cosignature
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)


@dataclass(frozen=True)
class Key:
    """An Ed25519 key as a vkey names it: name+id+base64(type and 32 bytes)."""

    name: str
    public: bytes
    form: int = LOG

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.form]) + self.public).digest()[:4]

    @property
    def vkey(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(bytes([self.form]) + self.public).decode()}"


def read_vkey(text: str, form: int = LOG) -> Key:
    """Parse a vkey, strictly; keys of small order are refused, for anybody could sign under them."""
    parts = text.split("+", 2)
    if len(parts) != 3 or not _is_name(parts[0]):
        raise Fault("the key is not a vkey (name+id+base64)")
    raw = _unbase64(parts[2])
    if len(raw) != 33 or raw[0] != form:
        raise Fault(f"the key is not an Ed25519 vkey of type {form}")
    key = Key(parts[0], raw[1:], form)
    y = int.from_bytes(key.public, "little") & (2**255 - 1)
    if y >= _P or y in _SMALL_ORDER or key.vkey != text:
        raise Fault("the key is of small order, or its id does not belong to it")
    return key


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


def signed(line: str, text: str, key: Key) -> int | None:
    """When the key signed `text` by this line (seconds since 1970; 0 of a log's); None if the line is another key's,
    Fault if it is wrong.
    """
    mark, _, rest = line.partition(" ")
    name, _, encoded = rest.partition(" ")
    value = _unbase64(encoded)
    if mark != "—" or not _is_name(name) or len(value) < 5:
        raise Fault("the note has a malformed signature line")
    if (name, value[:4]) != (key.name, key.key_id):
        return None
    at, signature, message = 0, value[4:], text
    if key.form == WITNESS:
        at, signature = int.from_bytes(signature[:8], "big"), signature[8:]
        message = f"cosignature/v1\ntime {at}\n{text}"
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signature, message.encode())
    except (InvalidSignature, ValueError):
        raise Fault(f"the signature of {key.name} does not match the note") from None
    return at


def signed_by(keys: Iterable[Key], text: str, lines: list[str]) -> bool:
    """Whether one of the keys signed; Fault where a line of one of them is wrong."""
    times = [signed(line, text, key) for key in keys for line in lines]
    return any(at is not None for at in times)


def signers(lines: list[str]) -> list[str]:
    """The names and key ids, as name+id, that the signature lines of a note claim."""
    found = []
    for line in lines:
        name, _, encoded = line.partition(" ")[2].partition(" ")
        with suppress(Fault):
            found.append(f"{name}+{_unbase64(encoded)[:4].hex()}")
    return found


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


def _hash(text: str) -> bytes:
    value = _unbase64(text)
    if len(value) != 32:
        raise Fault(f"a hash has {len(value)} bytes, want 32")
    return value


@dataclass(frozen=True)
class Head:
    """What a head says: the log's origin, its number of leaves, and its RFC 6962 root."""

    origin: str
    size: int
    root: bytes


def read_head(text: str) -> Head:
    """Parse the body of a C2SP tlog-checkpoint without extensions."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] or not lines[0] or not _NUMBER.fullmatch(lines[1]):
        raise Fault("the head is not three lines of origin, size and root")
    return Head(lines[0], int(lines[1]), _hash(lines[2]))


def read_head_leaf(text: str) -> tuple[Head, tuple[int, bytes] | None]:
    """Parse a leaf that says the head of a log: the head, and index and leaf hash of the log's leaf before this one."""
    lines = text.split("\n")
    head = read_head("\n".join([*lines[:3], ""]))
    if lines[3:] == [""]:
        return head, None
    words = lines[3].split(" ") if len(lines) == 5 and not lines[4] else []
    if len(words) != 3 or words[0] != "after" or not _NUMBER.fullmatch(words[1]):
        raise Fault("the leaf of a head is malformed after its third line")
    return head, (int(words[1]), _hash(words[2]))


# --- policy ---------------------------------------------------------------------------------------


@dataclass
class Policy:
    """Whom we trust (C2SP tlog-policy): keys of logs, witnesses (key and URL), and which of them must have cosigned."""

    logs: list[Key] = field(default_factory=list)
    witnesses: dict[str, tuple[Key, str]] = field(default_factory=dict)
    groups: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    quorum: str = "none"

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
    policy, used, quorum = Policy(), set[str](), ""
    for line in data.decode("latin-1").split("\n"):
        words = [word for word in re.split(r"[ \t]+", line) if word]
        if not words or words[0].startswith("#"):
            continue
        known = policy.witnesses.keys() | policy.groups.keys()
        keys = {key.public for key in policy.logs} | {key.public for key, _ in policy.witnesses.values()}
        match words:
            case ["log", vkey, *url] if len(url) < 2 and (key := read_vkey(vkey)).public not in keys:
                policy.logs.append(key)
            case ["witness", name, vkey, *url] if len(url) < 2 and name not in known | {"none"}:
                key = read_vkey(vkey, WITNESS)
                if key.public in keys:
                    raise Fault("the policy names one key twice")
                policy.witnesses[name] = key, "".join(url).rstrip("/")
            case ["group", name, number, *members] if members and name not in known | {"none"}:
                if not set(members) <= known - used or len(set(members)) < len(members):
                    raise Fault(f"the policy's group {name!r} names somebody unknown or used before")
                policy.groups[name] = _how_many(number, len(members)), members
                used |= set(members)
            case ["quorum", quorum_name] if not quorum and quorum_name in known | {"none"}:
                quorum = policy.quorum = quorum_name
            case _:
                raise Fault(f"the policy has a line that cannot be read: {' '.join(words)[:80]!r}")
    if not quorum or not policy.logs:
        raise Fault("the policy names no quorum or no log")
    return policy


def _how_many(number: str, members: int) -> int:
    if number in ("any", "all"):
        return 1 if number == "any" else members
    if not re.fullmatch(r"[1-9][0-9]{0,4}", number) or int(number) > members:
        raise Fault(f"the policy asks for {number[:20]!r} of {members}")
    return int(number)


# --- tree -----------------------------------------------------------------------------------------


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """RFC 6962, leaf by leaf: keeps the roots of the perfect subtrees, largest first."""

    def __init__(self, size: int = 0, subtrees: bytes = b"") -> None:
        self.size = size
        self._subtrees = [subtrees[at : at + 32] for at in range(0, len(subtrees), 32)]

    def add(self, carried: bytes) -> None:
        """Add a leaf by its hash."""
        self.size += 1
        size = self.size
        while not size & 1:
            carried = node_hash(self._subtrees.pop(), carried)
            size >>= 1
        self._subtrees.append(carried)

    def subtrees(self) -> bytes:
        return b"".join(self._subtrees)

    def root(self) -> bytes:
        if not self._subtrees:
            return hashlib.sha256(b"").digest()
        result = self._subtrees[-1]
        for left in reversed(self._subtrees[:-1]):
            result = node_hash(left, result)
        return result


def root_of_inclusion(index: int, size: int, leaf: bytes, path: list[bytes]) -> bytes:
    """The root to which an inclusion proof from this log's tiles leads (RFC 9162 section 2.1.3.2)."""
    inner = (index ^ (size - 1)).bit_length()
    for level, other in enumerate(path):
        on_the_left = level >= inner or index >> level & 1
        leaf = node_hash(other, leaf) if on_the_left else node_hash(leaf, other)
    return leaf


def roots_of_consistency(old: int, new: int, path: list[bytes], old_root: bytes) -> tuple[bytes, bytes]:
    """The roots at `old` and `new` leaves to which a consistency proof leads (RFC 9162 section 2.1.4.2), 0 < old < new.

    Where `old` is a power of two its root is a part of the tree, and `old_root` is taken for it.
    """
    hashes = path if old & (old - 1) else [old_root, *path]
    node, last = old - 1, new - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    if not hashes:
        raise Fault("the proof is too short")
    first = second = hashes[0]
    for value in hashes[1:]:
        if not last:
            raise Fault("the proof is too long")
        if node & 1 or node == last:
            first, second = node_hash(value, first), node_hash(value, second)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            second = node_hash(second, value)
        node, last = node >> 1, last >> 1
    if last:
        raise Fault("the proof is too short")
    return first, second


class Hashes:
    """Proofs from the hashes that a log serves as tiles, for its tree of `size` leaves."""

    def __init__(self, size: int, read: Callable[[str, int], bytes]) -> None:
        self._size, self._read = size, read
        self._held: dict[tuple[int, int], bytes] = {}

    def root(self, start: int, end: int) -> bytes:
        """The root over the leaves from `start` up to `end`: a subtree as they occur in proofs."""
        width = end - start
        if not width & (width - 1) and not start & (width - 1):
            return self._perfect(width.bit_length() - 1, start)
        split = start + (1 << (width - 1).bit_length() - 1)
        return node_hash(self.root(start, split), self.root(split, end))

    def inclusion(self, index: int) -> list[bytes]:
        """PATH of RFC 6962 section 2.1.1."""
        path: list[bytes] = []
        start, end = 0, self._size
        while end - start > 1:
            split = start + (1 << (end - start - 1).bit_length() - 1)
            if index < split:
                path.append(self.root(split, end))
                end = split
            else:
                path.append(self.root(start, split))
                start = split
        return path[::-1]

    def consistency(self, old: int) -> list[bytes]:
        """PROOF of RFC 6962 section 2.1.2, 0 < old < size."""
        path: list[bytes] = []
        start, end = 0, self._size
        while old < end:
            split = start + (1 << (end - start - 1).bit_length() - 1)
            if old <= split:
                path.append(self.root(split, end))
                end = split
            else:
                path.append(self.root(start, split))
                start = split
        return [*([self.root(start, end)] if start else []), *path[::-1]]

    def _perfect(self, height: int, start: int) -> bytes:
        level, rest = divmod(height, 8)
        first = start >> (8 * level)
        data = self._tile(level, first // WIDTH)
        at = first % WIDTH * 32
        hashes = [data[at + 32 * number : at + 32 * number + 32] for number in range(1 << rest)]
        while len(hashes) > 1:
            hashes = [node_hash(hashes[each], hashes[each + 1]) for each in range(0, len(hashes), 2)]
        return hashes[0]

    def _tile(self, level: int, index: int) -> bytes:
        if (level, index) not in self._held:
            width = min(WIDTH, (self._size >> (8 * level)) - index * WIDTH)
            data = self._read(f"tile/{level}/{path_of(index, width)}", WIDTH * 32)
            if len(data) != width * 32:
                raise Fault(f"tile {level}/{index} has {len(data)} bytes, want {width * 32}")
            self._held[level, index] = data
        return self._held[level, index]


def path_of(index: int, width: int) -> str:
    """A tile's path as C2SP tlog-tiles has it: 1234067 is x001/x234/067; a partial one ends in .p/width."""
    path = f"{index % 1000:03d}"
    while index >= 1000:
        index //= 1000
        path = f"x{index % 1000:03d}/{path}"
    return path if width == WIDTH else f"{path}.p/{width}"


# --- the head map ---------------------------------------------------------------------------------
# A compact sparse Merkle tree over SHA-256 of a log's origin: a subtree without a key is EMPTY, with one key it is that
# key's leaf hash wherever it hangs, with more it is node(left, right), divided by the next bit of the key.

EMPTY = bytes(32)
Cell = tuple[int, bytes]  #: how many keys are below (0, 1, 2 for more) and the hash
BUCKETS = 2**16
NOTHING: Cell = (0, EMPTY)


def joined(left: Cell, right: Cell) -> Cell:
    if left[0] + right[0] < 2:
        return max(left, right)
    return 2, node_hash(left[1], right[1])


def subtree(rows: list[tuple[bytes, int, int]], depth: int) -> Cell:
    """The cell over (key, index, size) rows, sorted, whose keys share their first `depth` bits."""
    if not rows:
        return NOTHING
    if len(rows) == 1:
        key, index, size = rows[0]
        return 1, leaf_hash(key + index.to_bytes(8, "big") + size.to_bytes(8, "big"))
    split = next((at for at, row in enumerate(rows) if row[0][depth >> 3] >> (7 - (depth & 7)) & 1), len(rows))
    return joined(subtree(rows[:split], depth + 1), subtree(rows[split:], depth + 1))


class HeadMap:
    """The map over the logs in the memory; only buckets (by the key's first 16 bits) that changed are hashed anew."""

    def __init__(self, memory: sqlite3.Connection) -> None:
        self._memory = memory
        self._nodes: list[Cell] = []  # node n is over 2n and 2n + 1; the last half are buckets
        self._touched: set[int] = set()

    def _load(self) -> None:
        self._nodes = [NOTHING] * (2 * BUCKETS)
        for number, kind, value in self._memory.execute("SELECT number, kind, hash FROM cells"):
            self._nodes[BUCKETS + number] = kind, value
        for at in range(BUCKETS - 1, 0, -1):
            self._nodes[at] = joined(self._nodes[2 * at], self._nodes[2 * at + 1])

    def touch(self, key: bytes) -> None:
        """Say that the row of this key changed."""
        self._touched.add(int.from_bytes(key[:2], "big"))

    def root(self) -> bytes:
        """The root over all rows as they are now."""
        if not self._nodes:
            self._load()
        changed = set()
        for number, cell in self.keep().items():
            self._nodes[BUCKETS + number] = cell
            changed.add((BUCKETS + number) // 2)
        while changed:
            for at in changed:
                self._nodes[at] = joined(self._nodes[2 * at], self._nodes[2 * at + 1])
            changed = {at // 2 for at in changed if at > 1}
        return self._nodes[1][1]

    def keep(self) -> dict[int, Cell]:
        """Writes the cells of the buckets that changed, and returns them. A check ends with it, because the next check
        begins from the cells in the memory.
        """
        written: dict[int, Cell] = {}
        for number in self._touched:
            prefix = number.to_bytes(2, "big")
            rows = self._memory.execute(
                "SELECT key, place, size FROM logs WHERE key BETWEEN ? AND ? ORDER BY key",
                (prefix + bytes(30), prefix + b"\xff" * 30),
            ).fetchall()
            cell = subtree(rows, 16)
            self._memory.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?)", (number, *cell))
            written[number] = cell
        self._touched.clear()
        return written


# --- the log over HTTP ----------------------------------------------------------------------------


class Site:
    """Public addresses below one URL."""

    def __init__(self, url: str) -> None:
        if not re.match(r"https?://[^/]", url):
            raise Fault(f"{url!r} is no http or https URL")
        self.url = url.rstrip("/")

    def get(self, path: str, most: int) -> bytes:
        """The content at an address, of at most so many bytes. Waits when it is asked to. Raises Unreachable."""
        request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
            f"{self.url}/{path}" if path else self.url,
            headers={"User-Agent": "agentstate-monitor", "Accept-Encoding": "gzip"},
        )
        for number in range(TRIES):
            try:
                return _answer(request, most)[1]
            except urllib.error.HTTPError as error:
                if error.code not in (429, 500, 502, 503, 504) or number == TRIES - 1:
                    raise Unreachable(f"{request.full_url} answers {error.code}") from None
                after = error.headers.get("Retry-After", "")
                time.sleep(min(float(after) if _NUMBER.fullmatch(after) else 2.0**number, PATIENCE))
        raise AssertionError

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and content of an answer to `body`, whatever the status is. Raises Unreachable."""
        request = urllib.request.Request(f"{self.url}/{path}", body, {"User-Agent": "agentstate-monitor"})  # noqa: S310
        try:
            return _answer(request, MAX_NOTE)
        except urllib.error.HTTPError as error:
            return error.code, error.read(MAX_NOTE)


def _answer(request: urllib.request.Request, most: int) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            data = answer.read(most + 1)
            length = answer.headers.get("Content-Length", "")
            if len(data) <= most and length.isdecimal() and len(data) != int(length):
                raise ValueError("the connection broke")
            if answer.headers.get("Content-Encoding") == "gzip" and len(data) <= most:
                unpacker = zlib.decompressobj(31)
                data = unpacker.decompress(data, most + 1)
                if not unpacker.eof and len(data) <= most:
                    raise ValueError("the connection broke")
            status: int = answer.status
    except urllib.error.HTTPError:
        raise
    except (OSError, HTTPException, ValueError, zlib.error) as error:
        raise Unreachable(f"{request.full_url}: {getattr(error, 'reason', error) or type(error).__name__}") from None
    if len(data) > most:
        raise Unreachable(f"{request.full_url} answers with more than {most} bytes")
    return status, data


def read_bundle(data: bytes, width: int) -> list[bytes]:
    """Exactly `width` leaves, each behind its length in two bytes."""
    leaves, at = [], 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if end > len(data):
            raise Fault("a bundle of leaves ends inside one")
        leaves.append(data[at + 2 : end])
        at = end
    if len(leaves) != width:
        raise Fault(f"a bundle holds {len(leaves)} leaves, want {width}")
    return leaves


# --- memory ---------------------------------------------------------------------------------------

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS logs (key BLOB PRIMARY KEY, origin TEXT NOT NULL, place INTEGER NOT NULL,
  size INTEGER NOT NULL, root BLOB NOT NULL, leaf BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cells (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, hash BLOB NOT NULL);
"""


class Memory:
    """What was seen and held true so far, in one SQLite file. A look is one transaction: all of it, or nothing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        try:
            self.db = sqlite3.connect(folder / "seen.sqlite", isolation_level=None, timeout=SECONDS)
            self.db.executescript(_TABLES)
        except sqlite3.Error as error:
            raise Fault(f"{folder}: {error}") from None

    def fact(self, name: str) -> bytes:
        """A fact by its name; empty when there is none."""
        row = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return bytes(row[0]) if row else b""

    def keep(self, **facts: bytes) -> None:
        self.db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    def head(self) -> tuple[bytes, Head]:
        """The newest head that was verified, as a note and read; of size 0 before the first."""
        note = self.fact("head")
        return (note, read_head(split_note(note)[0])) if note else (b"", Head("", 0, hashlib.sha256(b"").digest()))

    def publish(self, note: bytes) -> None:
        """Put the head where other auditors find it, whole."""
        draft = self.folder / ".head"
        draft.write_bytes(note)
        os.replace(draft, self.folder / "head")


# --- leaves ---------------------------------------------------------------------------------------

_SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z", re.ASCII)


@dataclass
class Counts:
    """What a look went through."""

    leaves: int = 0
    heads: int = 0
    maps: int = 0
    keys: int = 0
    gaps: int = 0


class Leaves:
    """Takes the leaves of the log called `origin` in order. What does not hold is kept in `findings`: words, and the
    indexes of the leaves that show it.
    """

    def __init__(self, memory: Memory, origin: str, keys: list[Key]) -> None:
        self._db, self._origin = memory.db, origin
        self._map = HeadMap(memory.db)
        self._logs: int = self._db.execute("SELECT count(*) FROM logs").fetchone()[0]
        self.keys = keys
        self._strange: list[tuple[str, list[int]]] = []  # keys introduced by somebody unknown
        self.findings: list[tuple[str, list[int]]] = []
        self.counts = Counts()

    def add(self, index: int, body: bytes) -> None:
        """One leaf."""
        self.counts.leaves += 1
        try:
            text = body.decode("utf-8")
            title = text.split("\n", 1)[0]
            if title == MAP_TITLE:
                self._add_map(index, text)
            elif title == KEY_TITLE:
                self._add_key(index, body)
            elif title == GAP_TITLE:
                self._add_gap(text)
            else:
                self._add_head(index, text)
        except (Fault, UnicodeDecodeError) as fault:
            self._found(f"leaf {index}: {fault}", index)

    def finish(self) -> None:
        """Say what only the end shows, and keep the map's cells for the next look."""
        self._map.keep()
        self.findings += self._strange

    def _add_head(self, index: int, text: str) -> None:
        head, before = read_head_leaf(text)
        prefix, _, log = head.origin.rpartition("/s/")
        if prefix != self._origin or not _SESSION.fullmatch(log):
            raise Fault(f"it is of no form that this log may hold: {head.origin[:120]!r}")
        self.counts.heads += 1
        key = hashlib.sha256(head.origin.encode()).digest()
        row = self._db.execute("SELECT place, size, root, leaf FROM logs WHERE key = ?", (key,)).fetchone()
        if row is None:
            self._logs += 1
        elif head.size < row[1] or (head.size == row[1] and head.root != row[2]):
            words = f"leaf {index} says that log {log} has {head.size} entries, and leaf {row[0]} said {row[1]}"
            self._found(f"{words}: it was cut off or rewritten", row[0], index)
            return
        if before != (row and (row[0], row[3])):
            told, known = (f"leaf {each[0]}" if each else "no leaf" for each in (before, row))
            words = f"leaf {index} says that {told} said the head of log {log} before, and {known} did"
            self._found(f"{words}: a head was taken back", *([row[0]] if row else []), index)
            return
        leaf = leaf_hash(text.encode())
        self._db.execute(
            "INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?, ?, ?)",
            (key, head.origin, index, head.size, head.root, leaf),
        )
        self._map.touch(key)

    def _add_map(self, index: int, text: str) -> None:
        lines = text.split("\n")
        good = len(lines) == 6 and not lines[5] and lines[1] == self._origin
        if not good or not all(_NUMBER.fullmatch(line) for line in lines[2:4]):
            raise Fault("a malformed head map")
        self.counts.maps += 1
        if int(lines[2]) != index:
            raise Fault(f"the head map says that it is leaf {lines[2]}")
        root = self._map.root()
        if int(lines[3]) != self._logs:
            raise Fault(f"the head map counts {lines[3]} logs; the leaves before it are of {self._logs}")
        if _hash(lines[4]) != root:
            want = base64.b64encode(root).decode()
            raise Fault(f"the head map has the root {lines[4]}; the leaves before it give {want}")

    def _add_key(self, index: int, body: bytes) -> None:
        text, lines = split_note(body)
        parts = text.split("\n")
        if len(parts) != 4 or parts[3] or parts[1] != self._origin:
            raise Fault("a malformed introduction of a key")
        key = read_vkey(parts[2])
        if key.name != self._origin:
            raise Fault(f"it introduces a key of another name: {key.name[:120]!r}")
        self.counts.keys += 1
        if signed_by(self.keys[-1:], text, lines):
            self.keys.append(key)
        elif self.keys == [key]:
            self._strange.clear()  # our key itself; those that led to it were before our time
        else:
            self._strange.append(
                (f"leaf {index}: it introduces a key, and the key before it did not sign that", [index])
            )

    def _add_gap(self, text: str) -> None:
        lines = text.split("\n")
        good = len(lines) == 6 and not lines[5] and lines[1] == self._origin and lines[2] in ("sequencer", "signer")
        if not good or not all(_INSTANT.fullmatch(line) for line in lines[3:5]) or lines[3] > lines[4]:
            raise Fault("a malformed downtime")
        self.counts.gaps += 1

    def _found(self, words: str, *leaves: int) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append((words, list(leaves)))


# --- the monitor ----------------------------------------------------------------------------------


@dataclass
class Seen:
    """A look at which everything held."""

    head: Head
    counts: Counts
    logs: int
    cosigned: dict[str, int]  #: the policy's witnesses under the head, and when
    age: float  #: seconds since the newest cosignature; without witnesses, since the head changed under our eyes
    agreed: list[str] = field(default_factory=list)  #: who else holds the same history


class Monitor:
    """Follows one log. `held`: files or URLs of signed heads that others hold."""

    def __init__(self, site: Site, policy: Policy, memory: Memory, held: list[str] | None = None) -> None:
        self._site, self._policy, self._memory, self._held = site, policy, memory, held or []
        trusted = [key.vkey for key in policy.logs]
        keys = memory.fact("keys").decode().split("\n")
        if keys != [""] and not set(keys) & set(trusted):
            words = f"{memory.folder} follows a log of another key: {keys[-1]}"
            raise Stranger(words, trusted=trusted, followed=keys)

    def look(self) -> Seen:
        """Look once. Raises Lie, Unreachable."""
        seen, agreed = self._look(), []
        others = [(name, partial(self._compare, name)) for name in self._held]
        others += [(name, partial(self._ask, name)) for name, (_, url) in self._policy.witnesses.items() if url]
        for name, ahead in others:
            if (size := ahead()) > seen.head.size:
                time.sleep(AHEAD)
                seen = self._look()
                if seen.head.size < size:
                    self._hides(name, size)
                if ahead():
                    continue  # it grows faster than we ask
            agreed.append(name)
        seen.agreed = agreed
        return seen

    def _hides(self, name: str, size: int) -> NoReturn:
        note, head = self._memory.head()
        heads = [_text(note), *([_text(self._read_held(name))] if name in self._held else [])]
        words = f"{name} saw {size} leaves, and the log shows us {head.size}: it hides some, or was restored"
        raise Lie("hidden", words, heads=heads)

    def _look(self) -> Seen:
        held, before = self._memory.head()
        for last in (False, True):
            note = self._site.get("checkpoint", MAX_NOTE)
            try:
                text, lines = split_note(note)
                head = read_head(text)
            except Fault as fault:
                raise Lie("malformed", f"what the log serves is no signed head: {fault}", heads=[_text(note)]) from None
            if last or head.size >= before.size:
                break
            time.sleep(AHEAD)  # a cache may have kept it
        db = self._memory.db
        db.execute("BEGIN IMMEDIATE")
        try:
            leaves = self._checked(note, head, held, before)
            logs: int = db.execute("SELECT count(*) FROM logs").fetchone()[0]
            cosigned, age = self._cosigned(text, lines, note, held)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        self._memory.publish(note)
        return Seen(head, leaves.counts, logs, cosigned, age)

    def _checked(self, note: bytes, head: Head, held: bytes, before: Head) -> Leaves:
        """Everything between the head that was held and this one, kept in the memory; Lie if it does not hold."""
        keys = [read_vkey(vkey) for vkey in self._memory.fact("keys").decode().split("\n") if vkey]
        keys = keys or [key for key in self._policy.logs if key.name == head.origin][:1]
        if not keys or keys[0].name != head.origin:
            self._estrange(f"its head is of {head.origin[:200]!r}, an origin that is not trusted", keys, note)
        if head.size <= before.size:
            self._check_signed(note, keys, head)
        if head.size < before.size:
            words = f"the log shows {head.size} leaves, and showed {before.size} before: it was cut off or restored"
            raise Lie("back", words, heads=[_text(held), _text(note)])
        if head.size == before.size and before.size and head.root != before.root:
            raise Lie(
                "fork",
                f"the log signed two heads of {head.size} leaves: two histories",
                heads=[_text(held), _text(note)],
            )
        if head.size - before.size > MOST_UNSIGNED:
            self._check_signed(note, keys, head)
        tree = Tree(before.size, self._memory.fact("subtrees"))
        leaves = Leaves(self._memory, head.origin, keys)
        for index, body in self._bodies(before.size, head.size):
            tree.add(leaf_hash(body))
            leaves.add(index, body)
        leaves.finish()
        self._check_signed(note, leaves.keys, head)
        if tree.root() != head.root:
            self._accuse(note, head, held, before)
        if leaves.findings:
            raise self._lie_in_leaves(note, head, leaves.findings)
        self._memory.keep(keys="\n".join(key.vkey for key in leaves.keys).encode(), subtrees=tree.subtrees(), head=note)
        return leaves

    def _check_signed(self, note: bytes, keys: list[Key], head: Head) -> None:
        """By the newest key, or the one before it: a new key is introduced before it signs."""
        text, lines = split_note(note)
        if not {f"{key.name}+{key.key_id.hex()}" for key in keys} & set(signers(lines)):
            self._estrange(f"its head of {head.size} leaves is signed under no key that we know", keys, note)
        try:
            good = signed_by(keys[-2:], text, lines)
        except Fault as fault:
            good, why = False, f": {fault}"
        else:
            why = f" by {keys[-1].vkey}"
        if not good:
            words = f"the head of {head.size} leaves is not signed{why}. That alone proves nothing against the log:"
            raise Lie("unsigned", f"{words} somebody between it and us may have changed it", heads=[_text(note)])

    def _estrange(self, words: str, keys: list[Key], note: bytes) -> NoReturn:
        """Ends the check of a log that is not the one that this monitor follows, with the keys of both."""
        known = keys or self._policy.logs
        signed_under = signers(split_note(note)[1])
        raise Stranger(words, trusted=[key.vkey for key in known], signed_under=signed_under, heads=[_text(note)])

    def _bodies(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The leaves from `start` up to `end`, as they are served."""
        for number in range(start // WIDTH, -(-end // WIDTH)):
            for at, body in enumerate(self._bundle(number, end)):
                if number * WIDTH + at >= start:
                    yield number * WIDTH + at, body

    def _accuse(self, note: bytes, head: Head, held: bytes, before: Head) -> NoReturn:
        """The leaves do not lead to the signed root. Say whether the log forked, or does not serve what it signed."""
        heads = [_text(held), _text(note)] if held else [_text(note)]
        if before.size:
            with suppress(Unreachable):
                self._must_continue(before, head, heads, "we hold")
        raise Lie(
            "unserved",
            f"the leaves that the log serves do not lead to the root that it signed at {head.size}",
            heads=heads,
        )

    def _must_continue(self, old: Head, new: Head, heads: list[str], whose: str) -> None:
        """Lie when the tree of `new`, as its tiles show it, has another root at the size of `old`."""
        tiles = Hashes(new.size, self._site.get)
        try:
            path = tiles.consistency(old.size)
            # The old root as the tiles have it: where it is a part of the tree, the proof itself does not hold it.
            first, second = roots_of_consistency(old.size, new.size, path, tiles.root(0, old.size))
        except Fault as fault:
            raise Lie("unserved", f"the log does not serve the hashes of the tree that it signed: {fault}") from None
        if second != new.root:
            raise Lie("unserved", "the hashes that the log serves do not lead to the root that it signed", heads=heads)
        if first != old.root:
            words = f"the head of {old.size} leaves that {whose} is not how the log of {new.size} leaves began"
            raise Lie(
                "fork",
                f"two histories: {words}",
                heads=heads,
                consistency=[base64.b64encode(value).decode() for value in path],
                old_root_by_that_proof=base64.b64encode(first).decode(),
            )

    def _lie_in_leaves(self, note: bytes, head: Head, findings: list[tuple[str, list[int]]]) -> Lie:
        """The findings with a C2SP tlog-proof of each leaf, under the head that the log signed."""
        tiles = Hashes(head.size, self._site.get)
        indexes = sorted({each for _, indexes in findings for each in indexes})
        told = [words for words, _ in findings]
        proofs = {}
        for index in indexes:
            with suppress(Unreachable, Lie):  # who lies may refuse to show it again
                proofs[str(index)] = self._proof(note, head, index, tiles)
        return Lie("lie", "; ".join(told), heads=[_text(note)], findings=told, proofs=proofs)

    def _proof(self, note: bytes, head: Head, index: int, tiles: Hashes) -> str:
        """The tlog-proof of a leaf; without its hashes, which all leaves give, where the log does not serve them."""
        body, hashes = self._bundle(index // WIDTH, head.size)[index % WIDTH], []
        try:
            path = tiles.inclusion(index)
            if root_of_inclusion(index, head.size, leaf_hash(body), path) == head.root:
                hashes = [base64.b64encode(value).decode() for value in path]
        except (Fault, Unreachable):
            pass
        extra = [f"extra {base64.b64encode(body).decode()}"] if body else []
        return "\n".join(["c2sp.org/tlog-proof@v1", *extra, f"index {index}", *hashes, "", ""]) + _text(note)

    def _bundle(self, number: int, size: int) -> list[bytes]:
        """The leaves of a bundle of the log of `size` leaves; Lie where it is not one."""
        width = min(WIDTH, size - number * WIDTH)
        try:
            return read_bundle(self._site.get(f"tile/entries/{path_of(number, width)}", MAX_BUNDLE), width)
        except Fault as fault:
            first = number * WIDTH
            raise Lie("malformed", f"leaves {first} to {first + width - 1}: {fault}") from None

    def _cosigned(self, text: str, lines: list[str], note: bytes, held: bytes) -> tuple[dict[str, int], float]:
        """Who of the policy cosigned the head when, and how old that is. Lie where that is too few."""
        found: dict[str, int] = {}
        try:
            for name, (key, _) in self._policy.witnesses.items():
                times = [at for line in lines if (at := signed(line, text, key)) is not None]
                if times:
                    found[name] = max(times)
        except Fault as fault:
            raise Lie("unsigned", f"a cosignature under the head is false: {fault}", heads=[_text(note)]) from None
        if not self._policy.met(set(found)):
            words = f"cosigned by {sorted(found)}, and the policy asks for {self._policy.quorum}"
            raise Lie("unwitnessed", words, heads=[_text(note)])
        now = time.time()
        if note != held or not self._memory.fact("changed"):
            self._memory.keep(changed=str(now).encode())
        since = max(found.values()) if self._policy.witnesses and found else float(self._memory.fact("changed"))
        return found, now - since

    def _read_held(self, where: str) -> bytes:
        if re.match(r"https?://", where):
            return Site(where).get("", MAX_NOTE)
        return small_file(where)

    def _compare(self, where: str) -> int:
        """Compare with a head that somebody else holds. How many leaves it has, if more than we were shown; else 0."""
        other, (own, head) = self._read_held(where), self._memory.head()
        try:
            text, lines = split_note(other)
            theirs = read_head(text)
            keys = [read_vkey(vkey) for vkey in self._memory.fact("keys").decode().split("\n")]
            if theirs.origin != head.origin or not signed_by(keys, text, lines):
                raise Fault(f"it is not signed by {keys[-1].vkey}")
        except Fault as fault:
            raise Unreachable(f"{where} holds no head of this log: {fault}") from None
        if theirs.size > head.size:
            return theirs.size
        heads = [_text(other), _text(own)]
        if theirs.size == head.size and theirs.root != head.root:
            raise Lie("fork", f"{where} holds another head of {head.size} leaves: two histories", heads=heads)
        if 0 < theirs.size < head.size:
            self._must_continue(theirs, head, heads, f"{where} holds")
        return 0

    def _ask(self, name: str) -> int:
        """Have a witness cosign the head: it does only if it is of the same history. Answers as `_compare` does."""
        key, url = self._policy.witnesses[name]
        note, head = self._memory.head()
        text, _ = split_note(note)
        old = int(self._memory.fact(f"witness {name}") or b"0")
        tiles = Hashes(head.size, self._site.get)
        for _ in range(3):
            old = min(old, head.size)
            proof = tiles.consistency(old) if 0 < old < head.size else []
            body = "\n".join([f"old {old}", *(base64.b64encode(value).decode() for value in proof), "", ""]).encode()
            status, answer = Site(url).post("add-checkpoint", body + note)
            said = answer.decode("utf-8", "replace").strip()
            if status == 200:
                self._take_cosignature(name, key, text, answer)
                self._memory.keep(**{f"witness {name}": str(head.size).encode()})
                return 0
            if status == 409 and _NUMBER.fullmatch(said) and int(said) != old:
                if int(said) > head.size:
                    return int(said)
                old = int(said)
                continue
            if status in (409, 422):
                words = (
                    f"witness {name} saw another history: it refuses the head of {head.size} leaves ({status} {said})"
                )
                raise Lie("fork", words, heads=[_text(note)], asked=_text(body), answered=f"{status} {said}")
            raise Unreachable(f"witness {name} answers {status}: {said[:200]!a}")
        raise Unreachable(f"witness {name} moves on at every question")

    def _take_cosignature(self, name: str, key: Key, text: str, answer: bytes) -> None:
        try:
            lines = answer.decode("utf-8").removesuffix("\n").split("\n")
            if not signed_by([key], text, lines):
                raise Fault("none by its key")
        except (Fault, UnicodeDecodeError) as fault:
            raise Unreachable(f"witness {name} gave no cosignature: {fault}") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# --- command line ---------------------------------------------------------------------------------


def small_file(path: str | Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_NOTE)
    except (OSError, ValueError):
        raise Fault(f"{path} cannot be read") from None


def trust(key: str | None, policy: str | None) -> Policy:
    """Whom to trust, from a vkey (or a file that holds it) or a policy's file."""
    if policy is not None:
        return read_policy(small_file(policy))
    assert key is not None
    text = key if key.count("+") >= 2 and not os.path.exists(key) else _text(small_file(key)).removesuffix("\n")
    return Policy([read_vkey(text)])


def write_evidence(folder: Path, url: str, lie: Lie) -> Path:
    """A new file of JSON with everything that shows the lie."""
    at = datetime.now(UTC)
    facts = {"kind": lie.kind, "words": str(lie), "log": url, "found_at": at.isoformat()} | lie.evidence
    path = folder / f"evidence-{at:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}.json"
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    return path


def in_words(seen: Seen) -> str:
    """A look as one line."""
    counts = seen.counts
    told = f"{seen.head.size} leaves ({counts.leaves} new), root {seen.head.root.hex()[:16]}, {seen.logs} logs"
    told += f"; {counts.heads} heads, {counts.maps} head maps recomputed"
    told += f", {counts.keys} new keys" if counts.keys else ""
    told += f", {counts.gaps} downtimes" if counts.gaps else ""
    told += f"; cosigned by {', '.join(sorted(seen.cosigned))}" if seen.cosigned else ""
    return told + (f"; {', '.join(seen.agreed)} saw the same" if seen.agreed else "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a monitor is told at its start."""
    parser.add_argument("url", metavar="URL", help="the log: where `checkpoint` and `tile/` are, as https://host/log")
    trusted = parser.add_mutually_exclusive_group(required=True)
    trusted.add_argument("--key", metavar="VKEY", help="the log's key, or a file that holds it, from your own records")
    trusted.add_argument("--policy", metavar="FILE", help="keys, witnesses and quorum; witnesses with a URL are asked")
    parser.add_argument("--state", metavar="DIR", type=Path, required=True, help="what was seen so far")
    parser.add_argument("--held", metavar="FILE|URL", action="append", default=[], help="a head that others hold")
    parser.add_argument("--once", action="store_true", help="look once and end")
    parser.add_argument("--every", metavar="SECONDS", type=float, default=10.0, help="between two looks")
    parser.add_argument("--max-age", metavar="HOURS", type=float, default=24.0, help="a log silent for longer is stale")


def follow(options: argparse.Namespace) -> int:
    """Look once or for ever; the exit code."""
    try:
        monitor = Monitor(Site(options.url), trust(options.key, options.policy), Memory(options.state), options.held)
    except Stranger as stranger:
        return _accuse(stranger, options)
    except (Fault, OSError) as fault:
        print(fault, file=sys.stderr)
        return 2
    while True:
        status = _look(monitor, options)
        if options.once or status in (1, 4):
            return status
        time.sleep(options.every)


def _look(monitor: Monitor, options: argparse.Namespace) -> int:
    try:
        seen = monitor.look()
    except Lie as lie:
        return _accuse(lie, options)
    except (Unreachable, Fault, sqlite3.Error, OSError) as why:
        _say(f"NOT SEEN: {ascii(str(why))[1:-1]}")
        return 3
    if seen.age > options.max_age * 3600:
        _say(f"STALE: nothing new for {seen.age / 3600:.1f} hours; {in_words(seen)}")
        return 3
    _say(f"OK: {in_words(seen)}")
    return 0


def _accuse(lie: Lie, options: argparse.Namespace) -> int:
    """Says what does not hold, with a file of evidence; the exit code."""
    path = write_evidence(options.state, options.url, lie)
    # ascii(): a hostile log must not be able to write control sequences to the terminal.
    _say(f"ALARM {lie.kind}: {ascii(str(lie))[1:-1]}\nThe evidence is in {path}. Keep it, and the folder.")
    return 4 if isinstance(lie, Stranger) else 1


def _say(words: str) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ} {words}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """0 if all that was seen holds, 1 for a fork or a lie, 2 for wrong usage, 3 if the log is away or stale, 4 if it is
    not the log that is followed.
    """
    parser = argparse.ArgumentParser(prog="audit.monitor", description="Follow a log and recompute all that it says.")
    add_arguments(parser)
    try:
        return follow(parser.parse_args(arguments))
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
