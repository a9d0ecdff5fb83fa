"""A start without the right key-encryption key is refused in one line; the first one says what to back up."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import ROOT, Running, environment, manage


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Running:
    """An installation that ran once."""
    up = Running.up(tmp_path_factory.mktemp("keys") / "state")
    up.ready()
    up.stop(signal.SIGINT)
    return up


@pytest.fixture
def kek(started: Running) -> Iterator[Path]:
    """The file with its key-encryption key, put back afterwards."""
    path = started.state_dir / "secrets" / "ledger.kek"
    right = path.read_bytes()
    yield path
    path.write_bytes(right)
    path.chmod(0o600)


def test_the_first_start_says_what_to_back_up_and_the_next_one_no_more(started: Running, kek: Path):
    assert f"{kek}  without it nothing that was said can be read" in started.said
    again = manage(started.state_dir, "check-keys")
    assert (again.returncode, again.stdout) == (0, "")


def test_up_without_the_key_is_refused_in_one_line_and_makes_no_new_one(started: Running, kek: Path):
    kek.unlink()
    up = Running.up(started.state_dir)
    assert up.ended(60) == 1
    assert f"{kek} is missing" in up.said
    assert len(up.said.strip().splitlines()) == 1
    assert not kek.exists()


def test_every_program_that_needs_the_key_refuses_to_start_without_it(started: Running, kek: Path):
    kek.unlink()
    servers = Running(started.state_dir, "-m", "tests.live.keep")
    servers.ready()
    env = environment(AGENTSTATE_STATE_DIR=str(started.state_dir), DJANGO_SETTINGS_MODULE="agentstate.settings")
    worker = ("-m", "celery", "-A", "agentstate.celery", "worker", "--pool", "threads")
    try:
        for program in (("-c", "import agentstate.asgi"), worker):
            done = subprocess.run(
                [sys.executable, *program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 1
            assert f"{kek} is missing" in done.stderr
            assert "Traceback" not in done.stderr
    finally:
        servers.stop()


def test_a_wrong_key_is_refused_in_one_line(started: Running, kek: Path):
    kek.write_bytes(bytes(32))
    wrong = manage(started.state_dir, "check-keys")
    assert wrong.returncode == 1
    assert "put the right one back from its backup" in wrong.stderr
    assert wrong.stderr.count("\n") == 1
