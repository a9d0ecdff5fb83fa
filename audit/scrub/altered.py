"""What the scrubber found: one row for each place that is not what it was, until a later look finds it right again."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from agentstate.ids import new_id
from audit.blobs import Blobs
from audit.models import Alteration
from audit.reading import run

LEDGER = UUID(int=0)  # the log of an alteration about the global log itself
MAX_LISTED = 500  # alterations on the page of ledger health
#: What was found -> in words. `HEADS` are found by comparing heads, `ENTRIES` by reading bytes.
HEADS = {
    "log_missing": "It was deleted; a head of it was signed.",
    "log_cut_off": "Entries at its end are missing; a longer head was signed.",
    "head_altered": "Its head is another than the one that was signed.",
    "tail_differs": "Its last entry is not the one that its head counts.",
    "session_missing": "The row of the session was deleted.",
}
ENTRIES = {
    "entry_missing": "The entry was deleted.",
    "entry_altered": "The entry was changed.",
    "entries_altered": "The entries do not lead to the head.",
    "payload_altered": "The content of the entry was changed.",
    "payload_missing": "The content of the entry was deleted, and no erasure or retention term accounts for it.",
}
GLOBAL_LOG = {"leaves_altered": "Leaves of the global log are not those that were signed."}
WORDS = {**HEADS, **ENTRIES, **GLOBAL_LOG}

log = logging.getLogger("audit.scrub")


class Found(msgspec.Struct, frozen=True):
    """One place that is not what it was: `what` of WORDS or a trouble of audit.condition; -1: no entry of its own."""

    log: UUID
    what: str
    seq: int = -1
    detail: str = ""

    def __str__(self) -> str:
        place = "the global log" if self.log == LEDGER else f"log {self.log}"
        entry = f", entry {self.seq}" if self.seq >= 0 else ""
        return f"{place}{entry}: {WORDS.get(self.what, self.what)} {self.detail}".strip()


_REPORT = """
INSERT INTO audit_alteration (id, tenant, log, what, seq, detail, found_at, seen_at)
  SELECT each.id, %(tenant)s, each.log, convert_from(each.what, 'UTF8'), each.seq, convert_from(each.detail, 'UTF8'),
    clock_timestamp(), clock_timestamp()
  FROM unnest(%(ids)s::uuid[], %(logs)s::uuid[], %(whats)b, %(seqs)s::bigint[], %(details)b)
    AS each(id, log, what, seq, detail)
  ON CONFLICT (tenant, log, what, seq) WHERE right_at IS NULL DO UPDATE SET seen_at = clock_timestamp()
  RETURNING log, what, seq, detail, xmax = 0"""


def report(tenant: UUID, found: Iterable[Found]) -> list[Found]:
    """Keeps what was found; returns what is new. An alteration that was found before is only seen again."""
    wanted = list({(each.log, each.what, each.seq): each for each in found}.values())
    if not wanted:
        return []
    params = {
        "tenant": tenant,
        "ids": [new_id() for _ in wanted],
        "logs": [each.log for each in wanted],
        "whats": Blobs(each.what.encode() for each in wanted),
        "seqs": [each.seq for each in wanted],
        "details": Blobs(each.detail.encode() for each in wanted),
    }
    new = [Found(*row) for *row, fresh in run(_REPORT, params) if fresh]
    for each in new:
        log.error("altered in the database: %s", each)  # the one place that the database's owner cannot clean
    return new


_RIGHT = """
UPDATE audit_alteration SET right_at = clock_timestamp() WHERE tenant = %(tenant)s AND right_at IS NULL
  AND what = ANY(%(whats)s) AND seen_at < %(before)s AND (%(logs)s::uuid[] IS NULL OR log = ANY(%(logs)s))
  RETURNING log"""


def right_again(
    tenant: UUID, whats: Collection[str], before: datetime, logs: Sequence[UUID] | None = None
) -> set[UUID]:
    """Closes the alterations of these kinds, of these logs or of all, that the look begun at `before` saw no more.
    Returns the logs of which no alteration is open any more.
    """
    rows = run(_RIGHT, {"tenant": tenant, "whats": list(whats), "before": before, "logs": logs})
    closed = {row[0] for row in rows}
    if not closed:
        return closed
    left = Alteration.objects.filter(tenant=tenant, log__in=closed, right_at=None)
    return closed - set(left.values_list("log", flat=True))


def standing(tenant: UUID) -> list[Alteration]:
    """The alterations that no later look found right again, oldest first, at most MAX_LISTED."""
    return list(Alteration.objects.filter(tenant=tenant, right_at=None).order_by("found_at", "log", "seq")[:MAX_LISTED])


def of_log(log: UUID) -> Alteration | None:
    """An alteration about this log that stands, if there is one."""
    return Alteration.objects.filter(log=log, right_at=None).order_by("found_at").first()
