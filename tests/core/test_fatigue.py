"""How often the agent may ask people: after three rejections it rests, and a person says once whether it goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.advance import AskModel, RunCall, next_action
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.looping.settings import MAX_PENDING, REFUSALS, Limits, Looping
from agentstate.engine.state.session import pending
from agentstate.errors import Invalid, Refused
from tests.core import worlds
from tests.core.worlds import World

ASKS = pol.Rule("large", ("transfer", "post_letter"), "true", 2, "approve", "A person decides.")
ASKED = core.Ask("s", "model", 0, 0, (), "digest")
FREE = pol.Rule("free", ("*",), "true", 0, "allow", "Goes on.")


def transfer(minor: int, **more: Any) -> ev.CallProposed:
    amount = {"minor": minor, "currency": "USD"}
    return ev.CallProposed("call", "transfer", {"amount": amount, **more}, None)


def letter(to: str) -> ev.CallProposed:
    return ev.CallProposed("call", "post_letter", {"to": to}, None)


def talk(**loop: Any) -> World:
    """A session whose calls wait for people."""
    return replace(worlds.opened().with_rules(ASKS, FREE), loop=Looping(**loop))


def rejected(world: World, *minors: int) -> World:
    """The world after transfers of these amounts were proposed and rejected one after another."""
    for minor in minors:
        world = world.asked(transfer(minor))
        world = world.after(worlds.decision(world, "reject", "sue", reason=f"no {minor}"))
    return world


def refusal(world: World) -> str:
    """The code by which the last call was refused; empty: it was not."""
    last = world.history[-1][0]
    return last.code if isinstance(last, ev.CallRefused) else ""


def tired() -> World:
    return rejected(talk(), *range(100, 100 + REFUSALS))


def test_after_three_rejections_no_more_is_asked_and_the_model_is_told():
    world = rejected(talk(), *range(100, 99 + REFUSALS)).asked(transfer(500))
    assert len(pending(world.state)) == 1
    world = world.after(worlds.decision(world, "reject", "sue", reason="no")).asked(letter("bob"))
    assert (refusal(world), pending(world.state)) == ("too_many_refusals", [])
    assert "until a person lets you go on" in world.state.items[-1].text


def test_the_agent_rests_and_a_person_is_told_once_what_was_rejected_and_what_it_wants():
    world = tired().asked(transfer(500), letter("bob"))
    (stopped,) = world.after(ASKED).events(ev.RunStopped)
    assert (stopped.code, stopped.of, stopped.used, stopped.limit) == ("refusals", "session", 3, REFUSALS)
    for part in ("Move 100 cents (no 100)", "Move 102 cents (no 102)", "Wanted: Move 500 cents; Do it with 1 argu"):
        assert part in stopped.reason
    rests = world.after(ASKED)
    assert (rests.state.owes, rests.state.failure) == (False, stopped.reason)


def test_what_needs_no_person_goes_on_and_the_agent_still_answers_the_customer():
    world = tired().asked(ev.CallProposed("call", "load_customer", {}, None))
    assert list(world.state.calls.values())[-1].status is CallStatus.READY
    world = tired().asked(transfer(500)).after(ASKED)
    world = world.after(core.Say("customer", "When do you open?", "customer"))
    assert isinstance(next_action(world.state, stamp(world.given.at)), AskModel)
    world = world.asked(text="At nine.")
    assert world.events(ev.MessageAdded)[-1].text == "At nine."


def test_no_words_of_the_customer_end_the_count():
    world = tired()
    for words in ("Please!", "I am the director.", "Ask again."):
        world = world.after(core.Say("customer", words, "customer")).asked(transfer(700))
        assert refusal(world) == "too_many_refusals"
        world = world.after(ASKED)


def test_a_person_lets_the_agent_go_on_and_it_may_ask_as_often_again():
    world = tired().asked(transfer(500)).after(ASKED)
    world = world.after(core.Grant("user:ann", "The customer is known.", Limits()))
    world = world.asked(transfer(501))
    assert len(pending(world.state)) == 1
    world = world.after(worlds.decision(world, "reject", "sue", reason="no"))
    world = rejected(world, *range(600, 599 + REFUSALS)).asked(transfer(700))
    assert refusal(world) == "too_many_refusals"


def test_a_person_lets_it_go_on_also_while_it_is_not_stopped():
    world = tired().after(core.Rest("customer"))
    assert not world.state.loop.stopped
    world = world.after(core.Grant("user:ann", "Go on.", Limits())).asked(transfer(500))
    assert len(pending(world.state)) == 1
    with pytest.raises((Invalid, Refused)):
        rejected(talk(), 100).after(core.Grant("user:ann", "Go on.", Limits()))


@pytest.mark.parametrize("bound", [0, 1, 5])
def test_an_agent_declares_how_many_rejections_and_zero_bounds_nothing(bound: int):
    world = rejected(talk(refusals=bound), *range(100, 100 + (bound or REFUSALS)))
    assert (refusal(world.asked(transfer(500))) == "too_many_refusals") is (bound > 0)


def test_as_many_requests_wait_as_the_agent_declares():
    world = talk(pending=2).asked(transfer(1), transfer(2), transfer(3))
    assert (len(pending(world.state)), refusal(world)) == (2, "too_many_pending")
    many = [transfer(minor) for minor in range(1, MAX_PENDING + 4)]
    assert len(pending(talk().asked(*many).state)) == MAX_PENDING
    assert len(pending(talk(pending=0).asked(*many).state)) == len(many)


def test_after_a_rejection_one_call_of_a_tool_waits_at_a_time():
    world = rejected(talk(), 100).asked(transfer(101), transfer(102, new_payee=False), letter("bob"))
    assert [each.asked.tool for each in pending(world.state)] == ["transfer", "post_letter"]
    codes = [event.code for event in world.events(ev.CallRefused)]
    assert codes == ["asked_already"]


def test_rejections_in_the_family_count_and_those_of_other_sessions_do_not():
    world = rejected(talk(), 100)
    seen = msgspec.structs.replace(world.state, refusals=REFUSALS)
    assert refusal(replace(world, state=seen).asked(transfer(500))) == "too_many_refusals"


def test_what_people_propose_is_exempt():
    world = tired()
    world = world.after(
        core.ProposePlan(({"_tool": "transfer", "amount": {"minor": 5, "currency": "USD"}},), "user:ann")
    )
    following = next_action(world.state, stamp(world.given.at))
    assert isinstance(following, RunCall)
    world = world.after(core.Begin(following.call))
    assert (len(pending(world.state)), "too_many_refusals" in [each.code for each in world.events(ev.CallRefused)]) == (
        1,
        False,
    )
