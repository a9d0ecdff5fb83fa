"""Customers call and supervisors decide while each process is killed at each point: nothing is lost, doubled or stuck.

The short form, in `make test`: 20 sessions, 3 kills. `make chaos`: hundreds of sessions, until every process has died
at every point. The seed is printed; CHAOS_SEED plays the same perils in the same order again.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.chaos.perils import PERILS, Perils, shuffled
from tests.chaos.skewed import WORKED
from tests.live.floor import REST, Call, Floor, Line
from tests.processes import eventually, manage

FULL = bool(os.environ.get("FULL"))
SEED = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
AT_ONCE, KILLS = (12, len(PERILS)) if FULL else (8, 3)
CALLS = 200 if FULL else 20  # at least so many; in the full form until every peril came about
MOST_CALLS, MOST_SECONDS = 600, 1500.0
PATIENCE = 600 if FULL else 180  # seconds; the security check is away half of the time in the full form
NAMED = {"approved", "rejected", "withdrawn", "expired", "superseded", "failed", "edited", "responded", "ignored"}
AMOUNTS = (200, 300, 700, 900)  # dollars; above 500 somebody is asked


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    held = Floor(tmp_path_factory.mktemp("chaos") / "state")
    hear_of_transfers(held)
    yield held
    held.stop()


def hear_of_transfers(floor: Floor) -> None:
    """A trigger that opens a session for each transfer of the bank: the points of triggers are passed as well."""
    floor.manage("watch_table", "transfers", "--table", "core.transfers", "--team", "retail")
    definition = {
        "on": {"row": {"watch": "transfers", "ops": ["insert"]}},
        "do": {"open": {"agent": "bank", "customer": "'C-1001'"}},
        "rate": {"count": 1000, "seconds": 60},
        "per_day": 100_000,
    }
    admin = Line(floor.url, floor.manage("token", "admin").strip())
    admin.ask("POST", "/triggers", {"name": "moved", "definition": definition, "team": "retail"})


@pytest.fixture(scope="module")
def perils(floor: Floor) -> Iterator[Perils]:
    held = Perils(floor, random.Random(SEED))
    yield held
    held.stop()


def carried_through(call: Call, dice: random.Random) -> tuple[Call, str]:
    """One customer's call, with a supervisor who mostly says yes; what was decided ("" if nobody was asked)."""
    try:
        call.asks_for_a_transfer(seconds=PATIENCE)
    except AssertionError as error:
        error.add_note(call.story())
        raise
    if call.dollars <= 500:
        return call, ""
    time.sleep(dice.uniform(0, 2))
    decision = "approve" if dice.random() < 0.75 else "reject"
    call.decide(decision)
    return call, decision


class Customers:
    """Calls, one after another on each of several lines, until enough were made and it is over."""

    def __init__(self, floor: Floor) -> None:
        self.floor, self.over, self._lock = floor, threading.Event(), threading.Lock()
        self.done: list[tuple[Call, str]] = []

    def line(self, number: int) -> None:
        dice = random.Random(SEED + 1 + number)
        while call := self._next(dice):
            self.done.append(carried_through(call, dice))

    def _next(self, dice: random.Random) -> Call | None:
        with self._lock:
            made = len(self.floor.calls)
            if made >= MOST_CALLS or (made >= CALLS and self.over.is_set()):
                return None
            (call,) = self.floor.new_calls(dice.choice(AMOUNTS))
            return call


def test_nothing_is_lost_doubled_or_stuck(floor: Floor, perils: Perils):
    print(f"CHAOS_SEED={SEED}")
    customers = Customers(floor)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        lines = [pool.submit(customers.line, number) for number in range(AT_ONCE)]
        try:
            strike_all(perils, random.Random(SEED))
        finally:
            customers.over.set()
        for line in lines:
            line.result()
    print(f"{len(customers.done)} sessions; {'; '.join(perils.told)}\n{perils.matrix()}")
    assert len(customers.done) >= CALLS
    for call, decision in customers.done:
        ended_well(call, decision)
    floor.all_is_well()
    mapped = manage(floor.up.state_dir, "headmap", "--check")
    assert mapped.returncode == 0, mapped.stderr
    assert floor.up.process.poll() is None, floor.up.said
    if FULL:
        missing = [peril for peril in PERILS if not perils.counts[peril]]
        assert not missing, f"never came about: {missing}"


def strike_all(perils: Perils, dice: random.Random) -> None:
    """Three perils, or all of them; one that did not come about has its turn again."""
    deadline = time.monotonic() + MOST_SECONDS
    waiting = list(PERILS) if FULL else []
    order = shuffled(dice)
    while time.monotonic() < deadline and (waiting if FULL else len(perils.told) < KILLS):
        peril = next(order)
        if (not FULL or peril in waiting) and perils.strike(peril) and FULL:
            waiting.remove(peril)


def ended_well(call: Call, decision: str) -> None:
    """The session rests, its request has a name for its end, and the bank moved what was said, once or not at all."""
    call.wait_for(*REST, seconds=PATIENCE)
    eventually(lambda: call.rests("customer"), PATIENCE, f"{call.id} waits for its customer again")
    assert call.moved() == ([] if decision == "reject" else [call.dollars]), f"{call.id}, {decision}"
    returned = call.transfer_entries().count("tool.returned")
    assert returned == (0 if decision == "reject" else 1), call.transfer_entries()
    states = {request["state"] for request in call.requests}
    assert states <= NAMED, states
    assert bool(states) == bool(decision)


HEARD = """
from sessions.models.sessions import AgentSession
from sessions.models.triggers import TriggerFiring
firings = list(TriggerFiring.objects.values_list("pk", "state"))
opened = AgentSession.objects.filter(pk__in=[pk for pk, _ in firings]).count()
print(len(firings), sum(state == "fired" for _, state in firings), opened)
"""


def test_every_transfer_was_heard_of_once(floor: Floor, perils: Perils):
    """What a killed worker held is let go of after its lease; the sessions were opened once all the same."""
    ((moved,),) = floor.bank("select count(*) from core.transfers where reference like %s", "%.%")

    def heard() -> str:
        return floor.manage("shell", "--no-imports", "-c", HEARD).strip()

    eventually(lambda: heard() == f"{moved} {moved} {moved}", 90, "every transfer was heard of")


def test_workers_whose_clocks_were_wrong_have_worked_and_left_no_wrong_instant(floor: Floor, perils: Perils):
    for skew in perils.skewed:
        assert WORKED in perils.log_of(skew).read_text()
    for call in floor.calls:
        instants = [datetime.fromisoformat(entry["at"]) for entry in call.entries()]
        assert max(instants) - min(instants) < timedelta(seconds=MOST_SECONDS)
        steps = [after - before for before, after in pairwise(instants)]
        assert min(steps) > timedelta(seconds=-2), f"{call.id} went back in time"
