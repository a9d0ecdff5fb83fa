"""Attacks on what a rollback names, and on what stays done."""

from __future__ import annotations

from tests.attacks.client import Person, Talk, eventually
from tests.attacks.stack import Stack
from tests.attacks.steps import approved_and_paused, failed_for_good, is_named


def test_p6_a_rollback_names_the_approved_call_that_it_withdraws(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    start = talk.seq
    request = approved_and_paused(talk, sue)
    preview = talk.roll_back(sue, start)
    told = {name: value for name, value in preview.items() if name not in ("to", "digest", "more") and value}
    assert told, f"the preview of the rollback names nothing: {preview}"
    is_named(talk, request)


def test_p6_a_rollback_of_a_call_under_its_delay_names_it(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(topic="held")
    start = talk.seq
    request = talk.asks_for(900)
    request.approve(sue).must()
    talk.roll_back(sue, start)
    is_named(talk, request)


def test_p6_a_rollback_of_a_call_that_waits_to_be_tried_again_names_it(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    start = talk.seq
    stack.trouble(talk.id, 99)
    talk.wants({"_tool": "act", "subject": talk.id})
    request = talk.one_pending()
    request.approve(sue).must()
    eventually(lambda: talk.entries("tool.failed"), "its first try has failed")
    talk.pause(sue)
    preview = talk.roll_back(sue, start)
    told = {name: value for name, value in preview.items() if name not in ("to", "digest", "more") and value}
    assert told or talk.get_stuck(), f"the preview of the rollback names nothing: {preview}"
    assert talk.effects() == []


def letter_posted_by_a_retry(stack: Stack) -> tuple[Talk, Person, int]:
    """A letter that failed, and was posted when a person had it tried again; the entry in between."""
    talk, sue = failed_for_good(stack, "post_letter")
    between = talk.seq
    talk.settle(sue, "retry").must()
    for request in talk.pending:
        request.approve(stack.supervisor())
    eventually(lambda: talk.effects("post_letter"), "the letter is posted")
    talk.rests()
    return talk, sue, between


def retried(talk: Talk, sue: Person) -> None:
    """A person presses whatever is offered for the letter, and approves what asks: one letter in all."""
    if talk.get_stuck():
        talk.settle(sue, "retry")
        talk.rests()
    for request in talk.pending:
        request.approve(talk.stack.supervisor())
    talk.rests()


def letters(stack: Stack, subject: str) -> int:
    """How many letters were posted for this subject, by whatever session."""
    return int(stack.bank("select count(*) from attacks.effects where arguments ->> 'subject' = %s", subject)[0][0])


def test_p8_a_letter_that_a_retry_has_posted_is_not_offered_again_after_a_rollback(stack: Stack):
    talk, sue, between = letter_posted_by_a_retry(stack)
    talk.roll_back(sue, between)
    retried(talk, sue)
    assert letters(stack, talk.id) == 1, "it was posted twice"


def test_p8_a_letter_that_a_retry_has_posted_is_not_offered_again_in_a_fork(stack: Stack):
    talk, sue, between = letter_posted_by_a_retry(stack)
    fork = talk.fork(sue, between).promote(sue)
    fork.rests()
    retried(fork, sue)
    assert letters(stack, talk.id) == 1, "it was posted twice"


def test_p8_a_letter_is_not_posted_again_after_two_rollbacks(stack: Stack):
    talk, sue, between = letter_posted_by_a_retry(stack)
    talk.roll_back(sue, 1)
    talk.roll_back(sue, between)
    retried(talk, sue)
    assert letters(stack, talk.id) == 1, "it was posted twice"
