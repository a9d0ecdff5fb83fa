"""What assembling a request costs as a conversation grows: for the benchmarks, and for the test that it does not grow.

A conversation in memory, no store and no network: each turn is a question, a call
with its result, and an answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from msgspec import structs

from agentstate.engine import decide as core
from agentstate.engine import model_request
from agentstate.engine.memory.shown import request_bytes
from agentstate.engine.memory.tokens import ESTIMATE
from sessions.agents.registry import Agent
from tests.core import memory_world
from tests.core.memory_world import agent, remembering
from tests.core.worlds import World, proposed


@dataclass(frozen=True)
class Forgetful(World):
    """A world that need not keep its history: ids are fresh by the number of events alone."""

    @property
    def given(self) -> core.CommandContext:
        numbers = count()
        return structs.replace(super().given, new_id=lambda: f"id-{self.state.seq}-{next(numbers)}")


@dataclass(frozen=True)
class Cost:
    """At `turn`: seconds to make a request fit and build it (median of some), its tokens, and bytes of the snapshot."""

    turn: int
    seconds: float
    tokens: int
    snapshot: int


def talk(turns: int, budget: int = 8_000) -> Iterator[tuple[int, World, Agent]]:
    """A conversation, turn by turn. Its history is let go, so that only the state grows, if anything does."""
    of = agent(budget)
    world: World = remembering(Forgetful(), of).after(core.Open("C-1", "team", "bank", "phone"))
    for turn in range(turns):
        world = world.after(core.Say("customer", f"Turn {turn}: is ${turn}.00 there? I want to know.", "customer"))
        world = memory_world.asked(world, of, proposed("load_customer", "state.customer"), text="One moment.")
        world = world.ran(world.call("load_customer"), {"balance": {"minor": turn * 100, "currency": "USD"}})
        world = replace(memory_world.asked(world, of, text=f"Yes, ${turn}.00 is there."), history=())
        yield turn, world, of


def cost_at(turns: int, every: int, budget: int = 8_000) -> list[Cost]:
    """What a request costs after each `every` turns."""
    found = []
    for turn, world, of in talk(turns, budget):
        if (turn + 1) % every == 0:
            found.append(_cost(turn + 1, world.after(core.Say("customer", "And now?", "customer")), of))
    return found


def _cost(turn: int, world: World, of: Agent, times: int = 15) -> Cost:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        ready, request = memory_world.about_to_ask(world, of)
        request_bytes(request)
        model_request.shown(request, "", ready.state, ESTIMATE, of.memory.budget)
        taken.append(time.perf_counter() - began)
    tokens = memory_world.tokens(request, ready.state)
    return Cost(turn, sorted(taken)[times // 2], tokens, memory_world.bytes_of(ready.state))
