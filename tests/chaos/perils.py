"""What can happen to the processes of one floor, one peril at a time, and the count of what did.

A peril is a process and a point. Whoever passes the point first is stopped there (SIGSTOP); then the process is killed
(Valkey wiped before), and the other goes on. So every process dies while a step stands exactly there.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from sessions.core import crash_points
from tests.live.floor import Floor
from tests.processes import environment, eventually, is_alive, is_stopped

PARTS = ("worker", "web", "beat", "sequencer", "signer", "valkey", "postgres", "authorization")
POINTS = crash_points.POINTS
SKEWS = (420, -420)  # seconds by which the clocks of the further workers are wrong
SLOW_SECONDS = 4.0
Peril = tuple[str, str]
SLOWED: Peril = ("network", "slowed")
CUT: Peril = ("network", "cut")
PERILS: tuple[Peril, ...] = (*((part, point) for part in PARTS for point in POINTS), SLOWED, CUT)


class Perils:
    """The floor, two more workers whose clocks are wrong, and how often each peril came about."""

    def __init__(self, floor: Floor, dice: random.Random) -> None:
        self.floor, self.dice = floor, dice
        self.counts: Counter[Peril] = Counter()
        self.told: list[str] = []
        self.began = time.monotonic()
        self.skewed = {skew: self._worker(skew) for skew in SKEWS}
        for skew in SKEWS:
            eventually(lambda skew=skew: " ready." in self.log_of(skew).read_text(), 120, "a further worker is ready")

    def log_of(self, skew: int) -> Path:
        """What a further worker writes."""
        return self.floor.state / "log" / f"worker{skew:+}.log"

    def strike(self, peril: Peril) -> bool:
        """Let it come about; whether it did. Nobody may pass the point for a while."""
        if peril in (SLOWED, CUT):
            (self._slow if peril == SLOWED else self._cut)()
        elif not self._at_point(*peril):
            return False
        self.counts[peril] += 1
        self.told.append(f"{time.monotonic() - self.began:.0f} s {peril[0]} at {peril[1]}")
        return True

    def matrix(self) -> str:
        """The counts, a process a row and a point a column."""
        head = f"{'':14}" + "".join(f"{point:>14}" for point in POINTS)
        rows = [f"{part:14}" + "".join(f"{self.counts[part, point]:14}" for point in POINTS) for part in PARTS]
        return "\n".join([head, *rows, f"network: slowed {self.counts[SLOWED]}, cut {self.counts[CUT]}"])

    def stop(self) -> None:
        """End the further workers."""
        for worker in self.skewed.values():
            with suppress(ProcessLookupError):
                worker.send_signal(signal.SIGCONT)
            worker.terminate()
        for worker in self.skewed.values():
            worker.wait(60)

    def _at_point(self, part: str, point: str) -> bool:
        stopped = self._somebody_at(point, wanted=part)
        if stopped is None:
            return False
        try:
            if part == "worker":
                os.kill(stopped, signal.SIGKILL)
            else:
                self._kill(part)
        finally:
            with suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)
        self._all_back()
        return True

    def _somebody_at(self, point: str, wanted: str) -> int | None:
        """The process that stands at `point`; a worker where a worker is wanted. None when nobody passes for long."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            armed = self.floor.arm(f"{point} STOP")
            _until(lambda armed=armed: not armed.exists(), deadline)
            if armed.exists():
                armed.unlink(missing_ok=True)
                return None
            passing = self._stopped()
            if passing is None:
                continue
            if wanted != "worker" or passing in self._workers():
                return passing
            os.kill(passing, signal.SIGCONT)
        return None

    def _stopped(self) -> int | None:
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            for pid in (*self._workers(), *self._pids("web")):
                if is_stopped(pid):
                    return pid
            time.sleep(0.02)
        return None

    def _workers(self) -> list[int]:
        return [*self._pids("worker"), *(worker.pid for worker in self.skewed.values())]

    def _pids(self, part: str) -> list[int]:
        with suppress(FileNotFoundError, ValueError, IndexError):
            return [self.floor.up.pid(part)]
        return []

    def _kill(self, part: str) -> None:
        if part == "valkey":
            with suppress(Exception):  # it may be starting: then there is nothing to wipe
                self.floor.valkey().flushall()
        pid = self.floor.up.pid(part)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _slow(self) -> None:
        """The authorization service takes the question and says nothing for a while."""
        pid = self.floor.up.pid("authorization")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(SLOW_SECONDS)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def _cut(self) -> None:
        """Nobody listens where the authorization service was, for as long as it takes to start it again, thrice."""
        for _ in range(3):
            self._kill("authorization")
            self._all_back()

    def _all_back(self) -> None:
        for part in PARTS:
            eventually(lambda part=part: [pid for pid in self._pids(part) if is_alive(pid)], 60, f"{part} is back")
        for skew, worker in self.skewed.items():
            if worker.poll() is not None:
                self.skewed[skew] = self._worker(skew)

    def _worker(self, skew: int) -> subprocess.Popen[bytes]:
        """A worker like the floor's own, with a name and a clock of its own."""
        first = Path(f"/proc/{self.floor.up.pid('worker')}")
        eventually(lambda: b"celery" in (first / "cmdline").read_bytes(), 10, "the first worker is there")
        words = (first / "cmdline").read_text().strip("\0").split("\0")
        given = (first / "environ").read_text().strip("\0").split("\0")
        command = [sys.executable, "-m", "tests.chaos.skewed", str(skew), *words[3:-1], f"skewed{skew}-{words[-1]}"]
        with open(self.log_of(skew), "ab") as log:
            return subprocess.Popen(
                command, cwd=Path(__file__).parents[2], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment(**dict(word.split("=", 1) for word in given)),
            )  # fmt: skip


def shuffled(dice: random.Random, perils: tuple[Peril, ...] = PERILS) -> Iterator[Peril]:
    """All of them in some order, again and again in another."""
    while True:
        yield from dice.sample(perils, len(perils))


def _until(condition: Callable[[], bool], deadline: float) -> None:
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
