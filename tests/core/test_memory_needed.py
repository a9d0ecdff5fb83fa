"""What gives way last: calls that the scratchpad speaks of, or whose outputs the plan has still to read."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.memory.held import Memory
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.scene import Scene
from agentstate.engine.memory.tokens import ESTIMATE
from agentstate.engine.plan import model
from agentstate.engine.plan.rounds import Outcome

MADE = (
    ItemCall("load", "load_customer", {}, "state.customer"),
    ItemCall("check", "authorize", {"_outputPath": "state.check || state.problem"}),
    ItemCall("other", "transfer", {}, "state.other"),
    ItemCall("odd", "transfer", {}, "no path at all"),
)
ITEMS = (Item(0, "agent", "", "model", calls=MADE),)


def referred(*calls: dict[str, Any], pad: dict[str, Any] | None = None, **outcomes: Outcome) -> set[str]:
    planned = model.read(list(calls)).calls
    memory = (Memory(), Remembering(), ESTIMATE, "2026-11-21T03:00:00.000000Z")
    return set(Scene(ITEMS, *memory, pad=pad or {}, planned=planned, outcomes=outcomes).referred)


@pytest.mark.parametrize(
    ("call", "needed"),
    [
        ({"_tool": "tell", "name": "†state.customer.name"}, {"load"}),
        ({"_tool": "tell", "deep": [{"why": "†state.problem.error || state.nowhere"}]}, {"check"}),
        ({"_tool": "tell", "_when": "state.other.id == 'R-1'"}, {"other"}),
        ({"_tool": "tell", "name": "†input.customer"}, set()),
        ({"_tool": "tell", "name": "†state.custom"}, set()),
    ],
)
def test_a_call_whose_output_the_plan_has_still_to_read_is_needed(call, needed):
    assert referred(call) == needed
    assert referred({**call, "_id": "done"}, done=Outcome("done")) == set()


def test_a_call_that_the_scratchpad_speaks_of_is_needed_and_what_is_above_an_output_reads_it():
    assert referred(pad={"note": ["load"]}) == {"load"}
    deep = (Item(0, "agent", "", "model", calls=(ItemCall("deep", "tell", {}, "state.a.b.c"),)),)
    planned = model.read([{"_tool": "tell", "all": "†state.a"}]).calls
    scene = Scene(deep, Memory(), Remembering(), ESTIMATE, "", planned=planned)
    assert scene.referred == {"deep"}
