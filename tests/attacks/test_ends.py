"""Attacks on how an allowed call ends: it is done, or it ends with a name that everybody sees."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from tests.attacks.client import Request, eventually
from tests.attacks.installation import SOON
from tests.attacks.stack import Stack
from tests.attacks.steps import approved_and_paused, is_named


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
