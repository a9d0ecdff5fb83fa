"""The only writer of entries: append in one statement. What reads them is in `audit.reading`, and can be had from here.

`append` is a compare-and-set on the log's size. Envelopes, ciphertexts, the new head, the idempotency receipt and
whatever the caller adds (projections, outbox) are one statement and therefore one transaction and one round trip. A
lost race writes nothing. A crash before the statement leaves nothing, a crash after it leaves everything.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from agentstate.errors import Refused
from audit import direct, keyed, keys
from audit.blobs import Blobs
from audit.envelopes import Shared
from audit.reading import (
    Envelope,
    Head,
    Pruned,
    Receipt,
    Row,
    UnknownLog,
    associated_data,
    false_receipts,
    keyed_command,
    okm_of,
    open_living,
    open_row,
    open_rows,
    parse_envelope,
    read_head,
    read_newer,
    read_receipt,
    read_rows,
    run,
)
from audit.tlog import fields, tree

__all__ = [
    "SYSTEM",
    "Batch",
    "Draft",
    "Envelope",
    "Fragment",
    "Head",
    "Pruned",
    "Receipt",
    "Row",
    "SameKeyOtherCommand",
    "UnknownLog",
    "append",
    "associated_data",
    "create",
    "false_receipts",
    "keyed_command",
    "okm_of",
    "open_living",
    "open_row",
    "open_rows",
    "parse_envelope",
    "read_head",
    "read_newer",
    "read_receipt",
    "read_rows",
    "receipt_key",
    "run",
]

SYSTEM = "system"


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
class Fragment:
    """Something that is written with the entries or not at all: a data-modifying statement over the CTE `head`.

    Its parameters are named; names are unique over one append. It must select from `head`, which is empty on a lost
    race.
    """

    sql: str
    params: dict[str, Any] = field(default_factory=dict)


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
    extra_writes: Sequence[Fragment] = ()
    seals: bool = False  # nothing may follow but another batch that seals


class SameKeyOtherCommand(Refused):
    """This idempotency key was used for another command."""

    code = "idempotency_key_reused"
    remedy = "Use a new key for a new command."


def receipt_key(actor: str, key: str) -> bytes:
    """The stored form of a client's idempotency key: keys of different actors never meet."""
    return hashlib.sha256(f"{actor}\x00{key}".encode()).digest()


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
  WHERE log = %(log)s AND size = %(base)s AND frontier = %(grown_from)s AND (NOT sealed OR %(seals)s) {and_guard}
  RETURNING log)"""

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
        "grown_from": base.frontier,  # not the size alone: the database may have been put back to another history
        "size": size,
        "frontier": frontier,
        "seals": batch.seals,
        "envelopes": Blobs(envelopes),
        "ciphertexts": Blobs(ciphertexts),
    }
    if batch.key:
        params |= {"key": batch.key, "command": batch.command, "digest": batch.digest}
    for fragment in (*batch.extra_writes, *([batch.guard] if batch.guard else [])):
        params |= fragment.params
    extra_writes = tuple(fragment.sql for fragment in batch.extra_writes)
    kids = keyed.unseen(base.log, {batch.kid, *(draft.kid or batch.kid for draft in batch.drafts)})
    if kids:
        params["keyed_kids"] = kids
    guard = batch.guard.sql if batch.guard else ""
    if not direct.found(_statement(head_sql, guard, bool(batch.key), bool(kids), extra_writes), params):
        return None
    if kids:
        keyed.written(base.log, kids)
    return Head(base.log, base.tenant, size, frontier, batch.seals, leaves[-1])


@lru_cache(maxsize=256)
def _statement(head_sql: str, guard: str, with_receipt: bool, with_kids: bool, extra_writes: tuple[str, ...]) -> str:
    head = head_sql.format(
        where="WHERE EXISTS (SELECT 1 FROM guard)" if guard else "",
        and_guard="AND EXISTS (SELECT 1 FROM guard)" if guard else "",
    )
    parts = [f"guard AS ({guard})"] if guard else []
    parts += [head, _ENTRIES]
    if with_receipt:
        parts.append(_RECEIPT)
    if with_kids:
        parts.append(keyed.ROWS)
    parts += [f"extra{number} AS ({sql})" for number, sql in enumerate(extra_writes)]
    return f"WITH {', '.join(parts)} SELECT 1 FROM head"


def _sealed(base: Head, batch: Batch) -> tuple[list[bytes], list[bytes]]:
    """Envelopes and ciphertexts of payloads that are JSON objects. Salts are fresh at every try: a lost try must never
    meet the same key again.
    """
    salts = os.urandom(keys.SALT * len(batch.drafts))
    own, key = str(batch.kid), keys.subject_key(batch.kid)
    shared = Shared(actor=batch.actor, at=batch.at, command=str(batch.command), epoch=batch.epoch, log=str(base.log))
    envelopes, ciphertexts = [], []
    for number, draft in enumerate(batch.drafts):
        seq = base.size + number
        salt = salts[number * keys.SALT : (number + 1) * keys.SALT]
        okm = keys.derive(
            key if draft.kid is None else keys.subject_key(draft.kid),
            keys.ENTRY_LABEL,
            salt,
            base.log.bytes + seq.to_bytes(8, "big"),
        )
        bound = shared.bound(
            kid=own if draft.kid is None else str(draft.kid),
            kind=draft.kind,
            pc=fields.commit(okm, draft.payload),
            ref=draft.ref,
            salt=salt,
            seq=seq,
        )
        ciphertext = keys.encrypt(okm, draft.payload, bound)
        envelopes.append(shared.envelope(bound, ct=hashlib.sha256(ciphertext).digest(), kc=okm[32:]))
        ciphertexts.append(ciphertext)
    return envelopes, ciphertexts
