"""Keeps children alive: starts a dead one again, a little later each time, and gives up when it keeps dying.

A child that is alive and no longer serves (liveness.py) is killed, and started again as any dead one.

One that was killed (by us, by an operator, or for want of memory) did not fail: it is started again however often that
happens, as runs must outlive it. The same holds while a disk is full, and for a program that is not essential.
Nothing else that goes wrong in a tick ends the supervisor.

It knows nothing of what the programs do. One thread, one loop: a signal only sets a flag that the loop reads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from agentstate import disks
from agentstate.stack.children import Child, Program
from agentstate.stack.errors import DidNotStart, KeepsDying
from agentstate.stack.liveness import Watch

TICK = 0.1  # seconds between two looks at the children
DEATHS, WINDOW = 5, 60.0  # so many deaths of one child within so many seconds are too many
BACKOFF = (0.1, 0.5, 1.0, 2.0, 4.0)  # seconds before the first, second, … new start within the window
DISKS_EVERY = 1.0
SETTLING = 300.0  # seconds after a full disk: PostgreSQL recovers first, and until then others die for want of it


class Interrupted(Exception):
    """Somebody asked us to stop."""


class Kept:
    """A program that is to be alive: its present child and its recent deaths."""

    def __init__(self, program: Program, log_dir: Path, run_dir: Path) -> None:
        self.program, self._dirs = program, (log_dir, run_dir)
        self.deaths: deque[tuple[float, bool]] = deque(maxlen=4 * DEATHS)  # when, and whether it failed by itself
        self.due: float | None = None
        self._start()

    def _start(self) -> None:
        self.child = Child(self.program, *self._dirs)
        self._watch = Watch(self.program.probe) if self.program.probe else None
        self._sigkill_at: float | None = None  # set while it is being ended

    def look(self, now: float, full: str) -> str:
        """Start it again when that is due; return one line when it has just died or stopped serving. Raises KeepsDying.

        `full` names the file systems that are full, or were a short while ago.
        """
        if self.due is not None:
            if now >= self.due and self.program.cleared():
                self.due = now + BACKOFF[-1]  # should starting it fail
                self._start()
                self.due = None
            return ""
        self.child.note()
        code = self.child.ended()
        return self._check(now) if code is None else self._died(now, code, full)

    def _check(self, now: float) -> str:
        """Kill it when it no longer serves, at first in its own way; one line when that begins."""
        if self._sigkill_at is not None:
            if now >= self._sigkill_at:
                self.child.signal(signal.SIGKILL)
            return ""
        if self._watch is None or not self._watch.look(now):
            return ""
        self._sigkill_at = now + self.program.patience
        self.child.kill()
        return f"{self.program.name} is alive but has not served for {self._watch.silence.seconds:.0f} s, ending it"

    def _died(self, now: float, code: int, full: str) -> str:
        if self._watch is not None:
            self._watch.close()
        failed = code != -signal.SIGKILL and self._sigkill_at is None and self.program.essential
        self.deaths.append((now, failed and not full))
        recent = [counts for death, counts in self.deaths if now - death < WINDOW]
        how = f"{self.program.name} died ({_describe(code)})"
        if recent.count(True) >= DEATHS:
            raise KeepsDying(f"{how} {DEATHS} times in a minute: {self.child.last_words()} (see {self.child.log.path})")
        self.due = now + BACKOFF[min(len(recent), len(BACKOFF)) - 1]
        counted = f"; not counted, as a disk is full or was lately: {full}" if failed and full else ""
        return f"{how}, starting it again{counted}"


class Disks:
    """Which of the file systems below `paths` are full, and since when it is over."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self.full = ""  # those that are, or were a short while ago
        self._due = self._forget = 0.0
        self._told = ""

    def look(self, now: float) -> str:
        """Look again when that is due; one line when a file system has become full or low, or has space again."""
        if now < self._due:
            return ""
        self._due = now + DISKS_EVERY
        found = disks.file_systems(self.paths)
        if full := [each for each in found if each.is_full]:
            self.full, self._forget = ", ".join(map(str, full)), now + SETTLING
        elif now >= self._forget:
            self.full = ""
        told = ", ".join(f"{'full' if each.is_full else 'nearly full'}: {each.mount}" for each in found if each.is_low)
        if told == self._told:
            return ""
        self._told = told
        low = ", ".join(str(each) for each in found if each.is_low)
        return f"disk {told}: free space on {low}" if told else "the disk has space again"


class Supervisor:
    """The children of one `up`, or of one command that brought its own servers."""

    def __init__(self, log_dir: Path, run_dir: Path, data_dirs: Sequence[Path] = ()) -> None:
        """`data_dirs`: where the children write beside their logs; the disks beneath are watched."""
        self.log_dir, self.run_dir = log_dir, run_dir
        self.kept: list[Kept] = []
        self.asked_to_stop = 0
        self.disks = Disks((log_dir, *data_dirs))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While inside, SIGINT, SIGTERM and SIGHUP ask for a stop; a second one makes the stop hurried."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def start(self, program: Program) -> Kept:
        """Start `program` and keep it alive."""
        kept = Kept(program, self.log_dir, self.run_dir)
        self.kept.append(kept)
        return kept

    def start_all(self, programs: Iterable[Program]) -> None:
        """Start each of `programs`."""
        for program in programs:
            self.start(program)

    def wait_until(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
        """Keep the children alive until `ready()`; after `seconds` DidNotStart, else as `tick` raises.

        The time during which a disk is full does not count.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if self.disks.full:
                deadline = max(deadline, time.monotonic() + seconds)
            if time.monotonic() > deadline:
                raise DidNotStart(f"{what} gave no answer within {seconds:.0f} s (see {self.log_dir}).")
            self.tick(0.02)

    def watch(self) -> None:
        """Keep the children alive until a signal asks to stop. Raises KeepsDying."""
        try:
            while True:
                self.tick(TICK)
        except Interrupted:
            return

    def tick(self, seconds: float) -> None:
        """One look at every child, then a short sleep. Raises Interrupted or KeepsDying."""
        if self.asked_to_stop:
            raise Interrupted
        now = time.monotonic()
        _say(self.disks.look(now))
        for kept in self.kept:
            try:
                _say(kept.look(now, self.disks.full))
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:  # no memory, process or thread is left
                _say(f"{kept.program.name} could not be started ({error}), trying again")
        time.sleep(seconds)

    def stop(self) -> None:
        """End all children, programs before Valkey before PostgreSQL, each layer at once."""
        for layer in sorted({kept.program.layer for kept in self.kept}):
            self._stop_layer([kept.child for kept in self.kept if kept.program.layer == layer])
        self.kept.clear()

    def _stop_layer(self, children: list[Child]) -> None:
        for child in children:
            child.signal(child.program.stop_signal)
        deadline = time.monotonic() + max(child.program.patience for child in children)
        while time.monotonic() < deadline and self.asked_to_stop < 2:
            if all(child.ended() is not None for child in children):
                break
            time.sleep(0.02)
        for child in children:
            child.wait(0.0)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.asked_to_stop += 1


def _say(line: str) -> None:
    """Write to standard error, which may itself be a file on the full disk, or a pipe whose reader has gone."""
    if line:
        with suppress(OSError):
            os.write(2, f"{line}\n".encode())


def _describe(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit {code}"
