"""Attacks through delegates: the end, the pause and the draft of a session reach them."""

from __future__ import annotations

import json

from tests.attacks.client import Person, Talk, eventually
from tests.attacks.stack import Stack


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
