"""Attacks on proposals of several callers: they wait side by side, or the second is refused by name."""

from __future__ import annotations

import pytest

from tests.attacks.client import Person, Request, Talk, eventually
from tests.attacks.stack import Stack
from tests.attacks.steps import approved_and_paused


def ends_by_name(talk: Talk, request: Request) -> None:
    """The bank has booked the transfer of $900, or the request says that it was not done."""
    eventually(
        lambda: (talk.checking, 900) in talk.moved() or request.says_not_done(),
        lambda: f"done or named: {request.view}",
        15,
    )


def ends_after_another_plan(stack: Stack, talk: Talk, kind: str) -> Talk:
    """A transfer that waits as `kind` is approved while paused, and another plan is proposed before it begins."""
    ann, sue = stack.supervisor(), stack.supervisor()
    talk.propose(ann, {"_id": "first", **talk.transfer(900)}).must()
    request = talk.one_pending(kind)
    talk.pause(sue)
    request.approve(sue).must()
    talk.propose(ann, {"_id": "second", **talk.transfer(100)})
    talk.resume(sue)
    ends_by_name(talk, request)
    return talk


def test_api1_another_plan_does_not_drop_an_approved_call(stack: Stack):
    talk = ends_after_another_plan(stack, stack.talk(), "transfer")
    assert (talk.checking, 900) in talk.moved(), "a plan that leaves it out does not withdraw it"


@pytest.mark.alone
def test_api1_another_plan_while_no_worker_is_free_does_not_drop_an_approved_call(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk()
    talk.propose(ann, {"_id": "first", **talk.transfer(900)}).must()
    request = talk.one_pending("transfer")
    with stack.frozen_workers():
        request.approve(sue).must()
        talk.propose(ann, {"_id": "second", **talk.transfer(100)})
    ends_by_name(talk, request)
    assert (talk.checking, 900) in talk.moved(), "a plan that leaves it out does not withdraw it"


def test_api1_the_agents_next_proposal_does_not_drop_an_approved_call(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    request = approved_and_paused(talk, sue)
    talk.wants({"_tool": "note", "subject": talk.id})
    talk.resume(sue)
    eventually(lambda: talk.moved() or request.says_not_done(), lambda: f"done or named: {request.view}", 15)
    assert talk.moved() == [(talk.checking, 900)]


def test_api1_two_plans_of_which_the_first_was_approved_by_chat_end_by_name(stack: Stack):
    ends_after_another_plan(stack, stack.talk(channel="chat"), "plan")


def side_by_side(talk: Talk, first: Person, second: Person) -> None:
    """Two calls proposed at once: each waits for a person, or the second was refused by name."""
    talk.propose(first, {"_id": "first", **talk.transfer(900)}).must()
    answer = talk.propose(second, {"_id": "second", **talk.transfer(100)})
    talk.rests()
    amounts = sorted(each.view["arguments"]["amount"]["minor"] for each in talk.pending)
    if answer.ok:
        assert amounts == [10_000, 90_000], "201 to both, and one was dropped"
    else:
        assert amounts == [90_000]
        assert answer.code, answer


def test_api2_two_programs_propose_at_once_and_neither_is_dropped(stack: Stack):
    side_by_side(stack.talk(), stack.supervisor(), stack.supervisor())


def test_api2_two_calls_of_one_program_are_not_dropped_silently(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk()
    talk.propose(ann, {"_id": "first", **talk.transfer(900)}).must()
    first = talk.one_pending("transfer")
    answer = talk.propose(ann, {"_id": "second", **talk.transfer(100)})
    talk.rests()
    assert not answer.ok or first.state == "pending" or first.ended[-1]["because"], "it was dropped without a word"


def test_api2_a_person_proposes_while_the_agents_call_waits(stack: Stack):
    bob, talk = stack.supervisor(), stack.talk()
    first = talk.asks_for(900)
    answer = talk.propose(bob, {"_id": "second", **talk.transfer(100)})
    talk.rests()
    assert first.state == "pending" or not answer.ok, "the agent's call was dropped by a person's proposal"
