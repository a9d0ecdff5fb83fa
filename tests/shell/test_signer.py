"""The signer: one key made once, and a memory that outlives the database."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest

from agentstate.errors import Broken
from audit import verify
from audit.signer import BadLogKey, BadMemory, HeadRefused, Signer
from audit.tlog import checkpoint, note

LOG = UUID("018f0000-0000-7000-8000-000000000001")
OTHER = UUID("018f0000-0000-7000-8000-000000000002")
ROOTS = [bytes([number]) * 32 for number in range(10)]
ORIGIN = "log.example"


def signer(state_dir: Path) -> Signer:
    return Signer(state_dir, ORIGIN)


def sign(state_dir: Path, size: int) -> bytes:
    return signer(state_dir).sign_head(LOG, size, ROOTS[size])


def test_a_signed_head_opens_under_the_printed_key(tmp_path):
    own = signer(tmp_path)
    signed = own.sign_head(LOG, 3, ROOTS[3])
    text = note.open_note(signed, [note.parse_vkey(own.vkey())])
    assert checkpoint.parse(text) == checkpoint.Checkpoint(f"{ORIGIN}/s/{LOG}", 3, ROOTS[3])
    assert verify.read_checkpoint(text, verify.read_vkey(own.vkey())).log == str(LOG)


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path):
    first = signer(tmp_path).vkey()
    assert signer(tmp_path).vkey() == first
    file = tmp_path / "secrets" / "log.key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["log.key"]


def test_many_processes_starting_at_once_agree_on_one_key(tmp_path):
    script = (
        "import sys; from pathlib import Path; from audit.signer import Signer;"
        " print(Signer(Path(sys.argv[1]), 'log.example').vkey())"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) for _ in range(4)]
    assert len({process.communicate(timeout=60)[0] for process in started}) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_key_that_others_may_read_is_refused_in_one_line(mode, tmp_path):
    signer(tmp_path)
    (tmp_path / "secrets" / "log.key").chmod(mode)
    with pytest.raises(BadLogKey, match="chmod 600") as refused:
        signer(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_key_file_that_holds_no_key_is_refused(content, tmp_path):
    signer(tmp_path)
    (tmp_path / "secrets" / "log.key").write_bytes(content)
    with pytest.raises(BadLogKey, match="not a private key"):
        signer(tmp_path)


def test_a_lost_key_is_not_replaced_in_silence_once_heads_were_signed(tmp_path):
    sign(tmp_path, 3)
    (tmp_path / "secrets" / "log.key").unlink()
    with pytest.raises(BadLogKey, match="restore it"):
        signer(tmp_path)


def test_a_growing_log_is_signed_head_after_head_by_one_process_after_another(tmp_path):
    for size in (0, 1, 5, 9):
        sign(tmp_path, size)


def test_the_same_head_is_signed_again_with_the_same_bytes(tmp_path):
    assert sign(tmp_path, 5) == sign(tmp_path, 5)


def test_a_log_that_became_shorter_is_refused_in_so_many_words(tmp_path):
    sign(tmp_path, 5)
    with pytest.raises(HeadRefused, match="Got 4 entries; signed 5 before") as refused:
        sign(tmp_path, 4)
    assert "restored from a backup" in refused.value.remedy


def test_another_root_at_the_same_size_is_refused(tmp_path):
    sign(tmp_path, 5)
    with pytest.raises(HeadRefused, match="contradicts one"):
        signer(tmp_path).sign_head(LOG, 5, ROOTS[6])


def test_a_refused_head_is_not_remembered(tmp_path):
    sign(tmp_path, 5)
    with pytest.raises(HeadRefused):
        signer(tmp_path).sign_head(LOG, 5, ROOTS[6])
    sign(tmp_path, 5)
    sign(tmp_path, 6)


def test_logs_are_remembered_apart(tmp_path):
    sign(tmp_path, 5)
    assert signer(tmp_path).sign_head(OTHER, 1, ROOTS[1])


def test_a_line_torn_by_a_crash_is_forgotten_for_its_head_was_never_given_out(tmp_path):
    sign(tmp_path, 5)
    memory = tmp_path / "signer" / f"{LOG}.heads"
    whole = memory.read_bytes()
    line = f"7 {ROOTS[6].hex()}\n".encode()
    for end in range(1, len(line)):
        memory.write_bytes(whole + line[:end])
        sign(tmp_path, 7)
        assert memory.read_bytes() == whole + f"7 {ROOTS[7].hex()}\n".encode()


@pytest.mark.parametrize("line", ["nonsense\n", "5\n", "5 00\n", f"-5 {'00' * 32}\n", "\n", "\x00\n"])
def test_a_memory_that_cannot_be_read_signs_nothing(line, tmp_path):
    sign(tmp_path, 5)
    with (tmp_path / "signer" / f"{LOG}.heads").open("a") as memory:
        memory.write(line)
    with pytest.raises(BadMemory):
        sign(tmp_path, 6)


def test_of_two_roots_for_one_size_asked_for_at_once_one_is_signed(tmp_path):
    signer(tmp_path)
    with ProcessPoolExecutor(4) as pool:
        answers = list(pool.map(_try, [tmp_path] * 40, range(40)))
    signed = [answer for answer in answers if answer]
    assert len({checkpoint.parse(note.parse(answer).text).root for answer in signed}) == 1


def test_what_could_be_read_as_a_head_is_not_signed_as_a_text(tmp_path):
    with pytest.raises(Broken):
        signer(tmp_path).sign_text(checkpoint.Checkpoint(f"{ORIGIN}/s/{LOG}", 1, ROOTS[1]).body())


@pytest.mark.parametrize("origin", ["", "two words", "a+b"])
def test_an_origin_that_cannot_name_a_key_is_refused(origin, tmp_path):
    with pytest.raises(BadLogKey, match="LOG_ORIGIN"):
        Signer(tmp_path, origin)


def test_the_memory_is_readable_by_its_owner_only(tmp_path):
    sign(tmp_path, 1)
    for path in (tmp_path / "signer", tmp_path / "signer" / f"{LOG}.heads"):
        assert path.stat().st_mode & 0o077 == 0
        assert path.stat().st_uid == os.getuid()


def _try(state_dir: Path, number: int) -> bytes:
    try:
        return signer(state_dir).sign_head(LOG, 3, ROOTS[number % 10])
    except HeadRefused:
        return b""
