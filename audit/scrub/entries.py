"""Reading the bytes of one log: each entry at its place, each payload as its envelope says, the root as the head says.

Nothing is decrypted, except where a payload is gone: then an entry that names its deletion is opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from uuid import UUID

import msgspec

from agentstate.errors import AgentStateError, Broken
from audit import erasure, reading
from audit.reading import parse_envelope, run
from audit.scrub.altered import Found
from audit.scrub.heads import read_head
from audit.tlog import tree

MAX_NAMED = 20  # entries of one log that are named
PRUNED = "payload.pruned"
Stored = tuple[int, bytes, bytes | None]  # seq, envelope, ciphertext


class LogReading:
    """One log, read in order from entry `seq` on, where `frontier` is that of the entries before. `root`: that of its
    head row; None: the entries are looked at alone. `signed`: size and root of its newest head in the global log.
    """

    def __init__(
        self,
        log: UUID,
        size: int,
        root: bytes | None,
        signed: tuple[int, bytes] | None = None,
        seq: int = 0,
        frontier: bytes = b"",
    ) -> None:
        self.log, self.size, self.seq, self.frontier = log, size, seq, frontier
        self.found: list[Found] = []
        self.absent: list[tuple[int, str]] = []  # entries without a payload, with the id of its key
        self._roots = {} if root is None else {size: root}
        if signed is not None and signed[0] < size:
            self._roots[signed[0]] = signed[1]
        self._whole = bool(frontier) or not seq
        self._leaves: list[bytes] = []

    def read(self, rows: Iterable[Stored]) -> None:
        """Takes in the next entries."""
        for seq, envelope, ciphertext in rows:
            if seq >= self.size:
                break
            self.skip_to(seq)
            self._entry(seq, envelope, ciphertext)
            if self._whole:
                self._leaves.append(tree.leaf_hash(envelope))
            self.seq = seq + 1
            if self.seq in self._roots:
                self._flush()
                self._compare()
        self._flush()

    def skip_to(self, seq: int) -> None:
        """Says that all entries before `seq` were given: those that were not are missing."""
        if self.seq < seq:
            self._flush()
            self._break()
            for missing in range(self.seq, min(seq, self.seq + MAX_NAMED)):
                self._name("entry_missing", missing)
            self.seq = seq

    def end(self) -> list[Found]:
        """Returns what was found, once all entries were given."""
        self.skip_to(self.size)
        return self.found

    def _entry(self, seq: int, data: bytes, ciphertext: bytes | None) -> None:
        try:
            envelope = parse_envelope(data)
        except Broken:
            self._name("entry_altered", seq)
            return
        if envelope.seq != seq or envelope.log != str(self.log):
            self._name("entry_altered", seq)
        elif ciphertext is None:
            self.absent.append((seq, envelope.kid))
        elif hashlib.sha256(ciphertext).hexdigest() != envelope.ct:
            self._name("payload_altered", seq)

    def _name(self, what: str, seq: int) -> None:
        if len(self.found) < MAX_NAMED:
            self.found.append(Found(self.log, what, seq))

    def _flush(self) -> None:
        if self._leaves:
            self.frontier = tree.append(self.frontier, self.seq - len(self._leaves), self._leaves)
            self._leaves = []

    def _compare(self) -> None:
        if self._whole and tree.root(self.frontier, self.seq) != self._roots[self.seq]:
            self._break()
            if not any(each.what == "entry_altered" for each in self.found):
                self.found.append(Found(self.log, "entries_altered"))

    def _break(self) -> None:
        """What follows leads to no root any more. An empty frontier says so to the next piece of work as well."""
        self._whole, self.frontier = False, b""


def unaccounted(log: UUID, absent: Sequence[tuple[int, str]], erased: dict[str, bool]) -> list[Found]:
    """Of the entries without a payload (seq, id of its key) those whose deletion the log does not name. `erased` keeps
    what was learned of keys.
    """
    if not absent:
        return []
    ranges = _pruned(log)
    found = []
    for seq, kid in absent:
        if not any(first <= seq <= last for first, last in ranges) and not _is_erased(kid, erased):
            found.append(Found(log, "payload_missing", seq))
    return found[:MAX_NAMED]


def _is_erased(kid: str, known: dict[str, bool]) -> bool:
    if kid not in known:
        try:
            known[kid] = erasure.record_of(UUID(kid)) is not None
        except (ValueError, AgentStateError):
            known[kid] = False
    return known[kid]


_TOMBSTONES = """
SELECT e.seq, e.envelope, p.ciphertext FROM audit_entry e JOIN audit_payload p USING (log, seq)
  WHERE e.log = %(log)s AND position(convert_to(%(kind)s, 'UTF8') IN e.envelope) > 0"""


class _Span(msgspec.Struct):
    first: int
    last: int


class _Tombstone(msgspec.Struct):
    ranges: list[_Span] = []


def _pruned(log: UUID) -> list[tuple[int, int]]:
    """First and last entry of each range that an entry of the log names as pruned. Nobody forges one without a key."""
    ranges = []
    for seq, envelope, ciphertext in run(_TOMBSTONES, {"log": log, "kind": f'"kind":"{PRUNED}"'}):
        with suppress(AgentStateError, msgspec.MsgspecError, UnicodeDecodeError):
            read, payload = reading.open_row(reading.Row(seq, bytes(envelope), bytes(ciphertext)))
            if read.log == str(log) and read.seq == seq:
                spans = msgspec.json.decode(payload, type=_Tombstone).ranges
                ranges += [(span.first, min(span.last, seq - 1)) for span in spans]
    return ranges


def named_by_opening(log: UUID, size: int) -> list[Found]:
    """The entries that do not open, where only the root told that some entry was changed."""
    found = []
    for row in reading.read_rows(log, 0, size):
        if row.ciphertext is not None:
            try:
                reading.open_row(row)
            except reading.keys.Erased:
                continue
            except Broken:
                found.append(Found(log, "entry_altered", row.seq))
        if len(found) == MAX_NAMED:
            break
    return found


def look(log: UUID) -> list[Found]:
    """Reads one log wholly, at once. Returns what is wrong with it; a log without a head row has nothing to read."""
    for size, frontier, signed in heads([log]).values():
        if signed is not None and signed[0] > size:
            return [Found(log, "log_cut_off", detail=f"It has {size} entries; {signed[0]} were signed.")]
        return judge(begun(log, size, frontier, signed), reading_rows(log, 0, size), {})
    return []


def begun(
    log: UUID, size: int, frontier: bytes, signed: tuple[int, bytes] | None, seq: int = 0, before: bytes = b""
) -> LogReading:
    """A reading of the log of this head row. One whose frontier does not fit has a root that nothing leads to."""
    try:
        root = tree.root(frontier, size)
    except tree.BadTree:
        root = b""
    return LogReading(log, size, root, signed, seq, before)


def judge(one: LogReading, rows: Iterable[Stored], erased: dict[str, bool]) -> list[Found]:
    """Reads the rest of a log. Returns all that is wrong with it, entry by entry where that can be told."""
    one.read(rows)
    found = one.end()
    found += unaccounted(one.log, one.absent, erased)
    unnamed = Found(one.log, "entries_altered")
    if unnamed in found:
        found.remove(unnamed)
        found += named_by_opening(one.log, one.size) or [unnamed]
    return found


def reading_rows(log: UUID, start: int, stop: int) -> Iterable[Stored]:
    """The stored entries as LogReading takes them."""
    return ((row.seq, row.envelope, row.ciphertext) for row in reading.read_rows(log, start, stop))


_HEADS = """
SELECT h.log, h.size, h.frontier, g.body FROM audit_head h LEFT JOIN audit_place p ON p.log = h.log
  LEFT JOIN audit_glog g ON g.tenant = h.tenant AND g."index" = p."index"
  WHERE h.log = ANY(%(logs)s) ORDER BY h.log"""


def heads(logs: Sequence[UUID]) -> dict[UUID, tuple[int, bytes, tuple[int, bytes] | None]]:
    """Size, frontier, and the newest head in the global log (size, root), of each of these logs."""
    found = {}
    for log, size, frontier, body in run(_HEADS, {"logs": list(logs)}):
        said = None if body is None else read_head(bytes(body))
        signed = (said.size, said.root) if said is not None and said.log == log else None
        found[log] = (size, bytes(frontier), signed)
    return found
