"""Files made to hurt: a clear verdict, no traceback, no unbounded memory."""

from __future__ import annotations

import io
import os
import random
import struct
import tracemalloc
import zipfile
import zlib

import pytest

from audit import verify
from audit.verify import central_header, end_record, local_header
from tests.core.tlog_world import SIGNER, MemoryLedger, chatter, check, export, pack, plain, resign, said, unpack

FILES = unpack(export(chatter(2)))
NAMES = [
    "../manifest.json",
    "/etc/passwd",
    "session/../x",
    "session//x",
    "session/.",
    "C:\\x",
    "a\\b",
    "a\x00b",
    "é",
    "",
    " ",
    "session/",
    ".hidden",
    "x" * 300,
]


def raw_zip(members: list[tuple[bytes, bytes]]) -> bytes:
    """An archive in our form, except that names may be anything and may repeat."""
    out, directory = b"", b""
    for name, data in members:
        crc, stand_in = zlib.crc32(data), "n" * len(name)
        offset = len(out)
        out += local_header(stand_in, crc, len(data)).replace(stand_in.encode(), name) + data
        directory += central_header(stand_in, crc, len(data), offset).replace(stand_in.encode(), name)
    return out + directory + end_record(len(members), len(directory), len(out))


def zipped(**options: object) -> bytes:
    """The same files by the standard library's writer."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as archive:  # type: ignore[arg-type]
        for name, data in sorted(FILES.items()):
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_name_that_could_lead_anywhere_is_refused(name, tmp_path):
    members = [(key.encode(), data) for key, data in sorted(FILES.items())]
    verdict = check(raw_zip([*members, (name.encode(), b"x")]), tmp_path)
    assert not verdict.ok
    assert "cannot be checked" not in said(verdict)


def test_a_name_that_appears_twice_is_refused(tmp_path):
    members = [(key.encode(), data) for key, data in sorted(FILES.items())]
    assert check(raw_zip(members), tmp_path).ok
    for twice in members:
        assert "repeated name" in said(check(raw_zip(sorted([*members, twice])), tmp_path))


def test_files_in_another_order_are_refused(tmp_path):
    members = [(key.encode(), data) for key, data in sorted(FILES.items(), reverse=True)]
    assert "not in order" in said(check(raw_zip(members), tmp_path))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_the_same_files_packed_by_another_program_are_refused(method, tmp_path):
    assert not check(zipped(compression=method), tmp_path).ok


def test_a_comment_is_refused(tmp_path):
    data = export(chatter(2))
    assert not check(data[:-2] + struct.pack("<H", 5) + b"hello", tmp_path).ok


def test_a_zip_bomb_does_not_go_off(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(FILES):
            archive.writestr(name, bytes(20_000_000))
    assert _peak(out.getvalue(), tmp_path) < 30_000_000


def test_a_payload_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "MAX_PAYLOAD", 100_000)
    ledger = MemoryLedger()
    ledger.append("message.added", {"text": "a" * 10_000_000, "v": 1})
    verdict = check(export(ledger), tmp_path)
    assert "does not unpack into at most" in said(verdict)
    assert _peak(export(ledger), tmp_path) < 3_000_000


def test_an_absurd_number_of_entries_is_refused_at_once(tmp_path):
    for count in (2**22 + 1, 2**52, -1, True, "5", None):
        manifest = plain({"entries": count, "files": {}, "format": verify.FORMAT})
        verdict = check(pack(FILES | {"manifest.json": manifest}), tmp_path)
        assert "want 0 to" in said(verdict), count


def test_more_entries_announced_than_there_are_is_a_verdict_of_bounded_length(tmp_path):
    verdict = check(pack(resign(FILES, entries=100_000)), tmp_path)
    assert not verdict.ok
    assert len(verdict.failures) == verify.MAX_FAILURES
    assert verdict.counts["failures"] > 1_000


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("content", [b"", b"\x00", b"{}", b"[" * 100_000, b"\xff" * 1000, b'{"a":NaN}', b"\n\n\n"])
def test_a_file_with_any_other_content_is_a_verdict(name, content, tmp_path):
    for files in (FILES | {name: content}, resign(FILES | {name: content}) if "manifest" not in name else None):
        if files is not None and files.get(name) != FILES[name]:
            verdict = check(pack(files), tmp_path)
            assert not verdict.ok or not name.startswith("session/"), said(verdict)
            assert "cannot be checked" not in said(verdict)


def test_a_thousand_random_woundings_each_end_in_a_verdict(tmp_path):
    data, chance = export(chatter(3)), random.Random(7)
    for _ in range(1_000):
        wounded = bytearray(data)
        for _ in range(10):
            wounded[chance.randrange(len(wounded))] = chance.randrange(256)
        verdict = check(bytes(wounded), tmp_path)
        assert not verdict.ok
        assert "cannot be checked" not in said(verdict)


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06", b"PK\x05\x06" + bytes(18), b"\x00" * 1000, b"hello"])
def test_what_is_no_bundle_at_all_is_a_verdict(data, tmp_path):
    verdict = check(data, tmp_path)
    assert not verdict.ok
    assert "cannot be checked" not in said(verdict)


def test_a_header_that_promises_more_than_the_file_holds_is_refused(tmp_path):
    for size in (2**31, 2**32 - 1):
        assert "malformed" in said(check(local_header("README.txt", 0, size), tmp_path))


def test_a_missing_file_a_folder_and_a_pipe_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "nothing", tmp_path, tmp_path / "pipe", "/dev/zero"):
        verdict = verify.verify(path, SIGNER.vkey())
        assert not verdict.ok
        assert "cannot be checked" not in said(verdict)


def test_memory_does_not_grow_with_the_contents_of_a_bundle(tmp_path):
    ledger = MemoryLedger()
    for number in range(64):
        ledger.append("message.added", {"text": random.Random(number).randbytes(200_000).hex(), "v": 1})
    data = export(ledger)
    assert len(data) > 12_000_000
    assert _peak(data, tmp_path) < len(data) / 3


def _peak(data: bytes, folder) -> int:
    """Bytes that verifying took at the most, beyond what was there before."""
    path = folder / "measured"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        verify.verify(path, SIGNER.vkey())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
