"""Keeping programs alive, on programs that misbehave."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentstate import disks
from agentstate.stack import children, logs
from agentstate.stack.children import Program
from agentstate.stack.errors import DidNotStart, KeepsDying
from agentstate.stack.supervisor import Supervisor
from tests.processes import ROOT, environment, eventually, is_alive


@pytest.fixture
def supervisor(tmp_path: Path):
    made = Supervisor(tmp_path, tmp_path)
    yield made
    made.stop()


def python(name: str, code: str, **more: object) -> Program:
    return Program(name, (sys.executable, "-c", code), mark=code, **more)


def test_a_chatty_program_keeps_a_bounded_log(supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logs, "LIMIT", 100_000)
    chat = "[print('x' * 999, flush=True) or time.sleep(0.001) for _ in range(400)]"
    code = f"import time; {chat}; print('end', flush=True); time.sleep(60)"
    supervisor.start(python("chatty", code))

    def ended() -> bool:
        supervisor.tick(0)
        return (tmp_path / "chatty.log").exists() and "end\n" in (tmp_path / "chatty.log").read_text()

    eventually(ended)
    assert (tmp_path / "chatty.log").stat().st_size < 200_000
    assert (tmp_path / "chatty.log.1").stat().st_size < 200_000
    assert b"\0" not in (tmp_path / "chatty.log").read_bytes()


LINES = "import itertools, time; [print(n, flush=True) or time.sleep(0.01) for n in itertools.count()]"


def test_a_moved_log_is_begun_anew_and_no_line_is_lost(supervisor: Supervisor, tmp_path: Path):
    kept = supervisor.start(python("lines", LINES))
    log, moved = tmp_path / "lines.log", tmp_path / "moved"
    eventually(lambda: log.exists() and "5\n" in log.read_text())
    log.rename(moved)
    eventually(lambda: supervisor.tick(0) or (log.exists() and log.read_text().count("\n") > 5))
    written = [int(line) for line in (moved.read_text() + log.read_text()).split("\n")[:-1]]
    assert written == list(range(len(written)))
    assert kept.child.ended() is None


def test_a_log_folder_that_is_gone_for_a_while_ends_nothing_and_the_gap_is_said(tmp_path: Path):
    held = Supervisor(tmp_path / "log", tmp_path)
    (tmp_path / "log").mkdir()
    try:
        kept, log = held.start(python("lines", LINES)), tmp_path / "log" / "lines.log"
        eventually(lambda: log.exists() and "5\n" in log.read_text())
        (tmp_path / "log").rename(tmp_path / "away")
        eventually(lambda: held.tick(0.01) or kept.child.log.lost > 0)
        (tmp_path / "log").mkdir()
        eventually(lambda: held.tick(0.01) or (log.exists() and "\n" in log.read_text()))
        assert re.match(r"\[\d+ bytes of this log could not be written\]\n\d+\n", log.read_text())
        assert kept.child.ended() is None
    finally:
        held.stop()


def test_a_program_that_is_not_essential_may_die_for_ever(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentstate.stack.supervisor.BACKOFF", (0.0,) * 5)
    weak = supervisor.start(python("weak", "raise SystemExit('no configuration')", essential=False))
    seen = set()
    eventually(lambda: supervisor.tick(0) or seen.add(weak.child.pid) or len(seen) > 6)


def fails_seven_times(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails where `up` gives up before."""
    monkeypatch.setattr("agentstate.stack.supervisor.BACKOFF", (0.0,) * 5)
    weak = supervisor.start(python("weak", "raise SystemExit('no space')"))
    seen = set()
    eventually(lambda: supervisor.tick(0) or seen.add(weak.child.pid) or len(seen) > 6)


def test_deaths_on_a_full_disk_are_not_counted(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("agentstate.disks.FULL_BYTES", 2**62)  # every disk is full by this measure
    fails_seven_times(supervisor, monkeypatch)
    said = capfd.readouterr().err
    assert "disk full: /" in said
    assert "weak died (exit 1), starting it again; not counted, as a disk is full or was lately: /" in said


def test_deaths_on_a_disk_that_takes_few_more_files_are_not_counted(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    few = disks.FileSystem(Path("/data"), 10**12, 9 * 10**11, 20_000, 3)
    monkeypatch.setattr(disks, "file_systems", lambda paths: [few])
    fails_seven_times(supervisor, monkeypatch)
    assert f"disk full: /data: free space on {few}" in capfd.readouterr().err


def test_a_program_that_cannot_be_started_again_ends_nothing(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("agentstate.stack.supervisor.BACKOFF", (0.0,) * 5)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o700)
    kept = supervisor.start(Program("script", (str(script),), mark="script"))
    first = kept.child
    script.rename(tmp_path / "away")
    first.process.kill()
    eventually(lambda: supervisor.tick(0.01) or "script could not be started" in capfd.readouterr().err)
    (tmp_path / "away").rename(script)
    eventually(lambda: supervisor.tick(0.01) or kept.child is not first)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_will_not_stop_is_killed_when_its_patience_is_over(
    supervisor: Supervisor, tmp_path: Path, number: signal.Signals
):
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    )
    kept = supervisor.start(python("deaf", code, patience=0.3, kill_signal=number))
    eventually(lambda: "deaf" in (tmp_path / "deaf.log").read_text())
    supervisor.stop()
    assert not is_alive(kept.child.pid)


def test_a_program_that_dies_at_once_is_given_up_with_its_last_words(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agentstate.stack.supervisor.BACKOFF", (0.0,) * 5)
    supervisor.start(python("weak", "raise SystemExit('no configuration')"))
    with pytest.raises(KeepsDying, match=r"weak died \(exit 1\) 5 times in a minute: no configuration"):
        supervisor.watch()


def test_a_program_that_others_kill_is_started_again_however_often(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agentstate.stack.supervisor.BACKOFF", (0.0,) * 5)
    strong = supervisor.start(python("strong", "import time; time.sleep(60)"))
    for _ in range(7):
        victim = strong.child
        victim.process.kill()
        eventually(lambda victim=victim: supervisor.tick(0) or strong.child is not victim)
    assert strong.child.ended() is None


def test_a_program_that_is_never_ready_is_said_so(supervisor: Supervisor):
    supervisor.start(python("slow", "import time; time.sleep(60)"))
    with pytest.raises(DidNotStart, match="the answer gave no answer within 0 s"):
        supervisor.wait_until(lambda: False, "the answer", 0.1)


def command_of(pid: int) -> str:
    """The command line of a process, as ps tells it."""
    words = ["ps", "-o", "command=", "-p", str(pid)]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def test_what_a_killed_supervisor_left_is_ended_by_the_next_and_a_stranger_with_that_pid_is_not(tmp_path: Path):
    supervisor = Supervisor(tmp_path, tmp_path)
    ours = supervisor.start(python("ours", "import time; time.sleep(60)  # ours")).child
    stranger = supervisor.start(python("stranger", "import time; time.sleep(60)")).child
    stranger.pid_file.write_text(f"{stranger.pid}\n{int(signal.SIGKILL)}\nquite another mark")
    eventually(lambda: "# ours" in command_of(ours.pid))  # between fork and exec a child still looks like its parent
    children.end_leftovers(tmp_path)
    assert not is_alive(ours.pid)
    assert is_alive(stranger.pid)
    supervisor.stop()


def test_up_raises_the_usual_limit_of_open_files_to_the_hard_one():
    code = (
        "import resource; from agentstate.stack import running; running.raise_descriptor_limit();"
        " print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    limited = ("sh", "-c", 'ulimit -Sn 256 && ulimit -Hn 4000 && exec "$@"', "sh", sys.executable, "-c", code)
    done = subprocess.run(limited, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "4000 4000\n"
