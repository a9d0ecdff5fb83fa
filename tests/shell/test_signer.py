"""The signer's process: one a state directory, at any moment killed, and no Django in it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from audit import signer as client
from audit.signing import messages
from audit.signing.errors import AlreadySigning, HeadRefused, NotSigned, SignerDown
from audit.signing.rules import Signer
from audit.signing.server import Diary, held
from tests.core.signing_world import ORIGIN, asked
from tests.processes import ROOT, eventually


def _serve(state_dir: Path) -> None:
    from audit.signing.server import serve

    serve(Signer(state_dir, ORIGIN), state_dir, state_dir / "s.sock")


@pytest.fixture
def process(tmp_path):
    """A signer's process on `tmp_path`; started anew by calling `.begin()`."""

    class Process:
        def begin(self) -> None:
            self.child = multiprocessing.get_context("spawn").Process(target=_serve, args=(tmp_path,))
            self.child.start()
            eventually(self.answers, what="the signer answers")

        def answers(self) -> bool:
            try:
                client.ask(messages.Status(), tmp_path / "s.sock")
            except SignerDown:
                return False
            return True

        def kill(self) -> None:
            os.kill(self.child.pid, signal.SIGKILL)
            self.child.join()

    running = Process()
    running.begin()
    yield running
    running.kill()


def test_the_socket_is_its_owners_only_and_a_killed_signer_is_down_until_it_is_back(process, tmp_path):
    assert (tmp_path / "s.sock").stat().st_mode & 0o777 == 0o600
    process.kill()
    with pytest.raises(SignerDown):
        client.ask(messages.Status(), tmp_path / "s.sock")
    process.begin()


def test_a_second_signer_on_the_same_state_is_refused(process, tmp_path):
    with pytest.raises(AlreadySigning), held(tmp_path / "signer"):
        pass


def test_killed_at_any_moment_it_signs_on_and_never_two_histories(process, tmp_path):
    """The one who asks remembers nothing: it learns from the signer where it is."""
    size = 0
    for number in range(12):
        deadline = time.monotonic() + 0.01 * number
        while time.monotonic() < deadline and size < 39:
            size += 1
            _sign_over(tmp_path, size)
        process.kill()
        process.begin()
    with pytest.raises(HeadRefused):
        client.ask(messages.SignGlobal(size, b"x" * 32, size, b"", []), tmp_path / "s.sock")
    _sign_over(tmp_path, size)


def _sign_over(state_dir: Path, size: int) -> None:
    old = 0
    while isinstance(
        answer := client.ask(messages.SignGlobal(*asked(old, size)), state_dir / "s.sock"), messages.Behind
    ):
        old = answer.size


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b'{"type":"x"}\n', b"[1]\n", b'{"type":"global","size":-1}\n', b"\xff\n"]
)
def test_nonsense_is_refused_and_the_next_question_answered(line, process, tmp_path):
    answer = client._talk(tmp_path / "s.sock", line)
    assert b"malformed" in answer
    assert process.answers()


def test_a_size_of_no_sense_is_refused(process, tmp_path):
    with pytest.raises(NotSigned):
        client.ask(messages.SignGlobal(-1, b"x" * 32, 0, b"", []), tmp_path / "s.sock")


def test_a_downtime_is_found_at_the_next_start(tmp_path):
    tmp_path.joinpath("signer").mkdir()
    Diary(tmp_path / "signer", gap=10)
    before = time.time()
    os.utime(tmp_path / "signer" / "alive", (before - 60, before - 60))
    (found,) = Diary(tmp_path / "signer", gap=10).downtimes()
    assert found.since.timestamp() == pytest.approx(before - 60, abs=0.001)
    assert before <= found.until.timestamp() <= time.time()
    assert Diary(tmp_path / "signer", gap=10).downtimes() == [found]


def test_the_signer_needs_neither_django_nor_the_database():
    script = "import sys, audit.signing.server; sys.exit('django' in sys.modules or 'psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0
