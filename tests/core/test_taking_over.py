"""A person takes a session over, speaks, whispers, hands it back; the customer asks for one. The agent is silent while
somebody has it, in whatever order things happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_action
from agentstate.engine.decide import conversation, supervision
from agentstate.engine.decide.refusals import (
    HasChanged,
    NoPersonWanted,
    NotConsistent,
    NotTakenOver,
    Outdated,
    SessionOver,
    TakenByAnother,
    TakenOver,
)
from agentstate.engine.handing_back import LONGEST, NOTHING, OPENING, summary_of
from agentstate.engine.instants import stamp
from agentstate.engine.merge.kept import Changes, Conflict
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.participants import QUEUE
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.wanted import phrase_heard
from agentstate.errors import Broken, Refused
from tests.core import worlds
from tests.core.laws import judge
from tests.core.test_engine_explorer import essence
from tests.core.test_engine_schema import CUSTOMER
from tests.core.test_engine_schema import opened as with_schema
from tests.core.worlds import AUTHORIZE, MAY, World

SUE, BOB = "user:sue", "user:bob"
TAKE = core.TakeOver(SUE, "she asks twice")
ASK = core.Ask("step", "model", 0, 0, (), "digest")
ANSWER = core.Answer("step", "model", "Hello!", (), input_tokens=7, output_tokens=3)
BACK = core.HandBack("She wants to move 4,300.", SUE)


def action(world: World) -> object:
    return next_action(world.state, stamp(world.given.at))


def said(world: World) -> list[tuple[str, str]]:
    return [(event.role, event.text) for event in world.events(ev.MessageAdded)]


def test_the_agent_is_not_asked_while_a_person_has_the_session():
    taken = worlds.opened().after(TAKE)
    assert (taken.state.taken_by, taken.state.desk.taken_seq, action(taken)) == (SUE, 2, Nothing("colleague"))
    with pytest.raises(TakenOver):
        taken.after(ASK)


def test_an_answer_that_was_under_way_is_dropped_and_recorded_not_said():
    taken = worlds.opened().after(ASK, TAKE)
    assert action(taken) == Nothing("colleague")
    answered = taken.after(ANSWER)
    (dropped,) = answered.events(ev.ModelDropped)
    assert (dropped.step, dropped.because, dropped.input_tokens, dropped.proposed) == ("step", "taken_over", 7, 0)
    assert said(answered) == said(taken)
    assert "Hello!" not in str(ev.encode(dropped))
    with pytest.raises(core.Outdated):
        answered.after(ANSWER)


def test_what_was_said_before_the_take_over_was_said():
    world = worlds.opened().after(ASK, ANSWER, TAKE)
    assert said(world)[-1] == ("agent", "Hello!")
    assert world.events(ev.ModelDropped) == []


def test_the_answer_is_dropped_too_when_the_session_was_handed_back_meanwhile():
    world = worlds.opened().after(ASK, TAKE, BACK)
    assert action(world) == AskModel(again=False)
    dropped = world.after(ANSWER)
    assert (len(dropped.events(ev.ModelDropped)), action(dropped)) == (1, AskModel(again=False))


def test_a_model_that_gave_no_answer_is_recorded_too_and_not_tried_again():
    world = worlds.opened().after(ASK, TAKE, core.NoAnswer("step", "down", True))
    assert [event.model for event in world.events(ev.ModelDropped)] == [""]
    assert action(world) == Nothing("colleague")


def test_requests_stay_and_what_a_person_lets_through_runs():
    taken = worlds.waiting().after(TAKE)
    assert len(worlds.pending(taken.state)) == 1
    approved = taken.after(worlds.decision(taken, "approve", "sue"))
    call = approved.call("transfer")
    assert action(approved) == RunCall(call.id, again=False)
    assert approved.ran(call, {"receipt": "R-1"}).state.taken_by == SUE


def test_what_policy_alone_let_through_waits_for_the_hand_back_and_what_runs_returns():
    ready = worlds.opened().asked(AUTHORIZE)
    call = ready.call("authorize")
    taken = ready.after(TAKE)
    assert (action(taken), taken.state.status) == (Nothing("colleague"), "idle")
    with pytest.raises(TakenOver):
        taken.after(core.Begin(call.id))
    assert action(taken.after(BACK)) == RunCall(call.id, again=False)
    running = ready.after(core.Begin(call.id), TAKE, core.Return(call.id, 1, {"allowed": True}))
    assert (running.call("authorize").status, action(running)) == ("done", Nothing("colleague"))


def test_taking_from_a_colleague_names_them():
    taken = worlds.opened().after(TAKE)
    assert taken.after(TAKE).history == taken.history
    with pytest.raises(TakenByAnother) as refused:
        taken.after(core.TakeOver(BOB))
    assert refused.value.facts["by"] == SUE
    stolen = taken.after(core.TakeOver(BOB, "my customer", holder=SUE))
    assert (stolen.state.taken_by, stolen.events(ev.SessionTakenOver)[-1].from_whom) == (BOB, SUE)
    with pytest.raises(TakenByAnother):
        stolen.after(core.Speak("Hello", SUE))


def test_only_who_has_it_speaks_and_only_while_they_have_it():
    world = worlds.opened()
    with pytest.raises(NotTakenOver):
        world.after(core.Speak("Hello", SUE))
    spoken = world.after(TAKE, core.Speak(" Hello, this is Sue. ", SUE))
    assert said(spoken)[-1] == ("staff", "Hello, this is Sue.")
    with pytest.raises(NotTakenOver):
        spoken.after(BACK, core.Speak("Hello", SUE))


def test_a_whisper_is_in_the_models_context_as_guidance_and_in_no_message():
    world = worlds.opened().after(core.Whisper("It is 4,300.", SUE))
    item = world.state.items[-1]
    assert (item.role, item.by) == ("note", SUE)
    assert item.text.endswith("It is 4,300.")
    assert "never quote" in item.text
    assert len(said(world)) == 1


def test_a_whisper_asks_the_agent_at_once_only_when_it_is_meant_to():
    rested = worlds.opened().asked(text="One moment.")
    assert isinstance(action(rested.after(core.Whisper("Be brief.", SUE))), Nothing)
    assert action(rested.after(core.Whisper("Say that now.", SUE, now=True))) == AskModel(again=False)


def test_the_agent_is_handed_the_session_with_a_summary_and_told_not_to_greet_again():
    world = worlds.opened().after(TAKE, core.Speak("I see it.", SUE), BACK)
    note = world.state.items[-1]
    assert (note.role, world.state.taken_by, action(world)) == ("note", "", AskModel(again=False))
    assert OPENING in note.text
    assert BACK.summary in note.text


def test_it_waits_for_the_customer_when_it_is_told_to_and_all_was_answered():
    quiet = core.HandBack("", SUE, speaks=False)
    answered = worlds.opened().after(TAKE, core.Speak("Done.", SUE), quiet)
    assert isinstance(action(answered), Nothing)
    open_question = worlds.opened().after(TAKE, core.Say("customer", "And now?", "customer"), quiet)
    assert action(open_question) == AskModel(again=False)


def test_a_state_that_breaks_its_schema_is_not_handed_back():
    """Every value that breaks it is named; once they are mended, the session goes back."""
    taken = with_schema().after(TAKE)
    pad = {"customer": CUSTOMER, "authorization": {"allowed": True, "reason": 7}, "limit": -1}
    broken = replace(taken, state=changed(taken.state, pad=pad))
    with pytest.raises(NotConsistent) as refused:
        broken.after(BACK)
    assert "state.authorization.reason: type: want string" in refused.value.detail
    assert "state.limit: minimum" in refused.value.detail
    assert "customer" not in refused.value.detail
    mended = replace(taken, state=changed(taken.state, pad={"customer": CUSTOMER}))
    assert mended.after(BACK).state.taken_by == ""


def test_a_session_with_a_contested_value_is_not_handed_back():
    taken = worlds.opened().after(TAKE)
    contested = Changes(conflicts={"1": Conflict("1", 1, "", "state.flags", "vote", 2, "", (), (), ())})
    with pytest.raises(NotConsistent) as refused:
        replace(taken, state=changed(taken.state, changes=contested)).after(BACK)
    assert refused.value.detail == "state.flags: contested, to be settled first"


def test_a_session_is_passed_on_to_a_colleague_or_to_whoever_takes_it():
    taken = worlds.opened().after(TAKE)
    to_bob = taken.after(core.PassOn(BOB, SUE, "end of shift", SUE))
    assert (to_bob.state.taken_by, action(to_bob)) == (BOB, Nothing("colleague"))
    queued = taken.after(core.PassOn("", SUE, "end of shift", SUE))
    assert (queued.state.taken_by, bool(queued.state.desk.wanted_at)) == (QUEUE, True)
    assert action(queued) == Nothing("colleague")
    taken_again = queued.after(core.TakeOver(BOB))
    assert (taken_again.state.taken_by, taken_again.state.desk.wanted_at) == (BOB, "")
    with pytest.raises(HasChanged):
        taken_again.after(core.PassOn("", SUE, "late", SUE))


@pytest.mark.parametrize("over", [core.End("hung up", "customer"), core.Cancel("mistake", SUE)])
def test_nobody_has_a_session_that_is_over(over):
    world = worlds.opened().after(TAKE, core.Assign("", BOB, SUE), over)
    assert (world.state.taken_by, world.state.desk.assigned_to) == ("", "")
    for late in (TAKE, core.Speak("Hello", SUE), BACK, core.Whisper("x", SUE), core.AskForPerson("api", "customer")):
        with pytest.raises(SessionOver):
            world.after(late)


def test_the_customers_wish_for_a_person_lasts_until_one_takes_over_or_it_is_withdrawn():
    asks = core.Say("customer", "Can I speak to a real person, please?", "customer")
    world = worlds.opened().after(asks)
    (wish,) = world.events(ev.HumanRequested)
    assert (wish.source, wish.by, bool(world.state.desk.wanted_at)) == ("phrase", "customer", True)
    assert len(world.after(asks).events(ev.HumanRequested)) == 1
    assert world.after(TAKE).state.desk.wanted_at == ""
    gone = world.after(core.NoPersonNeeded("it was settled", SUE))
    assert gone.state.desk.wanted_at == ""
    with pytest.raises(NoPersonWanted):
        gone.after(core.NoPersonNeeded("again", SUE))
    assert worlds.opened().after(TAKE, asks).events(ev.HumanRequested) == []


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("I want to speak to a human.", True),
        ("Let me TALK   to your\nsupervisor!", True),
        ("get me a damn person", True),
        ("representative, please", True),
        ("I don't want to talk to a person", False),
        ("no need to speak to a manager", False),
        ("I don't like this. Can I speak to a manager?", True),
        ("My personal account, please", False),
        ("He is a human resources manager", False),
        ("", False),
    ],
)
def test_a_wish_for_a_person_is_heard_in_whole_words_and_not_where_it_is_denied(text, heard):
    assert bool(phrase_heard(text)) is heard


def test_a_request_is_assigned_taken_back_and_gone_when_it_is_decided():
    world = worlds.waiting()
    request = world.request.asked.request
    given = world.after(core.Assign(request, SUE, BOB, ("knows transfers",)))
    assert given.request.assigned_to == SUE
    with pytest.raises(HasChanged):
        given.after(core.Assign(request, BOB, BOB))
    assert given.after(core.Assign(request, "", BOB, holder=SUE)).request.assigned_to == ""
    with pytest.raises(core.UnknownRequest):
        given.after(worlds.decision(given, "reject", "sue"), core.Assign(request, "", BOB, holder=SUE))


def test_the_proposed_summary_tells_what_was_said_and_done_and_is_bounded():
    assert summary_of([]) == NOTHING
    long = [ev.MessageAdded("staff", f"{n} " * 100) for n in range(40)]
    told = summary_of(long)
    assert len(told) <= LONGEST
    assert told.splitlines()[-1].startswith("Colleague: 39")
    done = summary_of([ev.MessageAdded("customer", "It is 4,300."), *_returned("transfer"), *long])
    assert "Done: transfer" in done


def _returned(tool: str) -> list[ev.AnyEvent]:
    world = worlds.waiting()
    world = world.after(worlds.decision(world, "approve", "sue"))
    ran = world.ran(world.call(tool), {"receipt": "r"})
    return [event for event, _ in ran.history[len(world.history) :]]


def test_a_person_says_one_thing_and_the_agent_keeps_the_session_and_knows():
    asking = worlds.opened().after(ASK)
    spoken = asking.after(core.BargeIn("This is Sue: the branch opens at nine.", SUE))
    assert said(spoken)[-1] == ("staff", "This is Sue: the branch opens at nine.")
    assert spoken.events(ev.ModelDropped)[-1].because == "spoken_over"  # what it was saying does not know of it
    assert (spoken.state.taken_by, action(spoken)) == ("", AskModel(again=False))
    with pytest.raises(Outdated):
        spoken.after(ANSWER)
    again = spoken.after(
        core.Ask("step-2", "model", 0, 0, (), "digest"), core.Answer("step-2", "model", "At nine.", ())
    )
    assert said(again)[-1] == ("agent", "At nine.")
    assert [item.role for item in again.state.items][-2:] == ["staff", "agent"]


def test_nobody_barges_in_where_a_colleague_has_it_and_a_resting_agent_is_not_woken():
    rested = worlds.opened().after(ASK, ANSWER)
    assert isinstance(action(rested.after(core.BargeIn("Thank you for your patience.", SUE))), Nothing)
    taken = worlds.opened().after(TAKE)
    with pytest.raises(TakenByAnother):
        taken.after(core.BargeIn("This is Bob.", BOB))
    assert said(taken.after(core.BargeIn("It is mine anyway.", SUE)))[-1][0] == "staff"
    with pytest.raises(SessionOver):
        worlds.opened().after(core.End("hung up", "customer"), core.BargeIn("Hello?", SUE))


def test_a_session_that_is_taken_over_survives_its_snapshot_and_its_entries():
    world = worlds.opened().after(ASK, TAKE, core.Assign("", BOB, SUE), ANSWER)
    assert from_snapshot(to_snapshot(world.state)) == world.state
    assert fold((ev.decode(ev.encode(event)), at) for event, at in world.history) == world.state


# The law: while a person has it, no message of the agent is committed and nothing of its own begins, whatever happens.

MOVES: dict[str, Callable[[World], object]] = {
    "ask": lambda world: core.Ask(f"step-{len(world.history)}", "model", 0, 0, tuple(world.tools), "digest"),
    "answer": lambda world: core.Answer(_open(world), "model", "I say", (AUTHORIZE,)),
    "answer late": lambda world: core.Answer(_first(world), "model", "I say", ()),
    "no answer": lambda world: core.NoAnswer(_open(world), "down", True),
    "begin": lambda world: core.Begin(next(reversed(world.state.calls), "none")),
    "return": lambda world: core.Return(next(reversed(world.state.calls), "none"), 1, {"allowed": True}),
    "customer": lambda world: core.Say("customer", "Hello?", "customer"),
    "take": lambda world: TAKE,
    "steal": lambda world: core.TakeOver(BOB, holder=SUE),
    "speak": lambda world: core.Speak("It is Sue.", SUE),
    "barge in": lambda world: core.BargeIn("This is Sue: it is 4,300.", SUE),
    "bob barges in": lambda world: core.BargeIn("This is Bob.", BOB),
    "whisper": lambda world: core.Whisper("Be brief.", SUE, now=True),
    "pass on": lambda world: core.PassOn("", world.state.taken_by, "end of shift", SUE),
    "hand back": lambda world: core.HandBack("", world.state.taken_by or SUE),
    "pause": lambda world: core.Pause("wait", SUE),
    "resume": lambda world: core.Resume(SUE),
    "person": lambda world: core.AskForPerson("api", "customer"),
}


def _open(world: World) -> str:
    return world.state.asking or world.state.desk.in_flight


def _first(world: World) -> str:
    return next((event.step for event in world.events(ev.ModelRequested)), "none")


def silent(world: World) -> None:
    """Reads the history alone: who has it, and what the agent does meanwhile."""
    holder = ""
    for event, _ in world.history:
        match event:
            case ev.SessionTakenOver(by=by):
                holder = by
            case ev.SessionPassedOn(to=to):
                holder = to or QUEUE
            case ev.SessionHandedBack() | ev.SessionEnded() | ev.SessionCancelled():
                holder = ""
            case ev.MessageAdded(role="agent") | ev.ModelRequested() | ev.ModelAnswered():
                assert not holder, f"{ev.kind_of(event)} while {holder} has it"
            case ev.ToolIntended(digest="", attempt=1):  # a lost result may be settled by another attempt
                assert not holder, "a step of the agent's own begins while somebody has it"
            case ev.MessageAdded(role="staff", by=by):
                assert holder in ("", by), "who does not have it speaks while somebody has"


def explored(world: World, depth: int) -> Iterator[World]:
    layer = {essence(world.state): world}
    for _ in range(depth):
        following: dict[bytes, World] = {}
        for here in layer.values():
            for move in MOVES.values():
                try:
                    then = here.after(move(here))
                except Refused:
                    continue
                silent(then)
                judge(then.history, MAY)
                following.setdefault(essence(then.state), then)
        yield from following.values()
        layer = following


@pytest.mark.slow
def test_in_no_interleaving_does_the_agent_speak_or_act_while_somebody_has_the_session():
    seen: set[str] = set()
    for world in explored(worlds.opened(), 6):
        seen |= {ev.kind_of(event) for event, _ in world.history[-1:]}
    assert seen >= {"model.dropped", "session.passed_on", "session.handed_back", "tool.intended", "message.added"}


def test_without_the_drop_of_answers_in_flight_the_exploration_fails(monkeypatch):
    def spoken(command: core.Answer | core.NoAnswer) -> list[ev.AnyEvent]:
        return [ev.MessageAdded("agent", "I say", "model")]

    monkeypatch.setattr(supervision, "dropped", spoken)
    with pytest.raises((AssertionError, Broken)):
        list(explored(worlds.opened(), 3))


def test_without_the_guard_on_who_speaks_the_exploration_fails(monkeypatch):
    monkeypatch.setattr(supervision, "_must_have_it", lambda state, by: conversation.must_live(state))
    with pytest.raises((AssertionError, Broken)):
        list(explored(worlds.opened(), 2))
