"""How a running tool learns that nobody waits for it any more: its session was stopped or put back, its time is up, or
its worker lets go of it.

A thread cannot be ended from outside, so a tool that takes long looks at `ToolContext.cancelled()` between its steps,
or hands over what ends its waiting (`stop.calling`). What it returns all the same is recorded as late, or dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar


class Stop:
    """Set once, from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._calls: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        """Whether the tool should end."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep, at most until it is set; whether it is. For tools that would sleep otherwise."""
        return self._event.wait(seconds)

    def set(self) -> None:
        """Tell the tool. What `calling` handed over is called in this thread; what it raises is the tool's trouble."""
        with self._lock:
            self._event.set()
            calls, self._calls = self._calls, []
        for call in calls:
            with suppress(Exception):
                call()

    @contextmanager
    def calling(self, end: Callable[[], None]) -> Iterator[None]:
        """While inside, `end` is called as soon as it is set: something quick that ends a wait, as closing a socket."""
        with self._lock:
            is_set = self._event.is_set()
            if not is_set:
                self._calls.append(end)
        if is_set:
            end()
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._calls.remove(end)


_current: ContextVar[Stop | None] = ContextVar("stop", default=None)


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """What runs inside, in this thread, is told by `stop`."""
    token = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Stop:
    """What tells the work of this thread to stop; outside of `stoppable` one that nobody sets."""
    return _current.get() or Stop()
