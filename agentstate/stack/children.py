"""One program as a child of ours: started in the foreground, dead when we die, its output in a log (logs.py).

Children have sessions of their own, so that Ctrl-C in the terminal reaches the supervisor only and it decides
the order of stopping. On Linux the kernel kills them when the supervisor is killed (PR_SET_PDEATHSIG);
elsewhere, and should that fail, the next start finds them by their pid files.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agentstate.stack.liveness import Probe
from agentstate.stack.logs import Log, last_line

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Program:
    """What to run and how to end it.

    `mark` is a text that is in the command line of this program and of no other's: by it a leftover process
    is told from a stranger with the same pid. `layer` orders stopping: 0 first, the database last. `patience`
    is how many seconds it may take to stop before it is killed. After a death it is started again once `cleared`
    says that nothing of the dead one is in the way. `essential` is False for a program that may die for ever
    without ending the others. `probe` finds out whether it serves; None for a program that listens nowhere.
    """

    name: str
    command: tuple[str, ...]
    mark: str
    cwd: Path = Path("/")
    env: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    kill_signal: signal.Signals = signal.SIGKILL
    layer: int = 0
    patience: float = 10.0
    cleared: Callable[[], bool] = lambda: True
    essential: bool = True
    probe: Probe | None = None


class Child:
    """A running Program."""

    def __init__(self, program: Program, log_dir: Path, run_dir: Path) -> None:
        """Start it. Main thread only: the kernel sends the death signal when the forking *thread* ends."""
        assert threading.current_thread() is threading.main_thread(), "not from a thread"
        self.program = program
        self.pid_file = run_dir / f"{program.name}.pid"
        self._is_noted = False
        self.log = Log(log_dir / f"{program.name}.log")
        try:
            self.process = subprocess.Popen(
                program.command,
                cwd=program.cwd,
                env={**os.environ, **program.env},
                stdin=subprocess.DEVNULL,
                stdout=self.log.writer,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with(os.getpid(), program.kill_signal),
            )
        finally:
            self.log.hand_over()
        self.note()

    def note(self) -> None:
        """Write the pid file, unless that is done. On a full disk nothing is written: call it again later."""
        if self._is_noted:
            return
        new = self.pid_file.with_suffix(".new")  # renamed, so that no reader finds half of it
        with suppress(OSError):
            new.write_text(f"{self.process.pid}\n{int(self.program.kill_signal)}\n{self.program.mark}")
            new.replace(self.pid_file)
            self._is_noted = True

    @property
    def pid(self) -> int:
        return self.process.pid

    def ended(self) -> int | None:
        """The return code, negative for a signal; None while it lives."""
        return self.process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send `number` unless it has ended."""
        if self.ended() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """Send its `kill_signal`. A paused process takes only SIGKILL, so it is continued."""
        self.signal(self.program.kill_signal)
        self.signal(signal.SIGCONT)

    def wait(self, deadline: float) -> None:
        """Wait until it has ended, killing it at `deadline` (time.monotonic), and for good when it survives that."""
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            try:
                self.process.wait(self.program.patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.finish()
        self.pid_file.unlink(missing_ok=True)

    def last_words(self) -> str:
        """The last line it wrote, for a message."""
        self.log.finish()
        return last_line(self.log.path)


def end_leftovers(run_dir: Path) -> None:
    """End what an earlier supervisor of this state directory, killed before it could, left running."""
    for pid_file in sorted(run_dir.glob("*.pid")):
        pid, number, mark = [*pid_file.read_text().split("\n", 2), "", "", ""][:3]
        if mark and mark in command_line(int(pid)):
            os.kill(int(pid), int(number))
            _wait_gone(int(pid))
        pid_file.unlink()


def command_line(pid: int) -> str:
    """The command line of a process; "" when there is none. A zombie has none."""
    if sys.platform == "linux":  # small images come without ps
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    found = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def _wait_gone(pid: int) -> None:
    """Until a killed process has let go of its files and sockets; an ending one has no command line already."""
    deadline = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    """Whether there is such a process and it is no zombie."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False
    return command_line(pid) != ""


def _die_with(parent: int, number: signal.Signals) -> Callable[[], None] | None:
    """What the child does between fork and exec: ask for `number` at our death, or end if we are dead."""
    libc = _libc
    if libc is None:
        return None

    def ask() -> None:
        libc.prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os._exit(1)

    return ask
