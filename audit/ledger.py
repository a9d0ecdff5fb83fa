"""The only writer of entries: append in one statement, read back, open.

`append` is a compare-and-set on the log's size. Envelopes, ciphertexts, the new head, the idempotency receipt and
whatever the caller adds (projections, outbox) are one statement and therefore one transaction and one round trip. A
lost race writes nothing. A crash before the statement leaves nothing, a crash after it leaves everything.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any
from uuid import UUID, uuid5

import msgspec
import psycopg
from django.db import connection

from agentstate.errors import Broken, NotFound, Refused
from audit import keys
from audit.blobs import Blobs
from audit.tlog import fields, tree

ENVELOPE_VERSION = 2  # 1: without `pc`
READ_BATCH = 500  # rows
SYSTEM = "system"
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
    """A log's size and frontier as somebody last saw them. A hint: the appending statement compares the size."""

    log: UUID
    tenant: UUID
    size: int
    frontier: bytes
    sealed: bool = False

    @property
    def root(self) -> bytes:
        """The RFC 6962 root over all entries."""
        return tree.root(self.frontier, self.size)


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be: kind and payload bytes, the seq that it answers (-1: none), and the key of its data subject where
    that is not the batch's.
    """

    kind: str
    payload: bytes
    ref: int = -1
    kid: UUID | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One stored entry; `ciphertext` is None once it was erased or pruned."""

    seq: int
    envelope: bytes
    ciphertext: bytes | None


@dataclass(frozen=True, slots=True)
class Fragment:
    """Something that is written with the entries or not at all: a data-modifying statement over the CTE `head`.

    Its parameters are named; names are unique over one append. It must select from `head`, which is empty on a lost
    race.
    """

    sql: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an earlier command under the same idempotency key wrote."""

    command: UUID
    first: int
    size: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything of one append that does not depend on where in the log it lands."""

    drafts: Sequence[Draft]
    kid: UUID
    actor: str
    at: str
    command: UUID
    epoch: int = 0
    key: bytes = b""  # idempotency key; empty: none
    digest: bytes = b""
    guard: Fragment | None = None  # a SELECT that must find a row, or nothing is written
    also: Sequence[Fragment] = ()
    seals: bool = False  # nothing may follow but another batch that seals


class UnknownLog(NotFound):
    """There is no such log."""

    code = "unknown_log"


class Pruned(keys.Erased):
    """What was said here was deleted when the term of its retention class was over."""

    code = "pruned"


class SameKeyOtherCommand(Refused):
    """This idempotency key was used for another command."""

    code = "idempotency_key_reused"
    remedy = "Use a new key for a new command."


def receipt_key(actor: str, key: str) -> bytes:
    """The stored form of a client's idempotency key: keys of different actors never meet."""
    return hashlib.sha256(f"{actor}\x00{key}".encode()).digest()


def keyed_command(key: bytes, digest: bytes) -> UUID:
    """The id of a command under an idempotency key: it follows from both, so entries vouch for their receipt."""
    return uuid5(COMMANDS, (key + digest).hex())


def associated_data(envelope: Envelope) -> bytes:
    """The canonical bytes that a ciphertext is authenticated with: one changed byte of them, and it does not open."""
    bound = msgspec.structs.asdict(envelope)
    del bound["ct"], bound["kc"]
    return _encoder.encode(Bound(**bound))


def create(log: UUID, tenant: UUID, batch: Batch) -> Head | None:
    """A new log with its first entries; None when the log exists already or the guard found nothing."""
    return _write(Head(log, tenant, 0, b""), batch, _CREATE_HEAD)


def append(base: Head, batch: Batch) -> Head | None:
    """The head after `batch` was added at `base`; None when somebody else was faster or the guard found nothing."""
    return _write(base, batch, _MOVE_HEAD)


_CREATE_HEAD = """
head AS (INSERT INTO audit_head (log, tenant, size, frontier, dirty_since)
  SELECT %(log)s, %(tenant)s, %(size)s, %(frontier)s, now() {where}
  ON CONFLICT (log) DO NOTHING RETURNING log)"""

_MOVE_HEAD = """
head AS (UPDATE audit_head SET size = %(size)s, frontier = %(frontier)s, dirty_since = coalesce(dirty_since, now()),
   sealed = %(seals)s
  WHERE log = %(log)s AND size = %(base)s AND (NOT sealed OR %(seals)s) {and_guard} RETURNING log)"""

_ENTRIES = """
entry AS (INSERT INTO audit_entry (log, seq, envelope)
  SELECT head.log, %(base)s + row.number - 1, row.envelope
  FROM head, unnest(%(envelopes)b) WITH ORDINALITY AS row(envelope, number)),
payload AS (INSERT INTO audit_payload (log, seq, ciphertext)
  SELECT head.log, %(base)s + row.number - 1, row.ciphertext
  FROM head, unnest(%(ciphertexts)b) WITH ORDINALITY AS row(ciphertext, number))"""

_RECEIPT = """
receipt AS (INSERT INTO audit_receipt (log, key, command, first, size, digest)
  SELECT head.log, %(key)s, %(command)s, %(base)s, %(size)s, %(digest)s FROM head)"""


def _write(base: Head, batch: Batch, head_sql: str) -> Head | None:
    envelopes, ciphertexts = _sealed(base, batch)
    leaves = [tree.leaf_hash(envelope) for envelope in envelopes]
    size = base.size + len(envelopes)
    frontier = tree.append(base.frontier, base.size, leaves)
    params: dict[str, Any] = {
        "log": base.log,
        "tenant": base.tenant,
        "base": base.size,
        "size": size,
        "frontier": frontier,
        "seals": batch.seals,
        "envelopes": Blobs(envelopes),
        "ciphertexts": Blobs(ciphertexts),
    }
    if batch.key:
        params |= {"key": batch.key, "command": batch.command, "digest": batch.digest}
    for fragment in (*batch.also, *([batch.guard] if batch.guard else [])):
        params |= fragment.params
    guard = batch.guard.sql if batch.guard else ""
    statement = _statement(head_sql, guard, bool(batch.key), tuple(fragment.sql for fragment in batch.also))
    won = run(statement, params)
    return Head(base.log, base.tenant, size, frontier, batch.seals) if won else None


@lru_cache(maxsize=256)
def _statement(head_sql: str, guard: str, keyed: bool, also: tuple[str, ...]) -> str:
    head = head_sql.format(
        where="WHERE EXISTS (SELECT 1 FROM guard)" if guard else "",
        and_guard="AND EXISTS (SELECT 1 FROM guard)" if guard else "",
    )
    parts = [f"guard AS ({guard})"] if guard else []
    parts += [head, _ENTRIES]
    if keyed:
        parts.append(_RECEIPT)
    parts += [f"also{number} AS ({sql})" for number, sql in enumerate(also)]
    return f"WITH {', '.join(parts)} SELECT 1 FROM head"


def _sealed(base: Head, batch: Batch) -> tuple[list[bytes], list[bytes]]:
    """Envelopes and ciphertexts of payloads that are JSON objects. Salts are fresh at every try: a lost try must never
    meet the same key again.
    """
    salts = os.urandom(keys.SALT * len(batch.drafts))
    subject = keys.subject_key(batch.kid)
    log, kid, command = str(base.log), str(batch.kid), str(batch.command)
    envelopes, ciphertexts = [], []
    for number, draft in enumerate(batch.drafts):
        seq = base.size + number
        salt = salts[number * keys.SALT : (number + 1) * keys.SALT]
        key = subject if draft.kid is None else keys.subject_key(draft.kid)
        okm = keys.derive(key, keys.ENTRY_LABEL, salt, base.log.bytes + seq.to_bytes(8, "big"))
        facts: dict[str, Any] = {
            "actor": batch.actor,
            "at": batch.at,
            "cmd": command,
            "epoch": batch.epoch,
            "kid": kid if draft.kid is None else str(draft.kid),
            "kind": draft.kind,
            "log": log,
            "pc": fields.commit(okm, draft.payload).hex(),
            "ref": draft.ref,
            "salt": salt.hex(),
            "seq": seq,
            "v": ENVELOPE_VERSION,
        }
        ciphertext = keys.encrypt(okm, draft.payload, _encoder.encode(Bound(**facts)))
        whole = Envelope(**facts, ct=hashlib.sha256(ciphertext).hexdigest(), kc=okm[32:].hex())
        envelopes.append(_encoder.encode(whole))
        ciphertexts.append(ciphertext)
    return envelopes, ciphertexts


_encoder = msgspec.json.Encoder()
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


def read_head(log: UUID, *, lock: bool = False) -> Head:
    """The head as it stands; with `lock` inside a transaction nobody else appends until it ends. Raises UnknownLog."""
    rows = run(
        f"SELECT tenant, size, frontier, sealed FROM audit_head WHERE log = %(log)s {'FOR UPDATE' if lock else ''}",
        {"log": log},
    )
    if not rows:
        raise UnknownLog(str(log))
    tenant, size, frontier, sealed = rows[0]
    return Head(log, tenant, size, bytes(frontier), sealed)


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
    except msgspec.MsgspecError as error:
        raise Broken(f"an envelope cannot be read: {error}") from None
    if not 1 <= envelope.v <= ENVELOPE_VERSION or (envelope.v == 1) != (not envelope.pc):
        raise Broken(f"an envelope of version {envelope.v} cannot be read")
    return envelope


def open_row(row: Row) -> tuple[Envelope, bytes]:
    """The envelope and the plaintext of a row. Raises keys.Erased, keys.Unreadable or Broken."""
    envelope = parse_envelope(row.envelope)
    return envelope, _opened(envelope, row)


def _opened(envelope: Envelope, row: Row) -> bytes:
    if row.ciphertext is None:
        keys.subject_key(UUID(envelope.kid))  # who was erased was not pruned
        raise Pruned(f"entry {row.seq}")
    okm = keys.entry_okm(UUID(envelope.kid), bytes.fromhex(envelope.salt), UUID(envelope.log), envelope.seq)
    if okm[32:].hex() != envelope.kc:
        raise keys.Unreadable(f"entry {row.seq}: its key is not the one that the envelope commits to")
    return keys.decrypt(okm, row.ciphertext, associated_data(envelope))


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
