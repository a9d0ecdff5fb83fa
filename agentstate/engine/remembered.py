"""What a session remembers of people's answers and of the day's sums, and passes on: to a fork that takes its place, to
a session that does one of its calls. What was refused stays refused there, and a limit of a day counts all of it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agentstate.engine.policy.tally import Tally, later

KEPT_REFUSALS = 50  # digests of calls that a person refused, and calls that were settled


class Settled(msgspec.Struct, frozen=True):
    """A call that came to an end without being run: a person answered in its place, or nobody decided in time. The same
    call again is refused with what was said then, and nobody is asked.
    """

    mark: str  # digest of tool and arguments
    how: Literal["responded", "expired"]
    answer: str = ""


class Remembered(msgspec.Struct, frozen=True):
    """Digests of the calls that people refused and how many there were, the calls that were settled, and what was set
    going on one day.
    """

    refused: tuple[str, ...] = ()
    refusals: int = 0
    settled: tuple[Settled, ...] = ()
    tally: Tally = Tally()


def joined(own: Remembered, others: Remembered) -> Remembered:
    """What a session remembers that goes on from `others`: all that was refused or settled, the newest KEPT_REFUSALS of
    each, and the day's sums of `others`, which has gone on since the two parted.
    """
    refused = (*(mark for mark in own.refused if mark not in others.refused), *others.refused)
    marks = {each.mark for each in others.settled}
    settled = (*(each for each in own.settled if each.mark not in marks), *others.settled)
    return Remembered(
        refused[-KEPT_REFUSALS:],
        max(own.refusals, others.refusals),
        settled[-KEPT_REFUSALS:],
        later(own.tally, others.tally),
    )
