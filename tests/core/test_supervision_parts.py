"""What each command of a supervisor records and each refusal names, field by field."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.refusals import HasChanged, NotConsistent, TakenByAnother
from agentstate.engine.decide.supervision import MOST_REASONS, dropped, heard
from agentstate.engine.handing_back import LONGEST, OPENING
from agentstate.engine.instants import stamp
from agentstate.engine.merge.kept import Changes, Conflict
from agentstate.engine.state.participants import QUEUE
from agentstate.engine.wanted import ASK_FOR_PERSON
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.worlds import World

SUE, BOB = "user:sue", "user:bob"
OPENED = worlds.opened()
TAKEN = OPENED.after(core.TakeOver(SUE, "she asks twice"))
SINCE = TAKEN.state.desk.taken_at


def last(world: World, *commands: object) -> Any:
    return world.after(*commands).history[-1][0]


def refused(kind: type[Exception], world: World, command: object) -> Any:
    with pytest.raises(kind) as refusal:
        world.after(command)
    return refusal.value


def expired(world: World) -> World:
    """The same after it was idle for too long."""
    return replace(world, state=changed(world.state, expired_at=stamp(worlds.START)))


@pytest.mark.parametrize(
    "command",
    [core.Speak("Hello", BOB), core.HandBack("", BOB), core.BargeIn("Hello", BOB)],
    ids=lambda command: type(command).__name__,
)
def test_who_has_it_and_since_when_is_named(command: object) -> None:
    facts = refused(TakenByAnother, TAKEN, command).facts
    assert (facts["by"], facts["since"]) == (SUE, SINCE)
    assert SINCE


def test_taking_over_from_somebody_names_them_and_from_the_queue_nobody() -> None:
    facts = refused(TakenByAnother, TAKEN, core.TakeOver(BOB)).facts
    assert (facts["by"], facts["since"]) == (SUE, SINCE)
    assert last(TAKEN, core.TakeOver(BOB, "my case", SUE)) == ev.SessionTakenOver(BOB, "my case", SUE)
    queued = TAKEN.after(core.PassOn(QUEUE, SUE, "shift", SUE))
    assert last(queued, core.TakeOver(BOB, "free")) == ev.SessionTakenOver(BOB, "free", "")


def test_what_was_idle_too_long_is_reopened_by_whoever_speaks() -> None:
    for command in (core.TakeOver(SUE), core.BargeIn("Hello", SUE)):
        reopened = expired(OPENED).after(command).events(ev.SessionReopened)
        assert reopened == [ev.SessionReopened(SUE)]
        assert OPENED.after(command).events(ev.SessionReopened) == []


def test_barging_in_drops_the_answer_that_is_under_way() -> None:
    asking = OPENED.after(core.Ask("step", "model", 0, 0, (), "digest"), core.BargeIn(" Hello ", SUE))
    assert [event for event, _ in asking.history[-2:]] == [
        ev.ModelDropped("step", "spoken_over"),
        ev.MessageAdded("staff", "Hello", SUE),
    ]


def test_passing_on_records_from_whom_to_whom_why_and_by_whom() -> None:
    assert last(TAKEN, core.PassOn(BOB, SUE, "shift", "user:ann")) == ev.SessionPassedOn(BOB, SUE, "shift", "user:ann")
    assert refused(HasChanged, TAKEN, core.PassOn(BOB, "user:ann", "shift", SUE)).facts["by"] == SUE


def test_a_summary_may_be_as_long_as_said_and_no_longer() -> None:
    assert last(TAKEN, core.HandBack("x" * LONGEST, SUE)).summary == "x" * LONGEST
    refusal = refused(Invalid, TAKEN, core.HandBack("x" * (LONGEST + 1), SUE))
    assert (refusal.detail, refusal.facts["field"]) == (
        f"got {LONGEST + 1} characters, at most {LONGEST}",
        "summary",
    )


def test_a_hand_back_records_by_whom_with_which_words_and_whether_the_agent_speaks() -> None:
    for speaks in (True, False):
        event = last(TAKEN, core.HandBack(" She waits. ", SUE, speaks))
        assert event == ev.SessionHandedBack(SUE, "She waits.", OPENING, speaks)


def test_all_that_keeps_a_session_from_going_back_is_named() -> None:
    both = {each: Conflict(each, 1, "", f"state.{each}", "vote", 2, "", (), (), ()) for each in ("a", "b")}
    contested = replace(TAKEN, state=changed(TAKEN.state, changes=Changes(conflicts=both)))
    text = "state.a: contested, to be settled first; state.b: contested, to be settled first"
    assert refused(NotConsistent, contested, core.HandBack("", SUE)).detail == text


def test_a_wish_for_a_person_records_how_by_whom_and_why_and_its_end_too() -> None:
    wished = OPENED.after(core.AskForPerson("api", "customer", "They are upset."))
    assert wished.history[-1][0] == ev.HumanRequested("api", "customer", "They are upset.")
    assert last(wished, core.NoPersonNeeded("it was settled", SUE)) == ev.HumanWithdrawn(SUE, "it was settled")


def wish(event: ev.AnyEvent, world: World = OPENED, **given: Any) -> list[ev.AnyEvent]:
    """What is heard of a wish for a person in this event."""
    return heard([event], world.state, changed(world.given, **given))


def test_a_wish_in_the_customers_words_is_one_of_the_phrases_in_force() -> None:
    said = ev.MessageAdded("customer", "Fetch the boss, please.", "user:cleo")
    assert wish(said) == []
    assert wish(said, person=("fetch the boss",)) == [ev.HumanRequested("phrase", "user:cleo", "fetch the boss")]
    assert wish(ev.MessageAdded("agent", "Fetch the boss, please.", "x"), person=("fetch the boss",)) == []


def test_a_wish_through_the_agents_tool_is_its_reason_cut_to_200_characters() -> None:
    (call,) = OPENED.asked(worlds.AUTHORIZE).state.calls.values()
    asks = {
        "asks": changed(call, id="asks", tool=ASK_FOR_PERSON, arguments={"why": "x" * 201}),
        "silent": changed(call, id="silent", tool=ASK_FOR_PERSON, arguments={}),
        "other": call,
    }
    world = replace(OPENED, state=changed(OPENED.state, calls=asks))
    for name, why in (("asks", "x" * 200), ("silent", "")):
        assert wish(ev.ToolReturned(name, 1, None), world) == [ev.HumanRequested("tool", "agent", why)]
    for name in ("other", "unknown"):
        assert wish(ev.ToolReturned(name, 1, None), world) == []


def test_assigning_records_whose_it_was_and_is_refused_when_it_is_anothers() -> None:
    given = OPENED.after(core.Assign("", BOB, SUE))
    reasons = tuple(f"why {number}" for number in range(MOST_REASONS + 1))
    assert last(given, core.Assign("", SUE, "user:ann", reasons, BOB)) == ev.WorkAssigned(
        "", SUE, "user:ann", reasons[:-1], BOB
    )
    assert refused(HasChanged, given, core.Assign("", SUE, "user:ann")).facts["by"] == BOB


def test_a_dropped_answer_is_recorded_by_its_digest_and_cost() -> None:
    answer = core.Answer("step", "model", "Hello!", (), input_tokens=7, output_tokens=3)
    (event,) = dropped(answer, "spoken_over")
    digest = hashlib.sha256(b"Hello!").hexdigest()
    assert event == ev.ModelDropped("step", "spoken_over", "model", digest, 0, 7, 3)
    (failed,) = dropped(core.NoAnswer("step", "no line", ""), "spoken_over")
    assert failed == ev.ModelDropped("step", "spoken_over")
