"""`decide` is handed what it needs: while it runs, no file, socket, process or database is touched."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

import demo.bank_agent.agent  # noqa: F401  (registers the agent)
from agentstate.engine import decide as core
from agentstate.engine import policy as pol
from agentstate.engine.decide.commands.plans import EditPlan, InstanceGiven, ProposePlan, TakeTask
from agentstate.engine.decide.commands.runs import Answer
from agentstate.engine.decide.plans import delegates_in
from agentstate.engine.instants import stamp
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import SessionState, pending
from agentstate.errors import Invalid
from tests.core import worlds

OUTSIDE = ("open", "socket.", "subprocess.", "os.system", "os.posix_spawn", "os.fork", "sqlite3.", "urllib.")
_forbidden: list[str] = []
_watching = False


def _audited(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event.startswith(OUTSIDE):
        _forbidden.append(event)
        raise AssertionError(f"{event} while deciding")


sys.addaudithook(_audited)  # cannot be taken away again, so it looks only while it is told to


@contextmanager
def nothing_outside() -> Iterator[None]:
    """Whatever reaches outside fails, and is remembered when somebody swallows the failure."""
    global _watching
    _forbidden.clear()
    _watching = True
    try:
        yield
    finally:
        _watching = False
    assert _forbidden == []


def planned(**more: object) -> tuple[dict[str, object], ...]:
    return ({"_tool": "load_customer", "customer": "C-1", "_outputPath": "state.customer", **more},)


def handed(name: str) -> tuple[dict[str, object], ...]:
    return planned(_delegate=name, _scopes=["input"])


def test_the_guard_of_this_file_would_notice():
    with pytest.raises(AssertionError, match="open while deciding"), nothing_outside():
        Path(__file__).read_bytes()


def test_a_story_is_decided_without_reaching_outside():
    with nothing_outside():
        world = worlds.waiting()
        world = world.after(worlds.decision(world, "approve", "sue"))
        world = world.after(core.Begin(world.call("transfer").id))
        world = world.ran(world.call("transfer"), {"receipt": "R-1"})
        world.after(core.End("done", "user:sue"))


@pytest.mark.parametrize("name", ["greet", "greet@2", "nobody", "batch"])
def test_a_plan_with_a_delegate_is_decided_from_what_was_handed_in(name):
    world = worlds.opened()
    given = replace(world.given, saved=frozenset({"greet", "greet@2", "batch"}))
    with nothing_outside():
        if name == "nobody":
            with pytest.raises(Invalid, match="unknown_delegate"):
                core.decide(ProposePlan(handed(name), "user:sue"), world.state, given)
        else:
            assert core.decide(ProposePlan(handed(name), "user:sue"), world.state, given)


def test_the_delegates_of_every_command_that_holds_a_plan_are_found():
    plan, state = handed("greet"), SessionState()
    whole = worlds.proposed("plan", calls=list(plan))
    single = worlds.proposed("load_customer", _delegate="greet@3")
    instances = (InstanceGiven("one"),)
    assert delegates_in(ProposePlan(plan, "user:sue", instances=instances), state) == {"greet"}
    assert delegates_in(EditPlan(plan, "user:sue", 1), state) == {"greet"}
    assert delegates_in(TakeTask("s", "c", "agent:a", plan=ProposePlan(plan, "agent:a")), state) == {"greet"}
    answer = Answer("1", "m", "", (whole, single))
    assert delegates_in(answer, state, ("_delegate",)) == {"greet", "greet@3"}
    assert delegates_in(answer, state, ("plan", "_when")) == frozenset()
    edited = core.Decide("r", "edit", "user:sue", frozenset(), arguments={"calls": list(plan)})
    assert delegates_in(edited, state) == {"greet"}


def test_the_delegates_of_a_plan_that_waits_are_found_when_it_is_decided_and_begun():
    world = worlds.opened().with_rules(pol.Rule("whole", ("plan",), "true", 1, "approve", "Plans are looked at."))
    plan = ProposePlan(handed("greet"), "user:sue")
    events = core.decide(plan, world.state, replace(world.given, saved=frozenset({"greet"})))
    state = fold([*world.history, *((event, stamp(world.given.at)) for event in events)])
    (request,) = pending(state)
    approval = core.Decide(request.asked.request, "approve", "user:sue", frozenset())
    assert delegates_in(approval, state) == delegates_in(core.Begin(request.asked.call), state) == {"greet"}


@pytest.mark.parametrize("call", [None, "x", 3, [], {"_delegate": 7}, {"_delegate": ""}, {"_delegate": "anonymous"}])
def test_what_is_no_call_names_no_delegate(call):
    assert delegates_in(ProposePlan((call,), "user:sue"), SessionState()) == frozenset()
