"""The calls of one session whose tools run now, side by side, each in a thread of its own.

Outcomes are taken in the order in which they arrive. A tool that is too slow is told to stop and goes on unseen: its
call is told as failed, its idempotency key keeps what it still does harmless, and what it gives is dropped. Threads
that do not end are counted: beyond MAX_ABANDONED the process says whose they are and asks to be replaced, because
nothing else ends a thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec
from django.conf import settings
from django.db import close_old_connections

from agentstate.engine.decide import Fail, Return
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import Call, SessionState
from sessions.outside.cancellation import Stop, stoppable
from sessions.runtime import execution

log = logging.getLogger(__name__)
Outcome = Return | Fail
MAX_ABANDONED = max(1, settings.TOOL_THREADS // 4)  # threads whose outcome nobody awaits any more

_pool = ThreadPoolExecutor(max_workers=settings.TOOL_THREADS, thread_name_prefix="tool")


class _Abandoned:
    """The threads that go on although nobody waits for them, by the names of their tools."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[Future[None], str] = {}
        self.too_many: Callable[[str], None] = lambda _: None

    def add(self, future: Future[None], tool: str) -> None:
        if future.cancel():
            return  # it still waited for a thread, and does not begin later
        with self._lock:
            self._tools[future] = tool
        future.add_done_callback(self._ended)
        with self._lock:
            named = sorted(self._tools.values())
        if len(named) > MAX_ABANDONED:
            log.error("%d tools do not end: %s", len(named), ", ".join(dict.fromkeys(named)))
            self.too_many(f"{len(named)} tools do not end")

    def _ended(self, future: Future[None]) -> None:
        with self._lock:
            self._tools.pop(future, None)

    def tools(self) -> list[str]:
        """The names of their tools, one for each thread."""
        with self._lock:
            return sorted(self._tools.values())


abandoned = _Abandoned()


class Flight(msgspec.Struct, frozen=True):
    """One attempt that is under way. `deadline` is by the process's monotonic clock."""

    call: Call
    epoch: int
    deadline: float
    future: Future[None]
    stop: Stop


class Flights:
    """The attempts that one worker has under way for one session."""

    def __init__(self) -> None:
        self._under_way: dict[str, Flight] = {}
        self._landed: SimpleQueue[tuple[str, int, Outcome | BaseException]] = SimpleQueue()

    @property
    def calls(self) -> Set[str]:
        """The calls whose outcome is awaited."""
        return self._under_way.keys()

    def start(self, session: str, state: SessionState, call: Call) -> None:
        """Run the tool of a call whose intent is committed."""
        deadline, stop = time.monotonic() + execution.seconds_for(call), Stop()
        future = _pool.submit(self._fly, session, state, call, stop)
        self._under_way[call.id] = Flight(call, state.epoch, deadline, future, stop)

    def _fly(self, session: str, state: SessionState, call: Call, stop: Stop) -> None:
        outcome: Outcome | BaseException
        try:
            with stoppable(stop):
                outcome = execution.run_call(session, state, call)
        except BaseException as error:  # the runtime's own; whoever awaits the outcome raises it
            outcome = error
        finally:
            close_old_connections()
        self._landed.put((call.id, call.attempt, outcome))

    def tell(self, state: SessionState) -> None:
        """Tell the tools whose calls `state` does not wait for any more: the session was stopped or put back. Their
        outcomes are awaited all the same, and recorded as late.
        """
        for flight in self._under_way.values():
            call = state.calls.get(flight.call.id)
            runs = call is not None and call.status is CallStatus.RUNNING and state.epoch == flight.epoch
            if (state.ended or not runs) and not flight.stop.is_set():
                flight.stop.set()

    def landed(self, patience: float) -> list[Outcome]:
        """The outcomes that have arrived, waiting up to `patience` seconds for the first, and of those overdue."""
        nearest = min((flight.deadline for flight in self._under_way.values()), default=0.0)
        wait = max(0.0, min(patience, nearest - time.monotonic()))
        arrived = []
        with suppress(Empty):
            arrived.append(self._landed.get(wait > 0, wait))
        with suppress(Empty):  # all that is there, also what came at the last instant
            while True:
                arrived.append(self._landed.get_nowait())
        return [outcome for item in arrived for outcome in self._taken(*item)] + self._overdue()

    def _taken(self, call: str, attempt: int, outcome: Outcome | BaseException) -> list[Outcome]:
        flight = self._under_way.get(call)
        if flight is None or flight.call.attempt != attempt:
            return []  # told as failed already
        del self._under_way[call]
        if isinstance(outcome, BaseException):
            raise outcome
        return [outcome]

    def _overdue(self) -> list[Outcome]:
        now = time.monotonic()
        late = [flight for flight in self._under_way.values() if flight.deadline <= now]
        for flight in late:
            del self._under_way[flight.call.id]
            _let_go(flight)
        return [execution.too_slow(flight.call) for flight in late]

    def abandon(self) -> None:
        """Await nothing any more. What has not begun does not begin; what has is settled by who comes next."""
        for flight in self._under_way.values():
            _let_go(flight)
        self._under_way.clear()


def _let_go(flight: Flight) -> None:
    flight.stop.set()
    abandoned.add(flight.future, flight.call.tool)
