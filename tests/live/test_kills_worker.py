"""kill -9 (and worse) of the worker in the middle of a transfer: the money moves once, and nobody waits for ever."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.live.floor import Call, Floor
from tests.processes import eventually, is_alive, is_stopped

# Where the worker dies, and what is known of the transfer then: intents without a result, and transfers at the bank.
DEATHS = {
    "before_intent": (0, 0),
    "after_intent:transfer": (1, 0),
    "after_effect:transfer": (1, 1),
    "after_result:transfer": (0, 1),
}
STOPS = ("after_intent:transfer", "after_effect:transfer")


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    held = Floor(tmp_path_factory.mktemp("kills") / "state")
    yield held
    held.stop()


@pytest.fixture(scope="module")
def waiting(floor: Floor) -> dict[str, Call]:
    """For each test a call whose transfer waits for the supervisor."""
    names = [*DEATHS, *(f"{point} STOP" for point in STOPS)]
    return dict(zip(names, floor.waiting_calls(*[700 + 10 * n for n in range(len(names))]), strict=True))


@pytest.mark.parametrize("point", DEATHS)
def test_a_worker_killed_in_a_transfer_is_replaced_and_the_money_moves_once(
    floor: Floor, waiting: dict[str, Call], point: str
):
    call, worker = waiting[point], floor.up.pid("worker")
    armed = floor.arm(point)
    call.approve()
    eventually(lambda: not armed.exists() and not is_alive(worker), 30, f"the worker dies {point}")
    began = time.monotonic()
    open_intents, moved = DEATHS[point]
    kinds = call.transfer_entries()
    assert kinds.count("tool.intended") - kinds.count("tool.returned") == open_intents
    assert len(call.moved()) == moved
    call.finishes()
    print(f"{point}: finished {time.monotonic() - began:.1f} s after the worker was killed")
    assert call.moved() == [call.dollars]
    assert call.transfer_entries().count("tool.returned") == 1


@pytest.mark.parametrize("point", STOPS)
def test_a_worker_that_slept_through_its_lease_commits_nothing(floor: Floor, waiting: dict[str, Call], point: str):
    call, zombie = waiting[f"{point} STOP"], floor.up.pid("worker")
    armed = floor.arm(f"{point} STOP")
    call.approve()
    eventually(lambda: not armed.exists() and is_stopped(zombie), 30, f"the worker stops {point}")
    second = floor.another_worker()
    try:
        took = call.finishes()
        before = call.entries()
        os.kill(zombie, signal.SIGCONT)
        log = floor.state / "log" / "worker.log"
        eventually(lambda: f"session {call.id}" in log.read_text(), 30, "the zombie says that it was too late")
        print(f"{point} STOP: finished by another worker {took:.1f} s after")
        assert call.entries() == before
        assert call.transfer_entries() == ["tool.intended", "tool.intended", "tool.returned"]
        assert call.moved() == [call.dollars]
    finally:
        os.kill(zombie, signal.SIGCONT)
        second.terminate()
        second.wait(30)


def test_afterwards_projections_fold_and_every_export_verifies(floor: Floor, waiting: dict[str, Call]):
    assert {call.view["waiting_for"] for call in waiting.values()} == {"customer"}
    floor.all_is_well()
