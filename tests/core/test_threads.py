"""Threads in this process: the engine's rules without Django, and what the page about them shows."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

from agentstate.engine import policy
from agentstate.engine.memory.allowance import BudgetTooSmall
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.shown import ModelRequest, ProposedCall
from agentstate.engine.model import ModelAnswer, ModelFailed
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.errors import Invalid, Refused
from agentstate.threads import Agent, Thread, tool
from tests.core.worlds import ROOT

ALLOWING = policy.load(
    b'{"name": "small", "version": 1, "rules": [{"name": "small", "tools": ["transfer"], "gate": "allow", "tier": 1,'
    b' "when": "arguments.amount <= 10", "why": "A small amount."}]}'
)
moved: list[int] = []


@tool(effect="once")
def transfer(amount: int, to: str = "savings") -> dict[str, object]:
    """Move money."""
    moved.append(amount)
    return {"moved": amount, "to": to}


@tool(effect="pure")
def balance() -> dict[str, int]:
    """Look up the balance."""
    raise OSError("the bank is closed")


def model(request: ModelRequest) -> ModelAnswer | str:
    """Calls the tool that the newest message names, with the amount that it names."""
    newest = request.messages[-1]
    if newest.role != "customer":
        return f"{newest.role}: {newest.text}"
    name, _, amount = newest.text.partition(" ")
    if name not in ("transfer", "balance"):
        return f"shown {len(request.messages)}"
    arguments = {"amount": int(amount)} if amount else {}
    return ModelAnswer("", (ProposedCall("c", name, arguments),))


@pytest.fixture
def thread() -> Thread:
    moved.clear()
    return Agent(model, tools=[transfer, balance]).thread("C-1")


def refolded(thread: Thread) -> SessionState:
    """The fold of the thread's history."""
    state = SessionState()
    for event, at in thread.history:
        state = evolve(state, event, at)
    return state


def test_the_page_runs_as_printed():
    result = doctest.testfile(str(ROOT / "docs/threads.md"), module_relative=False)
    assert (result.failed, result.attempted > 10) == (0, True)


def test_a_thread_imports_no_framework_and_three_packages():
    program = (
        "import sys; before = set(sys.modules); import agentstate.engine, agentstate.threads;"
        "new = {name.split('.')[0] for name, module in sys.modules.items() if name not in before"
        " and 'site-packages' in (getattr(module, '__file__', None) or '')};"
        "print(' '.join(sorted(new - {'typing_extensions'})))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cel_expr_python", "jsonschema_rs", "msgspec"]


def test_what_was_not_approved_does_not_run(thread: Thread):
    thread.say("transfer 50")
    assert (moved, len(thread.pending)) == ([], 1)
    thread.decide("reject", reason="Too much.")
    assert (moved, thread.pending) == ([], ())


def test_what_was_approved_runs_once(thread: Thread):
    thread.say("transfer 50")
    thread.decide("approve")
    thread.run()
    assert moved == [50]
    with pytest.raises(Invalid, match="no call waits"):
        thread.decide("approve")


def test_a_decision_on_a_request_that_has_ended_is_refused(thread: Thread):
    thread.say("transfer 50")
    (request,) = thread.pending
    thread.decide("reject", reason="No.")
    with pytest.raises(Refused):
        thread.decide("approve", request)
    assert moved == []


def test_a_rule_of_the_policy_allows_without_a_person():
    moved.clear()
    thread = Agent(model, tools=[transfer], policy=ALLOWING).thread()
    thread.say("transfer 10")
    assert (moved, thread.pending) == ([10], ())
    thread.say("transfer 11")
    assert (moved, len(thread.pending)) == ([10], 1)


def test_arguments_that_do_not_fit_the_function_never_reach_it(thread: Thread):
    def careless(request: ModelRequest) -> ModelAnswer | str:
        if request.messages[-1].role != "customer":
            return "Sorry."
        return ModelAnswer("", (ProposedCall("c", "transfer", {"amount": "all"}),))

    other = Agent(careless, tools=[transfer]).thread()
    assert other.say("All of it!") == "Sorry."
    assert (moved, other.pending) == ([], ())


def test_a_tool_that_raises_fails_by_name_and_the_agent_is_told(thread: Thread):
    assert "OSError: the bank is closed" in thread.say("balance")


def test_a_model_that_fails_for_a_moment_is_asked_again():
    asked: list[int] = []

    def flaky(request: ModelRequest) -> str:
        asked.append(1)
        if len(asked) == 1:
            raise ModelFailed("busy", transient=True)
        return "Here."

    assert Agent(flaky).thread().say("Hello") == "Here."
    assert len(asked) == 2


def test_a_fork_changes_nothing_of_its_parent_and_begins_at_any_event(thread: Thread):
    thread.say("Hello")
    size, messages = len(thread.history), thread.messages
    other = thread.fork(2)
    other.say("Good morning")
    assert (len(thread.history), thread.messages) == (size, messages)
    assert "Good morning" in other.messages[-2]


def test_the_state_is_the_fold_of_the_history(thread: Thread):
    thread.say("transfer 50")
    thread.decide("approve")
    thread.say("Thanks")
    assert refolded(thread) == thread.state == thread.at(len(thread.history))


def test_a_small_budget_ends_no_thread_however_large_the_results_in_its_state_are():
    asked: list[ModelRequest] = []

    def large(request: ModelRequest) -> ModelAnswer | str:
        asked.append(request)
        if len(asked) % 2 == 0:
            return "Done."
        return ModelAnswer("", (ProposedCall("c", "report", {}, "state.report"),))

    @tool(effect="pure")
    def report() -> dict[str, str]:
        """Make a report."""
        return {f"part {number}": "word " * 400 for number in range(20)}

    thread = Agent(large, tools=[report], memory=Remembering(budget=1_000)).thread()
    assert [thread.say(f"Once more, number {number}.") for number in range(20)] == ["Done."] * 20
    assert len(str(thread.state.pad["report"])) > 30_000
    assert asked[-1].state["report"]["not_shown"] == "10 more values"


def test_a_run_that_has_used_up_its_requests_is_stopped_and_the_thread_says_so():
    def restless(request: ModelRequest) -> ModelAnswer:
        return ModelAnswer("", (ProposedCall("c", "ping", {"number": len(request.messages)}),))

    @tool(effect="pure")
    def ping(number: int) -> int:
        """Answer."""
        return number

    thread = Agent(restless, tools=[ping]).thread()
    thread.say("Go!")
    assert thread.state.status.value == "failed"


def test_an_agent_whose_instructions_and_tools_fill_its_budget_is_refused_by_name():
    with pytest.raises(BudgetTooSmall, match=r"agent 'clerk': instructions take \d+ tokens and tools \d+ of a budget"):
        Agent(model, instructions="Be kind. " * 600, memory=Remembering(budget=1_000), name="clerk")


def test_a_scratchpad_may_hold_a_value_by_any_name():
    def knowing(request: ModelRequest) -> ModelAnswer | str:
        if request.messages[-1].role != "customer":
            return str(request.state)
        return ModelAnswer("", (ProposedCall("c", "look_up", {}, "state.known"),))

    @tool(effect="pure")
    def look_up() -> str:
        """Look up what is known."""
        return "nothing"

    assert "'known': 'nothing'" in Agent(knowing, tools=[look_up]).thread().say("What is known?")
