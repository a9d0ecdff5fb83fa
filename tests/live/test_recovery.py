"""Two workers, as `up` starts them: what a killed one was at goes on in the other, without waiting for a lease."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.live.floor import Floor
from tests.processes import eventually, is_alive

KILLS = 3
WORKERS = ("worker", "worker-2")
LEASE = "900"  # seconds: a call that waited for the end of a lease would not finish within the patience of the test


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    held = Floor(tmp_path_factory.mktemp("recovery") / "state", AGENTSTATE_WORKERS="2", LEASE_SECONDS=LEASE)
    eventually(lambda: "worker-2" in held.up.pids(), 30, "the second worker is started")
    for name in WORKERS:
        eventually(lambda name=name: readied(held, name), 90, f"{name} is ready")
    yield held
    held.stop()


def test_what_a_killed_worker_was_at_is_done_by_the_other_without_waiting_for_its_lease(floor: Floor):
    """Three kills in the middle of a transfer, of whichever worker has it; the money moves once each time."""
    took = []
    for call in floor.waiting_calls(*[700 + 10 * number for number in range(KILLS)]):
        before = {name: floor.up.pid(name) for name in WORKERS}
        ready = {name: readied(floor, name) for name in WORKERS}
        armed = floor.arm("after_effect:transfer")
        call.approve()
        eventually(lambda armed=armed: not armed.exists(), 30, "a worker dies")
        began = time.monotonic()
        call.finishes()
        took.append(time.monotonic() - began)
        assert call.moved() == [call.dollars]
        dead = [name for name, pid in before.items() if not is_alive(pid)]
        assert len(dead) == 1
        _is_back(floor, dead[0], ready[dead[0]])
    print(f"seconds from kill -9 to the result: {', '.join(f'{each:.1f}' for each in took)}")


def readied(floor: Floor, name: str) -> int:
    """How often this worker has said that it is ready."""
    return (floor.state / "log" / f"{name}.log").read_text().count(" ready.")


def _is_back(floor: Floor, name: str, before: int) -> None:
    """Before the next kill there are two again."""
    eventually(lambda: readied(floor, name) > before, 90, f"{name} is ready again")


def test_afterwards_all_is_well(floor: Floor):
    floor.all_is_well()
