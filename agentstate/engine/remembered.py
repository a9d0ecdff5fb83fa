"""What a session remembers of people's answers and of the day's sums, and passes on: to a fork that takes its place,
and between a session and its delegates. What was refused stays refused there, and a limit of a day counts all of it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agentstate.engine.policy.tally import Tally, added, later, without

KEPT_REFUSALS = 50  # digests of calls that a person refused, and calls that were settled


class Settled(msgspec.Struct, frozen=True):
    """A call that ended without being run: a person answered in its place, or the request expired. The same call again
    is refused with that answer, and no person is asked.
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
    """Returns what a session remembers together with `others`: the newest KEPT_REFUSALS of what was refused and of what
    was settled, and the day's sums of `others`, which has run since the two parted.
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


def gained(before: Remembered, after: Remembered) -> Remembered:
    """Returns what a session remembers beyond what it did `before`: refusals, settled calls and sums since then."""
    return Remembered(
        tuple(mark for mark in after.refused if mark not in before.refused),
        after.refusals - before.refusals,
        tuple(each for each in after.settled if each not in before.settled),
        without(after.tally, before.tally) if after.tally != before.tally else Tally(),
    )


def with_gain(own: Remembered, gain: Remembered) -> Remembered:
    """Returns what a session remembers together with what another of its family has `gained`."""
    found = joined(own, msgspec.structs.replace(gain, refusals=own.refusals + gain.refusals))
    return msgspec.structs.replace(found, tally=added(own.tally, gain.tally))
