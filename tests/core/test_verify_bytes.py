"""Every byte of a bundle counts."""

from __future__ import annotations

import io
import random
import tempfile
from pathlib import Path

import pytest

from audit.verify import Archive, Fault, Verdict
from tests.core.tlog_world import chatter, check, export, memory_folder, pack, resign, transfer_story, unpack
from tests.searching import FULL

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
        assert rejected(flipped(SMALL, at, 1 << at % 8), folder), at


@pytest.mark.long
def test_a_bundle_with_any_one_bit_changed_is_rejected(folder):
    """All eight bits of a byte, in the short form of the long tests one of them."""
    for at in range(len(BIG)):
        for bit in range(8) if FULL else [random.Random(at).randrange(8)]:
            assert not check(flipped(BIG, at, 1 << bit), folder).ok, (at, bit)


EVERY_VALUE = ("manifest.json", "manifest.note", "session/checkpoint", "log/checkpoint", "session/tile/entries/000.p/2")


def rejected(data: bytes, folder: Path) -> bool:
    """As `verify` does, which ends in a failure if the archive alone has one; the rest is only asked if it has none."""
    verdict = Verdict()
    try:
        Archive(io.BytesIO(data), verdict)
    except Fault:
        return True
    return bool(verdict.failures) or not check(data, folder).ok


def others(value: int, at: int) -> list[int]:
    """All 255 other values of a byte, in the short form of the long tests a few of them."""
    values = [other for other in range(256) if other != value]
    return values if FULL else random.Random(at).sample(values, 3)


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY_VALUE)
def test_manifest_heads_and_first_entry_with_any_other_value_in_any_byte_are_rejected(name, folder):
    content = unpack(SMALL)[name]
    start = SMALL.index(content)
    for at in range(start, start + len(content)):
        for value in others(SMALL[at], at):
            assert rejected(SMALL[:at] + bytes([value]) + SMALL[at + 1 :], folder), (at, value)


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY_VALUE)
def test_they_are_rejected_in_an_archive_made_to_fit_too(name, folder):
    files = unpack(SMALL)
    for at, byte in enumerate(files[name]):
        for value in random.Random(at).sample([other for other in range(256) if other != byte], 3):
            changed = files | {name: files[name][:at] + bytes([value]) + files[name][at + 1 :]}
            assert not check(pack(changed), folder).ok, (at, value)


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
