"""When a file system counts as full or low, and how it is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.disks import FULL_BYTES, FULL_ENTRIES, FileSystem, file_systems

sizes = st.integers(1, 2**50)


@given(sizes, sizes, st.integers(0, 10**9), st.integers(0, 10**9))
def test_full_is_low_and_low_is_less_than_five_percent_of_bytes_or_entries(size, free, entries, entries_free):
    free, entries_free = min(size, free), min(entries, entries_free)
    found = FileSystem(Path("/data"), size, free, entries, entries_free)
    assert found.is_full == (free < FULL_BYTES or (entries > 0 and entries_free < FULL_ENTRIES))
    assert found.is_low == (found.is_full or free / size < 0.05 or (entries > 0 and entries_free / entries < 0.05))


def test_a_file_system_without_a_number_of_entries_is_judged_by_its_bytes():
    assert not FileSystem(Path("/data"), 2**40, 2**39, 0, 0).is_low


@pytest.mark.parametrize(
    ("entries", "entries_free", "files"),
    [(0, 0, ""), (20_000, 1_000, ""), (20_000, 999, ", 999 of 20,000 files"), (150, 99, ", 99 of 150 files")],
)
def test_a_file_system_that_takes_few_more_files_says_so_beside_its_bytes(entries: int, entries_free: int, files: str):
    found = FileSystem(Path("/data"), 10**9, 9 * 10**8, entries, entries_free)
    assert str(found) == f"/data (900 of 1,000 MB free{files})"
    assert found.is_low_on_entries == bool(files)


def test_folders_of_one_file_system_are_one_and_what_is_missing_is_left_out(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (found,) = file_systems([tmp_path, tmp_path / "a", tmp_path / "missing"])
    told = os.statvfs(tmp_path)
    assert found.mount.is_mount()
    assert tmp_path.is_relative_to(found.mount)
    assert found.size == told.f_blocks * told.f_frsize
    assert str(found).startswith(f"{found.mount} (")


def test_another_file_system_is_another():
    if Path("/dev/shm").is_mount():
        assert [each.mount for each in file_systems([Path("/proc"), Path("/dev/shm")])] == [
            Path("/proc"),
            Path("/dev/shm"),
        ]
