"""The approval model check: every order of moves up to a depth from several starts, and long random walks.

`approval_system.py` is the alphabet, `approval_oracle.py` the laws. With a mend taken out the check must find it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from msgspec import structs

from agentstate.engine import events as ev
from agentstate.engine import state as folding
from agentstate.engine.decide import forks, plans, tasks, withdrawals
from agentstate.engine.decide.plans import calls as plan_calls
from agentstate.engine.decide.plans import force
from agentstate.engine.state import Call, SessionState, put_back
from agentstate.engine.state import forks as folded_forks
from agentstate.engine.state import plans as plan_events
from agentstate.engine.state.rounds import place_of
from agentstate.errors import Refused
from tests.core.approval_oracle import judge
from tests.core.approval_system import MOVES, WINDOWED, Move, System, path
from tests.core.laws import Unlawful
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


MISSED: dict[str, System] = {
    **STARTS,
    "a failed transfer was tried again": path(
        "the agent proposes a small transfer", "the worker begins", "a call fails", "the worker begins", "a call fails",
        "ann retries", "the worker begins", "a call returns",
    ),
    "a call of a plan is approved by itself": path(
        "sue proposes check, then pay", "zoe approves", "the worker begins", "a call returns",
        "sue changes what the plan reads", "the worker begins", "zoe approves",
        "transfers are stopped, or not any more",
    ),
    "a delegate's plan is approved": path(
        "the agent hands a task over", "ann approves", "the worker begins", "ann approves"
    ),
    "a plan in a fork is approved": path("forked", "in the fork a task is handed over", "ann approves"),
    "a fork beside a delegate": path(
        "forked", "the agent hands a task over", "ann approves", "the worker begins", "ann approves"
    ),
    "a fork whose parent has moved money": path(
        "forked", "the agent proposes a large transfer", "ann approves", "the worker begins", "a call returns",
        "the agent proposes a large transfer", "ann approves", "the worker begins", "a call returns",
    ),
}  # fmt: skip


def known(system: System) -> bytes:
    """By what two systems are told apart."""
    parts = [essence(held.state) for held in system.sessions.values()]
    versions = [tool.version for tool in system.tools.values()]
    rights = sorted(name for name, may in system.rights.items() if may)
    return msgspec.json.encode([[part.decode() for part in parts], versions, rights, sorted(system.halt.tools)])


def explored(start: System, depth: int, moves: Mapping[str, Move] = MOVES) -> Iterator[tuple[str, ...]]:
    """Every path of `depth` moves, each judged; a refused move leads nowhere. Raises Unlawful."""
    layer = {known(start): (start, ())}
    for _ in range(depth):
        following: dict[bytes, tuple[System, tuple[str, ...]]] = {}
        for here, told in layer.values():
            for name, move in moves.items():
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


def _in_force_at_once(state: SessionState, event: ev.InstanceProposed, at: str) -> SessionState:
    """As it was once: what a proposed plan offers to an instance counts at once, whatever becomes of the plan."""
    state = plan_events.instance_proposed(state, event, at)
    part = structs.replace(state.plans.instances[event.instance], inputs=event.inputs)
    instances = {**state.plans.instances, event.instance: part}
    return structs.replace(state, plans=structs.replace(state.plans, instances=instances))


def _whatever_it_reads(state: SessionState, call: Call, *_: object) -> plan_calls.Covering:
    """As it was once: an approval of a plan covers a call that is written as it was."""
    approval, place = state.plans.approved, place_of(state.plans, call.id)
    return plan_calls.Covering(approval.request if approval and place and place[0] in approval.calls else "")


def _ended_without_a_word(state: SessionState, because: str = "another plan took its place") -> list[ev.AnyEvent]:
    """As it was once: another plan ends the round, and says nothing of what was approved in it."""
    return [withdrawals.end_of(state, because)] if state.plans.is_open else []


@dataclass(frozen=True)
class Mend:
    """How a mend is taken out: where, which name, what stands there instead; the start, and the moves that show it.
    `beside`: another guard of the same, that is taken out with it.
    """

    where: Any
    name: Any
    instead: Any
    start: str
    moves: tuple[str, ...]
    beside: tuple[Any, str, Any] | None = None


HANDED = ("the worker begins in the delegate", "ann approves")
TAKEN_OUT = {
    "H7": Mend(
        withdrawals, "calls_withdrawn", lambda *_, **__: [], "a large transfer is approved", ("the customer hangs up",)
    ),
    "API 1": Mend(
        force,
        "closed",
        _ended_without_a_word,
        "a call of a plan is approved by itself",
        ("ann hands over another plan instead", "zoe approves", "the worker begins"),
    ),
    "P1": Mend(
        folding._CHANGES,
        ev.InstanceProposed,
        _in_force_at_once,
        "a plan for an instance is approved",
        ("sue proposes it for x, another account, instead", "the worker begins"),
        (plans, "covering", _whatever_it_reads),
    ),
    "P2": Mend(
        plans,
        "covering",
        _whatever_it_reads,
        "a plan is under way",
        ("sue changes what the plan reads", "the worker begins"),
    ),
    "P3": Mend(
        tasks,
        "because_of_parent",
        lambda *_: None,
        "a delegate's plan is approved",
        ("the session is cancelled", *HANDED),
    ),
    "P8": Mend(
        put_back,
        "_settled",
        lambda call, *_: call,
        "a failed transfer was tried again",
        ("rolled back to before the retry", "ann retries", "the worker begins"),
    ),
    "Q1": Mend(
        forks,
        "_is_handed_over",
        lambda *_: False,
        "a plan in a fork is approved",
        ("the worker begins in the fork", *HANDED),
    ),
    "Q2": Mend(
        tasks, "because_of_parent", lambda *_: None, "a fork beside a delegate", ("the fork is promoted", *HANDED)
    ),
    "Q6": Mend(
        folded_forks,
        "remembering",
        lambda state, _: state,
        "a fork whose parent has moved money",
        ("the fork is promoted", "in the fork the agent proposes a small transfer", "the worker begins in the fork"),
    ),
}


@pytest.mark.parametrize("mend", TAKEN_OUT)
def test_with_a_mend_taken_out_the_check_finds_it(mend: str, monkeypatch: pytest.MonkeyPatch):
    out = TAKEN_OUT[mend]
    moves = MOVES if FULL else {name: MOVES[name] for name in out.moves}
    for _ in explored(MISSED[out.start], 3, moves):
        pass  # with it nothing is found there
    if isinstance(out.where, dict):
        monkeypatch.setitem(out.where, out.name, out.instead)
    else:
        monkeypatch.setattr(out.where, out.name, out.instead)
    if out.beside is not None:
        monkeypatch.setattr(*out.beside)
    with pytest.raises(Unlawful):
        for _ in explored(MISSED[out.start], 3, moves):
            pass
