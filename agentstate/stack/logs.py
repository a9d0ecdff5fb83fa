"""The log of a child: it writes into a pipe, and a thread of ours copies that into a bounded file.

The file is opened for each piece, so it may be moved or deleted at any time: the next piece starts a new one. The
child never writes to a disk: a full one costs lines of the log and not the child.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

LIMIT = 8_000_000  # bytes; a longer log is renamed to NAME.log.1
PIECE = 65_536
LAST_SECONDS = 0.5  # descendants of a dead child may hold its pipe open for longer


class Log:
    """The pipe of one child and the thread that copies it. `writer` is the child's standard output.

    `lost` counts the bytes that could not be written since the last that were.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with suppress(OSError):
            path.touch()  # a reader finds it from the start
        self._reader, self.writer = os.pipe()
        self.lost = 0
        self._thread = threading.Thread(target=self._copy, name=f"log of {path.stem}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            os.close(self._reader)
            os.close(self.writer)
            raise

    def hand_over(self) -> None:
        """Close our copy of `writer`, when the child has its own or could not be started."""
        os.close(self.writer)

    def finish(self) -> None:
        """Wait until what a dead child wrote is in the file."""
        self._thread.join(LAST_SECONDS)

    def _copy(self) -> None:
        with open(self._reader, "rb", buffering=0) as pipe:
            while piece := pipe.read(PIECE):
                try:
                    self._write(piece)
                except OSError:  # no space, or no folder: the child must not notice
                    self.lost += len(piece)

    def _write(self, piece: bytes) -> None:
        if self.path.exists() and self.path.stat().st_size > LIMIT:
            self.path.replace(self.path.with_suffix(".log.1"))
        note = f"[{self.lost} bytes of this log could not be written]\n".encode() if self.lost else b""
        with open(self.path, "ab", buffering=0) as file:
            rest = note + piece
            while rest:
                rest = rest[file.write(rest) :]
        self.lost = 0


def last_line(log: Path) -> str:
    """The last line of a log that is not blank, at most 300 characters; "" when there is none."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
