"""What a session holds of its loop: what was used, what people granted, what calls came to of late, and the messages
that wait until the run is over.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agentstate.engine.looping.settings import MOST_REPEATS, Limits

KEPT_WANTED = 10
KEPT_MARKS = 2 * MOST_REPEATS  # what the latest calls came to: circles of two calls are noticed
MOST_TOOLS = 100  # whose calls are counted one by one; those of others count together
OTHERS = "*"
MOST_WAITING = 20  # messages that wait until the run is over


class Used(msgspec.Struct, frozen=True):
    """What was used so far. Steps are model requests."""

    tokens: int = 0
    micros: int = 0
    steps: int = 0
    calls: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """A message that the agent has not heard yet; `seq` is the entry that it came with."""

    seq: int
    text: str
    by: str


class Share(msgspec.Struct, frozen=True):
    """What a delegate may use of the budget of the session above all others, reserved in this run of it."""

    used: Used
    run: str


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
    by_tool: dict[str, int] = {}  # calls of this run since the last message, by tool
    latest: str = ""  # the tool of the latest of them
    overused: tuple[str, ...] = ()  # tools of which the model has been told that it calls them too often
    misfits: int = 0  # outputs of this run that broke their schema
    pardoned: int = 0  # refusals of the session and its delegates that count no more: a person let the agent go on
    wanted: tuple[str, ...] = ()  # calls that were not asked about because people have refused too many
    waiting: tuple[Waiting, ...] = ()
    share: Used = Used()  # of a delegate: what it may use in all; 0: as much as its agent's own bounds allow
    opened: int = 0  # delegates so far, at any depth, of the session above all others
    shares: dict[str, Share] = {}  # of those of them that are at work, by session


def marked(loop: Loop, mark: str, tool: str) -> Loop:
    """What a call came to is held, and the oldest beyond KEPT_MARKS let go; its tool was called once more."""
    known = tool if tool in loop.by_tool or len(loop.by_tool) < MOST_TOOLS else OTHERS
    by_tool = {**loop.by_tool, known: loop.by_tool.get(known, 0) + 1}
    return replace(loop, marks=(*loop.marks[-KEPT_MARKS + 1 :], mark), by_tool=by_tool, latest=known)


def circling_anew(loop: Loop) -> Loop:
    """Returns the loop after a message or a grant to go on: circles are counted from here."""
    return replace(loop, marks=(), noticed=(), by_tool={}, latest="", overused=())


def too_often(loop: Loop, most: int) -> str:
    """The tool that was called `most` times or more in this run, and of which the model was not told; empty: none."""
    if most < 1:
        return ""
    return next((tool for tool, count in loop.by_tool.items() if count >= most and tool not in loop.overused), "")


def plus(limits: Limits, more: Limits) -> Limits:
    """Both together."""
    return Limits(
        limits.tokens + more.tokens,
        limits.micros + more.micros,
        limits.steps + more.steps,
        limits.seconds + more.seconds,
        limits.calls + more.calls,
    )


def tighter(limits: Limits, share: Used) -> Limits:
    """Returns the limits with no bound above that of the share; 0 bounds nothing."""
    pairs = ((limits.tokens, share.tokens), (limits.micros, share.micros), (limits.steps, share.steps))
    tokens, micros, steps = (min(filter(None, pair), default=0) for pair in pairs)
    return Limits(tokens, micros, steps, limits.seconds, limits.calls)


def used(loop: Loop, tokens: int = 0, micros: int = 0, steps: int = 0, calls: int = 0) -> Loop:
    """So much more was used, in the run and in the session."""
    run, session = loop.run, loop.session
    return replace(
        loop,
        run=Used(run.tokens + tokens, run.micros + micros, run.steps + steps, run.calls + calls),
        session=Used(session.tokens + tokens, session.micros + micros, session.steps + steps, session.calls + calls),
    )


def over(loop: Loop) -> Loop:
    """No run any more; what was used in the session stays used, and what waits goes on waiting."""
    return Loop(
        session=loop.session,
        seconds=loop.seconds,
        granted_session=loop.granted_session,
        waiting=loop.waiting,
        pardoned=loop.pardoned,
        share=loop.share,
        opened=loop.opened,
        shares=loop.shares,
    )


def reserved(loop: Loop, session: str, share: Used, run: str) -> Loop:
    """A delegate is at work: its share counts as used until it ends."""
    loop = used(loop, share.tokens, share.micros, share.steps)
    return replace(loop, opened=loop.opened + 1, shares={**loop.shares, session: Share(share, run)})


def settled(loop: Loop, session: str, spent: Used, run: str) -> Loop:
    """A delegate has ended: what it has used counts in place of its share."""
    share = loop.shares.get(session)
    if share is None:
        return loop
    rest = {name: each for name, each in loop.shares.items() if name != session}
    own = loop.run if share.run != run else _in_place_of(share.used, spent, loop.run)
    return replace(loop, shares=rest, run=own, session=_in_place_of(share.used, spent, loop.session))


def _in_place_of(share: Used, spent: Used, counted: Used) -> Used:
    return Used(
        max(0, counted.tokens - share.tokens + spent.tokens),
        max(0, counted.micros - share.micros + spent.micros),
        max(0, counted.steps - share.steps + spent.steps),
        counted.calls + spent.calls,
    )
