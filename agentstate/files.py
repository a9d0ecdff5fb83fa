"""Files that outlive a power cut, and of which one is written though several processes try: keys and secrets.

`replace` is for the few that are written again: whoever reads finds the old or the new, whole.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_once(path: Path, data: bytes) -> None:
    """Write `data` to `path` (mode 0600) unless it exists: of two writers one wins, and nobody reads half a file."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = _draft(path, data)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)
    sync_directory(path.parent)


def replace(path: Path, data: bytes) -> None:
    """Write `data` to `path` (mode 0600) in place of what is there, at one instant."""
    os.rename(_draft(path, data), path)
    sync_directory(path.parent)


def _draft(path: Path, data: bytes) -> str:
    """A file beside `path` that holds `data`, safe from a power cut but for its name."""
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return draft


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
