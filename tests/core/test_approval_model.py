"""The approval model check: every order of moves up to a depth from several starts, and long random walks.

`approval_alphabet.py` names the moves, `approval_oracle.py` the laws. With a mend taken out the check must find it.
With FULL=1 one move deeper, 500,000 random steps, and each mend is looked for with the whole alphabet.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from typing import Any

import msgspec
import pytest
from msgspec import structs

from agentstate.engine import advance
from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide import (
    approvals,
    calls,
    charts,
    forks,
    permits,
    plans,
    reviewing,
    schema,
    tasks,
    withdrawals,
)
from agentstate.engine.decide.plans import calls as plan_calls
from agentstate.engine.decide.plans import force, wishes
from agentstate.engine.handlers import command_handler, event_handler
from agentstate.engine.state import forks as folded_forks
from agentstate.engine.state import plans as plan_events
from agentstate.engine.state import rollback
from agentstate.engine.state.rounds import place_of
from agentstate.engine.state.session import Call, SessionState
from agentstate.errors import Refused
from tests.core.approval_alphabet import MOVES, path
from tests.core.approval_moves import Move
from tests.core.approval_oracle import judge
from tests.core.approval_policy import IDLE, WINDOW, WINDOWED
from tests.core.approval_system import Delegation, System
from tests.core.laws import Unlawful
from tests.searching import FIGURE, FULL

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
    "a plan for two customers is approved": path(
        "sue proposes it for x and for another customer", "zoe approves", "the worker begins", "a call returns",
        "the worker begins",
    ),
    "the customer is awaited": path("the agent answers"),
}  # fmt: skip


MISSED: dict[str, System] = {
    "sue has written what a plan of the agent reads": path(
        "the agent proposes check, then pay", "zoe approves", "the worker begins", "a call returns",
        "sue changes what the plan reads",
    ),
    "a patient transfer failed long ago": path(
        "a newer transfer is deployed", "the agent proposes a large transfer", "ann approves", "the worker begins",
        "a call fails", "ten minutes pass",
    ),
    **STARTS,
    "a failed transfer was tried again": path(
        "the agent proposes a small transfer", "the worker begins", "a call fails", "the worker begins", "a call fails",
        "ann retries", "the worker begins", "a call returns",
    ),
    "a transfer is approved in the chart's window": path(
        "the agent proposes a large transfer", "ann approves", made=WINDOWED
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
    "a transfer to a stranger waits, dan may decide it": path(
        "the agent proposes a transfer to a stranger", "zoe delegates to dan, or not any more"
    ),
    "a person's transfer waits": path("zoe proposes a transfer"),
    "the transfer of a lender waits, whose borrower lends to dan": dataclass_replace(
        path("zoe proposes a transfer"),
        delegations=(Delegation("user:zoe", "user:bob"), Delegation("user:bob", "user:dan")),
    ),
    "a transfer for another customer waits": path(
        "sue proposes it for x and for another customer", "zoe approves", "the worker begins", "a call returns",
        "the worker begins", "a call returns", "a newer transfer is deployed", "the worker begins",
        "the worker begins",
    ),
    "a fork whose parent has moved money": path(
        "forked", "the agent proposes a large transfer", "ann approves", "the worker begins", "a call returns",
        "the agent proposes a large transfer", "ann approves", "the worker begins", "a call returns",
    ),
}  # fmt: skip


def known(system: System) -> bytes:
    """By what two systems are told apart."""
    around = [
        [tool.version for tool in system.tools.values()],
        len(system.schemas.versions),
        [each.reference for each in system.charts],
        sorted(name for name, may in system.rights.items() if may),
        sorted((each.giver, each.receiver) for each in system.delegated(system.seconds)),
        sorted(system.halt.tools),
        system.seconds // WINDOW,
    ]
    return msgspec.json.encode([[held.essence for held in system.sessions.values()], around])


def explored(start: System, depth: int, moves: Mapping[str, Move] = MOVES) -> Iterator[tuple[str, ...]]:
    """Every path of `depth` moves, each judged; a refused move leads nowhere. Raises Unlawful."""
    layer = {known(start): (start, ())}
    for left in reversed(range(depth)):
        following: dict[bytes, tuple[System, tuple[str, ...]]] = {}
        for here, told in layer.values():
            for name, move in moves.items():
                try:
                    then = move(here)
                except Refused:
                    continue
                check(here, then, (*told, name))
                yield (*told, name)
                if left:
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


def test_no_order_of_moves_breaks_a_law(record_property: Callable[[str, object], None]):
    count = 0
    for name, start in STARTS.items():
        try:
            found = sum(1 for _ in explored(start, DEPTH))
        except Exception as broken:
            broken.add_note(f"from: {name}")
            raise
        assert found > len(MOVES) // 4
        count += found
    record_property(
        FIGURE, f"approval model: {len(MOVES)} moves, {len(STARTS)} starts, all {count:,} orders of up to {DEPTH} moves"
    )


@pytest.mark.parametrize("seed", range(2))
def test_no_random_walk_breaks_a_law(seed: int, record_property: Callable[[str, object], None]):
    taken = walked(seed, STEPS // 2)
    assert taken >= STEPS // 2
    record_property(FIGURE, f"approval model: {taken:,} random steps of {len(MOVES)} moves, seed {seed}")


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


def _still_allowing(state: SessionState, event: str, why: str) -> ev.ChartMoved:
    """As it was once: a chart that is stopped allows for ever what it allowed until a timer."""
    assert state.chart.inside is not None
    return ev.ChartMoved(
        state.chart.inside.chart, event, ev.Shift(), state.chart.inside, tools=state.chart.tools, stopped=why
    )


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
_WHY_LEFT_OUT = reviewing.why_left_out


def _without_the_lenders_colleagues(by: str, authority: core.Authority, *more: Any) -> str:
    return _WHY_LEFT_OUT(by, structs.replace(authority, shares=frozenset()), *more)


TAKEN_OUT = {
    "C2": Mend(
        approvals,
        "edit_approves",
        lambda *_: True,
        "a large transfer waits",
        ("ann edits the payee", "the worker begins"),
        (permits, "asks_more", lambda *_: False),
    ),
    "C4": Mend(
        reviewing,
        "had_a_part",
        lambda *_: {},
        "nothing yet",
        ("zoe proposes a transfer", "zoe approves", "the worker begins"),
    ),
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
        event_handler.by_type,
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
    "C4, by a value": Mend(
        plan_events,
        "authors_of_inputs",
        lambda *_: (),
        "sue has written what a plan of the agent reads",
        ("the worker begins", "sue approves"),
        (plan_calls, "authors_of_inputs", lambda *_: ()),
    ),
    "M7, after the total time": Mend(
        calls,
        "_retries_over",
        lambda *_: "",
        "a patient transfer failed long ago",
        ("the worker begins", "a call fails"),
    ),
    "P3": Mend(
        tasks,
        "because_of_parent",
        lambda *_: None,
        "a delegate's plan is approved",
        ("the session is cancelled", *HANDED),
    ),
    "P8": Mend(
        rollback,
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
    "Q4": Mend(
        calls,
        "overdue",
        lambda *_: [],
        "in the chart's window",
        ("ann approves", "ten minutes pass", "the worker begins"),
    ),
    "Q6": Mend(
        folded_forks,
        "remembering",
        lambda state, _: state,
        "a fork whose parent has moved money",
        ("the fork is promoted", "in the fork the agent proposes a small transfer", "the worker begins in the fork"),
    ),
    "a right that is lent on": Mend(
        reviewing,
        "why_left_out",
        _without_the_lenders_colleagues,
        "the transfer of a lender waits, whose borrower lends to dan",
        ("dan approves", "the worker begins"),
    ),
    "the end of a delegation": Mend(
        permits,
        "lost_right",
        lambda *_: False,
        "a transfer to a stranger waits, dan may decide it",
        ("dan approves", "zoe delegates to dan, or not any more", "the worker begins"),
    ),
    "a schema under a plan": Mend(
        schema,
        "_is_under_way",
        lambda _: False,
        "a person's transfer waits",
        ("sue approves", "a newer schema is deployed", "the worker begins"),
    ),
    "values that were shown": Mend(
        permits,
        "_now",
        lambda _state, call, *_: call.approved,
        "a large transfer is approved",
        ("sue changes what the plan reads", "the worker begins"),
    ),
    "another customer's erasure": Mend(
        wishes,
        "calls_withdrawn",
        lambda *_, **__: [],
        "a transfer for another customer waits",
        ("zoe approves", "the other customer is erased"),
    ),
    "a session's timer": Mend(
        advance, "_first", lambda _, until="": until, "the customer is awaited", ("sue sets a reminder",)
    ),
    "a session that expires": Mend(
        command_handler.by_type,
        core.ExpireSession,
        lambda *_: [ev.SessionExpired(IDLE)],
        "the customer is awaited",
        ("zoe proposes a transfer", "ten minutes pass", "the worker begins"),
        (advance, "pending", lambda _: []),
    ),
    "a chart that is stopped": Mend(
        charts,
        "_stopped",
        _still_allowing,
        "a transfer is approved in the chart's window",
        ("a newer chart takes the place of the older", "ten minutes pass", "the worker begins"),
    ),
}


@pytest.mark.parametrize("mend", TAKEN_OUT)
def test_with_a_mend_taken_out_the_check_finds_it(mend: str, monkeypatch: pytest.MonkeyPatch):
    out = TAKEN_OUT[mend]
    few = {name: MOVES[name] for name in out.moves}
    for _ in explored(MISSED[out.start], 3, few):
        pass  # with it nothing is found there
    if isinstance(out.where, dict):
        monkeypatch.setitem(out.where, out.name, out.instead)
    else:
        monkeypatch.setattr(out.where, out.name, out.instead)
    if out.beside is not None:
        monkeypatch.setattr(*out.beside)
    with pytest.raises(Unlawful):
        for _ in explored(MISSED[out.start], 3, MOVES if FULL else few):
            pass
