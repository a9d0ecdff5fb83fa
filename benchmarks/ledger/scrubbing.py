"""The scrubber: how fast it reads entries, against a raw read and SHA-256 of the same bytes; and how much of a core it
uses where it is throttled, PostgreSQL's time included.
"""

from __future__ import annotations

import hashlib
import time
from statistics import median
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from agentstate.people.queries import the_tenant
from audit.models import Scrub
from audit.reading import run
from audit.scrub import schedule
from benchmarks.ground import Ground
from benchmarks.ledger import exporting
from benchmarks.rows import Goal, Row, against

ENTRIES = {True: 200, False: 20_000}  # by whether it is the quick run
REPEATED = {True: 1, False: 7}
THROTTLED = {True: 3.0, False: 60.0}  # seconds
SPEED, SHARE = Goal(0.25, at_least=True), Goal(1.0, at_least=False)
RAW = """SELECT e.log, e.seq, e.envelope, p.ciphertext FROM audit_entry e JOIN audit_payload p USING (log, seq)
  WHERE (e.log, e.seq) > (%(log)s, %(seq)s) ORDER BY e.log, e.seq LIMIT 500"""


def rows(here: Ground, quick: bool, group: str) -> list[Row]:
    """Both rows."""
    exporting.talked(here, ENTRIES[quick])
    tenant = the_tenant().pk
    share, settings.SCRUB_HEADS_EVERY = settings.SCRUB_SHARE, 1e9
    ours, raw = [], []
    for _ in range(REPEATED[quick]):
        settings.SCRUB_SHARE = 1e6
        ours.append(_scrubbed(tenant))
        raw.append(_raw())
    settings.SCRUB_SHARE = share
    of = f"{REPEATED[quick]} passes of {Scrub.objects.get(pk=tenant).pass_entries} entries"
    name = "entries scrubbed, against a raw read and SHA-256"
    used = _used(tenant, THROTTLED[quick])
    return [
        against(group, name, median(ours), "1/s", median(raw), SPEED, of),
        against(group, "share of a core that the scrubber uses", used, "cores", share, SHARE, f"{THROTTLED[quick]} s"),
    ]


def _again(tenant: UUID) -> None:
    Scrub.objects.get_or_create(tenant=tenant)
    Scrub.objects.filter(pk=tenant).update(
        heads_at=Now(), heads_begun=None, pass_at=None, pass_begun=None, rest_until=None
    )


def _scrubbed(tenant: UUID) -> float:
    """Entries per second of a whole pass without a rest."""
    _again(tenant)
    start = time.perf_counter()
    while (row := Scrub.objects.get(pk=tenant)).pass_at is None:
        schedule.work(tenant, lambda found, right: None)
    return row.pass_entries / (time.perf_counter() - start)


def _raw() -> float:
    """Entries per second of reading all bytes in the same order, and hashing them."""
    place, count, start = {"log": UUID(int=0), "seq": -1}, 0, time.perf_counter()
    while read := run(RAW, place):
        for _, _, envelope, ciphertext in read:
            hashlib.sha256(envelope).digest()
            hashlib.sha256(ciphertext).digest()
        count += len(read)
        place = {"log": read[-1][0], "seq": read[-1][1]}
    return count / (time.perf_counter() - start)


def _used(tenant: UUID, seconds: float) -> float:
    """Seconds of work per second, where the clock calls as often as it does in service and there is always work."""
    start, busy = time.perf_counter(), 0.0
    while (began := time.perf_counter()) - start < seconds:
        Scrub.objects.filter(pk=tenant).update(pass_at=None)
        before = time.perf_counter()
        schedule.work(tenant, lambda found, right: None)
        busy += time.perf_counter() - before
        time.sleep(max(0.0, began + schedule.TICK - time.perf_counter()))
    return busy / (time.perf_counter() - start)
