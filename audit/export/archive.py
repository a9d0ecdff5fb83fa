"""Packing: files in any order in, one zip in canonical bytes out, with bounded memory.

The same files always give the same bytes: stored, sorted by name, dated 1980, nothing optional. The shape is
defined by the verifier (audit/verify.py), which rebuilds it and refuses any other.
"""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from agentstate.errors import Refused
from audit.verify import MAX_BUNDLE, central_header, end_record, local_header

BLOCK = 2**20  # bytes copied at once
MAX_FILES = 0xFFFF


class TooLarge(Refused):
    """The session is too large for one export file."""

    code = "export_too_large"
    status = 413


@dataclass(frozen=True)
class _File:
    offset: int
    size: int
    crc: int
    sha256: str


class Packer:
    """Holds the files of one archive in a temporary file until their order and digests are known."""

    def __init__(self) -> None:
        self._spool: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._files: dict[str, _File] = {}
        self._size = 0

    def __enter__(self) -> Packer:
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def add(self, name: str, data: bytes) -> None:
        """Take in one file; its name must be new."""
        if name in self._files:
            raise ValueError(f"{name} was added before")
        self._spool.seek(self._size)
        self._spool.write(data)
        self._files[name] = _File(self._size, len(data), zlib.crc32(data), hashlib.sha256(data).hexdigest())
        self._size += len(data)

    def read(self, name: str) -> bytes:
        """A file that was added."""
        file = self._files[name]
        self._spool.seek(file.offset)
        return self._spool.read(file.size)

    def digests(self) -> dict[str, str]:
        """SHA-256 in hex of every file so far, by name."""
        return {name: file.sha256 for name, file in self._files.items()}

    def write(self, out: BinaryIO) -> None:
        """Write the archive, from front to back."""
        overhead = sum(len(local_header(name, 0, 0)) + len(central_header(name, 0, 0, 0)) for name in self._files)
        if self._size + overhead + 22 > MAX_BUNDLE or len(self._files) > MAX_FILES:
            raise TooLarge(f"Got {self._size} bytes in {len(self._files)} files.")
        directory, at = [], 0
        for name in sorted(self._files):
            file = self._files[name]
            header = local_header(name, file.crc, file.size)
            directory.append(central_header(name, file.crc, file.size, at))
            out.write(header)
            self._copy(file, out)
            at += len(header) + file.size
        table = b"".join(directory)
        out.write(table + end_record(len(directory), len(table), at))

    def _copy(self, file: _File, out: BinaryIO) -> None:
        self._spool.seek(file.offset)
        left = file.size
        while left:
            block = self._spool.read(min(left, BLOCK))
            out.write(block)
            left -= len(block)
