"""Running: intents before effects, lost results, retries, budgets, ids, and what a session does after a failure."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_action
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, SessionStatus
from agentstate.engine.looping.settings import STEPS
from agentstate.engine.state.evolution import evolve
from agentstate.errors import Broken, Invalid, NotFound, Refused
from tests.core import worlds
from tests.core.worlds import AUTHORIZE, World, opened, proposed


def following(world: World) -> object:
    """What is next now."""
    return next_action(world.state, stamp(world.given.at))


def running(tool: str) -> World:
    """A call of that tool whose intent is committed. Policy lets everything through."""
    world = opened().with_rules(worlds.pol.Rule("free", ("*",), "true", 0, "allow", "Free."))
    world = world.asked(proposed(tool, "state.out"))
    return world.after(core.Begin(world.call(tool).id))


def test_an_intent_comes_before_a_call_runs_and_only_once():
    world = opened().asked(AUTHORIZE)
    call = world.call("authorize").id
    assert following(world) == RunCall(call, again=False)
    world = world.after(core.Begin(call))
    assert following(world) == RunCall(call, again=True)
    assert world.events(ev.ToolIntended)[-1].key == f"{call}.0"


@pytest.mark.parametrize("tool", ["load_customer", "authorize"])
def test_a_lost_result_of_what_can_be_repeated_runs_again_under_the_same_key(tool):
    world = running(tool).after(core.Begin(running(tool).call(tool).id))
    first, second = world.events(ev.ToolIntended)
    assert (first.key, first.attempt) == (second.key, 1)
    assert second.attempt == 2


def test_a_lost_result_of_once_is_not_run_again():
    world = running("post_letter")
    world = world.after(core.Begin(world.call("post_letter").id))
    assert world.call("post_letter").status is CallStatus.DOUBTED
    assert len(world.events(ev.ToolIntended)) == 1


def test_once_is_not_tried_again_after_a_failure_either():
    world = running("post_letter")
    world = world.after(core.Fail(world.call("post_letter").id, 1, "no answer within 10 s", True))
    assert world.call("post_letter").status is CallStatus.FAILED


def test_a_call_that_keeps_killing_its_worker_is_given_up():
    world = running("authorize")
    call = world.call("authorize").id
    for _ in range(20):
        if world.call("authorize").status is CallStatus.RUNNING:
            world = world.after(core.Begin(call))
    assert world.call("authorize").status is CallStatus.FAILED
    assert len(world.events(ev.ToolIntended)) == 3 + core.LOST_RESULTS


def test_a_failure_for_now_is_tried_again_later_and_not_for_ever():
    world = running("authorize")
    call = world.call("authorize").id
    world = world.after(core.Fail(call, 1, "down", True, pause=30.0))
    action = following(world)
    assert isinstance(action, Nothing)
    assert (action.waiting_for, action.until) == ("retry", world.call("authorize").retry_at)
    later = replace(world, seconds=world.seconds + 60)
    assert following(later) == RunCall(call, again=False)
    for attempt in (2, 3):
        later = later.after(core.Begin(call), core.Fail(call, attempt, "down", True))
    assert later.call("authorize").status is CallStatus.FAILED


@pytest.mark.parametrize("attempt", [0, 2])
def test_a_result_of_another_attempt_is_refused(attempt):
    world = running("authorize")
    for command in (core.Return, core.Fail):
        with pytest.raises(core.Outdated):
            world.after(command(world.call("authorize").id, attempt, "x", *([True] if command is core.Fail else [])))


def test_a_second_result_is_refused():
    world = running("authorize")
    call = world.call("authorize").id
    world = world.after(core.Return(call, 1, {}))
    with pytest.raises(core.Outdated):
        world.after(core.Return(call, 1, {}))


def test_ids_of_calls_are_ours_so_a_model_that_counts_from_one_repeats_no_key():
    world = opened()
    for _ in range(60):  # more than the state holds
        world = world.asked(AUTHORIZE)
        world = world.ran(world.call("authorize"), {}).after(core.Rest("customer"))
    keys = [intent.key for intent in world.events(ev.ToolIntended)]
    assert len(set(keys)) == len(keys) == 60


def test_two_calls_of_one_answer_are_two_calls():
    world = opened().asked(AUTHORIZE, AUTHORIZE)
    assert len(world.state.calls) == 2


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (proposed("no_such_tool"), "unknown_tool"),
        (proposed("transfer", amount="much"), "invalid"),
        (proposed("authorize", "elsewhere.x"), "bad_path"),
        (proposed("authorize", "state.."), "bad_path"),
    ],
)
def test_a_call_that_cannot_be_is_refused_by_name_and_the_model_is_told(call, code):
    world = opened().asked(call)
    assert world.events(ev.CallRefused)[-1].code == code
    assert msgspec.json.decode(world.state.items[-1].text)["code"] == code
    assert following(world) == AskModel(again=False)


def test_a_tool_that_is_gone_fails_its_call_and_not_the_session():
    ready = replace(opened().asked(AUTHORIZE), tools={})
    assert ready.after(core.Begin(ready.call("authorize").id)).call("authorize").status is CallStatus.REFUSED
    gone = replace(running("authorize"), tools={})
    assert gone.after(core.Begin(gone.call("authorize").id)).call("authorize").status is CallStatus.FAILED
    failed = gone.after(core.Fail(gone.call("authorize").id, 1, "not registered", True))
    assert failed.call("authorize").status is CallStatus.FAILED


# The model


def test_a_model_that_fails_for_now_is_asked_again_and_not_for_ever():
    world = opened()
    for attempt in range(1, core.MODEL_ATTEMPTS + 1):
        world = world.after(
            core.Ask(f"s{attempt}", "m", 0, 0, (), "d"), core.NoAnswer(f"s{attempt}", "down", True, 1.0)
        )
    assert [failed.retry_at != "" for failed in world.events(ev.ModelFailed)] == [True] * 5 + [False]
    assert world.state.status is SessionStatus.FAILED
    assert following(world) == Nothing("customer")


def test_the_customers_next_words_let_a_failed_session_try_again():
    world = opened().after(core.Ask("s", "m", 0, 0, (), "d"), core.NoAnswer("s", "refused", False))
    world = world.after(core.Say("customer", "Hello?", "customer"))
    assert (world.state.status, following(world)) == (SessionStatus.PLANNING, AskModel(again=False))


def test_a_run_has_a_budget_and_the_next_run_has_one_of_its_own():
    world = opened()
    for _ in range(STEPS):
        world = world.asked(proposed("no_such_tool"))
    world = world.after(core.Ask("one too many", "m", 0, 0, (), "d"))
    assert world.state.status is SessionStatus.FAILED
    assert len(world.events(ev.ModelRequested)) == STEPS
    world = world.after(core.Say("customer", "Go on.", "customer")).asked(text="Yes.")
    assert world.state.status is SessionStatus.IDLE


def test_a_result_that_comes_after_a_failed_answer_ends_the_failure():
    world = worlds.waiting().after(core.Say("customer", "Well?", "customer"))
    world = world.after(core.Ask("s", "m", 0, 0, (), "d"), core.NoAnswer("s", "broken", False))
    world = world.after(worlds.decision(world, "reject", "ann")).asked(text="A colleague said no.")
    assert (world.state.failure, world.state.status) == ("", SessionStatus.IDLE)


def test_an_answer_that_nobody_asked_for_is_outdated():
    world = opened()
    for step in ("", "other"):
        with pytest.raises(core.Outdated):
            world.after(core.Answer(step, "m", "Hello", ()))
    ended = world.after(core.Ask("s", "m", 0, 0, (), "d"), core.End("bye", "customer"))
    with pytest.raises(core.Outdated):
        ended.after(core.Answer("s", "m", "Hello", ()))


# Sessions


def test_before_it_is_opened_a_session_takes_nothing():
    for command in (core.Say("customer", "x", "c"), core.End("x", "c"), core.Ask("s", "m", 0, 0, (), "d")):
        with pytest.raises(NotFound):
            World().after(command)


def test_after_the_end_it_takes_nothing_and_waits_for_nobody():
    world = opened().after(core.End("bye", "customer"))
    for command in (core.Say("customer", "x", "c"), core.End("x", "c"), core.Ask("s", "m", 0, 0, (), "d")):
        with pytest.raises(core.SessionOver):
            world.after(command)
    assert following(world) == Nothing("nobody")


@pytest.mark.parametrize("text", ["", "  \n", "x" * (core.MAX_TEXT + 1)])
def test_a_message_has_words_and_not_too_many(text):
    with pytest.raises(Invalid) as refusal:
        opened().after(core.Say("customer", text, "customer"))
    assert refusal.value.facts["field"] == "text"


def test_it_is_opened_once():
    with pytest.raises(Refused):
        opened().after(core.Open("C-2", "team", "bank", "phone"))


@pytest.mark.parametrize(
    "event",
    [
        ev.ToolReturned("no such call", 1, {}),
        ev.ToolIntended("no such call", "t", 1, {}, "", "pure", "k", 1, 0, "r", "p"),
        ev.RequestEnded("no such request", "approved"),
    ],
)
def test_events_that_cannot_have_happened_break_the_fold_loudly(event):
    with pytest.raises(Broken, match="cannot have happened"):
        evolve(opened().state, event, "2026-11-21T03:00:00.000000Z")


def test_a_result_on_a_call_that_never_began_breaks_the_fold_loudly():
    world = opened().asked(AUTHORIZE)
    with pytest.raises(Broken, match="return is not possible when ready"):
        evolve(world.state, ev.ToolReturned(world.call("authorize").id, 1, {}), "2026-11-21T03:00:00.000000Z")
