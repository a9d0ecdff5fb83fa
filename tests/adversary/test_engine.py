"""A hostile model over the engine: whatever it answers, money, protected places, private values and budgets are as
policy and people allowed. `make test` plays about one family in a hundred, drawn from the commit; `make adversary`
plays all, 200,000 answers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adversary import grammar, worlds
from tests.adversary.family import Family
from tests.attacks.share import commit, is_drawn
from tests.searching import FIGURE

SHARE = int(os.environ.get("ADVERSARY_SHARE", "1"))  # in a hundred
ANSWERS = 40  # of one family
FAMILIES = 1_350  # of each world: 200,000 answers in all, since bounds stop some families early
PARTS = 4  # in which each world is played, so that several processes share it


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with worlds.registered():
        yield


def drawn(world: str, part: int) -> list[str]:
    """The seeds of the families of a part that this run plays."""
    seeds = (str(number) for number in range(part, FAMILIES, PARTS))
    return [seed for seed in seeds if is_drawn(f"{world} {seed}", commit(), SHARE)]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("world", worlds.WORLDS)
def test_a_hostile_model_does_nothing_that_policy_and_people_did_not_allow(world: str, part: int, record_property: Any):
    began, answers = time.process_time(), 0
    for seed in drawn(world, part):
        answers += worlds.played(world, seed, ANSWERS).model.step
    seconds = time.process_time() - began
    record_property(FIGURE, f"hostile model, {world} {part}: {answers} answers, {answers / max(seconds, 0.001):.0f}/s")


@pytest.mark.parametrize("world", ["bank", "planner"])
def test_what_a_model_is_asked_does_not_depend_on_private_values(world: str):
    seeds = [seed for seed in drawn(world, 0) if int(seed) % 2 == 0] or ["0"]
    for seed in seeds[: 4 if SHARE == 1 else 40]:
        one, other = (
            _asked(worlds.played(world, seed, ANSWERS, secret)) for secret in ("p-4711-secret", "q-0815-other?")
        )
        assert one == other, f"{world}/{seed}: a request differs with a private value"


def _asked(family: Family) -> list[Any]:
    """All that the model of a family was asked."""
    return [(each.instructions, each.messages, each.state, each.tools) for each in family.model.asked]


def test_an_answer_follows_from_its_seed_and_its_number():
    seen = grammar.Seen({"remember": {"type": "object", "properties": {"what": {"type": "string"}}}})
    answers = [grammar.answer("7", step, seen) for step in range(300)]
    assert answers == [grammar.answer("7", step, seen) for step in range(300)]
    assert answers != [grammar.answer("8", step, seen) for step in range(300)]


def test_families_reach_what_there_is_to_protect():
    """What a family must have come to for its oracles to mean something."""
    found: set[str] = set()
    for seed in range(15):
        family = worlds.played("planner", str(seed), ANSWERS)
        found |= {type(event).__name__ for session in family.sessions.values() for event, _ in session.log}
        found |= {f"moved {len(family.world.booked)}"} if family.world.booked else set()
    wanted = {"RequestEnded", "CallRefused", "TaskTaken", "StateChanged", "ToolFailed", "SessionTakenOver", "moved 1"}
    assert wanted <= found
