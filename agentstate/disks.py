"""The file systems that an installation writes to, and whether they are full or nearly so. Only reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FULL_BYTES = 32 * 2**20  # PostgreSQL needs space for whole files of its log, of 16 MiB each
FULL_ENTRIES = 100  # files that programs need to start: PostgreSQL's own, sockets, pid files
LOW_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class FileSystem:
    """One file system, named by where it is mounted.

    `size` and `free` are bytes, `free` as far as this user may use them. `entries` is how many files and folders it
    can hold, 0 when it names no such limit, and `entries_free` how many more.
    """

    mount: Path
    size: int
    free: int
    entries: int = 0
    entries_free: int = 0

    @property
    def is_full(self) -> bool:
        """Whether programs that write to it must be expected to fail."""
        return self.free < FULL_BYTES or (self.entries > 0 and self.entries_free < FULL_ENTRIES)

    @property
    def is_low(self) -> bool:
        """Whether less than 5 % is free, of the bytes or of the entries: somebody must make space."""
        return self.is_full or self.is_low_on_entries or self.free / self.size < LOW_SHARE

    @property
    def is_low_on_entries(self) -> bool:
        """Whether few more files and folders fit, whatever bytes are free."""
        few = self.entries_free < FULL_ENTRIES
        return self.entries > 0 and (few or self.entries_free / self.entries < LOW_SHARE)

    def __str__(self) -> str:
        files = f", {self.entries_free:,} of {self.entries:,} files" if self.is_low_on_entries else ""
        return f"{self.mount} ({self.free / 1e6:,.0f} of {self.size / 1e6:,.0f} MB free{files})"


def file_systems(paths: Iterable[Path]) -> list[FileSystem]:
    """Every file system that one of `paths` is on, once each. A path that does not exist is left out."""
    found: dict[int, FileSystem] = {}
    for path in paths:
        try:
            device = path.stat().st_dev
            if device not in found:
                found[device] = _read(path)
        except OSError:
            continue
    return list(found.values())


def _read(path: Path) -> FileSystem:
    told = os.statvfs(path)
    return FileSystem(
        _mount_of(path), told.f_blocks * told.f_frsize, told.f_bavail * told.f_frsize, told.f_files, told.f_favail
    )


def _mount_of(path: Path) -> Path:
    path = path.resolve()
    return next((each for each in (path, *path.parents) if each.is_mount()), path)
