"""The log of who read what: one a reader and day, apart from all sessions, so that reading changes none of them.

An entry names its reader by opaque id, and what was read by ids; its facts are encrypted under the reader's own key. No
name, word or search term of a customer is among them. Appending is one statement: each process remembers the heads of
the logs it has written to, and only what is committed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

import msgspec
import psycopg
from django.db import Error as DatabaseError
from django.db import connection, transaction

from agentstate.clock import now
from agentstate.engine.instants import stamp
from agentstate.errors import Broken, Refused
from agentstate.ids import new_id
from audit import keys, ledger

TRIES = 20
RACES = 3  # tries on a remembered or unlocked head; then the head is locked, and its writers queue
MOST_REMEMBERED = 5_000  # logs
LOGS = UUID("f0a5d5c6-8c1e-5d0a-9a57-0d6b7c1f3a44")  # namespace of the logs' ids
FAILURES = (DatabaseError, psycopg.Error, Broken, OSError)

_encoder = msgspec.json.Encoder()


class NotRecorded(Refused):
    """That you read this could not be recorded, so it is not shown."""

    code = "access_not_recorded"
    status = 503
    remedy = "Try again in a moment; if it stays so, tell whoever runs this installation."


@dataclass(frozen=True, slots=True)
class _Known:
    head: ledger.Head
    kid: UUID
    until: float  # monotonic seconds: no longer than an unwrapped key, so that an erased reader gets a new one


_known: OrderedDict[UUID, _Known] = OrderedDict()
_lock = threading.Lock()


def log_of(tenant: UUID, reader: str, day: datetime) -> UUID:
    """The log of one reader (an actor's id) on one day (UTC)."""
    return uuid5(LOGS, f"{tenant}/{reader}/{day:%Y-%m-%d}")


def record(
    tenant: UUID,
    reader: str,
    kind: str,
    facts: Mapping[str, object],
    extra_writes: Sequence[ledger.Fragment] = (),
    at: datetime | None = None,
) -> ledger.Head:
    """Append one entry and give the log's head after it. In the caller's transaction if there is one.

    `extra_writes` are written in the same statement; its seq is the parameter `base`. Raises NotRecorded: then
    nothing was written, and what was to be shown must not be.
    """
    at = at or now()
    payload = _encoder.encode({"kind": kind, **facts})
    log = log_of(tenant, reader, at)
    try:
        for number in range(TRIES):
            head = _append(log, tenant, reader, kind, payload, stamp(at), extra_writes, lock=number >= RACES)
            if head is not None:
                return head
    except FAILURES as error:
        forget(log)
        raise NotRecorded() from error
    raise NotRecorded()


def _append(
    log: UUID,
    tenant: UUID,
    reader: str,
    kind: str,
    payload: bytes,
    at: str,
    extra_writes: Sequence[ledger.Fragment],
    *,
    lock: bool,
) -> ledger.Head | None:
    """One try. A remembered head that is not the newest, and a key destroyed meanwhile, are forgotten."""
    known = None if lock else _remembered(log)
    kid = known.kid if known else keys.subject_kid(tenant, reader)
    batch = ledger.Batch([ledger.Draft(kind, payload)], kid, reader, at, new_id(), extra_writes=extra_writes)
    try:
        with transaction.atomic() if lock else nullcontext():
            head = _written(log, tenant, known.head if known else None, batch, lock=lock)
    except keys.Erased:
        head = None
    if head is None:
        forget(log)
        return None
    _remember(log, _Known(head, kid, time.monotonic() + keys.CACHE_SECONDS))
    return head


def _written(
    log: UUID, tenant: UUID, head: ledger.Head | None, batch: ledger.Batch, *, lock: bool
) -> ledger.Head | None:
    if head is None:
        try:
            head = ledger.read_head(log, lock=lock)
        except ledger.UnknownLog:
            return ledger.create(log, tenant, batch)
    return ledger.append(head, batch)


def _remembered(log: UUID) -> _Known | None:
    found = _known.get(log)
    return found if found is not None and found.until > time.monotonic() else None


def _remember(log: UUID, known: _Known) -> None:
    """Keep a head once it is committed: one that was rolled back may share its size with another."""
    if connection.in_atomic_block:
        forget(log)
        transaction.on_commit(lambda: _keep(log, known))
    else:
        _keep(log, known)


def _keep(log: UUID, known: _Known) -> None:
    with _lock:
        held = _known.get(log)
        if held is not None and held.head.size >= known.head.size:
            return
        _known[log] = known
        _known.move_to_end(log)
        while len(_known) > MOST_REMEMBERED:
            _known.popitem(last=False)


def forget(log: UUID | None = None) -> None:
    """Drop what is remembered of one log, or of all."""
    with _lock:
        if log is None:
            _known.clear()
        else:
            _known.pop(log, None)


def opened(places: Sequence[tuple[UUID, int]]) -> dict[tuple[UUID, int], dict[str, object]]:
    """The facts of entries by (log, seq); those of a reader who was erased are not among them."""
    rows = ledger.run(
        "SELECT e.log, e.seq, e.envelope, p.ciphertext"
        " FROM unnest(%(logs)s::uuid[], %(seqs)s::bigint[]) AS wanted(log, seq)"
        " JOIN audit_entry e USING (log, seq) LEFT JOIN audit_payload p USING (log, seq)",
        {"logs": [log for log, _ in places], "seqs": [seq for _, seq in places]},
    )
    found = {}
    for log, seq, envelope, ciphertext in rows:
        row = ledger.Row(seq, bytes(envelope), None if ciphertext is None else bytes(ciphertext))
        with suppress(keys.Erased):
            found[log, seq] = msgspec.json.decode(ledger.open_row(row)[1], type=dict[str, object])
    return found
