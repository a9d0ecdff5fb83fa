"""The scrubber's work in short pieces, within a share of one core, from where it stopped.

How far it is stands in one row, which a piece of work locks: of several workers one works, and what a killed one had
found is found again. The share counts the time from the beginning of the work to its end, PostgreSQL's included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction

from audit import globallog
from audit.models import Scrub
from audit.reading import run
from audit.scrub import altered, entries, heads
from audit.scrub.altered import Found
from audit.tlog import tree

TICK = 2.0  # seconds between two calls of `work`, as the clock of Celery has them
FILLED = 0.75  # of the share's time after which no further piece is begun
ROWS = 500  # entries in one piece of work
LOGS = 100  # that are begun together, at most
Told = Callable[[list[Found], set[UUID]], None]


class Standing(msgspec.Struct, frozen=True):
    """Until when the scrubber has come; None: it has not ended one yet. `entries`: how many the last pass read."""

    heads_at: datetime | None = None
    pass_at: datetime | None = None
    entries: int = 0


def standing(tenant: UUID) -> Standing:
    """When the last comparison of heads and the last full pass ended."""
    row = Scrub.objects.filter(pk=tenant).first()
    return Standing() if row is None else Standing(row.heads_at, row.pass_at, row.pass_entries)


def work(tenant: UUID, told: Told, also: heads.Also = lambda logs: ()) -> None:
    """Works for the share that is due, if something is. `told` is given what is new, and the logs that are right again,
    in the transaction that keeps them.
    """
    began = time.perf_counter()
    Scrub.objects.get_or_create(tenant=tenant)
    with transaction.atomic():
        row = Scrub.objects.select_for_update(skip_locked=True).filter(pk=tenant).first()
        at = _now()
        if row is None or (row.rest_until is not None and at < row.rest_until):
            return
        for found, right in _pieces(row, at, also):
            if found or right:
                told(found, right)
            if time.perf_counter() - began >= TICK * settings.SCRUB_SHARE * FILLED:
                break
        busy = time.perf_counter() - began
        row.rest_until = at + timedelta(seconds=busy / settings.SCRUB_SHARE)
        row.save()


def _pieces(row: Scrub, at: datetime, also: heads.Also) -> Iterator[tuple[list[Found], set[UUID]]]:
    """What each piece of work found new, and which logs it found right again. The comparison of heads goes first."""
    if row.heads_begun is None and _is_due(row.heads_at, settings.SCRUB_HEADS_EVERY, at):
        signed = globallog.signed_head(row.tenant)
        if signed is not None:
            row.heads_begun, row.head, row.leaf, row.leaf_frontier = at, signed.size, 0, b""
    while row.heads_begun is not None:
        yield _compare_heads(row, also)
    if row.pass_begun is None and _is_due(row.pass_at, settings.SCRUB_ENTRIES_EVERY, at):
        row.pass_begun, row.log, row.log_begun, row.entries = at, None, None, 0
    while row.pass_begun is not None:
        yield from _read_entries(row)


def _now() -> datetime:
    """PostgreSQL's own clock, exactly: what a look has seen is compared with when the look began."""
    at: datetime = run("SELECT clock_timestamp()", {})[0][0]
    return at


def _is_due(last: datetime | None, seconds: float, at: datetime) -> bool:
    return last is None or at - last >= timedelta(seconds=seconds)


def _compare_heads(row: Scrub, also: heads.Also) -> tuple[list[Found], set[UUID]]:
    stop = min(row.leaf + heads.LEAVES, row.head)
    bodies = heads.read_leaves(row.tenant, row.leaf, stop)
    found = heads.compare(bodies, also)
    row.leaf_frontier = tree.append(bytes(row.leaf_frontier), row.leaf, [tree.leaf_hash(body) for body in bodies])
    row.leaf = stop
    if row.leaf < row.head:
        return altered.report(row.tenant, found), set()
    signed = globallog.signed_head(row.tenant, row.head)
    if signed is None:
        found.append(Found(altered.LEDGER, "leaves_altered"))
    else:
        found += heads.leaves_differ(signed, row.leaf_frontier)
    new = altered.report(row.tenant, found)
    assert row.heads_begun is not None
    right = altered.right_again(row.tenant, [*altered.HEADS, *altered.GLOBAL_LOG], row.heads_begun)
    row.heads_begun, row.heads_at = None, _now()
    return new, right


_NEXT = """
SELECT log, size FROM audit_head WHERE tenant = %(tenant)s AND (%(after)s::uuid IS NULL OR log > %(after)s)
  ORDER BY log LIMIT %(limit)s"""


def _read_entries(row: Scrub) -> Iterator[tuple[list[Found], set[UUID]]]:
    if row.log_begun is not None:
        yield _read_on(row)
        return
    chosen, rows = list[UUID](), 0
    for log, size in run(_NEXT, {"tenant": row.tenant, "after": row.log, "limit": LOGS}):
        if chosen and rows + size > ROWS:
            break
        chosen.append(log)
        rows += size
    if not chosen:
        row.pass_begun, row.pass_at, row.pass_entries = None, _now(), row.entries
    elif rows > ROWS:
        row.log, row.log_begun, row.seq, row.frontier = chosen[0], _now(), 0, b""
    else:
        yield _read_whole(row, chosen)


_ROWS_OF = """
SELECT e.log, e.seq, e.envelope, p.ciphertext FROM audit_entry e LEFT JOIN audit_payload p USING (log, seq)
  WHERE e.log = ANY(%(logs)s) ORDER BY e.log, e.seq"""


def _read_whole(row: Scrub, logs: list[UUID]) -> tuple[list[Found], set[UUID]]:
    """Reads several logs, each to its end."""
    at, said, erased = _now(), entries.heads(logs), dict[str, bool]()
    stored: dict[UUID, list[entries.Stored]] = {log: [] for log in logs}
    for log, seq, envelope, ciphertext in run(_ROWS_OF, {"logs": logs}):
        stored[log].append((seq, envelope, ciphertext))
    found = list[Found]()
    for log, (size, frontier, signed) in said.items():
        found += entries.judge(entries.begun(log, size, frontier, signed), stored[log], erased)
        row.entries += size
    row.log = logs[-1]
    return _kept(row, found, at, logs)


def _read_on(row: Scrub) -> tuple[list[Found], set[UUID]]:
    """Reads the next entries of a long log. Its head is read anew each time: it may have grown."""
    log, at = row.log, row.log_begun
    assert log is not None
    assert at is not None
    said = entries.heads([log]).get(log)
    if said is None:  # the comparison of heads names it
        row.log_begun = None
        return [], set()
    one = entries.begun(log, *said, row.seq, bytes(row.frontier))
    stop = min(row.seq + ROWS, one.size)
    stored = entries.reading_rows(log, row.seq, stop)
    if stop < one.size:
        one.read(stored)
        one.skip_to(stop)
        found = one.found + entries.unaccounted(log, one.absent, {})
        row.entries, row.seq, row.frontier = row.entries + stop - row.seq, stop, one.frontier
        return altered.report(row.tenant, found), set()
    row.entries, row.log_begun = row.entries + one.size - row.seq, None
    return _kept(row, entries.judge(one, stored, {}), at, [log])


def _kept(row: Scrub, found: list[Found], at: datetime, logs: list[UUID]) -> tuple[list[Found], set[UUID]]:
    new = altered.report(row.tenant, found)
    return new, altered.right_again(row.tenant, altered.ENTRIES, at, logs)
