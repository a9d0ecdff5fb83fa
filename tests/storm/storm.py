"""`python -m tests.storm.storm FOLDER SECONDS`: everything goes wrong at once, while customers call.

Random processes are killed, and in between the disk fills up to the last byte, all logs are moved, and 1,100 half-open
connections are held. Runs on a disk of its own (`tests.attacks.filled.ON_A_DISK`). Prints a table, and as JSON what the
test judges.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.attacks.filled import filled, told_on_failure
from tests.attacks.rude import HALF, MANY, connections
from tests.live.floor import REST, Call, Floor
from tests.processes import eventually, health

PARTS = ("web", "worker", "worker-2", "beat", "sequencer", "signer", "valkey", "postgres", "authorization")
LINES, PATIENCE = 4, 300.0
AMOUNTS = (200, 300, 700, 900)  # dollars; above 500 somebody is asked
HELD = 8.0  # seconds that a full disk or half-open connections last
EXPORTED = 10  # calls whose export is verified


class Storm:
    """One installation, its customers, and what was done to it."""

    def __init__(self, folder: Path, seconds: float, seed: int) -> None:
        self.folder, self.dice = folder, random.Random(seed)
        self.floor = Floor(folder / "state", AGENTSTATE_WORKERS="2")
        self.floor.customers.patience = self.floor.staff.patience = PATIENCE
        self.seconds, self.over, self.lock = seconds, threading.Event(), threading.Lock()
        self.kills: Counter[str] = Counter()
        self.recovered: list[float] = []  # seconds from a kill until all is well
        self.blows: dict[str, float] = {}  # the same for what else happened
        self.done: list[tuple[Call, str]] = []

    def run(self) -> dict[str, Any]:
        """The whole storm, and what was seen."""
        with ThreadPoolExecutor(LINES) as pool:
            lines = [pool.submit(self._customers, self.dice.random()) for _ in range(LINES)]
            try:
                self._strike()
            finally:
                self.over.set()
            for line in lines:
                line.result()
        self._well()
        for call, _ in self.done:
            call.wait_for(*REST, seconds=PATIENCE)
        return self._seen()

    def _customers(self, seed: float) -> None:
        dice = random.Random(seed)
        while not self.over.is_set():
            with self.lock:
                (call,) = self.floor.new_calls(dice.choice(AMOUNTS))
            call.asks_for_a_transfer(seconds=PATIENCE)
            decision = ""
            if call.dollars > 500:
                decision = "approve" if dice.random() < 0.75 else "reject"
                call.decide(decision)
            self.done.append((call, decision))

    def _strike(self) -> None:
        began = time.monotonic()
        waiting: list[tuple[float, str, Callable[[], None]]] = [
            (self.seconds * 0.2, "full disk", self._full_disk),
            (self.seconds * 0.5, "moved logs", self._moved_logs),
            (self.seconds * 0.7, f"{MANY} half-open connections", self._half_open),
        ]
        while time.monotonic() < began + self.seconds or waiting:
            if waiting and time.monotonic() > began + waiting[0][0]:
                _, name, blow = waiting.pop(0)
                blow()
                self.blows[name] = self._well()
            else:
                self._kill()
                self.recovered.append(self._well())
                time.sleep(self.dice.uniform(0, 3))

    def _kill(self) -> None:
        for part in self.dice.sample(PARTS, self.dice.choice((1, 1, 1, 2, 3))):
            with suppress(OSError, ValueError):
                os.kill(self.floor.up.pid(part), signal.SIGKILL)
                self.kills[part] += 1

    def _full_disk(self) -> None:
        with filled(self.folder, 0):
            self._meanwhile()

    def _moved_logs(self) -> None:
        for log in (self.floor.state / "log").glob("*.log"):
            log.rename(log.with_suffix(f".moved-{self.dice.random()}"))
        self._kill()

    def _half_open(self) -> None:
        with connections(self.floor.port, MANY, HALF):
            self._meanwhile()

    def _meanwhile(self) -> None:
        deadline = time.monotonic() + HELD
        while time.monotonic() < deadline:
            self._kill()
            time.sleep(self.dice.uniform(1, 3))

    def _well(self) -> float:
        """Seconds until the installation is healthy, with all its parts."""
        began = time.monotonic()
        eventually(lambda: health(self.floor.url) == 200, PATIENCE, "healthy again by itself")
        return time.monotonic() - began

    def _seen(self) -> dict[str, Any]:
        wrong = []
        for call, decision in self.done:
            wanted = [] if decision == "reject" else [call.dollars]
            eventually(lambda call=call: call.rests("customer"), PATIENCE, f"{call.id} waits for its customer")
            if call.moved() != wanted:
                wrong.append(f"{call.id}: {decision}, moved {call.moved()}")
            if pending := [each for each in call.requests if each["state"] == "pending"]:
                wrong.append(f"{call.id}: {len(pending)} requests are pending")
        twice = self.floor.bank("select reference from core.transfers group by 1 having count(*) > 1")
        self.floor.calls = [call for call, _ in self.done][:EXPORTED]
        self.floor.all_is_well()
        self.floor.manage("headmap", "--check")
        return {
            "wrong": wrong, "twice": len(twice), "calls": len(self.done), "kills": sum(self.kills.values()),
            "decided": dict(Counter(decision or "small" for _, decision in self.done)), "blows": self.blows,
            "recovered": self.recovered, "alive": self.floor.up.process.poll() is None, "parts": dict(self.kills),
        }  # fmt: skip


def table(seen: dict[str, Any], seconds: float) -> str:
    """What happened, as a table."""
    decided, recovered = seen["decided"], seen["recovered"] or [0.0]
    rows = [
        ("seconds", f"{seconds:.0f}"),
        ("kills", f"{seen['kills']} ({', '.join(f'{name} {n}' for name, n in sorted(seen['parts'].items()))})"),
        ("calls", str(seen["calls"])),
        (
            "approved / rejected / small",
            " / ".join(str(decided.get(name, 0)) for name in ("approve", "reject", "small")),
        ),
        ("lost or doubled", str(len(seen["wrong"]) + seen["twice"])),
        ("healthy after a kill: median, worst", f"{statistics.median(recovered):.1f} s, {max(recovered):.1f} s"),
        *((f"healthy after {name}", f"{took:.1f} s") for name, took in seen["blows"].items()),
    ]
    return "\n".join(f"{name:44}{text}" for name, text in rows)


def main() -> None:
    """Prints what was seen."""
    seconds, seed = float(sys.argv[2]), int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    print(f"CHAOS_SEED={seed}", flush=True)
    storm = Storm(Path(sys.argv[1]), seconds, seed)
    with told_on_failure(storm.floor):
        seen = storm.run()
    print(f"\n{table(seen, seconds)}\n\nSEEN {json.dumps(seen)}")


if __name__ == "__main__":
    main()
