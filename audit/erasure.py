"""Erasing a data subject: who asked and who approved, the tombstone in each log, and the end of the key.

A request is a row that goes from asked to approved (by somebody else than who asked) to done; each step is an entry of
the staff log, which names the subject by the id of its key alone. What the application does with its own rows is the
caller's: here are the parts that concern logs and keys.

The order, from which resuming after a crash follows: the key is *closed*, so that nothing new begins under it; every
log that has an entry under it gets a `subject.erased`, the last entry under that key; the key is destroyed, from where
there is no way back; ciphertexts and all that was derived from them are deleted. Each step may be done twice.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from django.db import connections, transaction

from agentstate.clock import now
from agentstate.engine.instants import stamp
from agentstate.errors import AgentStateError, Broken, NotFound, Refused
from agentstate.ids import new_id
from audit import holds, keyed, keys, ledger, staff
from audit.models import ErasureRequest

ERASED, SEALED = "subject.erased", "session.sealed"
BEGUN, DESTROYED = "erasure.begun", "erasure.key_destroyed"  # in the log of staff
REASON = "audit/erasure"
MAX_REASON = 2_000  # characters
_KINDS = [f'"kind":"{kind}"'.encode() for kind in (BEGUN, DESTROYED)]
BASES = {
    "consent_withdrawn": "Consent was withdrawn",
    "no_longer_needed": "No longer needed for its purpose",
    "objection": "The person objected",
    "unlawful": "It was processed unlawfully",
    "legal_duty": "A law demands the erasure",
    "child": "It was collected from a child",
    "other": "Another basis, as the reason says",
}
TRIES = 10


class State(StrEnum):
    """How far a request has come."""

    ASKED = "asked"  # waits for another person
    APPROVED = "approved"  # the task carries it out, unless a legal hold keeps it waiting
    DONE = "done"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


class UnknownSubject(NotFound):
    """There is no such data subject, or you may not know of them."""

    code = "unknown_subject"


class UnknownErasure(NotFound):
    """There is no such erasure request, or you may not see it."""

    code = "unknown_erasure"


class AskedAlready(Refused):
    """This data subject's erasure has been asked for already."""

    code = "erasure_asked_already"


class NotOpen(Refused):
    """This erasure request is no longer open."""

    code = "erasure_not_open"


class FourEyes(Refused):
    """Who asks for an erasure cannot approve it."""

    code = "four_eyes"
    status = 403
    remedy = "Somebody else who may approve erasures must look at it."


class StillWritten(Broken):
    """A transaction that may still write under the key is open. The next run goes on here."""


def find(tenant: UUID, reference: str) -> UUID:
    """The living key of a subject by its reference; makes none. Raises UnknownSubject."""
    rows = ledger.run(
        "SELECT kid FROM audit_subjectkey WHERE tenant = %(tenant)s AND blind = %(blind)s AND closing_at IS NULL"
        " AND destroyed_at IS NULL",
        {"tenant": tenant, "blind": keys.blind_token(tenant, "subject", reference)},
    )
    if not rows:
        raise UnknownSubject()
    return rows[0][0]  # type: ignore[no-any-return]


def is_destroyed(kid: UUID) -> bool:
    """Whether the key is gone, as the database has it."""
    return kid in keys.destroyed([kid])


def ask(tenant: UUID, kid: UUID, basis: str, reason: str, by: str) -> ErasureRequest:
    """A new request. Raises AskedAlready, keys.Erased."""
    sealed = keys.seal(kid, REASON, reason.encode())
    with transaction.atomic():
        ledger.run("SELECT pg_advisory_xact_lock(hashtextextended(%(kid)s, 7))", {"kid": str(kid)})
        if ErasureRequest.objects.filter(kid=kid, state__in=(State.ASKED, State.APPROVED)).exists():
            raise AskedAlready()
        asked = ErasureRequest.objects.create(
            id=new_id(),
            tenant=tenant,
            kid=kid,
            state=State.ASKED,
            basis=basis,
            reason=sealed,
            asked_by=by,
            asked_at=now(),
        )
        _record(asked, "erasure.asked", by, basis=basis)
    return asked


def rule(request: UUID, state: State, by: str) -> ErasureRequest:
    """Approve, refuse or withdraw a request that waits. Raises UnknownErasure, NotOpen, FourEyes."""
    with transaction.atomic():
        asked = ErasureRequest.objects.select_for_update().filter(pk=request).first()
        if asked is None:
            raise UnknownErasure()
        if asked.state != State.ASKED:
            raise NotOpen(f"It is {asked.state}.")
        if state is State.APPROVED:
            must_be_open(asked, by)
        asked.state, asked.ruled_by, asked.ruled_at = state, by, now()
        asked.save(update_fields=["state", "ruled_by", "ruled_at"])
        _record(asked, f"erasure.{state}", by, basis=asked.basis, asked_by=asked.asked_by)
    return asked


def must_be_open(asked: ErasureRequest, by: str) -> None:
    """Return if `by` may approve the request. Raises NotOpen, FourEyes."""
    if asked.state != State.ASKED:
        raise NotOpen(f"It is {asked.state}.")
    if by == asked.asked_by:
        raise FourEyes()


def reason_of(request: ErasureRequest, closed: Container[UUID]) -> str:
    """Returns the requester's reason; empty once the key is among the `closed` ones or destroyed.

    This process may remember the key for CACHE_SECONDS after another one destroyed it, and the sweep that deletes the
    sealed reason may be held up: neither shows it longer.
    """
    if request.destroyed_at is not None or request.kid in closed or not request.reason:
        return ""
    try:
        return keys.unseal(request.kid, REASON, bytes(request.reason)).decode()
    except keys.Erased:
        return ""


def due() -> list[UUID]:
    """The approved requests that are not done, oldest first."""
    found = ErasureRequest.objects.filter(state=State.APPROVED).order_by("ruled_at")
    return list(found.values_list("pk", flat=True))


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """A statement of the block that waits longer than this for a lock fails, in both roles."""
    with ExitStack() as until:
        for each in (connections["default"], connections["erase"]):
            _set(each, f"{seconds * 1000:.0f}ms")
            until.callback(_set, each, "0")
        yield


def _set(connection: Any, lock_timeout: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [lock_timeout])


@contextmanager
def alone(request: UUID) -> Iterator[bool]:
    """Whether nobody else carries this request out; held until the block, or this process, ends."""
    lock = {"name": str(request)}
    held = bool(ledger.run("SELECT pg_try_advisory_lock(hashtextextended(%(name)s, 8))", lock)[0][0])
    try:
        yield held
    finally:
        if held:
            ledger.run("SELECT pg_advisory_unlock(hashtextextended(%(name)s, 8))", lock)


def close(request: ErasureRequest) -> bool:
    """Let nothing new begin under the key; False while a legal hold blocks it. A hold that comes later is refused.

    The key is no longer found by its reference: who comes back meanwhile gets a new one.
    """
    with transaction.atomic():
        holds.take_turns()
        if begun(request.kid):
            return True
        if holds.blocking(request.kid, keyed.logs_of(request.kid)):
            return False
        _record(request, BEGUN, ledger.SYSTEM, basis=request.basis, approved_by=request.ruled_by)
        _erase(
            "UPDATE audit_subjectkey SET closing_at = now(), blind = %(blind)s"
            " WHERE kid = %(kid)s AND closing_at IS NULL AND destroyed_at IS NULL",
            {"kid": request.kid, "blind": os.urandom(32)},
        )
    return True


def living(kids: Iterable[UUID]) -> ledger.Fragment:
    """A guard for what begins under keys: it finds nothing once the erasure of one of them has begun."""
    wanted = list(dict.fromkeys(kids))
    return ledger.Fragment(
        "SELECT 1 FROM audit_subjectkey WHERE kid = ANY(%(l_kids)s) AND closing_at IS NULL AND destroyed_at IS NULL"
        " HAVING count(*) = %(l_count)s",
        {"l_kids": wanted, "l_count": len(wanted)},
    )


def begun(kid: UUID) -> bool:
    """Whether the erasure of the subject has begun: then no hold can stop it."""
    return kid in keys.closed([kid])


def must_live(kid: UUID) -> None:
    """Raises keys.Erased once the erasure of the subject has begun."""
    if begun(kid):
        raise keys.Erased(f"subject key {kid}")


def must_be_settled(kid: UUID) -> None:
    """Raises StillWritten while a statement that began before the key was closed may still append under it.

    PostgreSQL hides from this role when transactions of other roles began, and shows all locks. A statement that
    appends has a writer's lock on the entries before it takes the snapshot by which it sees the key. So this waits for
    whoever holds that lock, unless they are known to have begun later.
    """
    rows = ledger.run(
        "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid), audit_subjectkey k WHERE k.kid = %(kid)s"
        " AND l.pid <> pg_backend_pid() AND a.datname = current_database() AND l.relation = 'audit_entry'::regclass"
        " AND l.mode = 'RowExclusiveLock' AND coalesce(a.xact_start < k.closing_at, true) LIMIT 1",
        {"kid": kid},
    )
    if rows:
        raise StillWritten(f"key {kid}")


def logs_of(kid: UUID) -> list[tuple[UUID, bool]]:
    """Every log with an entry under the key, and whether its tombstone is there."""
    rows = ledger.run(
        "SELECT k.log, EXISTS (SELECT 1 FROM audit_entry e WHERE e.log = k.log"
        "  AND position(convert_to(%(stone)s, 'UTF8') IN e.envelope) > 0)"
        " FROM audit_keyedlog k WHERE k.kid = %(kid)s ORDER BY k.log",
        {"kid": kid, "stone": f'"kid":"{kid}","kind":"{ERASED}"'},
    )
    return [(log, stone) for log, stone in rows]


def has_tombstone(log: UUID, kid: UUID) -> bool:
    """Whether the erasure of the subject is recorded in this log."""
    rows = ledger.run(
        "SELECT 1 FROM audit_entry WHERE log = %(log)s"
        " AND position(convert_to(%(stone)s, 'UTF8') IN envelope) > 0 LIMIT 1",
        {"log": log, "stone": f'"kid":"{kid}","kind":"{ERASED}"'},
    )
    return bool(rows)


def tombstone(log: UUID, kid: UUID, *, seals: bool) -> None:
    """Append `subject.erased` under `kid` to a log whose state nobody decides on (any more). One that was sealed is
    sealed again; with `seals` nothing may follow in any case.
    """
    for _ in range(TRIES):
        with transaction.atomic():
            head = ledger.read_head(log, lock=True)
            drafts = [_draft(ERASED, {"kid": str(kid), "v": 1}, kid)]
            if head.sealed:
                drafts.append(_draft(SEALED, {"why": "erased", "by": "", "v": 1}, kid))
            batch = ledger.Batch(
                drafts=drafts,
                kid=kid,
                actor=ledger.SYSTEM,
                at=stamp(now()),
                command=new_id(),
                seals=head.sealed or seals,
            )
            if ledger.append(head, batch) is not None:
                return
    raise Broken(f"log {log}: the head moved {TRIES} times although it was locked")


def _draft(kind: str, fields: dict[str, Any], kid: UUID) -> ledger.Draft:
    return ledger.Draft(kind, msgspec.json.encode({"kind": kind, **fields}), kid=kid)


def destroy(request: ErasureRequest) -> None:
    """Destroy the key. From here there is no way back."""
    _erase(
        "UPDATE audit_subjectkey SET wrapped = NULL, destroyed_at = now() WHERE kid = %(kid)s AND destroyed_at IS NULL",
        {"kid": request.kid},
    )
    keys.forget_all()
    if request.destroyed_at is None:
        with transaction.atomic():
            request.destroyed_at = now()
            request.save(update_fields=["destroyed_at"])
            _record(request, DESTROYED, ledger.SYSTEM)


@dataclass(frozen=True, slots=True)
class OnRecord:
    """The entry of a log of staff that has an erasure, with what opens it."""

    log: UUID
    seq: int
    envelope: bytes
    okm: bytes
    payload: bytes


def record_of(kid: UUID) -> OnRecord | None:
    """The first entry of staff that says that the erasure of this data subject was begun, or that its key is destroyed.

    Its entries open under keys that no database holds, so nobody forges one; the days to look at are hints, and who
    alters them makes a true erasure look like a false one, never the other way round.
    """
    rows = ledger.run("SELECT tenant, closing_at, destroyed_at FROM audit_subjectkey WHERE kid = %(kid)s", {"kid": kid})
    days = {(tenant, at.date() + timedelta(days=late)) for tenant, *ats in rows for at in ats if at for late in (0, 1)}
    found = (_saying(staff.log_of(tenant, datetime.combine(day, time(), UTC)), kid) for tenant, day in sorted(days))
    return next((each for each in found if each is not None), None)


def _saying(log: UUID, kid: UUID) -> OnRecord | None:
    for row in ledger.read_rows(log):
        if not any(kind in row.envelope for kind in _KINDS):
            continue
        try:
            envelope, payload = ledger.open_row(row)
            okm = ledger.okm_of(envelope)
        except (AgentStateError, ValueError):
            continue  # one that nobody could have written here
        facts = msgspec.json.decode(payload)
        if facts.get("kind") in (BEGUN, DESTROYED) and facts.get("subject_key") == str(kid):
            return OnRecord(log, row.seq, row.envelope, okm, payload)
    return None


def finish(request: ErasureRequest, counts: dict[str, int]) -> None:
    """Everything is gone, also from the memory of other processes."""
    with transaction.atomic():
        request.state, request.done_at = State.DONE, now()
        request.counts = added(request.counts, counts)
        request.save(update_fields=["state", "done_at", "counts"])
        _record(request, "erasure.done", ledger.SYSTEM, asked_by=request.asked_by, approved_by=request.ruled_by)


def keep_counts(request: ErasureRequest, counts: dict[str, int]) -> None:
    """Note what a sweep has erased."""
    request.counts = added(request.counts, counts)
    request.save(update_fields=["counts"])


def added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """Both counts as one."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


_COUNT = """SELECT count(*) FROM audit_payload p JOIN audit_entry e USING (log, seq)
 WHERE p.log = ANY(%(logs)s) AND position(convert_to(%(named)s, 'UTF8') IN e.envelope) > 0"""
_DELETE = """DELETE FROM audit_payload p USING audit_entry e
 WHERE p.log = ANY(%(logs)s) AND e.log = p.log AND e.seq = p.seq
  AND position(convert_to(%(named)s, 'UTF8') IN e.envelope) > 0"""


def count_payloads(kid: UUID) -> int:
    """How many ciphertexts there are under the key."""
    logs = keyed.logs_of(kid)
    return int(ledger.run(_COUNT, {"logs": logs, "named": f'"kid":"{kid}"'})[0][0])


def delete_payloads(kid: UUID) -> int:
    """Delete every ciphertext under the key. Gives how many."""
    logs = keyed.logs_of(kid)
    return _erase(_DELETE, {"logs": logs, "named": f'"kid":"{kid}"'})


def delete_range(log: UUID, first: int, last: int) -> int:
    """Delete the ciphertexts of entries `first` to `last` of one log. Gives how many."""
    return _erase(
        "DELETE FROM audit_payload WHERE log = %(log)s AND seq BETWEEN %(first)s AND %(last)s",
        {"log": log, "first": first, "last": last},
    )


def _erase(sql: str, params: dict[str, Any]) -> int:
    """One statement as the role that may delete, committed at once. Gives the number of rows."""
    with connections["erase"].cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def _record(request: ErasureRequest, kind: str, actor: str, **facts: str) -> None:
    known = {"request": str(request.pk), "subject_key": str(request.kid), **facts}
    staff.record(request.tenant, now(), kind, actor, "", known)
