"""What a signer remembers: of each log the newest head under its name, 64 bytes each, in one file.

A log has a place in the file from its first head on, and a later head takes the same place. So a round is a few writes
and one sync, and the file never has to be rewritten. Places begin at multiples of 64 bytes: none lies in two sectors.
What is remembered too early does no harm: the head is asked for again, and a later one continues it.

Format of a place: name (17 bytes), size (7, little endian), root (32), and the first 8 bytes of the SHA-256 of these.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agentstate.files import sync_directory
from audit.signing.errors import BadMemory

PLACE = 64  # bytes
NAME = 17  # bytes
_CHECKED = 56  # bytes of a place before its check

Head = tuple[int, bytes]  # size, root


class Memory:
    """The heads in the file `heads` of a folder (mode 0700). One process at a time: see server.py."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "heads"
        self._kept: dict[bytes, tuple[int, bytes]] | None = None  # name -> where its place begins, size and root

    def last(self, name: bytes) -> Head | None:
        """The newest head that was remembered under a name of 17 bytes. Raises BadMemory."""
        kept = self._read().get(name)
        return None if kept is None else (int.from_bytes(kept[1][:7], "little"), kept[1][7:])

    def remember(self, heads: Mapping[bytes, Head]) -> None:
        """Keeps these heads; all are on the disk, whole, when this returns. Raises OSError, and then none counts as
        remembered: the file is as long as it was.
        """
        kept = self._read()
        end = len(kept) * PLACE
        values = {name: size.to_bytes(7, "little") + root for name, (size, root) in heads.items()}
        fresh = [name for name in values if name not in kept]
        places = {name: end + number * PLACE for number, name in enumerate(fresh)}
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # New places first: they need room on the disk, which a place that is taken again does not.
            _write(descriptor, b"".join(_place(name, values[name]) for name in fresh), end)
            for name, value in values.items():
                if name not in places:
                    _write(descriptor, _place(name, value), kept[name][0])
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, end)
            raise
        finally:
            os.close(descriptor)
        if not kept:
            sync_directory(self.folder)
        for name, value in values.items():
            kept[name] = (places[name] if name in places else kept[name][0]), value

    def _read(self) -> dict[bytes, tuple[int, bytes]]:
        """What the file holds, read once. A place torn at its end is cut off: its head was never given out."""
        if self._kept is None:
            try:
                data = self._file.read_bytes()
            except FileNotFoundError:
                data = b""
            if torn := len(data) % PLACE:
                os.truncate(self._file, len(data) - torn)
            self._kept = {}
            for at in range(0, len(data) - torn, PLACE):
                place = data[at : at + PLACE]
                name, value = place[:NAME], place[NAME:_CHECKED]
                if _place(name, value) != place or name in self._kept:
                    self._kept = None
                    raise BadMemory(f"Malformed place at byte {at} of {self._file}.")
                self._kept[name] = at, value
        return self._kept


def _place(name: bytes, value: bytes) -> bytes:
    return name + value + hashlib.sha256(name + value).digest()[: PLACE - _CHECKED]


def _write(descriptor: int, data: bytes, at: int) -> None:
    """All of it, or OSError: a disk that fills up takes a part and says so only to the next write."""
    while data:
        written = os.pwrite(descriptor, data, at)
        data, at = data[written:], at + written
