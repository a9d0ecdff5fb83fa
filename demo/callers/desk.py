"""Who calls when: a steady number of calls at once, never the same person twice, always somebody who must wait."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random

from demo.bank.people import Person
from demo.callers.api import Refused
from demo.callers.kinds import KINDS, Kind, Story, callers_for, story

# So many callers with something to decide are on the line at least, so that a supervisor always has a request,
# and at most, so that the others keep the wall moving.
DECIDED_AT_LEAST = 3
PLAIN_AT_LEAST = 2  # of these, large transfers below the highest tier: one supervisor may decide them alone
OPENING = ("large", "misheard", "small", "doubtful", "wants_person", "large")
WEIGHTS = {
    "small": 4, "large": 3, "misheard": 2, "doubtful": 2, "refused_check": 2, "check_away": 2, "balance": 3,
    "second_thoughts": 2, "wants_person": 2, "upset": 1, "hangs_up": 2, "written": 3,
}  # fmt: skip


class Desk:
    """Chooses the next call. `concurrency` calls are on the line at once."""

    def __init__(self, concurrency: int, seed: int | None = None) -> None:
        self.dice = Random(seed)
        self.concurrency = concurrency
        self.talking: dict[str, Kind] = {}  # customer -> kind of the call they are on
        self._begun = 0
        self._last_call: dict[str, int] = {}  # customer -> number of their latest call

    def next(self) -> Story:
        """The next call: taken as begun until `over`."""
        kind = self._kind()
        person = self._person(kind)
        self._begun += 1
        self._last_call[person.id] = self._begun
        self.talking[person.id] = kind
        return story(kind, self.dice, person)

    def over(self, told: Story) -> None:
        """That call has ended."""
        self.talking.pop(told.person.id, None)

    def _kind(self) -> Kind:
        if self._begun < min(len(OPENING), self.concurrency):
            return KINDS[OPENING[self._begun]]
        deciding = sum(kind.decides and kind.name != "hangs_up" for kind in self.talking.values())
        plain = sum(kind.name == "large" for kind in self.talking.values())
        if plain < min(PLAIN_AT_LEAST, self.concurrency // 2):
            return KINDS["large"]
        if deciding < min(DECIDED_AT_LEAST, self.concurrency):
            return KINDS[self._drawn([n for n, k in KINDS.items() if k.decides and n != "hangs_up"])]
        if deciding > self.concurrency // 2:
            return KINDS[self._drawn([n for n, k in KINDS.items() if not k.decides])]
        return KINDS[self._drawn(list(KINDS))]

    def _drawn(self, names: list[str]) -> str:
        """By weight, and rather a kind that is not on the line already."""
        running = Counter(kind.name for kind in self.talking.values())
        weights = [WEIGHTS[name] / (1 + 2 * running[name]) for name in names]
        return self.dice.choices(names, weights)[0]

    def _person(self, kind: Kind) -> Person:
        """Somebody who has not called for long."""
        free = callers_for(kind, self.talking) or callers_for(kind, ())
        free.sort(key=lambda person: self._last_call.get(person.id, 0))
        return self.dice.choice(free[: max(1, len(free) // 3)])


async def keep_calling(desk: Desk, make: Callable[[Story, float], Awaitable[str]], pace: float) -> None:
    """For ever: `concurrency` lines, each call followed by the next. `make(story, pace)` makes one call."""

    async def one_line(number: int) -> None:
        await asyncio.sleep(0.7 * number * pace)
        quick = 0.5  # the first callers come straight to the point: somebody wants to see something happen
        while True:
            told = desk.next()
            try:
                await make(told, pace * quick)
            except Refused as error:
                print(f"callers: {told.kind.name} {told.person.id}: {error}", file=sys.stderr, flush=True)
                await asyncio.sleep(5 * pace)
            finally:
                desk.over(told)
            quick = 1.0
            await asyncio.sleep(desk.dice.uniform(2.0, 9.0) * pace)

    async with asyncio.TaskGroup() as lines:
        for number in range(desk.concurrency):
            lines.create_task(one_line(number))
