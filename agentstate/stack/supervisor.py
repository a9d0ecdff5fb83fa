"""Keeps children alive: starts a dead one again, a little later each time, and gives up when it keeps dying.

One that was killed (by an operator, or for want of memory) did not fail: it is started again however often that
happens, as runs must outlive it.

It knows nothing of what the programs do. One thread, one loop: a signal only sets a flag that the loop reads.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from agentstate.stack.children import Child, Program
from agentstate.stack.errors import DidNotStart, KeepsDying

TICK = 0.1  # seconds between two looks at the children
DEATHS, WINDOW = 5, 60.0  # so many deaths of one child within so many seconds are too many
BACKOFF = (0.1, 0.5, 1.0, 2.0, 4.0)  # seconds before the first, second, … new start within the window
TRIM_EVERY = 5.0


class Interrupted(Exception):
    """Somebody asked us to stop."""


class Kept:
    """A program that is to be alive: its present child and its recent deaths."""

    def __init__(self, program: Program, log_dir: Path, run_dir: Path) -> None:
        self.program, self._dirs = program, (log_dir, run_dir)
        self.deaths: deque[tuple[float, bool]] = deque(maxlen=4 * DEATHS)  # when, and whether it was killed
        self.due: float | None = None
        self.child = Child(program, *self._dirs)

    def look(self, now: float) -> str:
        """Start it again when that is due; return one line when it has just died. Raises KeepsDying."""
        if self.due is not None:
            if now >= self.due and self.program.cleared():
                self.due = None
                self.child = Child(self.program, *self._dirs)
            return ""
        code = self.child.ended()
        if code is None:
            return ""
        self.deaths.append((now, code == -signal.SIGKILL))
        recent = [killed for death, killed in self.deaths if now - death < WINDOW]
        how = f"{self.program.name} died ({_describe(code)})"
        if recent.count(False) >= DEATHS:
            raise KeepsDying(f"{how} {DEATHS} times in a minute: {self.child.last_words()} (see {self.child.log})")
        self.due = now + BACKOFF[min(len(recent), len(BACKOFF)) - 1]
        return f"{how}, starting it again"


class Supervisor:
    """The children of one `up`, or of one command that brought its own servers."""

    def __init__(self, log_dir: Path, run_dir: Path) -> None:
        self.log_dir, self.run_dir = log_dir, run_dir
        self.kept: list[Kept] = []
        self.asked_to_stop = 0
        self._trim_due = 0.0

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
        """Keep the children alive until `ready()`; after `seconds` DidNotStart, else as `tick` raises."""
        deadline = time.monotonic() + seconds
        while not ready():
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
        for kept in self.kept:
            if told := kept.look(now):
                print(told, file=sys.stderr, flush=True)
        if now >= self._trim_due:
            self._trim_due = now + TRIM_EVERY
            for kept in self.kept:
                kept.child.trim_log()
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


def _describe(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit {code}"
