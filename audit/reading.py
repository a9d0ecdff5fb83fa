"""Reading entries back and opening them. Only `audit.ledger` writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any
from uuid import UUID, uuid5

import msgspec
import psycopg
from django.db import connection

from agentstate.errors import Broken, NotFound
from audit import keys
from audit.tlog import tree

ENVELOPE_VERSION = 2  # 1: without `pc`
READ_BATCH = 500  # rows
COMMANDS = UUID("6a0e54d4-6d0c-5a55-b3f4-93d0f7b0a1c2")  # namespace of the ids of commands under idempotency keys


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the log hashes. Fields stand in sorted order, so that encoding them is already canonical (RFC 8785).

    `ct` is the ciphertext's SHA-256, `kc` commits to its key, `pc` to the fields of its payload (audit.tlog.fields).
    """

    actor: str
    at: str
    cmd: str
    ct: str
    epoch: int
    kc: str
    kid: str
    kind: str
    log: str
    pc: str = ""  # in version 2
    ref: int
    salt: str
    seq: int
    v: int


class Bound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a ciphertext is bound to: the envelope without the two fields that depend on the ciphertext."""

    actor: str
    at: str
    cmd: str
    epoch: int
    kid: str
    kind: str
    log: str
    pc: str = ""
    ref: int
    salt: str
    seq: int
    v: int


@dataclass(frozen=True, slots=True)
class Head:
    """A log's size and frontier as somebody last saw them. A hint: the appending statement compares the size. `leaf` is
    the hash of the last entry where whoever gives the head knows it.
    """

    log: UUID
    tenant: UUID
    size: int
    frontier: bytes
    sealed: bool = False
    leaf: bytes = field(default=b"", compare=False)

    @property
    def root(self) -> bytes:
        """The RFC 6962 root over all entries."""
        return tree.root(self.frontier, self.size)


@dataclass(frozen=True, slots=True)
class Row:
    """One stored entry; `ciphertext` is None once it was erased or pruned."""

    seq: int
    envelope: bytes
    ciphertext: bytes | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an earlier command under the same idempotency key wrote."""

    command: UUID
    first: int
    size: int
    digest: bytes


class UnknownLog(NotFound):
    """There is no such log."""

    code = "unknown_log"


class Pruned(keys.Erased):
    """What was said here was deleted when the term of its retention class was over."""

    code = "pruned"


def keyed_command(key: bytes, digest: bytes) -> UUID:
    """The id of a command under an idempotency key: it follows from both, so entries vouch for their receipt."""
    return uuid5(COMMANDS, (key + digest).hex())


def associated_data(envelope: Envelope) -> bytes:
    """The canonical bytes that a ciphertext is authenticated with: one changed byte of them, and it does not open."""
    bound = msgspec.structs.asdict(envelope)
    del bound["ct"], bound["kc"]
    return canonical.encode(Bound(**bound))


canonical = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Envelope)


def run(sql: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rows of one statement on Django's own connection, bound and prepared on the server and read in binary.

    Django's cursor binds on the client and never prepares: planning an append takes longer than running it.
    """
    connection.ensure_connection()
    raw = connection.connection
    raw.prepare_threshold = 0  # Django sets None; its own cursors bind on the client, so this is for ours alone
    with psycopg.Cursor(raw) as cursor:
        cursor.format = psycopg.pq.Format.BINARY
        cursor.execute(sql.encode(), params)
        return cursor.fetchall() if cursor.description else []


def run_together(asked: Sequence[tuple[str, dict[str, Any]]]) -> list[list[tuple[Any, ...]]]:
    """`run` of several statements in one round trip, in their order, all of them or none."""
    connection.ensure_connection()
    raw = connection.connection
    raw.prepare_threshold = 0
    with ExitStack() as stack:
        cursors = [stack.enter_context(psycopg.Cursor(raw)) for _ in asked]
        with raw.pipeline():
            for cursor, (sql, params) in zip(cursors, asked, strict=True):
                cursor.format = psycopg.pq.Format.BINARY
                cursor.execute(sql.encode(), params)
        return [cursor.fetchall() for cursor in cursors]


_HEAD = "SELECT tenant, size, frontier, sealed FROM audit_head WHERE log = %(log)s"
_HEAD_LOCKED = f"{_HEAD} FOR UPDATE"


def read_head(log: UUID, *, lock: bool = False) -> Head:
    """The head as it stands; with `lock` inside a transaction nobody else appends until it ends. Raises UnknownLog."""
    rows = run(_HEAD_LOCKED if lock else _HEAD, {"log": log})
    if not rows:
        raise UnknownLog(str(log))
    tenant, size, frontier, sealed = rows[0]
    return Head(log, tenant, size, bytes(frontier), sealed)


_NEWER = """SELECT h.tenant, h.size, h.frontier, h.sealed, tail.seqs, tail.envelopes, tail.ciphertexts
 FROM audit_head h CROSS JOIN LATERAL (SELECT array_agg(e.seq ORDER BY e.seq) AS seqs,
   array_agg(e.envelope ORDER BY e.seq) AS envelopes, array_agg(p.ciphertext ORDER BY e.seq) AS ciphertexts
  FROM audit_entry e LEFT JOIN audit_payload p USING (log, seq)
  WHERE e.log = h.log AND e.seq >= %(start)s AND e.seq < %(stop)s) tail
 WHERE h.log = %(log)s"""


def read_newer(log: UUID, start: int) -> tuple[Head, list[Row]]:
    """The head as it stands and, of the same moment, the stored entries from `start` on, at most READ_BATCH of them: in
    one round trip what `read_head` and `read_rows` give in two. Raises UnknownLog.
    """
    rows = run(_NEWER, {"log": log, "start": start, "stop": start + READ_BATCH})
    if not rows:
        raise UnknownLog(str(log))
    tenant, size, frontier, sealed, *tail = rows[0]
    found = zip(*(each or () for each in tail), strict=True)
    return Head(log, tenant, size, bytes(frontier), sealed), [Row(*each) for each in found]


def read_rows(log: UUID, start: int = 0, stop: int | None = None) -> Iterator[Row]:
    """The stored entries from `start` up to `stop`, in order, whatever they are; nothing is checked here."""
    while stop is None or start < stop:
        limit = READ_BATCH if stop is None else min(READ_BATCH, stop - start)
        rows = run(
            "SELECT e.seq, e.envelope, p.ciphertext FROM audit_entry e LEFT JOIN audit_payload p USING (log, seq)"
            " WHERE e.log = %(log)s AND e.seq >= %(start)s ORDER BY e.seq LIMIT %(limit)s",
            {"log": log, "start": start, "limit": limit},
        )
        for seq, envelope, ciphertext in rows:
            yield Row(seq, bytes(envelope), None if ciphertext is None else bytes(ciphertext))
        if len(rows) < limit:
            return
        start = rows[-1][0] + 1


def read_receipt(log: UUID, key: bytes) -> Receipt | None:
    """What the command under this key wrote, if it ran."""
    rows = run(
        "SELECT command, first, size, digest FROM audit_receipt WHERE log = %(log)s AND key = %(key)s",
        {"log": log, "key": key},
    )
    return Receipt(rows[0][0], rows[0][1], rows[0][2], bytes(rows[0][3])) if rows else None


def false_receipts(log: UUID) -> list[bytes]:
    """Keys of receipts that are not what the entries of their command say. Receipts of untouched logs: none."""
    rows = run(
        "SELECT r.key, r.command, r.first, r.size, r.digest, array_agg(e.envelope ORDER BY e.seq)"
        " FROM audit_receipt r LEFT JOIN audit_entry e ON e.log = r.log AND e.seq >= r.first AND e.seq < r.size"
        " WHERE r.log = %(log)s GROUP BY r.log, r.key",
        {"log": log},
    )
    return [bytes(key) for key, *facts in rows if not _vouched(bytes(key), *facts)]


def _vouched(key: bytes, command: UUID, first: int, size: int, digest: bytes, envelopes: list[bytes | None]) -> bool:
    if command != keyed_command(key, bytes(digest)) or len(envelopes) != size - first:
        return False
    return all(data is not None and parse_envelope(bytes(data)).cmd == str(command) for data in envelopes)


def parse_envelope(data: bytes) -> Envelope:
    """The envelope of stored bytes. Raises Broken when they are none."""
    try:
        envelope = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:  # the latter: bytes that are no UTF-8
        raise Broken(f"an envelope cannot be read: {error}") from None
    if not 1 <= envelope.v <= ENVELOPE_VERSION or (envelope.v == 1) != (not envelope.pc):
        raise Broken(f"an envelope of version {envelope.v} cannot be read")
    return envelope


def open_row(row: Row) -> tuple[Envelope, bytes]:
    """The envelope and the plaintext of a row. Raises keys.Erased, keys.Unreadable or Broken."""
    envelope = parse_envelope(row.envelope)
    return envelope, _opened(envelope, row)


def _opened(envelope: Envelope, row: Row) -> bytes:
    okm = okm_of(envelope)
    if row.ciphertext is None:  # who was erased was not pruned
        raise Pruned(f"entry {row.seq}")
    if okm[32:].hex() != envelope.kc:
        raise keys.Unreadable(f"entry {row.seq}: its key is not the one that the envelope commits to")
    return keys.decrypt(okm, row.ciphertext, associated_data(envelope))


def okm_of(envelope: Envelope) -> bytes:
    """What an entry was encrypted with. Raises keys.Erased; keys.Unreadable when the envelope was altered in a field
    that this follows from.
    """
    try:
        kid, salt, log = _id(envelope.kid), bytes.fromhex(envelope.salt), _id(envelope.log)
    except ValueError:
        raise keys.Unreadable(f"entry {envelope.seq}: its envelope was altered") from None
    if not 0 <= envelope.seq < 1 << 63:
        raise keys.Unreadable(f"entry {envelope.seq}: there is no such place")
    return keys.entry_okm(kid, salt, log, envelope.seq)


@lru_cache(maxsize=4096)  # the entries of a log name the same few
def _id(text: str) -> UUID:
    return UUID(text)


def open_rows(rows: Iterable[Row]) -> Iterator[tuple[Envelope, bytes]]:
    """`open_row` over many."""
    for row in rows:
        yield open_row(row)


def open_living(rows: Iterable[Row], own: UUID) -> Iterator[tuple[Envelope, bytes | None]]:
    """`open_row` over many of one log, whose subject is `own`; without a plaintext what concerned others who were
    erased. Raises keys.Erased when `own` was.
    """
    kid, gone = str(own), set[str]()
    for chunk in _chunks(rows):
        keys.warm(_kids(chunk) - {UUID(each) for each in gone})
        for row in chunk:
            envelope = parse_envelope(row.envelope)
            if envelope.kid in gone:
                yield envelope, None
                continue
            try:
                plaintext = _opened(envelope, row)
            except keys.Erased:
                if envelope.kid == kid:
                    raise
                gone.add(envelope.kid)
                yield envelope, None
            else:
                yield envelope, plaintext


def _kids(chunk: list[Row]) -> set[UUID]:
    """The keys that rows name. One that cannot be read is found when its turn comes."""
    found = (_KID.search(row.envelope) for row in chunk)
    return {UUID(each[1].decode()) for each in found if each is not None}


_KID = re.compile(rb'"kid":"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    them = iter(rows)
    while chunk := list(islice(them, READ_BATCH)):
        yield chunk
