"""Attacks on what forks and delegates remember: limits of a day, and rejections."""

from __future__ import annotations

from tests.attacks.client import Request, Talk
from tests.attacks.stack import Stack


def test_q6_a_promoted_fork_remembers_what_its_parent_moved_today(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(topic="day")
    fork = talk.fork(sue)
    talk.wants(talk.transfer(150))
    talk.has_moved(150)
    fork.promote(sue)
    fork.wants(fork.transfer(150.01))
    fork.rests()
    assert fork.moved() == [], "more than $200 in a day, and nobody was asked"


def test_q6_a_delegate_counts_what_its_parent_moved_today(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk(topic="day")
    talk.wants(talk.transfer(150))
    talk.has_moved(150)
    talk.propose(ann, talk.task_for(ann, {"_id": "move", **talk.transfer(150)})).must()
    child = talk.child()
    child.rests()
    assert child.moved() == [], "more than $200 in a day, and nobody was asked"


def test_q6_a_session_counts_what_its_delegate_moved_today(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk(topic="day")
    talk.propose(ann, talk.task_for(ann, {"_id": "move", **talk.transfer(150)})).must()
    child = talk.child()
    child.rests()
    for request in child.pending:
        request.approve(stack.supervisor()).must()
    child.has_moved(150)
    talk.rests()
    talk.wants(talk.transfer(150))
    talk.rests()
    assert talk.moved() == [], "more than $200 in a day, and nobody was asked"


def rejected(stack: Stack, talk: Talk) -> Request:
    """The transfer of $900, rejected."""
    request = talk.asks_for(900)
    request.decide(stack.supervisor(), "reject").must()
    talk.rests()
    return request


def test_q15_what_was_rejected_is_not_asked_again_in_a_promoted_fork(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    fork = talk.fork(sue)
    rejected(stack, talk)
    fork.promote(sue)
    fork.wants(fork.transfer(900))
    fork.rests()
    assert fork.pending == [], "a person is asked for what a person has rejected"


def test_q15_what_was_rejected_is_not_asked_again_by_a_delegate(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk()
    rejected(stack, talk)
    talk.propose(ann, talk.task_for(ann, {"_id": "move", **talk.transfer(900)})).must()
    child = talk.child()
    child.rests()
    assert child.pending == [], "a person is asked for what a person has rejected"


def test_q15_what_was_rejected_is_not_asked_again_after_a_rollback(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    start = talk.seq
    rejected(stack, talk)
    talk.roll_back(sue, start)
    talk.wants(talk.transfer(900))
    talk.rests()
    assert talk.pending == [], "a person is asked for what a person has rejected"
