"""The approval model check: every order of moves up to a depth from several starts, and long random walks.

`approval_system.py` is the alphabet, `approval_oracle.py` the laws. With a mend taken out the check must find it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import msgspec
import pytest

from agentstate.errors import Refused
from tests.core.approval_oracle import judge
from tests.core.approval_system import MOVES, WINDOWED, System, path
from tests.core.test_engine_explorer import essence

FULL = bool(os.environ.get("FULL"))
DEPTH = 3 if FULL else 2
STEPS = 500_000 if FULL else 4_000
LENGTH = 40  # moves of one walk

STARTS: dict[str, System] = {
    "nothing yet": path(),
    "a large transfer waits": path("the agent proposes a large transfer"),
    "a large transfer is approved": path("the agent proposes a large transfer", "ann approves"),
    "a plan is under way": path(
        "sue proposes check, then pay", "zoe approves", "the worker begins", "a call returns"
    ),
    "a plan for an instance is approved": path(
        "sue proposes it for x, own account", "zoe approves", "the worker begins", "a call returns"
    ),
    "a delegate waits for a person": path(
        "the agent hands a task over", "ann approves", "the worker begins"
    ),
    "a letter of which nobody knows": path(
        "the agent proposes a letter", "ann approves", "the worker begins", "a worker died, another begins"
    ),
    "a transfer failed": path(
        "the agent proposes a large transfer", "ann approves", "the worker begins", "a call fails", "the worker begins",
        "a call fails",
    ),
    "a fork beside its parent": path("the agent proposes a large transfer", "forked"),
    "in the chart's window": path("the agent proposes a large transfer", made=WINDOWED),
}  # fmt: skip


def known(system: System) -> bytes:
    """By what two systems are told apart."""
    parts = [essence(held.state) for held in system.sessions.values()]
    versions = [tool.version for tool in system.tools.values()]
    rights = sorted(name for name, may in system.rights.items() if may)
    return msgspec.json.encode([[part.decode() for part in parts], versions, rights, sorted(system.halt.tools)])


def explored(start: System, depth: int) -> Iterator[tuple[str, ...]]:
    """Every path of `depth` moves, each judged; a refused move leads nowhere. Raises Unlawful."""
    layer = {known(start): (start, ())}
    for _ in range(depth):
        following: dict[bytes, tuple[System, tuple[str, ...]]] = {}
        for here, told in layer.values():
            for name, move in MOVES.items():
                try:
                    then = move(here)
                except Refused:
                    continue
                check(here, then, (*told, name))
                yield (*told, name)
                following.setdefault(known(then), (then, (*told, name)))
        layer = following


def check(here: System, then: System, told: tuple[str, ...]) -> None:
    """Raises Unlawful, with the moves that led there."""
    try:
        judge(here, then)
    except Exception as broken:
        broken.add_note(" -> ".join(told))
        raise


def walked(seed: int, steps: int) -> int:
    """Random walks from all starts until so many moves were possible; gives how many."""
    chance, taken, starts = random.Random(seed), 0, list(STARTS.values())
    names = list(MOVES)
    while taken < steps:
        here, told = chance.choice(starts), tuple[str, ...]()
        for _ in range(LENGTH):
            name = chance.choice(names)
            try:
                then = MOVES[name](here)
            except Refused:
                continue
            told += (name,)
            check(here, then, told)
            here, taken = then, taken + 1
    return taken


@pytest.mark.parametrize("start", STARTS)
def test_no_order_of_moves_breaks_a_law(start: str):
    assert sum(1 for _ in explored(STARTS[start], DEPTH)) > len(MOVES) // 4


@pytest.mark.parametrize("seed", range(2))
def test_no_random_walk_breaks_a_law(seed: int):
    assert walked(seed, STEPS // 2) >= STEPS // 2
