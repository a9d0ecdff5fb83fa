"""Races: every ordered pair of commands on one session, 5 to 30 ms apart, with workers running and with workers frozen.

Whatever wins, the bank's rows agree with what the request says: an approved call that is done is booked once, in the
approved amount, and anything else is booked never and says so.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.attacks.client import Answer, Person, Request, Talk, eventually, money
from tests.attacks.stack import Stack

AT_ONCE = 10
ASKED, LESS = 900, 400  # dollars: as proposed, and as an edit makes it
Command = Callable[[Talk, Request, Person], Answer]


def _rolls_back(talk: Talk, request: Request, person: Person) -> Answer:
    preview = talk.post(person, "rollback", to=2)
    if not preview.ok:
        return preview
    return talk.post(person, "rollback", to=2, confirm=preview.body["digest"], reason="it misheard")


COMMANDS: dict[str, Command] = {
    "approve": lambda talk, request, person: request.approve(person),
    "reject": lambda talk, request, person: request.decide(person, "reject"),
    "edit": lambda talk, request, person: request.edit(person, amount=money(LESS)),
    "respond": lambda talk, request, person: request.decide(person, "respond", response="Please come to the branch."),
    "ignore": lambda talk, request, person: request.decide(person, "ignore"),
    "end": lambda talk, request, person: talk.end(),
    "cancel": lambda talk, request, person: talk.post(person, "cancel", reason="fraud"),
    "pause": lambda talk, request, person: talk.post(person, "pause", reason="wait"),
    "take over": lambda talk, request, person: talk.post(person, "takeover", reason="mine"),
    "roll back": _rolls_back,
    "speak": lambda talk, request, person: talk.say("hello"),
    "propose": lambda talk, request, person: talk.propose(person, {"_id": "p", "_tool": "note", "subject": talk.id}),
    "change state": lambda talk, request, person: talk.write(person, remark="seen"),
}
PAIRS = list(itertools.permutations(COMMANDS, 2))


class Race:
    """One session, a call that waits, and two people who do something at nearly the same time."""

    def __init__(self, stack: Stack, people: tuple[Person, Person], pair: tuple[str, str], gap: float) -> None:
        self.people, self.pair, self.gap = people, pair, gap
        self.talk = stack.talk()
        self.request = self.talk.asks_for(ASKED)
        self.answers: dict[str, Answer] = {}

    def run(self) -> None:
        """Both commands, the second `gap` seconds after the first was sent."""
        threads = [threading.Thread(target=self._one, args=(at,)) for at in (0, 1)]
        for thread in threads:
            thread.start()
            time.sleep(self.gap)
        for thread in threads:
            thread.join()

    def _one(self, at: int) -> None:
        self.answers[self.pair[at]] = COMMANDS[self.pair[at]](self.talk, self.request, self.people[at])

    def difference(self) -> str:
        """What does not agree, once the session rests; empty: nothing."""
        self.talk.rests()
        eventually(self._is_settled, lambda: f"{self} is settled: {self.request.view}")
        asked, moved = self.talk.requests, [amount for _, amount in self.talk.moved()]
        done = [each.view for each in asked if each.view["execution"] == "done" and each.view["tool"] == "transfer"]
        approved = sorted(each["arguments"]["amount"]["minor"] // 100 for each in done)
        wrong = [each for each in self.answers.values() if each.status >= 500]
        if wrong:
            return f"{self}: {wrong}"
        if sorted(moved) != approved:
            return f"{self}: the bank booked {moved}, the requests say {approved}"
        over = self.talk.view["status"] in ("done", "cancelled")
        waits = [each.id for each in asked if over and each.state == "pending"]
        return f"{self}: {waits} wait in a session that is over" if waits else ""

    def _is_settled(self) -> bool:
        """Whether every approved call was done or is named, or waits for a pause or a take-over to end."""
        view = self.talk.view
        if view["status"] == "paused" or view.get("taken_by"):
            return True
        asked = [each.view for each in self.talk.requests]
        return not any(
            each["state"] in ("approved", "edited") and each["execution"] in ("", "waiting", "begun") for each in asked
        )

    def __str__(self) -> str:
        return f"{self.talk.id}: {self.pair[0]}, then {self.pair[1]} after {self.gap * 1000:.0f} ms"


def _raced(stack: Stack, run: Callable[[list[Race]], None]) -> None:
    chance, people = random.Random(7), (stack.supervisor(), stack.supervisor())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        races = list(pool.map(lambda pair: Race(stack, people, pair, chance.uniform(0.005, 0.03)), PAIRS))
        run(races)
        found = [each for each in pool.map(Race.difference, races) if each]
    print(f"{len(races)} races, {len(found)} differences")
    assert found == []


@pytest.mark.alone
def test_races_of_every_ordered_pair_with_workers_running(stack: Stack):
    def run(races: list[Race]) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(Race.run, races))

    _raced(stack, run)


@pytest.mark.alone
def test_races_of_every_ordered_pair_with_workers_frozen_meanwhile(stack: Stack):
    def run(races: list[Race]) -> None:
        with stack.frozen_workers(), ThreadPoolExecutor(4) as pool:
            list(pool.map(Race.run, races))

    _raced(stack, run)
