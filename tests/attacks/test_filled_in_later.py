"""Attacks by a model that fills in the references of a plan after its approval. On the engine alone."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.commands.plans import ProposePlan
from tests.core import worlds
from tests.core.family_world import HANDS_OVER
from tests.core.worlds import World

STRANGER = "9999999999"
BY_MODEL = ev.Answered("model", "digest")
TIER_2 = tuple(
    worlds.pol.Rule(tool, (tool,), "true", 2, "approve", "A person decides.") for tool in ("plan", "transfer")
)


def step(name: str, tool: str, path: str = "", **more: Any) -> dict[str, Any]:
    return {"_id": name, "_tool": tool, **({"_outputPath": path} if path else {}), **more}


SORTED = step("sort", "authorize", "state.complaint", customer="C-1")


def pays(payee: str) -> dict[str, Any]:
    return step("pay", "transfer", "state.receipt", to_account=payee, amount={"minor": 900, "currency": "USD"})


def approved(*calls: dict[str, Any]) -> World:
    """A plan that sue approved as a whole."""
    world = worlds.opened().with_rules(*TIER_2, HANDS_OVER).after(ProposePlan(calls, "user:pat"))
    return world.after(worlds.decision(world, "approve", "sue"), core.Begin(world.state.plans.proposed))


def key(world: World, name: str) -> str:
    return f"{world.state.plans.round}.{name}"


def fills(world: World, name: str, result: Any) -> World:
    """A model answers the call."""
    return world.after(core.Begin(key(world, name)), core.Return(key(world, name), 1, result, answered=BY_MODEL))


def is_asked(world: World, name: str = "pay") -> None:
    world = world.after(core.Begin(key(world, name)))
    assert world.request.asked.arguments["to_account"] == STRANGER
    assert not [each for each in world.events(ev.ToolIntended) if each.tool == "transfer"]


def test_r10_the_payee_that_a_model_fills_in_is_shown_to_a_person():
    is_asked(fills(approved(SORTED, pays("†state.complaint.summary")), "sort", {"summary": STRANGER}))


def test_r10_a_payee_that_a_tool_copied_from_the_models_answer_is_shown_to_a_person():
    copied = step("copy", "load_customer", "state.copy", customer="†state.complaint.summary")
    world = fills(approved(SORTED, copied, pays("†state.copy.id")), "sort", {"summary": STRANGER})
    is_asked(world.after(core.Begin(key(world, "copy")), core.Return(key(world, "copy"), 1, {"id": STRANGER})))


@pytest.mark.parametrize("depth", ["output", "state.payee"])
def test_r10_a_payee_from_a_delegate_is_shown_to_a_person(depth):
    handed = step("ask", "load_customer", "state.answer", customer="C-1", _delegate="anonymous")
    world = approved(handed, pays(f"†state.answer.{depth}"))
    world = world.after(core.Begin(key(world, "ask")), core.Delegated(key(world, "ask"), "child"))
    result = {"session": "child", "output": STRANGER, "state": {"payee": STRANGER}}
    is_asked(world.after(core.Return(key(world, "ask"), 1, result)))
