"""Attacks on when work goes on: after a stop, beside a stopped tool, and after a take-over."""

from __future__ import annotations

import time

from tests.attacks.client import Person, Talk, eventually
from tests.attacks.stack import Stack


def a_moment() -> None:
    """So much time that a worker has looked, and not so much that it looks again."""
    began = time.monotonic()
    eventually(lambda: time.monotonic() - began > 0.4, "a moment is over")


def within(seconds: float, talk: Talk, dollars: int) -> None:
    """The money moves so soon."""
    eventually(lambda: (talk.checking, dollars) in talk.moved(), lambda: f"due at once: {talk.view}", seconds)


def stopped(sue: Person, scope: str, value: str) -> str:
    """A stop; returns its id."""
    sue.post("/stops", scope=scope, value=value, reason="drill").must()
    found = sue.get("/stops").must()["stops"]
    return str(
        next(
            each["id"] for each in found if each["scope"] == scope and each["value"] == value and not each["lifted_at"]
        )
    )


def test_p14_what_was_approved_under_a_stop_is_due_when_it_is_lifted(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-1")
    request = talk.asks_for(900)
    stop = stopped(sue, "agent", "hunt-1")
    request.approve(sue).must()
    a_moment()
    sue.post(f"/stops/{stop}/lift", why="over").must()
    within(8, talk, 900)


def test_p14_it_is_due_when_the_second_of_two_stops_is_lifted(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-2")
    request = talk.asks_for(900)
    for _ in range(2):
        stop = stopped(sue, "agent", "hunt-2")
        if request.state == "pending":
            request.approve(sue).must()
        a_moment()
        sue.post(f"/stops/{stop}/lift", why="over").must()
    within(8, talk, 900)


def test_p14_what_was_approved_is_due_when_the_session_is_handed_back(stack: Stack):
    sue, bob, talk = stack.supervisor(), stack.supervisor(), stack.talk(agent="hunt-3")
    request = talk.asks_for(900)
    talk.post(bob, "takeover", reason="I speak to them").must()
    request.approve(sue)
    talk.post(bob, "handback", summary="They agree.").must()
    for each in talk.pending:
        each.approve(sue)
    within(8, talk, 900)


def two_undoings(stack: Stack, agent: str) -> Talk:
    """Two acts were done and rolled back; both undoings are ordered and approved, and the first fails at first."""
    sue, zoe, talk = stack.supervisor(), stack.supervisor(), stack.talk(agent=agent)
    start = talk.seq
    for name in ("one", "two"):
        talk.wants({"_tool": "act", "subject": f"{talk.id} {name}"})
        talk.one_pending().approve(sue).must()
        eventually(
            lambda name=name: any(name in each["arguments"]["subject"] for each in talk.effects()), f"act {name}"
        )
        talk.rests()
    talk.roll_back(sue, start)
    stack.trouble(f"{talk.id} two", 1)
    found = stack.watcher.get(f"/sessions/{talk.id}/compensation").must()
    stop = stopped(sue, "agent", agent)
    talk.post(zoe, "compensation", rollback=found["rollback"], reason="wrong").must()
    eventually(lambda: len(talk.pending) == 2, "both wait for a person")
    for request in talk.pending:
        request.approve(sue).must()
    sue.post(f"/stops/{stop}/lift", why="over").must()
    eventually(lambda: talk.entries("tool.failed"), "the first try has failed")
    return talk


def undone(talk: Talk) -> bool:
    """Whether both undoings were done."""
    for request in talk.pending:
        request.approve(talk.stack.supervisor())
    return len([each for each in talk.effects() if each["arguments"].get("detail") == "undone"]) == 2


def test_p15_an_undoing_that_is_tried_again_is_woken_while_a_colleague_has_the_session(stack: Stack):
    talk, bob = two_undoings(stack, "hunt-8"), stack.supervisor()
    talk.post(bob, "takeover", reason="I speak to them").must()

    def first_is_done() -> bool:
        return any(each["arguments"].get("detail") == "undone" for each in talk.effects())

    eventually(first_is_done, lambda: f"what had begun goes on: {talk.view}", 30)


def test_p15_both_undoings_are_done_after_the_hand_back(stack: Stack):
    talk, bob = two_undoings(stack, "hunt-9"), stack.supervisor()
    talk.post(bob, "takeover", reason="I speak to them").must()
    talk.post(bob, "handback", summary="They agree.").must()
    eventually(lambda: undone(talk), lambda: f"both are done: {talk.view}", 30)


def test_p15_both_undoings_are_done_in_a_session_that_nobody_takes(stack: Stack):
    talk = two_undoings(stack, "hunt-7")
    eventually(lambda: undone(talk), lambda: f"both are done: {talk.view}", 30)


def bell_under_a_stop(stack: Stack, number: int) -> Talk:
    """An approved call of a stopped tool."""
    sue, talk = stack.supervisor(), stack.talk(agent=f"hunt-{3 + number}")
    talk.wants({"_tool": f"ring_{number}", "subject": talk.id})
    request = talk.one_pending()
    stopped(sue, "tool", f"ring_{number}")
    request.approve(sue).must()
    return talk


def test_q5_a_stop_of_one_tool_does_not_mute_the_agent(stack: Stack):
    talk = bell_under_a_stop(stack, 1)
    talk.say("What is my balance?").must()
    eventually(lambda: talk.view["last_role"] == "agent", lambda: f"the customer is answered: {talk.view}", 10)


def test_q5_a_stop_of_one_tool_does_not_keep_others_from_running(stack: Stack):
    talk = bell_under_a_stop(stack, 2)
    talk.wants({"_tool": "note", "subject": talk.id})
    eventually(lambda: talk.effects("note"), lambda: f"the note is written: {talk.view}", 10)


def test_q5_a_stop_of_one_tool_does_not_keep_a_person_from_asking_for_another(stack: Stack):
    talk = bell_under_a_stop(stack, 3)
    talk.wants(talk.transfer(900))
    eventually(lambda: any(each.view["tool"] == "transfer" for each in talk.pending), "a person is asked", 10)
    assert talk.effects("ring_3") == [], "the stop holds the bell"
