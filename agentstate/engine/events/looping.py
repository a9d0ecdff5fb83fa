"""What bounds an agent's loop: a run is stopped, granted more, interrupted; a circle is noticed; a message waits."""

from __future__ import annotations

from typing import Literal

from agentstate.engine.events.base import Event

StopCode = Literal["tokens", "money", "no_price", "steps", "calls", "time", "circle", "output", "refusals"]


class RunStopped(Event, frozen=True, tag="run.stopped"):
    """The run was stopped, by name: `code` says which bound, `of` whose. `used` and `limit` are tokens, millionths
    of the prices' currency, model requests, calls or seconds, as the code says. A person may let it go on.
    """

    run: str
    code: StopCode
    of: Literal["run", "session"]
    used: int
    limit: int
    reason: str
    v: int = 1


class RunGranted(Event, frozen=True, tag="run.granted"):
    """A person granted more, or let a run go on that was stopped with `code` (empty: it was not stopped). `refusals`:
    as many, of the session and its delegates, count no more; 0: all count that counted.
    """

    by: str
    reason: str
    of: Literal["run", "session"]
    code: str = ""
    tokens: int = 0
    micros: int = 0
    steps: int = 0
    seconds: int = 0
    calls: int = 0
    refusals: int = 0
    v: int = 1


class RunInterrupted(Event, frozen=True, tag="run.interrupted"):
    """The customer spoke meanwhile: what the model is saying at `step` (empty: nothing) is dropped, and the calls that
    had not begun are withdrawn.
    """

    run: str
    step: str
    calls: tuple[str, ...]
    v: int = 1


class CircleNoticed(Event, frozen=True, tag="circle.noticed"):
    """The same calls came to the same results `times` times; without `marks`, one tool was called so often, whatever
    its arguments. `note` is what the model is told, once.
    """

    run: str
    tools: tuple[str, ...]
    times: int
    marks: tuple[str, ...]
    note: str
    v: int = 1


class MessageQueued(Event, frozen=True, tag="message.queued"):
    """The customer wrote during a run: the message waits until that is over, and is added then."""

    text: str
    by: str
    run: str
    v: int = 1


class MessageRefused(Event, frozen=True, tag="message.refused"):
    """The customer wrote during a run, and the agent takes nothing then. They were told so."""

    text: str
    by: str
    run: str
    v: int = 1
