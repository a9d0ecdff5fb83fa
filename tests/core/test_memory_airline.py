"""140 recorded runs of a real model at an airline's service desk as sessions: all fold, each request fits its budget.

The recordings lie outside of the project; where they are absent this is skipped, loudly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.memory.context import WAITING
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from sessions.agents.registry import Agent
from tests.core.laws import told_well
from tests.core.memory_world import LAWS, about_to_ask, agent, asked, remembering, tokens
from tests.core.worlds import World, facts
from tests.shared_data import shared_data

FREE = pol.Policy("free", 1, (pol.Rule("all", ("*",), "true", 0, "allow", "Recorded."),))


@cache
def runs() -> list[dict[str, Any]]:
    return json.loads(shared_data("tau-airline", "trajectories.json").read_bytes())


def steps(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What was said and done, without the words that the service desk was set up with."""
    yield from (message for message in run["traj"] if message["role"] != "system")


def replayed(run: dict[str, Any], of: Agent, *, lawful: bool) -> tuple[World, int]:
    """The run as a session of `of`, with its largest request in tokens. What the model said then it says again."""
    names = {call["function"]["name"] for step in steps(run) for call in step.get("tool_calls") or ()}
    world = World(policy=FREE, tools={name: facts(name, "pure") for name in names})
    world = remembering(world, of).after(core.Open("C-1", "team", "airline", "chat"))
    largest = 0
    for step in steps(run):
        if step["role"] == "user":
            world = world.after(core.Say("customer", step["content"], "customer"))
        elif step["role"] == "tool":
            world = world.ran(
                next(iter(world.state.calls[key] for key in reversed(world.state.calls))), step["content"]
            )
        else:
            ready, request = about_to_ask(world, of)
            largest = max(largest, tokens(request, ready.state))
            told_well(request.messages)
            world = asked(ready, of, *proposed(step), text=step["content"] or "")
        for law in LAWS if lawful else ():
            law(world)
    return world, largest


def proposed(step: dict[str, Any]) -> tuple[ev.CallProposed, ...]:
    calls = [call["function"] for call in step.get("tool_calls") or ()]
    return tuple(ev.CallProposed("c", call["name"], json.loads(call["arguments"])) for call in calls)


def folds(world: World) -> bool:
    stored = [(ev.decode(ev.encode(event)), at) for event, at in world.history]
    half = len(stored) // 2
    state = fold(stored)
    return state == world.state == fold(stored[half:], fold(stored[:half])) == from_snapshot(to_snapshot(state))


def test_every_run_folds_and_every_request_obeys_eight_thousand_tokens():
    largest = 0
    for run in runs():
        world, size = replayed(run, agent(8_000), lawful=False)
        assert size <= 8_000
        assert folds(world)
        largest = max(largest, size)
    assert largest > 4_000  # the budget is no wide coat


def test_every_run_folds_and_every_request_obeys_one_thousand_tokens():
    summaries = 0
    for run in runs():
        world, size = replayed(run, agent(1_000), lawful=False)
        assert size <= 1_000
        assert folds(world)
        summaries += len(world.events(ev.SummaryMade))
    assert summaries > len(runs())


@pytest.mark.parametrize("budget", [1_000, 8_000])
def test_all_laws_hold_after_every_step(budget: int):
    for run in runs()[::10]:
        world, _ = replayed(run, agent(budget), lawful=True)
        assert WAITING not in {item.text for item in world.state.items}
