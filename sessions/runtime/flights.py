"""The calls of one session whose tools run now, side by side, each in a thread of its own.

Outcomes are taken in the order in which they arrive. A tool that is too slow goes on unseen: its call is told as
failed, its idempotency key keeps what it still does harmless, and what it gives is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec
from django.conf import settings
from django.db import close_old_connections

from agentstate.engine.decide import Fail, Return
from agentstate.engine.state import Call, SessionState
from sessions.runtime import execute

Outcome = Return | Fail

_pool = ThreadPoolExecutor(max_workers=settings.TOOL_THREADS, thread_name_prefix="tool")


class Flight(msgspec.Struct, frozen=True):
    """One attempt that is under way. `deadline` is by the process's monotonic clock."""

    call: Call
    deadline: float
    future: Future[None]


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
        deadline = time.monotonic() + execute.seconds_for(call)
        future = _pool.submit(self._fly, session, state, call)
        self._under_way[call.id] = Flight(call, deadline, future)

    def _fly(self, session: str, state: SessionState, call: Call) -> None:
        outcome: Outcome | BaseException
        try:
            outcome = execute.run_call(session, state, call)
        except BaseException as error:  # the runtime's own; whoever awaits the outcome raises it
            outcome = error
        finally:
            close_old_connections()
        self._landed.put((call.id, call.attempt, outcome))

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
            flight.future.cancel()  # it may still wait for a thread: what is told as failed must not begin later
            del self._under_way[flight.call.id]
        return [execute.too_slow(flight.call) for flight in late]

    def abandon(self) -> None:
        """Await nothing any more. What has not begun does not begin; what has is settled by who comes next."""
        for flight in self._under_way.values():
            flight.future.cancel()
        self._under_way.clear()
