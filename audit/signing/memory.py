"""What the signer remembers of each log: the largest head that it signed, one line a head, in a file that only grows.

A line torn by a crash is forgotten: its head was never given out. The file of the global log, which grows with every
round of the sequencer, is rewritten now and then with its last line alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentstate.files import sync_directory
from audit.signing.errors import BadMemory

LONG = 1_000_000  # bytes of a file that is worth rewriting

Head = tuple[int, bytes]  # size, root


class Memory:
    """The heads under one folder (mode 0700). One process at a time: see server.py."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def last(self, name: str) -> Head | None:
        """The largest head of a log that was signed. Raises BadMemory."""
        try:
            with self._open(name, os.O_RDWR) as file:
                return _last_head(file)
        except FileNotFoundError:
            return None

    def remember(self, name: str, head: Head) -> None:
        """Keep `head`, which is larger than the last; on the disk when this returns."""
        path = self._path(name)
        fresh = not path.exists()
        with self._open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            os.write(file, _line(head))
            os.fsync(file)
            size = os.fstat(file).st_size
        if fresh:
            sync_directory(self.folder)
        if size > LONG:
            self._rewrite(path, head)

    def _rewrite(self, path: Path, head: Head) -> None:
        handle, draft = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            file.write(_line(head))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        sync_directory(self.folder)

    @contextmanager
    def _open(self, name: str, flags: int) -> Iterator[int]:
        descriptor = os.open(self._path(name), flags | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.heads"


def _line(head: Head) -> bytes:
    return f"{head[0]} {head[1].hex()}\n".encode("ascii")


def _last_head(file: int) -> Head | None:
    """The last whole line. Sizes only grow, so it is the largest head that was signed."""
    end = os.fstat(file).st_size
    tail = os.pread(file, 512, max(0, end - 512))
    whole, newline, torn = tail.rpartition(b"\n")
    if torn:
        # A crash while the line was written: that head was never signed. Else the next line would join it.
        os.ftruncate(file, end - len(torn))
    if not newline:
        return None
    line = whole.rpartition(b"\n")[2]
    try:
        size, root = line.decode("ascii").split(" ")
        head = int(size), bytes.fromhex(root)
    except ValueError:
        raise BadMemory(f"Malformed line {line[:80]!r}.") from None
    if head[0] < 0 or len(head[1]) != 32:
        raise BadMemory(f"Malformed line {line[:80]!r}.")
    return head
