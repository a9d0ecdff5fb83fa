"""How the bundles of an export lie in the database: deflated, in blocks, encrypted, until they expire.

Each bundle has a key of its own, which is kept sealed under the key of its session's data subject and of every other
subject that it shows something of, one around the other: when any of these keys is destroyed, the bundle cannot be read
any more, and the sweep of the erasure deletes it (`sessions.privacy.stores`).
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import IO, Any
from uuid import UUID

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from audit import keys
from sessions.events import notices
from sessions.models.sessions import AgentSession, Export, ExportBlock, ExportPart

BLOCK = 2**20  # bytes of a bundle in one row
PURPOSE = "export"
ROW_NONCE = b"\xff" * 12  # blocks are numbered from 0 and never come so far


class NotMine(Exception):
    """Somebody else builds this export now, or it was cancelled."""


def keep(part: ExportPart, fence: int, bundle: IO[bytes], kids: Sequence[UUID], row: dict[str, Any]) -> None:
    """Store one bundle and its line of the table, all or nothing. Raises NotMine, keys.Erased."""
    key = os.urandom(32)
    with _building(part.export, fence) as building:
        size, crc, digest = 0, 0, hashlib.sha256()
        for number, block in enumerate(iter(lambda: bundle.read(BLOCK), b"")):
            size, crc = size + len(block), zlib.crc32(block, crc)
            digest.update(block)
            sealed = AESGCM(key).encrypt(_nonce(number), zlib.compress(block, 1), _about(part))
            ExportBlock.objects.create(export=part.export, position=part.position, number=number, data=sealed)
        ExportPart.objects.filter(export=part.export, position=part.position).update(
            state=ExportPart.State.BUILT,
            size=size,
            crc=crc,
            sha256=digest.digest(),
            kids=list(kids),
            wrapped=_wrapped(key, kids),
            row=AESGCM(key).encrypt(ROW_NONCE, msgspec.json.encode(row), _about(part)),
        )
        building.update(built=F("built") + 1, size=F("size") + size)


def pass_over(part: ExportPart, fence: int) -> None:
    """There is no bundle of this session, since what was in it has been erased. Raises NotMine."""
    with _building(part.export, fence) as building:
        mine = ExportPart.objects.filter(export=part.export, position=part.position)
        mine.update(state=ExportPart.State.ERASED)
        building.update(built=F("built") + 1)


@contextmanager
def _building(export: UUID, fence: int) -> Iterator[QuerySet[Export]]:
    """The export's row, locked, while it is still ours to build. Raises NotMine."""
    with transaction.atomic():
        found = Export.objects.select_for_update().filter(pk=export, fence=fence, state=Export.State.BUILDING)
        if not found.exists():
            raise NotMine()
        yield found


def row_of(part: ExportPart) -> dict[str, Any]:
    """The line of the table. Raises keys.Erased."""
    if part.row is None:
        raise keys.Erased()
    plain = AESGCM(_key(part)).decrypt(ROW_NONCE, bytes(part.row), _about(part))
    return msgspec.json.decode(plain, type=dict[str, Any])


def blocks(part: ExportPart) -> Iterator[bytes]:
    """The bundle, a block in memory at a time. Raises keys.Erased, also when it is erased meanwhile."""
    key, left, number = _key(part), part.size, 0
    while left:
        found = ExportBlock.objects.filter(export=part.export, position=part.position, number=number).first()
        if found is None:
            raise keys.Erased()
        plain = zlib.decompress(AESGCM(key).decrypt(_nonce(number), bytes(found.data), _about(part)))
        yield plain
        left, number = left - len(plain), number + 1


def _about(part: ExportPart) -> bytes:
    return part.export.bytes + part.session.bytes


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _wrapped(key: bytes, kids: Sequence[UUID]) -> bytes:
    for kid in kids:
        key = keys.seal(kid, PURPOSE, key)
    return key


def _key(part: ExportPart) -> bytes:
    if part.wrapped is None:
        raise keys.Erased()
    key = bytes(part.wrapped)
    for kid in reversed(part.kids):
        key = keys.unseal(kid, PURPOSE, key)
    return key


def of_subject(kid: UUID) -> QuerySet[ExportPart]:
    """The stored bundles that show something of a data subject."""
    own = AgentSession.objects.filter(kid=kid).values("pk")
    return ExportPart.objects.filter(Q(kids__contains=[kid]) | Q(session__in=own), state=ExportPart.State.BUILT)


def sweep(kid: UUID) -> int:
    """Delete the stored bundles of a data subject; how many there were."""
    with transaction.atomic():
        found = list(of_subject(kid).select_for_update().values_list("export", "position"))
        for export, position in found:
            ExportBlock.objects.filter(export=export, position=position).delete()
            ExportPart.objects.filter(export=export, position=position).update(
                state=ExportPart.State.ERASED, size=0, wrapped=None, row=None, sha256=None, crc=0, kids=[]
            )
    return len(found)


def discard(export: UUID) -> None:
    """Delete the bundles of one export; its line in the list stays."""
    ExportBlock.objects.filter(export=export).delete()
    ExportPart.objects.filter(export=export).delete()


def finish(export: UUID, fence: int) -> None:
    """Everything is built."""
    expires = Now() + timedelta(hours=settings.EXPORT_HOURS)
    _end(export, fence, "export.ready", state=Export.State.DONE, expires_at=expires)


def fail(export: UUID, fence: int, problem: str) -> None:
    """It cannot be built; what was is deleted."""
    _end(export, fence, "export.failed", state=Export.State.FAILED, problem=problem)
    discard(export)


def _end(export: UUID, fence: int, kind: str, **fields: object) -> None:
    """Ended, and the teams whose sessions it holds may be told, or neither."""
    with transaction.atomic():
        mine = Export.objects.filter(pk=export, fence=fence, state=Export.State.BUILDING)
        if mine.update(ended_at=Now(), lease_until=None, **fields):
            for team in ExportPart.objects.filter(export=export).values_list("team", flat=True).distinct():
                notices.noted(team, kind, f"{kind}:{export}", "export", export)


def expire() -> int:
    """Delete what is kept for longer than it may be; how many exports there were."""
    due = list(Export.objects.filter(state=Export.State.DONE, expires_at__lt=Now()).values_list("pk", flat=True))
    for export in due:
        Export.objects.filter(pk=export).update(state=Export.State.EXPIRED)
        discard(export)
    return len(due)
