"""Two workers, as `up` starts them: what a killed one was at goes on in the other, without waiting for a lease."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.live.floor import Floor
from tests.processes import eventually, is_alive

KILLS = 5
WITHIN = 5.0  # seconds from the death to the recorded result


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    held = Floor(tmp_path_factory.mktemp("recovery") / "state", AGENTSTATE_WORKERS="2")
    held.up.ready(120)
    eventually(lambda: "worker-2" in held.up.pids(), 30, "the second worker is started")
    eventually(lambda: "ready." in (held.state / "log" / "worker-2.log").read_text(), 60, "and ready")
    yield held
    held.stop()


def test_what_a_killed_worker_was_at_is_done_by_the_other_within_five_seconds(floor: Floor):
    """Five kills in the middle of a transfer, of whichever worker has it; the money moves once each time."""
    took = []
    for call in floor.waiting_calls(*[700 + 10 * number for number in range(KILLS)]):
        before = {name: floor.up.pid(name) for name in ("worker", "worker-2")}
        armed = floor.arm("after_effect:transfer")
        call.approve()
        eventually(lambda armed=armed: not armed.exists(), 30, "a worker dies")
        began = time.monotonic()
        call.finishes()
        took.append(time.monotonic() - began)
        assert call.moved() == [call.dollars]
        dead = [name for name, pid in before.items() if not is_alive(pid)]
        assert len(dead) == 1
        _is_back(floor, dead[0], before[dead[0]])
    print(f"seconds from kill -9 to the result: {', '.join(f'{each:.1f}' for each in took)}")
    assert sorted(took)[KILLS // 2] < WITHIN


def _is_back(floor: Floor, name: str, pid: int) -> None:
    """Before the next kill there are two again."""
    log = floor.state / "log" / f"{name}.log"
    eventually(lambda: floor.up.pid(name) != pid, 30, f"{name} is started again")
    said = log.read_text().count("ready.")
    eventually(lambda: log.read_text().count("ready.") > said or said > 1, 60, f"{name} is ready")


def test_afterwards_all_is_well(floor: Floor):
    floor.all_is_well()
