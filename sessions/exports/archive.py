"""The archive of an export, put together while it is handed out: a bundle a session, the table, one head for all.

The same zip as a bundle is (audit/export/archive.py), with bundles in it; sizes and digests are known before the first
byte, so that nothing is kept in memory or in a file but the table. Signed by the key that signed the head.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentstate.errors import Refused
from audit import keys, signer
from audit.export import tables
from audit.export.gather import Installation, policy
from audit.tlog import canonical, note
from audit.verify import EXPORTS_FORMAT, EXPORTS_TITLE, central_header, end_record, local_header
from sessions.core import access
from sessions.core.session_lines import Person
from sessions.exports import selection, storage
from sessions.exports import table as rows
from sessions.models.sessions import Export, ExportPart

README = """\
AN EXPORT OF MANY SESSIONS

sessions.csv is the list, for a spreadsheet; sessions.jsonl is the same for programs. The folder `sessions` holds
one bundle for each session, each complete in itself: its own report.pdf, report.html, entries.csv, and the evidence.

To verify all of it you need three things, and only the first is in this file:
  1. this file;
  2. the log's key (one line: name+id+base64), which you got from the operator before, NOT with this file;
  3. Python 3.11 or newer with the package `cryptography`, and the verifier audit/verify.py, a single file.

    python verify.py FILE --key KEY            (KEY is the line itself or a file that holds it)

With --report OUT it writes a page (HTML) of what it proved: read that one. It checks every bundle, that all of
them prove their session under the same head of the log (log/checkpoint), and that the list, and every file here, is
what the log's key signed. It ends with status 0 only if everything holds. Of the list it proves which sessions it
names and how many entries each has; the rest of it, and the reports, are signed and not proved.
A session whose customer was erased after the export was made is in the list, and its bundle is gone.
"""


class NotReady(Refused):
    """This export is not done, or it is not kept any more."""

    code = "export_not_ready"
    status = 409


@dataclass(frozen=True)
class _File:
    size: int
    crc: int
    sha256: str
    content: Callable[[], Iterator[bytes]]


def download(user: Person, export: UUID) -> tuple[int, Iterator[bytes]]:
    """(size in bytes, the archive) of an export of one's own; recorded before the first byte.

    Raises UnknownExport, NotReady, and PermissionDenied once `user` may not export one of the sessions any more.
    """
    found = selection.own(user, export)
    _must_be_done(found)
    parts = list(ExportPart.objects.filter(export=export).order_by("position").values_list("session", "team"))
    selection.must_still(user, found, parts)
    for some in selection.batches(parts):
        seen = [access.Seen(session, team) for session, team in some]
        access.note(user, "export", seen, export=str(export), handed_out=True)
    return pack(found)


def pack(export: Export) -> tuple[int, Iterator[bytes]]:
    """(size in bytes, the archive). Whoever calls this has asked for permissions and made the record."""
    _must_be_done(export)
    files = _files(export)
    names = sorted(files)
    directory, at = [], 0
    for name in names:
        file = files[name]
        directory.append(central_header(name, file.crc, file.size, at))
        at += len(local_header(name, file.crc, file.size)) + file.size
    table = b"".join(directory)
    end = table + end_record(len(names), len(table), at)

    def archive() -> Iterator[bytes]:
        for name in names:
            file = files[name]
            yield local_header(name, file.crc, file.size)
            yield from file.content()
        yield end

    return at + len(end), archive()


def _must_be_done(export: Export) -> None:
    if export.state != Export.State.DONE:
        raise NotReady(f"It is {export.state}.")


def _files(export: Export) -> dict[str, _File]:
    assert export.checkpoint is not None
    checkpoint = bytes(export.checkpoint)
    files, table, entries = _bundles(export)
    key = _signed_by(checkpoint)
    files["README.txt"] = _small(README.encode("ascii"))
    files["log/checkpoint"] = _small(checkpoint)
    files["policy"] = _small(policy(key))
    files["sessions.csv"] = _small(tables.csv_table(rows.COLUMNS, table))
    files["sessions.jsonl"] = _small(tables.json_lines(table))
    digests = {name: file.sha256 for name, file in files.items()}
    facts = {"entries": entries, "files": digests, "format": EXPORTS_FORMAT, "sessions": len(table)}
    manifest = canonical.dumps(facts)
    origin = checkpoint.split(b"\n", 1)[0].decode()
    digest = base64.b64encode(hashlib.sha256(manifest).digest()).decode("ascii")
    files["manifest.json"] = _small(manifest)
    files["manifest.note"] = _small(Installation(key).sign_text(f"{EXPORTS_TITLE}\n{origin}\n{digest}\n"))
    return files


def _bundles(export: Export) -> tuple[dict[str, _File], list[dict[str, Any]], int]:
    """The bundles that are kept, the table, and how many entries there are."""
    files, table, entries = {}, [], 0
    parts = ExportPart.objects.filter(export=export.pk).order_by("position")
    for part in parts.iterator(chunk_size=1_000):
        try:
            row = storage.row_of(part)
        except keys.Erased:
            table.append(rows.erased(part.session))
            continue
        table.append(row)
        entries += part.entries
        assert part.sha256 is not None
        slim = ExportPart(
            export=part.export,
            position=part.position,
            session=part.session,
            size=part.size,
            kids=part.kids,
            wrapped=part.wrapped,
        )
        files[rows.name(part.session)] = _File(part.size, part.crc, bytes(part.sha256).hex(), _content(slim))
    return files, table, entries


def _content(part: ExportPart) -> Callable[[], Iterator[bytes]]:
    return lambda: storage.blocks(part)


def _small(data: bytes) -> _File:
    return _File(len(data), zlib.crc32(data), hashlib.sha256(data).hexdigest(), lambda: iter((data,)))


def _signed_by(checkpoint: bytes) -> str:
    lines = note.parse(checkpoint).signatures
    known = reversed(signer.known().vkeys)
    return next(key for key in known if any(line.is_by(note.parse_vkey(key)) for line in lines))
