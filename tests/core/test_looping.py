"""What bounds an agent's loop: budgets that stop by name, circles that are noticed, messages that arrive meanwhile."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, next_action
from agentstate.engine.decide.looping import MAX_REASON
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, SessionStatus
from agentstate.engine.looping.circles import circle
from agentstate.engine.looping.held import (
    KEPT_MARKS,
    MOST_TOOLS,
    MOST_WAITING,
    OTHERS,
    Loop,
    circling_anew,
    marked,
    too_often,
)
from agentstate.engine.looping.settings import REPAIRS, Limits, Looping, Price, cost
from agentstate.engine.state.approvals import EXPIRED
from agentstate.engine.state.rollback import fingerprint
from agentstate.engine.versions.effects import Since
from agentstate.errors import Invalid, Refused
from tests.core import worlds
from tests.core.worlds import AUTHORIZE, proposed, transfer
from tests.shared_data import shared_data

CENTS = Price(input=1_000_000, output=2_000_000)  # a millionth for each token said to it, two for each of its own


@dataclass(frozen=True)
class Bounded(worlds.World):
    """A world whose agent has bounds of its own."""

    loop: Looping = field(default_factory=Looping)

    @property
    def given(self) -> core.CommandContext:
        given = super().given
        kept = {name: getattr(given, name) for name in ("at", "new_id", "tools", "policy", "memory")}
        return core.CommandContext(**kept, loop=self.loop, prices={"model": CENTS})


def bounded(**bounds: object) -> Bounded:
    """A session whose customer has said what they want."""
    world = Bounded(loop=Looping(**bounds))  # type: ignore[arg-type]
    return world.after(core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Move money.", "customer"))


def turn(world, *calls: ev.CallProposed, tokens: int = 10, text: str = ""):
    """The model is asked, and answers with so many tokens each way."""
    step = f"step-{len(world.history)}"
    asked = world.after(core.Ask(step, "model", 0, 0, tuple(world.tools), "digest"))
    if asked.state.failure:
        return asked
    return asked.after(core.Answer(step, "model", text, calls, input_tokens=tokens, output_tokens=tokens))


def went(world, times: int, *calls: ev.CallProposed, result: object = "same"):
    """The same calls, again and again, each with the same result; a circle is told as the runtime tells it."""
    for _ in range(times):
        world = world.after(core.Notice())
        world = turn(world, *calls)
        for call in [call for call in world.state.calls.values() if call.status is CallStatus.READY]:
            world = world.ran(call, result)
    return world


def following(world):
    return next_action(world.state, stamp(world.given.at))


LOAD = proposed("load_customer", customer="C-1")


# Budgets


def test_a_run_that_used_up_its_tokens_is_stopped_by_name():
    world = turn(bounded(run=Limits(tokens=20)), LOAD)
    world = world.ran(world.call("load_customer"), "x")
    world = turn(world, LOAD)
    (stopped,) = world.events(ev.RunStopped)
    assert (stopped.code, stopped.of, stopped.used, stopped.limit) == ("tokens", "run", 20, 20)
    assert world.state.status is SessionStatus.FAILED
    assert following(world) == Nothing("customer")


def test_money_is_counted_in_whole_millionths_and_rounded_up():
    world = turn(bounded(run=Limits(micros=31)), LOAD)
    assert world.events(ev.ModelAnswered)[0].micros == world.state.loop.run.micros == 30
    assert cost(Price(input=1, output=0), 1, 0) == 1
    assert cost(Price(input=0, output=0), 10**6, 10**6) == 0


def test_a_model_without_a_price_is_not_asked_where_money_is_bounded():
    world = bounded(session=Limits(micros=5)).after(core.Ask("s", "unknown", 0, 0, (), "d"))
    assert world.events(ev.RunStopped)[0].code == "no_price"
    assert not world.events(ev.ModelRequested)


def test_the_time_of_a_run_is_bounded_and_rest_does_not_count():
    world = replace(turn(bounded(run=Limits(seconds=60)), text="Yes?"), seconds=10_000)
    world = world.after(core.Rest("customer"), core.Say("customer", "More.", "customer"))
    world = turn(world, LOAD)
    world = replace(world.ran(world.call("load_customer"), 1), seconds=world.seconds + 60)
    assert turn(world, LOAD).events(ev.RunStopped)[0].code == "time"


def test_a_person_grants_more_and_the_run_goes_on_with_its_count():
    world = went(bounded(run=Limits(steps=2), repeats=0), 3, LOAD)
    assert world.events(ev.RunStopped)[0].code == "steps"
    world = world.after(core.Grant("user:ann", "The case is worth it.", Limits(steps=1)))
    assert following(world) == AskModel(again=False)
    world = went(world, 2, LOAD)
    assert world.events(ev.RunStarted)[-1].trigger == "granted"
    assert [(stopped.used, stopped.limit) for stopped in world.events(ev.RunStopped)] == [(2, 2), (3, 3)]


def test_a_grant_that_is_not_enough_is_refused_and_says_what_is_missing():
    world = went(bounded(session=Limits(tokens=20)), 2, LOAD)
    with pytest.raises(Invalid, match=r"not enough.*\(session\)"):
        world.after(core.Grant("user:ann", "Go on.", Limits(tokens=100)))  # to the run: the session is used up
    world = world.after(core.Grant("user:ann", "Go on.", Limits(tokens=100), of="session"))
    assert turn(world, text="Done.").state.status is SessionStatus.IDLE


@pytest.mark.parametrize("reason", ["", " ", "x" * (MAX_REASON + 1)])
def test_a_grant_needs_a_reason(reason):
    world = went(bounded(run=Limits(steps=1)), 2, LOAD)
    with pytest.raises(Invalid):
        world.after(core.Grant("user:ann", reason, Limits(steps=1)))


def test_nothing_is_granted_to_a_run_that_is_over():
    world = turn(bounded(), text="Yes?").after(core.Rest("customer"))
    with pytest.raises(Refused):
        world.after(core.Grant("user:ann", "Go on.", Limits(steps=1)))
    with pytest.raises(Invalid):
        world.after(core.Grant("user:ann", "Go on."))


@examples(st.lists(st.integers(0, 500), max_size=30), st.integers(1, 2_000))
def test_a_run_never_uses_more_than_one_request_beyond_its_tokens(sizes, limit):
    world = bounded(run=Limits(tokens=limit), repeats=0)
    for tokens in sizes:
        world = turn(world, proposed("no_such_tool"), tokens=tokens)
        if world.state.failure:
            break
        assert world.state.loop.run.tokens - 2 * tokens < limit


# Circles


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_a_circle_of_one_call_or_of_two_is_found_and_no_other(repeats):
    assert circle(("a",) * repeats, repeats) == ("a",)
    assert circle(("x", *("a", "b") * repeats), repeats) == ("a", "b")
    assert circle(("a",) * (repeats - 1), repeats) == circle(("a", "b", "c") * repeats, repeats) == ()
    assert circle(("a",) * 20, 0) == ()


def test_a_circle_is_told_to_the_model_once_and_then_to_a_person():
    world = went(bounded(), 3, LOAD).after(core.Notice())
    (noticed,) = world.events(ev.CircleNoticed)
    assert "load_customer 3 times with the same arguments" in noticed.note
    assert (world.state.items[-1].role, world.state.items[-1].text) == ("note", noticed.note)
    world = went(world, 2, LOAD)
    assert [stopped.code for stopped in world.events(ev.RunStopped)] == ["circle"]
    assert len(world.events(ev.CircleNoticed)) == 1


def test_two_calls_by_turns_are_a_circle_too():
    world = bounded()
    for _ in range(3):
        world = went(went(world, 1, LOAD), 1, AUTHORIZE)
    world = world.after(core.Notice())
    assert set(world.events(ev.CircleNoticed)[0].tools) == {"load_customer", "authorize"}


def test_another_result_or_other_arguments_are_no_circle():
    world = bounded()
    for number in range(5):
        world = went(world, 1, LOAD, result=number)
        world = went(world, 1, proposed("load_customer", customer=f"C-{number}"))
    assert not world.after(core.Notice()).events(ev.CircleNoticed)


def test_what_the_customer_says_ends_a_circle():
    world = went(bounded(), 2, LOAD).after(core.Say("customer", "Look again, please.", "customer"))
    assert not went(world, 2, LOAD).after(core.Notice()).events(ev.CircleNoticed)


def test_a_person_lets_a_circle_go_on():
    world = went(bounded(), 4, LOAD)
    world = went(world, 1, LOAD)
    assert world.state.loop.stopped == "circle"
    world = world.after(core.Grant("user:ann", "The machine is slow."))
    assert went(world, 1, LOAD, result="at last").state.failure == ""


def test_what_is_held_of_calls_is_bounded():
    world = went(bounded(repeats=0, run=Limits()), KEPT_MARKS + 5, LOAD)
    assert len(world.state.loop.marks) == KEPT_MARKS


def reworded(world, times: int, *, tool: str = "load_customer"):
    """Calls of one tool, each in other words and to another result."""
    for number in range(times):
        world = went(world, 1, proposed(tool, customer=f"C-{number}-{len(world.history)}"), result=number)
    return world


def test_one_tool_called_again_and_again_in_other_words_is_told_to_the_model_once_and_then_stopped():
    world = reworded(bounded(run=Limits(), same_tool=5), 5).after(core.Notice())
    (noticed,) = world.events(ev.CircleNoticed)
    assert (noticed.tools, noticed.times, noticed.marks) == (("load_customer",), 5, ())
    assert "load_customer 5 times" in world.state.items[-1].text
    assert not world.after(core.Notice()).events(ev.CircleNoticed)[1:]
    other = reworded(world, 1, tool="authorize")
    assert other.state.failure == ""
    world = reworded(world, 2)
    (stopped,) = world.events(ev.RunStopped)
    assert (stopped.code, stopped.used, stopped.limit) == ("circle", 6, 5)


@pytest.mark.parametrize(
    "command", [core.Say("customer", "And the others, please.", "customer"), core.Rest("customer")]
)
def test_the_calls_of_a_tool_are_counted_anew_once_the_customer_has_spoken_or_the_run_is_over(command):
    world = reworded(bounded(run=Limits(), same_tool=5), 4).after(command)
    assert not reworded(world, 4).after(core.Notice()).events(ev.CircleNoticed)


def test_a_person_lets_an_overused_tool_go_on():
    world = reworded(reworded(bounded(run=Limits(), same_tool=5), 5).after(core.Notice()), 2)
    assert world.state.loop.stopped == "circle"
    world = world.after(core.Grant("user:ann", "The list is long."))
    assert reworded(world, 4).state.failure == ""


def test_the_calls_of_one_tool_are_not_counted_where_the_agent_says_so():
    assert not reworded(bounded(run=Limits(), same_tool=0), 40).after(core.Notice()).events(ev.CircleNoticed)


def test_the_tools_whose_calls_are_counted_are_bounded():
    loop = Loop()
    for number in range(MOST_TOOLS + 20):
        loop = marked(loop, str(number), f"tool-{number}")
    assert len(loop.by_tool) == MOST_TOOLS + 1
    assert loop.latest == OTHERS


def test_no_recorded_conversation_goes_in_circles():
    """140 recorded runs of a real model: what it did between two messages of its customer."""
    runs = json.loads(shared_data("tau-airline", "trajectories.json").read_text("utf-8"))
    most = 0
    for run in runs:
        loop = Loop()
        for said in run["traj"]:
            if said["role"] == "user":
                loop = circling_anew(loop)
            for call in said.get("tool_calls") or ():
                loop = marked(loop, "", call["function"]["name"])
                most = max(most, *loop.by_tool.values())
                assert not too_often(loop, Looping().same_tool)
    print(f"recorded: at most {most} calls of one tool between two messages, {Looping().same_tool} are told")


# The calls that a model proposes


def test_a_run_that_proposed_its_calls_is_stopped_by_name_and_a_person_grants_more():
    world = reworded(bounded(run=Limits(calls=2)), 3)
    (stopped,) = world.events(ev.RunStopped)
    assert (stopped.code, stopped.of, stopped.used, stopped.limit) == ("calls", "run", 2, 2)
    with pytest.raises(Invalid) as refused:
        world.after(core.Grant("user:ann", "Go on.", Limits(steps=1)))
    assert refused.value.facts["field"] == "calls"
    world = world.after(core.Grant("user:ann", "Go on.", Limits(calls=1)))
    assert len(reworded(world, 2).events(ev.RunStopped)) == 2


def test_the_calls_of_a_session_are_bounded_over_its_runs():
    world = reworded(bounded(session=Limits(calls=3)), 2).after(core.Rest("customer"))
    world = world.after(core.Say("customer", "More.", "customer"))
    assert reworded(world, 2).events(ev.RunStopped)[0].of == "session"


def test_a_whole_plan_counts_as_its_calls():
    calls = [{"_tool": "load_customer", "customer": f"C-{number}"} for number in range(7)]
    world = bounded(run=Limits(calls=50))
    assert turn(world, proposed("plan", calls=calls)).state.loop.run.calls == 8


# Refusals: the same call is not asked twice


def test_a_call_that_a_person_answered_is_refused_with_that_answer_and_nobody_is_asked():
    world = worlds.waiting()
    world = world.after(worlds.decision(world, "respond", "ann", response="Ask the branch."))
    asked = len(world.events(ev.ApprovalRequested))
    world = world.asked(transfer(100_000))
    refused = world.events(ev.CallRefused)[-1]
    assert (refused.code, len(world.events(ev.ApprovalRequested))) == ("answered_before", asked)
    assert "Ask the branch." in refused.reason


def test_a_call_that_nobody_decided_on_is_asked_again_only_when_the_customer_asks_again():
    world = worlds.waiting()
    world = world.after(core.Expire(world.request.asked.request)).asked(transfer(100_000))
    assert world.events(ev.CallRefused)[-1].code == "expired_before"
    world = world.after(core.Say("customer", "Please do try again.", "customer")).asked(transfer(100_000))
    assert world.request.asked.tool == "transfer"


def test_what_the_model_is_told_of_a_refusal_does_not_sound_like_trouble_that_passes():
    passing = ("again later", "temporar", "timeout", "timed out", "retry", "try again", "unavailable")
    world = worlds.waiting()
    for command in (
        worlds.decision(world, "reject", "ann", reason="Too much."),
        worlds.decision(world, "respond", "ann", response="No need."),
        core.Expire(world.request.asked.request),
    ):
        told = world.after(command).state.items[-1].text
        again = world.after(command).asked(transfer(100_000)).state.items[-1].text
        assert not [word for word in passing if word in f"{told} {again}".lower()]
    assert "not done" in EXPIRED


# Messages meanwhile


def at_work(meanwhile: str) -> Bounded:
    """The model is being asked."""
    return bounded(meanwhile=meanwhile).after(core.Ask("s", "model", 0, 0, (), "d"))


def test_a_message_is_heard_by_the_next_request():
    world = at_work("hear").after(core.Say("customer", "And hurry.", "customer"))
    world = world.after(core.Answer("s", "model", "Yes.", ()))
    assert following(world) == AskModel(again=False)


def test_an_enqueued_message_waits_until_the_run_is_over_and_is_heard_then():
    world = at_work("enqueue").after(*(core.Say("customer", text, "customer") for text in ("One.", "Two.")))
    assert [item.text for item in world.state.items] == ["Move money."]
    world = world.after(core.Answer("s", "model", "Yes.", ()), core.Rest("customer"))
    assert [item.text for item in world.state.items] == ["Move money.", "Yes.", "One.", "Two."]
    queued = {seq for seq, (event, _) in enumerate(world.history) if isinstance(event, ev.MessageQueued)}
    assert queued == {said.queued for said in world.events(ev.MessageAdded) if said.queued >= 0}
    assert (world.state.loop.waiting, following(world)) == ((), AskModel(again=False))


def test_no_more_than_so_many_messages_wait():
    world = at_work("enqueue").after(*[core.Say("customer", "Well?", "customer")] * MOST_WAITING)
    with pytest.raises(Refused, match="wait"):
        world.after(core.Say("customer", "Well?", "customer"))


def test_an_interrupting_message_drops_what_is_being_said_and_withdraws_what_has_not_begun():
    world = turn(bounded(meanwhile="interrupt"), LOAD)
    world = world.after(core.Say("customer", "Stop, something else.", "customer"))
    assert world.call("load_customer").status is CallStatus.WITHDRAWN
    world = at_work("interrupt").after(core.Say("customer", "Wait.", "customer"))
    with pytest.raises(core.Outdated):
        world.after(core.Answer("s", "model", "Too late.", ()))
    assert following(world) == AskModel(again=False)


def test_a_refused_message_is_on_record_and_the_agent_never_hears_it():
    world = at_work("reject").after(core.Say("customer", "Hello?", "customer"))
    assert [(refused.text, refused.run) for refused in world.events(ev.MessageRefused)] == [("Hello?", world.state.run)]
    assert [item.text for item in world.state.items] == ["Move money."]


def test_a_message_rolls_the_run_back_and_is_heard():
    before = bounded(meanwhile="rollback")
    world = went(before, 1, proposed("load_customer", "state.customer", customer="C-1"), result={"name": "Ada"})
    back = core.Rollback(before.state.seq, "customer", "The customer spoke.", "", before.state, Since())
    world = world.after(core.Say("customer", "No, the other account.", "customer", back))
    assert (world.state.pad, world.state.epoch, world.state.run) == ({}, 1, "")
    assert world.state.items[-1].text == "No, the other account."
    assert world.events(ev.SessionRolledBack)[0].digest == fingerprint(before.state)


def test_between_runs_a_message_is_simply_added():
    for setting in ("hear", "enqueue", "interrupt", "reject", "rollback"):
        world = turn(bounded(meanwhile=setting), text="Yes?").after(core.Rest("customer"))
        world = world.after(core.Say("customer", "More.", "customer"))
        assert world.state.items[-1].text == "More."


# Output


def test_an_output_that_breaks_its_schema_is_sent_back_twice_and_then_the_run_stops():
    def strict(arguments: object) -> None:
        raise Invalid("want a number", field="arguments.amount")

    world = replace(bounded(), tools={**worlds.TOOLS, "answer": worlds.facts("answer", "pure", strict)})
    for number in range(REPAIRS + 1):
        world = turn(world, proposed("answer", amount=f"x{number}"))
    assert "want a number" in world.state.items[-1].text
    assert turn(world, LOAD).events(ev.RunStopped)[0].code == "output"
