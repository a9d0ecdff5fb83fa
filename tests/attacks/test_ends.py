"""Attacks on how an allowed call ends: it is done, or it ends with a name that everybody sees."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from tests.attacks.client import Person, Request, Talk, eventually
from tests.attacks.installation import SOON
from tests.attacks.stack import Stack


def approved_and_paused(talk: Talk, sue: Person, dollars: int = 900) -> Request:
    """A transfer that sue approved and that has not begun."""
    request = talk.asks_for(dollars)
    talk.pause(sue)
    request.approve(sue).must()
    return request


def is_named(talk: Talk, request: Request) -> None:
    """The request says that the approved call was not done, and the bank has booked nothing."""
    eventually(request.says_not_done, lambda: f"the request says what became of it: {request.view}", 10)
    talk.rests()
    assert talk.moved() == []


# H7: what was approved and has not begun does not vanish.


@pytest.mark.alone
def test_h7_a_customer_who_hangs_up_before_a_worker_is_free_ends_it_by_name(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    request = talk.asks_for(900)
    with stack.frozen_workers():
        request.approve(sue).must()
        talk.end().must()
    is_named(talk, request)


def test_h7_a_customer_who_hangs_up_ends_it_by_name(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    request = approved_and_paused(talk, sue)
    talk.end().must()
    is_named(talk, request)


def test_h7_a_cancelled_session_ends_it_by_name(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    request = approved_and_paused(talk, sue)
    talk.post(sue, "cancel", reason="fraud").must()
    is_named(talk, request)


def test_h7_a_delay_that_the_customer_does_not_wait_for_ends_by_name(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(topic="held")
    request = talk.asks_for(900)
    request.approve(sue).must()
    talk.end().must()
    is_named(talk, request)


# API 1, API 2: proposals stand side by side.


def test_api1_another_plan_does_not_drop_an_approved_call(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk()
    talk.propose(ann, {"_id": "first", **talk.transfer(900)}).must()
    request = talk.one_pending("transfer")
    talk.pause(sue)
    request.approve(sue).must()
    talk.propose(ann, {"_id": "second", **talk.transfer(100)})
    talk.resume(sue)
    eventually(
        lambda: (talk.checking, 900) in talk.moved() or request.says_not_done(), f"done or named: {request.view}", 15
    )
    assert (talk.checking, 900) in talk.moved(), "a plan that leaves it out does not withdraw it"


@pytest.mark.alone
def test_api1_another_plan_while_no_worker_is_free_does_not_drop_an_approved_call(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk()
    talk.propose(ann, {"_id": "first", **talk.transfer(900)}).must()
    request = talk.one_pending("transfer")
    with stack.frozen_workers():
        request.approve(sue).must()
        talk.propose(ann, {"_id": "second", **talk.transfer(100)})
    eventually(
        lambda: (talk.checking, 900) in talk.moved() or request.says_not_done(), f"done or named: {request.view}", 15
    )
    assert (talk.checking, 900) in talk.moved(), "a plan that leaves it out does not withdraw it"


def test_api1_the_agents_next_proposal_does_not_drop_an_approved_call(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    request = approved_and_paused(talk, sue)
    talk.wants({"_tool": "note", "subject": talk.id})
    talk.resume(sue)
    eventually(lambda: talk.moved() or request.says_not_done(), lambda: f"done or named: {request.view}", 15)
    assert talk.moved() == [(talk.checking, 900)]


def test_api1_two_plans_of_which_the_first_was_approved_by_chat_end_by_name(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    talk.propose(ann, {"_id": "first", **talk.transfer(900)}).must()
    request = talk.one_pending("plan")
    talk.pause(sue)
    request.approve(sue).must()
    talk.propose(ann, {"_id": "second", **talk.transfer(100)})
    talk.resume(sue)
    eventually(
        lambda: (talk.checking, 900) in talk.moved() or request.says_not_done(), f"done or named: {request.view}", 15
    )


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


# M7, M8: trouble that passes, and what is stuck.


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


def failed_for_good(stack: Stack, tool: str = "act") -> tuple[Talk, Person]:
    """An approved call that failed and is left to a person; the agent has said that it is sorry."""
    sue, talk = stack.supervisor(), stack.talk()
    stack.trouble(talk.id, 9_999)
    talk.wants({"_tool": tool, "subject": talk.id})
    talk.one_pending().approve(sue).must()
    eventually(talk.get_stuck, "a person must settle it", 90)
    talk.rests()
    stack.trouble(talk.id, 0)
    return talk, sue


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


# P3, P4, Q1, Q2: delegates.


def with_delegate(stack: Stack) -> tuple[Talk, Talk, Person]:
    """A session whose delegate waits for a person to approve its transfer."""
    ann, talk = stack.supervisor(), stack.talk()
    talk.propose(ann, talk.task_for(ann, {"_id": "move", **talk.transfer(900)})).must()
    child = talk.child()
    child.one_pending("transfer")
    return talk, child, ann


def approved_in_the_child(stack: Stack, child: Talk) -> None:
    """Somebody who still sees its request approves it."""
    for request in child.requests:
        request.approve(stack.supervisor())
    child.rests()
    assert child.moved() == [], "the delegate moved money for a session that is over"


def test_p3_a_cancelled_session_takes_its_delegate_with_it(stack: Stack):
    talk, child, ann = with_delegate(stack)
    talk.post(ann, "cancel", reason="fraud").must()
    approved_in_the_child(stack, child)


def test_p3_a_rollback_takes_back_what_a_delegate_waits_for(stack: Stack):
    talk, child, ann = with_delegate(stack)
    talk.roll_back(ann, 1)
    approved_in_the_child(stack, child)


def test_p3_an_approved_call_of_a_delegate_does_not_begin_after_its_session_is_cancelled(stack: Stack):
    talk, child, ann = with_delegate(stack)
    child.pause(ann)
    child.one_pending("transfer").approve(stack.supervisor()).must()
    talk.post(ann, "cancel", reason="fraud").must()
    child.post(ann, "resume")
    child.rests()
    assert child.moved() == [], "the delegate moved money for a session that is over"


def delegate_has_moved(stack: Stack) -> tuple[Talk, Person]:
    """A session whose delegate has moved $900."""
    talk, child, ann = with_delegate(stack)
    child.one_pending("transfer").approve(stack.supervisor()).must()
    child.has_moved(900)
    talk.rests()
    return talk, ann


def test_p4_the_preview_of_a_rollback_names_what_a_delegate_did(stack: Stack):
    talk, ann = delegate_has_moved(stack)
    preview = talk.roll_back_preview(ann, 1)
    assert "transfer" in json.dumps(preview["lasting"]), f"$900 left the account, and the preview says {preview}"


def test_p4_the_agent_is_told_what_a_delegate_did(stack: Stack):
    talk, ann = delegate_has_moved(stack)
    talk.roll_back(ann, 1)
    (rolled,) = talk.entries("session.rolled_back")
    assert "transfer" in json.dumps(rolled["data"]["lasting"]), rolled["data"]["lasting"]


def test_p4_what_a_delegate_did_can_be_ordered_back(stack: Stack):
    talk, ann = delegate_has_moved(stack)
    talk.roll_back(ann, 1)
    found = stack.watcher.get(f"/sessions/{talk.id}/compensation").must()
    assert [each["tool"] for each in found["effects"]] == ["transfer"], found


def test_q1_a_fork_that_nobody_promoted_does_not_act_through_a_delegate(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk()
    fork = talk.greeted().fork(ann)
    fork.propose(ann, fork.task_for(ann, {"_id": "act", "_tool": "act", "subject": fork.id}))
    drafted(stack, fork)


def drafted(stack: Stack, fork: Talk) -> None:
    """Whatever waits in the fork's delegates is approved: nothing is done."""

    def children() -> list[Talk] | bool:
        found = fork.children()
        return fork.view["waiting_for"] not in ("agent", "retry") and (found or True)

    eventually(children, "the fork rests or has a delegate")
    for child in fork.children():
        eventually(lambda child=child: child.pending or child.view["ended_at"], "it asks, or is over")
        for request in child.pending:
            request.approve(stack.supervisor())
        child.rests()
        assert child.effects() + child.moved() == [], "a draft acted"


def test_q1_a_fork_does_not_move_money_through_a_delegate(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk()
    fork = talk.greeted().fork(ann)
    fork.propose(ann, fork.task_for(ann, {"_id": "move", **fork.transfer(900)}))
    drafted(stack, fork)


def test_q1_a_fork_does_not_write_a_note_through_a_delegate_without_a_person(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk()
    fork = talk.greeted().fork(ann)
    fork.propose(ann, fork.task_for(ann, {"_id": "note", "_tool": "note", "subject": fork.id}))
    drafted(stack, fork)


def test_q2_a_promoted_fork_leaves_no_delegate_of_the_parent_behind(stack: Stack):
    talk, child, ann = with_delegate(stack)
    talk.fork(ann, 1).promote(ann)
    approved_in_the_child(stack, child)


def test_q2_the_end_of_a_session_reaches_its_delegate(stack: Stack):
    talk, child, _ = with_delegate(stack)
    talk.end().must()
    approved_in_the_child(stack, child)


def test_q2_a_pause_reaches_the_delegate(stack: Stack):
    talk, child, ann = with_delegate(stack)
    talk.pause(ann)
    approved_in_the_child(stack, child)


# P6, P8, Q3, Q6, Q15: rollbacks and forks.


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


# P14, P15, Q5, Q14, Q16.


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
    assert talk.effects("ring") == [], "the stop holds the bell"


def undone_after_the_deadline(stack: Stack) -> Request:
    """An approval taken back when the time to decide was over, during its delay."""
    sue, talk = stack.supervisor(), stack.talk(topic="soon")
    request = talk.asks_for(900)
    request.approve(sue).must()
    asked = request.view["asked_at"]
    ends = datetime.fromisoformat(asked).timestamp() + SOON + 0.5
    eventually(lambda: time.time() > ends, "the time to decide is over")
    sue.post(f"/requests/{request.id}/undo", reason="wait").must()
    return request


def test_q14_an_approval_taken_back_after_the_deadline_can_be_decided(stack: Stack):
    request = undone_after_the_deadline(stack)
    bob = stack.supervisor()
    answer = request.decide(bob, "reject")
    assert answer.ok, f"nobody can decide it: {answer}"


def test_q14_an_approval_taken_back_after_the_deadline_does_not_expire_at_once(stack: Stack):
    request = undone_after_the_deadline(stack)
    view = request.view
    left = datetime.fromisoformat(view["expires_at"]) - datetime.now(UTC)
    assert view["state"] == "pending", view
    assert left.total_seconds() > 0, f"it waits for a decision and has expired {-left} ago"


def test_q14_an_approval_taken_back_does_not_move_money(stack: Stack):
    request = undone_after_the_deadline(stack)
    request.talk.rests()
    assert request.talk.moved() == []


def test_q16_an_approved_call_of_an_erased_subject_ends_by_name(stack: Stack):
    erased(stack, "act")


def erased(stack: Stack, tool: str) -> None:
    """An approved call of another customer's instance, who is erased before it begins."""
    ann, sue, talk, other = stack.supervisor(), stack.supervisor(), stack.talk(), stack.customer()
    stack.talk(customer=other).greeted().end()
    instances = [{"name": "x", "inputs": {}, "subject": other["id"]}]
    talk.propose(ann, {"_id": "do", "_tool": tool, "subject": talk.id}, instances=instances).must()
    request = talk.one_pending(tool)
    talk.pause(ann)
    request.approve(sue).must()
    helen = stack.people("retail:privacy")
    asked = ann.post("/erasures", customer=other["id"], basis="consent_withdrawn", reason="letter").must()
    helen.post(f"/erasures/{asked['id']}", state="approved")
    eventually(lambda: talk.entries("plan.instance_opened")[0]["data"] is None, "their instance is erased")
    eventually(
        lambda: len(request.ended) > 1 or request.says_not_done(), lambda: f"it ends by name: {request.ended}", 10
    )
    talk.resume(ann)
    talk.rests()
    assert talk.effects() == []


def test_q16_an_approved_letter_of_an_erased_subject_ends_by_name(stack: Stack):
    erased(stack, "post_letter")


def test_q16_an_approved_bell_of_an_erased_subject_ends_by_name(stack: Stack):
    erased(stack, "ring_4")
