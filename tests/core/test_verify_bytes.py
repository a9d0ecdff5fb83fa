"""Every byte of a bundle counts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.core.tlog_world import chatter, check, export, memory_folder, pack, resign, transfer_story, unpack

SMALL = export(chatter(2))
BIG = export(transfer_story())


@pytest.fixture
def folder():
    """Thousands of bundles are written: in memory, where there is such a folder."""
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        yield Path(name)


def flipped(data: bytes, at: int, mask: int) -> bytes:
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def test_a_bundle_with_any_one_byte_changed_is_rejected(folder):
    assert check(SMALL, folder).ok
    for at in range(len(SMALL)):
        assert not check(flipped(SMALL, at, 1 << at % 8), folder).ok, at


@pytest.mark.long
def test_a_bundle_with_any_one_bit_changed_is_rejected(folder):
    for at in range(len(BIG)):
        for bit in range(8):
            assert not check(flipped(BIG, at, 1 << bit), folder).ok, (at, bit)


@pytest.mark.parametrize("name", sorted(unpack(SMALL)))
def test_a_file_with_any_one_byte_changed_is_rejected_in_an_archive_made_to_fit(name, folder):
    files = unpack(SMALL)
    for at in range(len(files[name])):
        changed = files | {name: flipped(files[name], at, 1)}
        assert not check(pack(changed), folder).ok, at


@pytest.mark.parametrize("name", sorted(name for name in unpack(SMALL) if name.startswith("session/")))
def test_evidence_with_any_one_byte_changed_is_rejected_even_under_our_own_manifest(name, folder):
    files = unpack(SMALL)
    for at in range(len(files[name])):
        changed = resign(files | {name: flipped(files[name], at, 1)})
        assert not check(pack(changed), folder).ok, at


def test_a_bundle_cut_off_anywhere_is_rejected(folder):
    for end in range(0, len(SMALL), 7):
        assert not check(SMALL[:end], folder).ok, end


@pytest.mark.parametrize("more", [b"\x00", b"\n", SMALL, SMALL[-22:]], ids=["NUL", "newline", "itself", "end record"])
def test_a_bundle_with_anything_before_or_behind_it_is_rejected(more, folder):
    assert not check(SMALL + more, folder).ok
    assert not check(more + SMALL, folder).ok
