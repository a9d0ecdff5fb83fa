"""States that stand for deleted entries: what is refused, and that every later program reads them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.refusals import SessionOver
from agentstate.engine.decide.sealing import OthersInIt
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.worlds import World

VECTORS = Path(__file__).parent.parent / "vectors"
_encoder = msgspec.json.Encoder(decimal_format="number")


def prune(upto: int) -> core.PruneHistory:
    return core.PruneHistory(upto, "0" * 64, "0123456789abcdef", "month", "2026-01-31T00:00:00.000000Z")


def history() -> Any:
    """The events of a long session, as they were stored. A state that was recorded before calls kept what they have
    counted for the day has nothing of it: `state.grants.set_going` takes that as counted.
    """
    stored = json.loads((VECTORS / "context-1.json").read_bytes(), parse_float=Decimal)
    state = fold((ev.decode(_encoder.encode(event)), at) for event, at in stored["events"])
    calls = {key: msgspec.structs.replace(call, counted=("", "")) for key, call in state.calls.items()}
    return msgspec.structs.replace(state, calls=calls)


def test_a_recorded_state_is_what_its_entries_amount_to_in_every_later_program():
    """Its entries are gone, so it cannot be folded anew. Whoever gives the state a field that follows from events of
    old must carry recorded states over where they are read (sessions.core.recorded), and change this file last.
    """
    assert from_snapshot((VECTORS / "recorded-1.json").read_bytes()) == history()


def test_the_state_and_what_it_stands_for_are_told_in_one_commit_and_change_nothing():
    world = worlds.waiting()
    after = world.after(prune(3))
    recorded, pruned = (event for event, _ in after.history[-2:])
    assert isinstance(recorded, ev.SnapshotRecorded)
    assert isinstance(pruned, ev.PayloadPruned)
    assert (recorded.upto, pruned.ranges) == (3, (ev.Span(0, 2),))
    assert msgspec.structs.replace(after.state, seq=world.state.seq) == world.state


@pytest.mark.parametrize("upto", [0, -1, 10_000])
def test_no_more_entries_than_there_are_can_be_stood_for(upto: int):
    with pytest.raises(Invalid):
        worlds.waiting().after(prune(upto))


def test_a_session_that_has_ended_is_pruned_as_a_whole_instead():
    over: World = worlds.waiting().after(core.End("solved", "user:ann"))
    with pytest.raises(SessionOver):
        over.after(prune(1))


def test_a_state_that_knows_something_of_others_stands_for_nothing():
    world = worlds.waiting()
    plans = msgspec.structs.replace(world.state.plans, erased=("k-1",))
    state = msgspec.structs.replace(world.state, plans=plans)
    with pytest.raises(OthersInIt):
        core.decide(prune(1), state, world.given)


def test_a_recorded_state_survives_being_written_and_read():
    assert to_snapshot(from_snapshot((VECTORS / "recorded-1.json").read_bytes())) == to_snapshot(history())
