"""The file in which the signer remembers heads: whatever is remembered, the next process reads the same."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.signing import memory as module
from audit.signing.errors import BadMemory
from audit.signing.memory import Head, Memory
from tests.searching import drawn

NAMES = [bytes([number]) * 17 for number in range(5)]
HEADS = st.tuples(st.integers(0, 2**56 - 1), st.binary(min_size=32, max_size=32))
HEAD: Head = (3, b"r" * 32)
LATER: Head = (4, b"s" * 32)


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), HEADS, max_size=4), min_size=1, max_size=6))
@settings(max_examples=drawn(60))
def test_the_next_process_reads_what_was_remembered_and_each_log_has_one_place(rounds: list[dict[bytes, Head]]) -> None:
    known: dict[bytes, Head] = {}
    with TemporaryDirectory() as folder:
        memory = Memory(Path(folder))
        for heads in rounds:
            memory.remember(heads)
            known |= heads
            for reader in (memory, Memory(Path(folder))):
                assert {name: reader.last(name) for name in NAMES} == {name: known.get(name) for name in NAMES}
            assert (Path(folder) / "heads").stat().st_size == 64 * len(known)


def test_only_its_owner_reads_it_and_its_name_is_on_the_disk_with_the_first_head(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(module, "sync_directory", synced.append)
    memory = Memory(tmp_path)
    for head in (HEAD, LATER):
        memory.remember({NAMES[0]: head})
        assert synced == [tmp_path]
    assert (tmp_path / "heads").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_named_though_the_file_cannot_be_cut_back_either(tmp_path, monkeypatch):
    memory = Memory(tmp_path)
    memory.remember({NAMES[0]: HEAD})

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "pwrite", full)
    monkeypatch.setattr(module.os, "ftruncate", full)
    with pytest.raises(OSError, match="No space left"):
        memory.remember({NAMES[0]: LATER, NAMES[1]: HEAD})
    assert (memory.last(NAMES[0]), memory.last(NAMES[1])) == (HEAD, None)


def test_a_place_that_cannot_be_read_is_named_by_its_byte_at_every_question(tmp_path):
    Memory(tmp_path).remember({NAMES[0]: HEAD, NAMES[1]: LATER})
    file = tmp_path / "heads"
    whole = file.read_bytes()
    memory = Memory(tmp_path)
    for broken in (whole[:64] + b"x" * 64, whole[:64] * 2):
        file.write_bytes(broken)
        for _ in range(2):
            with pytest.raises(BadMemory) as refused:
                memory.last(NAMES[0])
            assert refused.value.args == (f"Malformed place at byte 64 of {file}.",)
    file.write_bytes(whole)
    assert memory.last(NAMES[0]) == HEAD
