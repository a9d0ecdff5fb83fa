"""Which files of the library are in force: the newest row of each name. `folders.use` asks this module."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
from django.db.models import Max

from audit.server_clock import now
from sessions.library.folders import File, Files, Names, digest_of, origin_of
from sessions.models.library import LibraryVersion


class InForce(msgspec.Struct, frozen=True):
    """The files of one name, since when they are in force, and the proposal that brought them (None: first start)."""

    kind: str
    name: str
    digest: str
    origin: str
    proposal: UUID | None
    at: datetime
    files: Files


def newest() -> dict[tuple[str, str], InForce]:
    """Returns what is in force, by kind and name."""
    rows = LibraryVersion.objects.order_by("kind", "name", "-id").distinct("kind", "name")
    return {(row.kind, row.name): _read(row) for row in rows}


def _read(row: LibraryVersion) -> InForce:
    files = loaded(bytes(row.files), row.origin)
    return InForce(row.kind, row.name, row.digest, row.origin, row.proposal_id, row.at, files)


def add(kind: str, name: str, files: Files, proposal: UUID | None = None) -> None:
    """Puts the files of a name in force. At its first start only one process does."""
    row = LibraryVersion(
        kind=kind,
        name=name,
        digest=digest_of(files),
        files=dumped(files),
        origin=origin_of(files),
        proposal_id=proposal,
        at=now(),
    )
    LibraryVersion.objects.bulk_create([row], ignore_conflicts=proposal is None)


def dumped(files: Files) -> bytes:
    """Returns files of one name as JSON: text by path."""
    return msgspec.json.encode({path: file.data.decode() for path, file in sorted(files.items())})


def loaded(data: bytes, origin: str) -> Files:
    """Returns the files of one name from their JSON."""
    found = msgspec.json.decode(data, type=dict[str, str])
    return {path: File(path, text.encode(), origin) for path, text in found.items()}


class Rows:
    """The source of what is in force in an installation (`folders.Source`)."""

    def revision(self) -> int:
        """Returns the number of the newest row; 0 for none."""
        return LibraryVersion.objects.aggregate(newest=Max("id"))["newest"] or 0

    def in_force(self) -> Names:
        """Returns the files of each name that was ever in force."""
        return {key: held.files for key, held in newest().items()}
