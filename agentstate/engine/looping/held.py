"""What a session holds of its loop: what was used, what people granted, what calls came to of late, and the messages
that wait until the run is over.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agentstate.engine.looping.settings import MOST_REPEATS, Limits

KEPT_MARKS = 2 * MOST_REPEATS  # what the latest calls came to: circles of two calls are noticed
MOST_WAITING = 20  # messages that wait until the run is over


class Used(msgspec.Struct, frozen=True):
    """What was used so far. Steps are model requests."""

    tokens: int = 0
    micros: int = 0
    steps: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """A message that the agent has not heard yet; `seq` is the entry that it came with."""

    seq: int
    text: str
    by: str


class Loop(msgspec.Struct, frozen=True):
    """How the loop stands."""

    begun: int = 0  # entries before the run
    since: str = ""  # when it started
    run: Used = Used()
    session: Used = Used()
    seconds: int = 0  # that runs of the session took, those that have ended
    granted: Limits = Limits()  # by people, on top of what a run may use; over with the run that it was granted to
    granted_session: Limits = Limits()
    stopped: str = ""  # why the run was stopped: the code that a person answers; empty: it was not
    granting: bool = False  # a person let a stopped run go on: the next one continues its count
    marks: tuple[str, ...] = ()  # a digest of each call of late and of what became of it, oldest first
    noticed: tuple[str, ...] = ()  # the marks of the circle that the model has been told of
    misfits: int = 0  # outputs of this run that broke their schema
    waiting: tuple[Waiting, ...] = ()


def marked(loop: Loop, mark: str) -> Loop:
    """What a call came to is held, and the oldest beyond KEPT_MARKS let go."""
    return replace(loop, marks=(*loop.marks[-KEPT_MARKS + 1 :], mark))


def plus(limits: Limits, more: Limits) -> Limits:
    """Both together."""
    return Limits(
        limits.tokens + more.tokens,
        limits.micros + more.micros,
        limits.steps + more.steps,
        limits.seconds + more.seconds,
    )


def used(loop: Loop, tokens: int = 0, micros: int = 0, steps: int = 0) -> Loop:
    """So much more was used, in the run and in the session."""
    run, session = loop.run, loop.session
    return replace(
        loop,
        run=Used(run.tokens + tokens, run.micros + micros, run.steps + steps),
        session=Used(session.tokens + tokens, session.micros + micros, session.steps + steps),
    )


def over(loop: Loop) -> Loop:
    """No run any more; what was used in the session stays used, and what waits goes on waiting."""
    return Loop(session=loop.session, seconds=loop.seconds, granted_session=loop.granted_session, waiting=loop.waiting)
