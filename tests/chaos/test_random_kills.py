"""Twenty calls at once while parts of the product are killed at random: nothing is lost, doubled or stuck.

CHAOS_SEED reproduces the plan of kills (it is printed), CHAOS_SECONDS says for how long (60; 20 in the short form).
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sessions.runtime import crash
from tests.live.floor import REST, Call, Floor
from tests.processes import eventually, is_alive, manage

FULL = bool(os.environ.get("FULL"))
SEED = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
SECONDS = float(os.environ.get("CHAOS_SECONDS") or (60 if FULL else 20))
CALLS = 20 if FULL else 8
PARTS = ("worker", "web", "beat", "valkey", "postgres", "signer", "sequencer")
MOST = 4  # deaths of one part in a minute; at the fifth `up` gives up, rightly
NAMED = {"approved", "rejected", "withdrawn", "expired", "superseded", "failed", "edited", "responded", "ignored"}


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    held = Floor(tmp_path_factory.mktemp("chaos") / "state")
    yield held
    held.stop()


class Killer:
    """Kills one part after another, as its dice say, until told to stop."""

    def __init__(self, floor: Floor, dice: random.Random) -> None:
        self.floor, self.dice = floor, dice
        self.deaths: dict[str, deque[float]] = {part: deque(maxlen=MOST) for part in PARTS}
        self.told: list[str] = []

    def run(self, over: threading.Event, seconds: float) -> None:
        began = time.monotonic()
        while time.monotonic() - began < seconds and not over.is_set():
            over.wait(self.dice.uniform(1.5, 4.0))
            part, at_point = self.dice.choice(PARTS), self.dice.choice(crash.POINTS)
            if not self._may_die(part):
                continue
            self.told.append(f"{time.monotonic() - began:.1f} s {part}")
            self._strike(part, at_point)

    def _may_die(self, part: str) -> bool:
        deaths = self.deaths[part]
        return len(deaths) < MOST or time.monotonic() - deaths[0] > 70

    def _strike(self, part: str, at_point: str) -> None:
        if part == "worker" and self.dice.random() < 0.5:
            self._strike_at(at_point)
            return
        if part == "valkey":
            self.floor.valkey().flushall()
        pid = self.floor.up.pid(part)
        if is_alive(pid):
            self.floor.kill(part)
            self.deaths[part].append(time.monotonic())

    def _strike_at(self, point: str) -> None:
        """At a named point; whichever process passes it first, at most two seconds from now."""
        armed = self.floor.arm(point)
        deadline = time.monotonic() + 2
        while armed.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        if armed.exists():
            armed.unlink(missing_ok=True)
        for part in ("worker", "web"):  # it may have been either
            self.deaths[part].append(time.monotonic())
        self.told[-1] += f" at {point}"


def carried_through(call: Call, dice: random.Random) -> str:
    """One customer's call, with a supervisor who mostly says yes; what was decided ("" if nobody was asked)."""
    call.asks_for_a_transfer()
    if call.dollars <= 500:
        return ""
    time.sleep(dice.uniform(0, 3))
    decision = "approve" if dice.random() < 0.75 else "reject"
    call.decide(decision)
    return decision


def test_nothing_is_lost_doubled_or_stuck(floor: Floor):
    print(f"CHAOS_SEED={SEED}")
    dice = random.Random(SEED)
    calls = floor.new_calls(*[dice.choice((200, 300, 700, 900, 1200, 3000)) for _ in range(CALLS)])
    killer, over = Killer(floor, random.Random(SEED + 1)), threading.Event()
    thread = threading.Thread(target=killer.run, args=(over, SECONDS))
    with ThreadPoolExecutor(6) as pool:
        thread.start()
        decided = list(pool.map(carried_through, calls, [random.Random(SEED + n) for n in range(CALLS)]))
        thread.join()
    print(f"kills: {'; '.join(killer.told)}")
    assert killer.told, "somebody was killed"
    for call, decision in zip(calls, decided, strict=True):
        ended_well(call, decision)
    floor.all_is_well()
    mapped = manage(floor.up.state_dir, "headmap", "--check")
    assert mapped.returncode == 0, mapped.stderr
    assert floor.up.process.poll() is None, floor.up.said


def ended_well(call: Call, decision: str) -> None:
    """The session rests, its request has a name for its end, and the bank moved what was said, once or not at all."""
    call.wait_for(*REST, seconds=180)
    eventually(lambda: call.rests("customer"), 180, f"{call.id} waits for its customer again")
    assert call.moved() == ([] if decision == "reject" else [call.dollars]), f"{call.id}, {decision}"
    returned = call.transfer_entries().count("tool.returned")
    assert returned == (0 if decision == "reject" else 1), call.transfer_entries()
    states = {request["state"] for request in call.requests}
    assert states <= NAMED, states
    assert bool(states) == bool(decision)
