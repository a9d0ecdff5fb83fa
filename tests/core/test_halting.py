"""What a stop keeps from beginning: everything, or the calls of single tools; what runs is awaited."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine.advance import AskModel, MoveChart, Nothing, RunCall, next_actions
from agentstate.engine.halting import Halt, left, tool_of
from agentstate.engine.instants import stamp
from tests.core import worlds
from tests.core.test_plan_ends import PAY, READ, handed_over
from tests.core.test_plans_in_sessions import CHECK, FREE, LARGE, LOAD, SEEN, calling, key
from tests.core.worlds import AUTHORIZE, World, approved

WORLD = worlds.opened().asked(AUTHORIZE)
CALL = WORLD.call("authorize").id
ASK, RUN, REST = AskModel(again=False), RunCall(CALL, again=False), Nothing("customer")
ALL, NONE = Halt(everything=True), Halt()
ONE, OTHER = Halt(tools=frozenset({"authorize"})), Halt(tools=frozenset({"another"}))


@pytest.mark.parametrize(
    ("halt", "held"),
    [(ALL, {ASK, RUN}), (ONE, set()), (NONE, set())],
    ids=["everything", "its tool", "nothing"],
)
def test_only_a_stop_of_everything_holds_what_the_session_does_next(halt: Halt, held: set[object]) -> None:
    for action in (ASK, RUN, REST, MoveChart()):
        assert halt.holds(action) is (action in held)


def test_a_halt_is_true_when_it_holds_something() -> None:
    assert [bool(halt) for halt in (ALL, ONE, NONE)] == [True, True, False]


def test_a_stop_of_a_tool_holds_its_calls_that_would_begin_or_begin_again() -> None:
    running = WORLD.after(core.Begin(CALL))
    returned = running.after(core.Return(CALL, 1, {"allowed": True}))
    assert [ONE.held_calls(each.state) for each in (WORLD, running, returned)] == [{CALL}, {CALL}, frozenset()]
    assert [halt.held_calls(WORLD.state) for halt in (OTHER, NONE, ALL)] == [frozenset()] * 3


def test_a_call_that_another_session_carries_out_is_not_held() -> None:
    running = WORLD.after(core.Begin(CALL)).state
    delegated = replace(running, calls={CALL: replace(running.calls[CALL], delegate="a-session")})
    assert ONE.held_calls(delegated) == frozenset()


def test_a_call_of_a_plan_is_held_when_its_turn_comes() -> None:
    world = calling(LOAD, CHECK)
    load = Halt(tools=frozenset({"load_customer"}))
    assert load.held_calls(world.state) == {key(world, "load_customer")}
    assert ONE.held_calls(world.state) == frozenset()


def test_the_tool_of_a_call_is_that_of_the_state_else_of_the_plan_else_unknown() -> None:
    assert tool_of(WORLD.state, CALL) == "authorize"
    assert tool_of(WORLD.state, "no-such-call") == ""
    world = calling(LOAD, CHECK)
    assert key(world, "authorize") not in world.state.calls
    assert tool_of(world.state, key(world, "authorize")) == "authorize"


def test_only_what_is_not_held_is_left() -> None:
    assert left((ASK, REST), ALL, set()) == (REST,)
    assert left((ASK, RUN), NONE, set()) == (ASK, RUN)


def test_where_all_is_held_the_session_rests_unless_a_result_is_awaited() -> None:
    assert left((ASK, RUN), ALL, set()) == (Nothing("stop"),)
    assert left((RUN,), ALL, {"c-9"}) == ()
    assert left((), ALL, set()) == ()


def test_a_stop_of_one_tool_holds_its_calls_alone():
    world = approved()
    halt = Halt(tools=frozenset({"transfer"}))
    held = halt.held_calls(world.state)
    assert held == {world.call("transfer").id}

    def action(here: World) -> object:
        return next_actions(here.state, stamp(here.given.at), held=held)[0]

    said = world.after(core.Say("customer", "What is my balance?", "customer"))
    assert action(said) == AskModel(again=False)
    quiet = said.after(core.Ask("s", "model", 0, 0, (), "d"), core.Answer("s", "model", "It is $5.", ()))
    assert action(quiet) == Nothing("stop")
    assert isinstance(next_actions(quiet.state, stamp(quiet.given.at))[0], RunCall)
    due = stamp(quiet.given.at + timedelta(seconds=60))
    assert action(quiet.after(core.SetTimer("remind", due, "user:sue", "Ask again"))) == Nothing("stop", due)
    taken = quiet.after(core.TakeOver("user:sue", "she asks"))
    assert action(taken) == Nothing("colleague")
    begun = world.after(core.Begin(world.call("transfer").id))
    assert halt.held_calls(begun.state) == held  # its result may be lost: it does not begin again
    assert action(begun.after(core.Say("customer", "Hello?", "customer"))) == AskModel(again=False)
    plan = handed_over(READ, PAY, rules=(FREE, LARGE, SEEN))
    assert {key.partition(".")[2] for key in halt.held_calls(plan.state)} == {"transfer"}
