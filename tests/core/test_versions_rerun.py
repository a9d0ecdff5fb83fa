"""Another model on a recorded conversation: it is asked, no tool is run, and what nobody knows is told to it."""

from __future__ import annotations

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState
from agentstate.engine.versions.rerun import MOST_STEPS, UNKNOWN, Rerun, rerun
from tests.core import worlds
from tests.core.test_versions import moved
from tests.core.worlds import AUTHORIZE, World, transfer


def run(world: World, *answers: tuple[str, tuple[ev.CallProposed, ...]], assume: str = "approve") -> Rerun:
    """The record again, with a model that gives `answers` one after the other and then has nothing to say."""
    left = list(answers)

    def ask(state: SessionState, step: str) -> core.Answer:
        text, calls = left.pop(0) if left else ("", ())
        return core.Answer(step, "other", text, calls)

    numbers = iter(range(10_000))

    def given(at: str) -> core.CommandContext:
        return core.CommandContext(world.given.at, lambda: f"new-{next(numbers)}", world.tools, world.policy)

    history = [(seq, event, at) for seq, (event, at) in enumerate(world.history)]
    return rerun(history, given, ask, assume)  # type: ignore[arg-type]


def test_the_record_answers_for_the_tools():
    found = run(moved(), ("I ask.", (AUTHORIZE,)), ("I move.", (transfer(40_000),)), ("Done.", ()))
    assert found.said == ("I ask.", "I move.", "Done.")
    assert [(call.tool, call.status, call.known) for call in found.calls] == [
        ("authorize", "done", True),
        ("transfer", "done", True),
    ]
    assert found.state.pad["transfer"] == {"receipt": "TR-1"}


def test_what_the_record_does_not_know_is_told_as_such():
    found = run(moved(), ("", (transfer(90_000),)), ("Hm.", ()))
    (call,) = found.calls
    assert (call.status, call.known) == ("failed", False)
    assert any(UNKNOWN in item.text for item in found.state.items)
    assert "transfer" not in found.state.pad


def test_people_decide_as_is_assumed():
    asked = (("", (AUTHORIZE,)), ("", (transfer(100_000),)))
    assert run(moved(), *asked).calls[-1].gate.kind == "asked"
    assert run(moved(), *asked, assume="reject").state.refusals == 1
    assert run(moved(), *asked, assume="wait").state.requests


def test_a_model_that_never_comes_to_an_end_is_stopped():
    found = run(moved(), *([("Again.", (AUTHORIZE,))] * MOST_STEPS))
    assert found.requests <= MOST_STEPS


def test_only_what_others_said_is_said_again():
    world = worlds.opened().asked(text="Hello.").after(core.Say("customer", "Bye.", "customer"))
    found = run(world, ("One.", ()), ("Two.", ()))
    assert [item.text for item in found.state.items if item.role == "customer"] == ["Move money, please.", "Bye."]
    assert found.said == ("One.", "Two.")
