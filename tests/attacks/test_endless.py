"""Attacks by a model that never ends, with the bounds of the shipped bank. On the engine alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.offers import tools_in
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.looping.settings import Looping
from demo.bank_agent.agent import BANK
from tests.core import worlds
from tests.core.worlds import proposed

MOST = 200  # answers of the model that are tried
Calls = Callable[[int, int], ev.CallProposed]


@dataclass(frozen=True)
class Bounded(worlds.World):
    """A session with the bounds of the shipped bank."""

    loop: Looping = field(default_factory=lambda: BANK.loop)

    @property
    def given(self) -> core.CommandContext:
        return core.CommandContext(**{**_fields(super().given), "loop": self.loop})


def _fields(given: core.CommandContext) -> dict[str, Any]:
    return {name: getattr(given, name) for name in given.__struct_fields__}


def opened() -> Bounded:
    free = worlds.pol.Rule("free", ("*",), "true", 0, "allow", "It reads.")
    return Bounded(policy=worlds.pol.Policy("free", 1, (free,))).after(  # type: ignore[return-value]
        core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Hello.", "customer")
    )


def endless(world: Any, call: Calls, width: int) -> Any:
    """The model answers with these calls, and everything returns, until the run is stopped."""
    for turn in range(MOST):
        world = world.after(core.Notice())
        world = world.after(core.Ask(f"{turn}", "model", 0, 0, tools_in(world.given), "digest"))
        if world.state.failure:
            return world
        calls = tuple(under(call(turn, number), f"call-{number}") for number in range(width))
        world = world.after(core.Answer(f"{turn}", "model", "", calls, input_tokens=10, output_tokens=10))
        for each in [each for each in world.state.calls.values() if each.status is CallStatus.READY]:
            world = world.ran(each, {"turn": turn})
    return world


def under(call: ev.CallProposed, key: str) -> ev.CallProposed:
    return ev.CallProposed(key, call.tool, call.arguments, call.output_path)


def test_r19_one_tool_with_new_words_for_ever_is_stopped():
    world = endless(opened(), lambda turn, number: proposed("load_customer", customer=f"{turn}-{number}"), 16)
    (stopped,) = world.events(ev.RunStopped)
    assert len(world.events(ev.ToolIntended)) <= 64 + 16
    assert stopped.code in ("circle", "calls")


def test_r19_one_call_an_answer_with_new_words_is_stopped_before_the_bound_of_requests():
    wide = dataclasses.replace(opened(), loop=Looping(run=BANK.loop.session, session=BANK.loop.session))
    world = endless(wide, lambda turn, number: proposed("load_customer", customer=f"{turn}"), 1)
    assert [each.code for each in world.events(ev.RunStopped)] == ["circle"]
    assert len(world.events(ev.ToolIntended)) == BANK.loop.same_tool + 1


def test_r19_tools_by_turns_with_new_words_are_stopped():
    tools = ("load_customer", "authorize", "post_letter")
    world = endless(opened(), lambda turn, number: proposed(tools[number % 3], customer=f"{turn}-{number}"), 12)
    assert [each.code for each in world.events(ev.RunStopped)] == ["calls"]
    assert len(world.events(ev.ToolIntended)) <= 64 + 12


def test_r19_a_session_ends_its_runs_however_often_the_customer_speaks():
    world = opened()
    for turn in range(MOST):
        world = endless(world, lambda turn, number: proposed("load_customer", customer=f"{turn}-{number}"), 16)
        if world.events(ev.RunStopped)[-1].of == "session":
            break
        world = world.after(core.Say("customer", f"Go on, {turn}.", "customer"))
    assert world.events(ev.RunStopped)[-1].of == "session"
