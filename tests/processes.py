"""Real programs under test: started, read, signalled and killed by pid. For tests/live, tests/browser and
tests/chaos.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from agentstate.stack.errors import Unstartable

ROOT = Path(__file__).resolve().parent.parent
# What the machine's own environment may hold and a test must not inherit.
FOREIGN = (
    *("AGENTSTATE_", "DATABASE_", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "BANK_", "PYTEST_", "CRASH_"),
    *("LEDGER_", "KEY_ENCRYPTION"),
)
# Root's way to run something as an ordinary user who can still read the checkout and the virtual environment.
ORDINARY = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
    *("--bounding-set=-all,+dac_read_search", "--"),
)


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what would lead a child to this test's own servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)} | more


def manage(state_dir: Path, *words: str, root: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run one management command to its end."""
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command, cwd=root, env=environment(AGENTSTATE_STATE_DIR=str(state_dir), **env),
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip


def eventually(condition: Callable[[], object], seconds: float = 20.0, what: str = "") -> None:
    """Wait until `condition()` is true. Fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or condition}"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    return _state(pid) not in ("", "Z")


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped (SIGSTOP) and not yet continued."""
    return _state(pid) == "T"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


class Running:
    """A program that runs a state directory: `manage.py up`, or tests/live/keep.py for the servers alone."""

    def __init__(
        self, state_dir: Path, *command: str, prefix: tuple[str, ...] = (), root: Path = ROOT, **env: str
    ) -> None:
        self.state_dir = state_dir
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
        self.process = subprocess.Popen(
            [*prefix, sys.executable, *command], cwd=root, stdin=subprocess.DEVNULL, stdout=self.output,
            stderr=subprocess.STDOUT, env=environment(AGENTSTATE_STATE_DIR=str(state_dir), **env),
        )  # fmt: skip

    @classmethod
    def up(cls, state_dir: Path, *options: str, prefix: tuple[str, ...] = (), **env: str) -> Running:
        """`manage.py up` with these options. The demo's authorization service is never away by the clock."""
        return cls(state_dir, "manage.py", "up", *options, prefix=prefix, **{"AUTHORIZATION_AWAY": "0", **env})

    @property
    def said(self) -> str:
        """All it has printed so far."""
        length = os.fstat(self.output.fileno()).st_size
        return os.pread(self.output.fileno(), length, 0).decode(errors="replace")

    def ready(self, seconds: float = 60.0) -> str:
        """The text after `ready`, once that line is printed. Fails when the program ends before."""

        def line() -> re.Match[str] | None:
            found = re.search(r"^ready (\S+)$", self.said, re.MULTILINE)
            assert found or self.process.poll() is None, f"ended before it was ready: {self.said}"
            return found

        eventually(line, seconds, "ready")
        found = line()
        assert found
        return found[1]

    def pid(self, name: str) -> int:
        """The pid of the child `name`."""
        return int((self.state_dir / "run" / f"{name}.pid").read_text().split("\n")[0])

    def pids(self) -> dict[str, int]:
        """Every child's pid."""
        return {path.stem: self.pid(path.stem) for path in (self.state_dir / "run").glob("*.pid")}

    def kill(self, name: str) -> None:
        """kill -9 the child `name`, and wait until another stands in its place."""
        before = self.pid(name)
        os.kill(before, signal.SIGKILL)
        eventually(lambda: self.pid(name) != before and is_alive(self.pid(name)), what=f"{name} is back")

    def ended(self, seconds: float = 30.0) -> int:
        """The return code, once it has ended by itself."""
        return self.process.wait(seconds)

    def stop(self, number: signal.Signals = signal.SIGTERM, seconds: float = 30.0) -> int:
        """Send `number` and wait for the end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)


def refusal(running: Running, kind: type[Unstartable], seconds: float = 30.0) -> str:
    """The one line that a program printed before it ended: a refusal of this kind."""
    assert running.ended(seconds) == 1, running.said
    (line,) = running.said.splitlines()
    assert kind("").title in line
    return line


def health(url: str) -> int:
    """The status of GET /healthz; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(f"{url}healthz", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
