"""A person steps in where the runtime cannot go on by itself."""

from __future__ import annotations

from typing import Any, Literal

from agentstate.engine.events.base import Event

Intervention = Literal["retry", "skip", "supply", "happened", "not_happened"]


class CallDoubted(Event, frozen=True, tag="call.doubted"):
    """The call began, its result is lost, and it may not be repeated: a person has to find out whether it happened."""

    call: str
    attempt: int
    reason: str
    v: int = 1


class CallIntervened(Event, frozen=True, tag="call.intervened"):
    """A person settled a call. `retry` and `not_happened`: it may run again; `skip`: it will not; `supply`: this is its
    result; `happened`: it was done, with this result.
    """

    call: str
    how: Intervention
    by: str
    reason: str
    result: Any = None
    output_path: str | None = None
    unwritten: str = ""  # why the error is not written where a plan says
    v: int = 1


class SessionRetried(Event, frozen=True, tag="session.retried"):
    """A person has a session tried again that could not go on. `why` is what kept it."""

    by: str
    reason: str
    why: str
    v: int = 1
