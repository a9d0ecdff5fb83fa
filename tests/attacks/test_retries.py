"""Attacks on calls that fail: how long they are tried, and what a person must settle."""

from __future__ import annotations

import time

from tests.attacks.client import Person, Talk, eventually
from tests.attacks.stack import Stack
from tests.attacks.steps import failed_for_good


def test_m7_an_approved_transfer_outlives_half_a_minute_without_the_bank(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    request = talk.asks_for(900)
    began = time.monotonic()
    with stack.locked(talk.savings):
        request.approve(sue).must()
        eventually(lambda: time.monotonic() - began > 36, "half a minute is over", 60)
    talk.has_moved(900)


def test_m7_an_approved_act_outlives_more_failures_than_four(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    stack.trouble(talk.id, 5)
    talk.wants({"_tool": "act", "subject": talk.id})
    talk.one_pending().approve(sue).must()
    eventually(talk.effects, "it was done in the end")


def test_m7_what_is_tried_again_says_so_to_the_supervisor(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    stack.trouble(talk.id, 99)
    talk.wants({"_tool": "act", "subject": talk.id})
    talk.one_pending().approve(sue).must()
    eventually(lambda: len(talk.entries("tool.failed")) > 1 or talk.get_stuck(), "it was tried")
    failed = talk.entries("tool.failed")[0]["data"]
    assert failed.get("retry_until"), f"nobody reads for how long it is tried: {failed}"


def test_m8_what_a_person_must_settle_is_listed_as_stuck(stack: Stack):
    talk, sue = failed_for_good(stack)
    assert talk.id in stuck(sue), "the session offers a retry, and the list of what is stuck is silent"


def stuck(person: Person) -> list[str]:
    """The sessions that the API lists as stuck."""
    return [each["id"] for each in person.get("/stuck").must()["sessions"]]


def test_m8_it_stays_listed_when_the_agent_has_spoken_of_something_else(stack: Stack):
    talk, sue = failed_for_good(stack)
    talk.say("and what is my balance?").must()
    talk.rests()
    assert bool(talk.get_stuck()) == (talk.id in stuck(sue)), "two answers to one question"


def test_m8_it_is_listed_no_more_when_a_person_has_settled_it(stack: Stack):
    talk, sue = failed_for_good(stack)
    talk.settle(sue, "skip").must()
    talk.rests()
    assert bool(talk.get_stuck()) == (talk.id in stuck(sue)), "two answers to one question"


def test_q3_a_failed_call_is_tried_again_after_two_rollbacks(stack: Stack):
    talk, sue = failed_for_good(stack)
    after = talk.seq
    talk.roll_back(sue, 1)
    talk.roll_back(sue, after)
    goes_on(talk, sue)


def goes_on(talk: Talk, sue: Person) -> None:
    """The failed call can be tried again: it is done once, and the customer is answered."""
    talk.settle(sue, "retry").must()

    def done() -> bool:
        for request in talk.pending:
            request.approve(talk.stack.supervisor())
        return bool(talk.effects())

    eventually(done, lambda: f"the call is done: {talk.view}")
    talk.say("hello?").must()
    eventually(lambda: talk.view["last_role"] == "agent", lambda: f"the customer is answered: {talk.view}", 20)
    assert len(talk.effects()) == 1


def test_q3_a_failed_call_is_tried_again_after_a_rollback_and_a_fork(stack: Stack):
    talk, sue = failed_for_good(stack)
    after = talk.seq
    talk.roll_back(sue, 1)
    fork = talk.fork(sue, after).promote(sue)
    fork.rests()
    goes_on(fork, sue)


def test_q3_a_failed_call_is_tried_again_after_three_rollbacks(stack: Stack):
    talk, sue = failed_for_good(stack)
    after = talk.seq
    talk.roll_back(sue, 1)
    talk.roll_back(sue, after)
    talk.roll_back(sue, after)
    goes_on(talk, sue)
