"""Laws of a model's answer: whatever it holds is recorded, and nothing that was not offered comes into a plan."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import demo.bank_agent.agent  # noqa: F401  (registers the agent)
from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide import offers
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.plan import model
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from sessions.agents import definition
from sessions.agents.registry import Agent
from tests.core import worlds
from tests.core.worlds import World
from tests.searching import drawn

FREE = worlds.pol.Rule(
    "free", ("load_customer", "authorize", "transfer", "post_letter", "plan"), "true", 0, "allow", ""
)
AGENT = Agent("test", "Serve.", (), "bank", {})
PATHS = {"load_customer": "state.customer", "authorize": "state.authorization"}
TEXTS = st.sampled_from(
    ["", "x", "†state.customer", "†state.customer.name || †input.x", "††x", "†..", "† ", "state.flags", "anonymous",
     "state.a || state.b", "state", "true", "1 +", "has(state.x)", "load_customer", "plan", "\u202e", "\ud800", "\0",
     "x" * 3_000, "_when", "batch"]
)  # fmt: skip
SCALARS = TEXTS | st.integers(-(2**70), 2**70) | st.booleans() | st.none() | st.floats()
VALUES = st.recursive(
    SCALARS, lambda each: st.lists(each, max_size=3) | st.dictionaries(TEXTS, each, max_size=3), max_leaves=6
)
DEEP = st.integers(20, 400).map(lambda levels: _nested(levels))
NAMES = st.sampled_from([*model.META, "_", "__class__", "_When", "_outputpath", "customer", "amount", "calls", "plan"])
USUAL = {
    "_id": st.sampled_from(["a", "b", "transfer"]),
    "_outputPath": st.sampled_from(["state.a", "state.b || state.c", "†state.d", "state.customer"]),
    "_when": st.sampled_from(["true", "has(state.a)", "state.x == 'y'"]),
    "_scopes": st.sampled_from([[], ["state"], ["input"]]),
    "_delegate": st.just("anonymous"),
    "_instance": st.just("ann"),
    "customer": st.sampled_from(["C-1", "†state.a", "†state.b.name", "††x", "a†b"]),
}
PLAUSIBLE = st.fixed_dictionaries({}, optional=USUAL)
WILD = (
    st.dictionaries(NAMES, VALUES, max_size=4)
    | st.builds(lambda one, other: {**one, **other}, PLAUSIBLE, st.dictionaries(NAMES, VALUES, max_size=1))
    | st.dictionaries(NAMES, DEEP, max_size=1)
)
REAL = ("load_customer", "authorize", "post_letter")
TOOLS = st.sampled_from([*REAL, "transfer", "goals", "plan", "batch", "delegate", "fly", "", "x" * 200])


def answers(tools: st.SearchStrategy[str], arguments: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Any]:
    """Calls with such arguments, beside whole plans of such calls."""
    call = st.builds(ev.CallProposed, st.just(""), tools, arguments, st.none())
    inner = st.builds(lambda tool, more: {"_tool": tool, **more}, tools, arguments)
    whole = st.builds(lambda calls: {"calls": calls}, st.lists(inner, min_size=1, max_size=3))
    plan = st.builds(ev.CallProposed, st.just(""), st.just("plan"), whole, st.none())
    return st.lists(call, max_size=4) | st.lists(plan | call, max_size=3) | st.lists(call, max_size=20)


ANSWERS = answers(st.sampled_from(REAL), PLAUSIBLE) | answers(TOOLS, PLAUSIBLE | WILD)


def numbered(calls: list[ev.CallProposed], ids: list[str]) -> list[ev.CallProposed]:
    """The calls under ids, some of them perhaps the same."""
    return [
        msgspec.structs.replace(call, id=ids[place] if place < len(ids) else f"c{place}")
        for place, call in enumerate(calls)
    ]


CALLS = st.builds(
    numbered,
    ANSWERS,
    st.just([]) | st.just([]) | st.lists(st.sampled_from(["1", "2", "3", ""]), max_size=3),
)
OFFERED = st.sampled_from([(), offers.PLANNING, offers.ALL, offers.ALL]) | st.sets(st.sampled_from(offers.ALL)).map(
    lambda names: tuple(sorted(names))
)


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def asked(offered: tuple[str, ...], paths: bool) -> tuple[World, core.CommandContext]:
    world = worlds.opened().with_rules(FREE).offering(*offered)
    given = world.given
    if paths:
        given = msgspec.structs.replace(given, output_paths=PATHS)
    state = world.state
    for event in core.decide(core.Ask("s", "model", 0, 0, offers.tools_in(given), "digest"), state, given):
        state = evolve(state, event, stamp(given.at))
    return World(state), given


def answer(
    state: SessionState, given: core.CommandContext, calls: list[ev.CallProposed]
) -> tuple[SessionState, list[ev.AnyEvent]]:
    decided = core.decide(core.Answer("s", "model", "Well.", tuple(calls)), state, given)
    for event in decided:
        ev.decode(ev.encode(event))
        state = evolve(state, event, stamp(given.at))
    return state, decided


@settings(max_examples=drawn(600))
@given(OFFERED, CALLS, st.booleans())
def test_whatever_a_model_answers_is_recorded_and_nothing_else_is_raised(offered, calls, paths):
    world, given = asked(offered, paths)
    state, decided = answer(world.state, given, calls)
    if isinstance(decided[0], ev.ModelFailed):
        assert decided == [ev.ModelFailed("s", decided[0].reason, False)]
        assert not is_recordable(calls)
        return
    (answered,) = [event for event in decided if isinstance(event, ev.ModelAnswered)]
    assert [(call.tool, repr(call.arguments)) for call in answered.calls] == [
        (call.tool, repr(call.arguments)) for call in calls
    ]
    gone_on = [call for call in state.calls.values() if call.status is CallStatus.PROPOSED]
    assert gone_on == []
    definition.build(AGENT, "model", state)


def is_recordable(calls: list[ev.CallProposed]) -> bool:
    try:
        msgspec.json.encode(calls)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False
    return True


@settings(max_examples=drawn(600))
@given(OFFERED, CALLS, st.booleans())
def test_nothing_that_was_not_offered_comes_into_a_plan_or_begins(offered, calls, paths):
    world, given = asked(offered, paths)
    state, decided = answer(world.state, given, calls)
    for event in decided:
        if isinstance(event, ev.PlanCommitted | ev.PlanProposed):
            assert "plan" in offered or set(offered) & {*offers.PROPERTIES, "references"}
            for call in event.calls:
                _must_be_offered(call, offered, paths)
        if isinstance(event, ev.GoalsSet):
            assert "goals" in offered
    for call in state.calls.values():
        if call.status in (CallStatus.READY, CallStatus.WAITING):
            assert not [name for name in call.arguments if name.startswith("_")]
            assert call.tool in worlds.TOOLS or call.tool == "plan"


def _must_be_offered(call: dict[str, Any], offered: tuple[str, ...], paths: bool) -> None:
    made = {"_tool", "_id"} | ({"_outputPath"} if paths else set())  # by the engine: a name, and the agent's own place
    assert {name for name in call if name.startswith("_")} <= {*offered, *made}
    if "references" not in offered:
        assert list(_referring(call)) == []


def _referring(call: dict[str, Any]) -> list[Any]:
    from agentstate.engine import references

    return list(references.within({name: value for name, value in call.items() if not name.startswith("_")}))


@settings(max_examples=drawn(150))
@given(CALLS)
def test_of_an_agent_that_offers_nothing_no_answer_makes_a_plan(calls):
    world, given = asked((), paths=False)
    _, decided = answer(world.state, given, calls)
    assert not [event for event in decided if isinstance(event, ev.PlanCommitted | ev.PlanProposed | ev.GoalsSet)]
    for call in calls:
        if any(name.startswith("_") for name in call.arguments):
            assert not [event for event in decided if isinstance(event, ev.CallAllowed) and event.call == call.id]


@pytest.mark.parametrize("count", [16, 17, 40, 64, 65, 1_000])
def test_the_cost_of_an_answer_is_bounded_and_no_call_is_dropped_silently(count):
    calls = [ev.CallProposed(f"c{number}", "load_customer", {"n": number}) for number in range(count)]
    world, given = asked((), paths=False)
    state, decided = answer(world.state, given, calls)
    ends = [event for event in decided if isinstance(event, ev.CallAllowed | ev.CallRefused)]
    if count > core.MAX_PROPOSED:
        assert [ev.kind_of(event) for event in decided] == ["model.failed"]
    else:
        assert len(ends) == count
        assert len([event for event in ends if isinstance(event, ev.CallAllowed)]) == min(count, core.MAX_CALLS)
    assert from_snapshot(to_snapshot(state)) == state
