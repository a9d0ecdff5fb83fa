"""The hostile model finds each guard that is taken out, within so many answers as the table says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple
from unittest import mock

import pytest

from agentstate.engine import writers
from agentstate.engine.decide import families as counting
from agentstate.engine.decide import verdicts
from agentstate.engine.decide.plans import checking, outputs
from agentstate.engine.guards import kinds
from agentstate.engine.looping.held import Used
from agentstate.engine.plan.check import sources
from tests.adversary import worlds
from tests.adversary.family import Family, Hostile, Unlawful
from tests.searching import FIGURE

pytestmark = pytest.mark.attack
ANSWERS = 40  # of one family


def nothing(*_: Any, **__: Any) -> Any:
    return None


def no_text(*_: Any, **__: Any) -> str:
    return ""


class Guard(NamedTuple):
    """A guard: what is taken out, with what stands in its place; the world, its first family, the oracles that find it,
    and within how many answers.
    """

    out: tuple[tuple[Any, str, Any], ...]
    world: str
    first: int
    oracles: frozenset[str]
    within: int


GUARDS = {
    "R1": Guard(
        ((verdicts, "delegate_of", no_text),), "airline", 0, frozenset({"unasked"}), 2_000,
    ),
    "R2": Guard(
        (
            (writers, "of_words", nothing), (outputs, "of_words", nothing), (writers, "_is_read", nothing),
        ),
        "open", 0, frozenset({"place"}), 3_000,
    ),
    "R3": Guard(((writers, "own_place", nothing),), "planner", 0, frozenset({"diverted"}), 2_000),
    "R4": Guard(
        ((writers, "own_place", nothing), (writers, "_owner", no_text), (writers, "_is_read", nothing)),
        "airline", 0, frozenset({"diverted", "place"}), 2_000,
    ),
    "R5": Guard(
        (
            (sources, "met_by", no_text), (checking, "met_by", no_text),
            (checking, "visible_views", lambda views, *_: views),
        ),
        "planner", 0, frozenset({"private"}), 3_000,
    ),
    "R9": Guard(
        ((counting, "must_have_room", nothing), (counting, "share_of", lambda *_: Used())),
        "planner", 0, frozenset({"budget"}), 3_000,
    ),
    "R11": Guard(((kinds, "misread", no_text),), "open", 0, frozenset({"unasked"}), 1_000),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with worlds.registered():
        yield


def found(guard: Guard) -> tuple[int, Unlawful | None]:
    """How many answers it took until an oracle found something, and what; None: nothing."""
    answers, number = 0, guard.first
    while answers < guard.within:
        world = worlds.WORLDS[guard.world]()
        world.only = guard.oracles
        family = Family(world, f"{guard.world}/{number}", Hostile(f"{guard.world}/{number}"), world.agent)
        try:
            family.live(ANSWERS)
        except Unlawful as unlawful:
            if unlawful.oracle in guard.oracles:
                return answers + family.model.step, unlawful
        answers, number = answers + family.model.step, number + 1
    return answers, None


@pytest.mark.parametrize("name", GUARDS)
def test_with_a_guard_taken_out_the_hostile_model_is_found(name: str, record_property: Any):
    guard = GUARDS[name]
    with ExitStack() as stack:
        for where, what, instead in guard.out:
            stack.enter_context(mock.patch.object(where, what, instead))
        answers, unlawful = found(guard)
    assert unlawful is not None, f"{name}: nothing found in {answers} answers"
    record_property(FIGURE, f"guard of {name} taken out: found by {unlawful.oracle} after {answers} answers")
