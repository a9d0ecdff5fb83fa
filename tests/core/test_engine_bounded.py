"""The cost of a session does not grow with its history: after 10,000 events its state is as small as after 1,000."""

from __future__ import annotations

from dataclasses import replace

from agentstate.engine import decide as core
from agentstate.engine.looping.settings import Looping
from agentstate.engine.state.calls import KEPT_CALLS
from agentstate.engine.state.snapshot import to_snapshot
from tests.core import worlds
from tests.core.worlds import AUTHORIZE, World, transfer

EVENTS = 10_000


def talked(world: World, speaker: str, turn: int) -> World:
    """One more turn: words, a look-up, a transfer that a person approves or rejects, an answer, rest."""
    world = world.after(core.Say(speaker, f"Transfer number {turn:05}, please.", speaker))  # type: ignore[arg-type]
    world = world.asked(AUTHORIZE, transfer(60_000 + turn % 7))
    world = world.ran(world.call("authorize"), {"allowed": True})
    for request in worlds.pending(world.state):
        world = world.after(worlds.decision(world, "reject" if turn % 5 == 0 else "approve", "sue"))
        call = world.state.calls[request.asked.call]
        if turn % 5:
            world = world.ran(call, {"receipt": "r"})
    return world.asked(text="Done.").after(core.Rest("customer"))


def sizes(speaker: str) -> list[int]:
    """Bytes of the snapshot about every 1,000 events."""
    world, measured, turn = replace(worlds.authorized(), loop=Looping(refusals=0)), [], 10_000
    while len(world.history) < EVENTS:
        world, turn = talked(world, speaker, turn), turn + 1
        if len(world.history) // 1000 > len(measured):
            measured.append(len(to_snapshot(world.state)))
    assert len(world.state.calls) <= KEPT_CALLS + 2
    assert len(world.state.requests) <= KEPT_CALLS
    return measured


def test_the_snapshot_stays_flat_over_ten_thousand_events():
    measured = sizes("customer")
    assert len(measured) >= 9
    assert max(measured[1:]) < min(measured[1:]) * 1.1
    assert max(measured) < 120_000


def test_it_is_bounded_though_no_customer_ever_speaks():
    measured = sizes("note")
    assert max(measured[1:]) < min(measured[1:]) * 2.5
    assert measured[-1] < measured[1] * 2.5
