"""Building exports in the background: bundle after bundle, each committed by itself.

A worker holds an export by a lease, three columns of its row, as the runtime does with sessions: a worker that was
killed is replaced once its lease ends, and goes on after the last bundle that was committed; one that only slept
through its lease can commit nothing. All bundles prove their session under one signed head of the global log, which is
chosen first and kept in the row with the place of each session in it, so that whoever goes on builds the same bytes.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from agentstate.errors import AgentStateError, Broken
from audit import globallog, keys, ledger, sequencer
from audit.export import bundle, erasures
from audit.export.evidence import MapRow
from audit.export.gather import Anchor, Installation, anchored, anchored_at
from audit.export.source import LedgerSource
from audit.tlog import headmap
from audit.verify import ERASED_BY, MAX_BUNDLE, PRUNED_BY
from sessions.core import alterations, crash_points, masks
from sessions.core.due_work import Queue
from sessions.exports import storage
from sessions.exports import table as rows
from sessions.models.sessions import Export, ExportPart

log = logging.getLogger(__name__)
IN_MEMORY = 8_000_000  # bytes of a bundle; more goes to a file
SLICE = 20.0  # seconds of work before the worker looks for other things
ROUNDS = 50  # of the sequencer, until all sessions are in a head map
QUEUE = Queue(
    "agent_sessions_export",
    "asked_at",
    due_at="asked_at",
    pending="state IN ('waiting', 'building')",
    admits="(%(only)s::uuid IS NULL OR id = %(only)s)",
    counter="fence",
    changes="state = 'building',",
)
ROOM = 500  # bytes of the archive for each session beside its bundle


def build_due() -> int:
    """Go on with the export that waits longest and that nobody builds. Gives how many bundles were made."""
    storage.expire()
    mine = claim()
    return build(*mine) if mine else 0


def claim(export: UUID | None = None) -> tuple[UUID, int] | None:
    """(export, fence) of a lease on one that is under way and that nobody holds; None when there is none."""
    claims = QUEUE.claim(only=export)
    return (claims[0].key, claims[0].attempt) if claims else None


def build(export: UUID, fence: int, seconds: float = SLICE) -> int:
    """Build for so long, then let go of the lease. A refusal ends the export, and its code stands in the row."""
    made, until = 0, time.monotonic() + seconds
    try:
        with _kept(export, fence):
            anchor = _anchor(export, fence)
            while time.monotonic() < until:
                if not _next(export, fence, anchor):
                    storage.finish(export, fence)
                    return made
                made += 1
        ledger.run(
            "UPDATE agent_sessions_export SET lease_until = NULL WHERE id = %(id)s AND fence = %(fence)s",
            {"id": export, "fence": fence},
        )
    except storage.NotMine:
        log.info("export %s is somebody else's now, or was cancelled", export)
    except AgentStateError as error:
        log.warning("export %s failed: %s", export, error.code)
        storage.fail(export, fence, error.code)
    return made


def _next(export: UUID, fence: int, anchor: Anchor) -> bool:
    """Build the next bundle; False when none is missing."""
    about = Export.objects.get(pk=export)
    if about.size + about.built * ROOM > MAX_BUNDLE - 2**20:
        raise bundle.TooLarge(f"Got {about.size} bytes in {about.built} of {about.total} sessions.")
    part = ExportPart.objects.filter(export=export, state=ExportPart.State.WAITING).order_by("position").first()
    if part is None:
        return False
    try:
        _build(part, about, fence, anchor)
    except Broken as error:
        raise alterations.instead_of(error, {"session": part.session}) or error from None
    return True


def _build(part: ExportPart, about: Export, fence: int, anchor: Anchor) -> None:
    """Build one bundle."""
    source = _Source(part.session)
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as out:
        bundle.write(
            part.session,
            source,
            anchor.evidence(part.session, _map_row(part)),
            Installation(anchor.vkey),
            out,  # type: ignore[arg-type]
            shows=masks.shows if about.masked else None,
            remarks=alterations.remarks(part.session),
        )
        if source.closed and _overtaken(part):
            storage.pass_over(part, fence)
            return
        out.seek(0)
        kids = sorted(source.kids)
        row = rows.row(part.session, part.entries, masked=about.masked)
        try:
            storage.keep(part, fence, out, kids, row)
        except keys.Erased:
            keys.forget_all()  # erased since it was read: the next try shows that
            return
    crash_points.point("after_export_part", str(part.position))


class _Source(LedgerSource):
    """A session's log; remembers whose keys opened something in it, and whether something could not be opened."""

    def __init__(self, session: UUID) -> None:
        super().__init__(session)
        self.kids: set[UUID] = set()
        self.closed = False

    def rows(self) -> Iterator[ledger.Row]:
        """As any source."""
        for row in super().rows():
            self.closed |= row.ciphertext is None
            yield row

    def okm(self, envelope: dict[str, Any]) -> bytes | None:
        """As any source; None if the subject was erased."""
        found = super().okm(envelope)
        if found is None:
            self.closed = True
        else:
            self.kids.add(UUID(envelope["kid"]))
        return found


def _overtaken(part: ExportPart) -> bool:
    """Whether words of the session were erased or pruned after its head was chosen: the entry that says so stands
    behind that head, and a bundle without it would tell of a loss that nobody recorded.
    """
    later = ledger.read_rows(part.session, part.entries)
    return any(ledger.parse_envelope(row.envelope).kind in (ERASED_BY, PRUNED_BY) for row in later)


def _anchor(export: UUID, fence: int) -> Anchor:
    """The head that all bundles are proved under: chosen once, by whoever builds first."""
    about = Export.objects.get(pk=export)
    if about.checkpoint is None or about.mapped is None:
        return _chosen(about, fence)
    checkpoint = bytes(about.checkpoint)
    size = int(checkpoint.split(b"\n", 2)[1])
    head = globallog.signed_head(about.tenant_id, size)
    if head is None:
        raise globallog.NotThere(str(size))
    cosigned = checkpoint[len(head.note) :].decode()
    return anchored_at(replace(head, cosignatures=(cosigned,) if cosigned else ()), about.mapped)


def _chosen(about: Export, fence: int) -> Anchor:
    _settle(about)
    mapped = _place_all(about, fence)
    anchor = anchored(about.tenant_id, mapped)
    Export.objects.filter(pk=about.pk, fence=fence).update(checkpoint=anchor.checkpoint, mapped=mapped)
    return anchor


_UNSETTLED = """
SELECT count(*) FROM agent_sessions_exportpart part LEFT JOIN audit_place place ON place.log = part.session
  WHERE part.export = %(export)s
  AND (place.log IS NULL OR place.size < part.entries OR place."index" >= %(mapped)s)"""


def _settle(about: Export) -> None:
    """See to it that a signed head map knows the sessions as they were when the export was asked for, and that the
    erasures of whom they name stand below it.
    """
    sessions = ExportPart.objects.filter(export=about.pk).values_list("session", flat=True)
    erasures.settle(erasures.begun_in(sessions))
    for _ in range(ROUNDS):
        state = globallog.state(about.tenant_id)
        params = {"export": about.pk, "mapped": state.mapped}
        if state.signed > state.mapped and not ledger.run(_UNSETTLED, params)[0][0]:
            return
        sequencer.run_once(about.tenant_id, with_map=True)
    raise sequencer.Unsettled(str(about.pk))


def _place_all(about: Export, fence: int) -> int:
    """Take down what one head map says of every session, in one look at the database; gives the map's leaf."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        state = globallog.state(about.tenant_id)
        store = _Remembering(globallog.StoredMap(about.tenant_id))
        parts = ExportPart.objects.filter(export=about.pk).only("export", "position", "session")
        for part in parts.order_by("position").iterator(chunk_size=1_000):
            proof = headmap.prove(headmap.key_of(globallog.origin_of(part.session)), store)
            if proof.value is None:
                raise sequencer.Unsettled(str(part.session))
            index, size = headmap.read_value(proof.value)
            ExportPart.objects.filter(export=about.pk, position=part.position).update(
                index=index, entries=size, siblings=b"".join(proof.siblings)
            )
        return state.mapped


class _Remembering:
    """A head map whose 257 tiles are read once; buckets come as they are asked for."""

    def __init__(self, store: globallog.StoredMap) -> None:
        self._tile = lru_cache(maxsize=257)(lambda number: store.read_tiles([number]))
        self.read_buckets = store.read_buckets

    def read_tiles(self, numbers: Any) -> dict[int, bytes]:
        return {number: data for each in numbers for number, data in self._tile(each).items()}


def _map_row(part: ExportPart) -> MapRow:
    assert part.index is not None
    assert part.siblings is not None
    siblings = bytes(part.siblings)
    return MapRow(part.index, part.entries, tuple(siblings[at : at + 32] for at in range(0, len(siblings), 32)))


@contextmanager
def _kept(export: UUID, fence: int) -> Iterator[None]:
    """Renew the lease while the block works."""
    done = threading.Event()
    beat = threading.Thread(target=_beat, args=(export, fence, done), name="export lease", daemon=True)
    beat.start()
    try:
        yield
    finally:
        done.set()
        beat.join()


def _beat(export: UUID, fence: int, done: threading.Event) -> None:
    try:
        while not done.wait(settings.LEASE_SECONDS / 3):
            ledger.run(
                "UPDATE agent_sessions_export SET lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)"
                " WHERE id = %(id)s AND fence = %(fence)s AND lease_until IS NOT NULL",
                {"id": export, "fence": fence, "seconds": settings.LEASE_SECONDS},
            )
    except Exception as error:
        log.warning("the lease of export %s was not renewed: %s", export, type(error).__name__)
    finally:
        connection.close()
