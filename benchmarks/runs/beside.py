"""Ours beside LangGraph and DBOS: the same server, the same run, in turns.

Theirs record a function's result and nothing else; ours is the whole product's step, with schema, policy, permits,
encryption, the chain of the ledger and projections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.first import steps
from benchmarks.ground import Ground
from benchmarks.peers.asked import DBOS, LANGGRAPH, Peer
from benchmarks.rounds import Size, interleaved, paired
from benchmarks.rows import Goal, Row, against, times
from benchmarks.runs import growing

Peers = Mapping[str, Peer]
TWICE, HALF_AS_MUCH_AGAIN, FAR = 2.0, 3.5, 25.0  # what a step is to be of LangGraph's: with one session, eight, grown
BATCH = 100  # steps of theirs that are timed together
PAUSE = {1: 0.05, 50: 1.0}  # seconds after which so many workflows of DBOS wait for their decision


def speeds(here: Ground, group: str, size: Size, writers: int, others: Peers) -> list[Row]:
    """Durable steps of so many sessions in this process, against each of the others."""
    cells = {"step": steps.cells(here, writers)["step"]}
    for name, peer in others.items():
        cells[name] = lambda seconds, peer=peer: peer.ask("steps", writers, seconds)  # type: ignore[misc]
    taken = interleaved(cells, size)
    goals = {LANGGRAPH: TWICE if writers == 1 else HALF_AS_MUCH_AGAIN, DBOS: 1.0}
    sessions = f"{writers} session{'s' if writers > 1 else ''}"
    return [
        against(
            group,
            f"durable steps, {sessions}, against {name}",
            median(taken["step"]),
            "1/s",
            median(taken[name]),
            Goal(goals[name], at_least=True),
            str(size),
            paired(taken["step"], taken[name]),
        )
        for name in others
    ]


def grown(here: Ground, group: str, number: int, others: Peers) -> list[Row]:
    """A step at `number` of a thread that appends a message a step, and what is stored of it then."""
    late = median(cost.seconds for cost in growing.Thread(here).grow(number).late)
    _, theirs, stored = others[LANGGRAPH].ask("growing", number, BATCH)
    size = f"{BATCH} steps"
    name = f"steps at {number} of a thread of messages, against {LANGGRAPH}"
    print(f"{LANGGRAPH} stores {stored / 1e6:.2f} MB of that thread")
    return [against(group, name, 1 / late, "1/s", 1 / theirs, Goal(FAR, at_least=True), size)]


def decisions(group: str, what: str, ours: Sequence[float], at_once: int, others: Peers) -> list[Row]:
    """From a decision to the next code, against a workflow of DBOS that waits for its message in its own process."""
    theirs = list[float]()
    while len(theirs) < min(len(ours), 500):
        theirs += others[DBOS].ask("decisions", at_once, PAUSE[at_once])
    return times(group, f"{what}, against {DBOS}", (ours, theirs), {50: 1.0, 99: 1.0})
