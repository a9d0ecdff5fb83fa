"""Attacks on what an approval covers: plans and what they read, and charts."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.attacks import installation
from tests.attacks.client import Json, Person, Request, Talk, eventually, money
from tests.attacks.stack import Stack
from tests.attacks.steps import approved_at_the_gate, behind_the_gate, open_gate

CHECK = {"_id": "check", "_tool": "check", "_outputPath": "state.check"}


def approved_while_paused(talk: Talk, ann: Person, sue: Person, *calls: Json, **more: object) -> Request:
    """A plan that ann proposed by chat and sue approved, of which nothing has begun."""
    talk.propose(ann, *calls, **more).must()
    request = talk.one_pending("plan")
    talk.pause(ann)
    request.approve(sue).must()
    eventually(lambda: request.state != "pending", "its delay is over")
    return request


# P1: a plan that is only proposed changes nothing.


def instance(to: str, dollars: int) -> list[Json]:
    """One instance of a plan, with its inputs."""
    return [{"name": "x", "inputs": {"to": to, "amount": money(dollars)}}]


def test_p1_a_proposed_plan_does_not_swap_the_payee_of_an_approved_one(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    call = {"_id": "move", **talk.to_stranger(600), "to_account": "†input.to"}
    approved_at_the_gate(talk, ann, sue, call, instances=instance(talk.checking, 600))
    talk.propose(ann, call, instances=instance(talk.customer["stranger"], 600))
    open_gate(talk)
    assert talk.customer["stranger"] not in dict(talk.moved()), "the money went to a stranger under the old approval"


def test_p1_a_proposed_plan_does_not_swap_the_amount_of_an_approved_one(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    call = {"_id": "move", **talk.transfer(0), "amount": "†input.amount"}
    approved_at_the_gate(talk, ann, sue, call, instances=instance(talk.checking, 10))
    talk.propose(ann, call, instances=instance(talk.checking, 2_300))
    open_gate(talk)
    assert (talk.checking, 2_300) not in talk.moved(), "$10 was approved"


def test_p1_a_rejected_plan_leaves_the_inputs_of_the_approved_one(stack: Stack):
    ann, sue, bob, talk = stack.supervisor(), stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    call = {"_id": "move", **talk.transfer(0), "amount": "†input.amount"}
    approved_at_the_gate(talk, ann, sue, call, instances=instance(talk.checking, 10))
    talk.propose(ann, call, instances=instance(talk.checking, 2_300))
    for each in talk.pending:
        each.decide(bob, "reject")
    open_gate(talk)
    assert (talk.checking, 2_300) not in talk.moved(), "the rejected amount was moved"


# P2: what an approved call reads is not rewritten unseen.


def test_p2_an_edit_of_what_an_approved_call_reads_takes_it_out_of_the_approval(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    check = {**CHECK, "amount": money(10)}
    move = {"_id": "move", **talk.transfer(0), "amount": "†state.check.amount"}
    approved_at_the_gate(talk, ann, sue, check, move)
    calls = [{**call, "amount": money(2_400)} if call["_id"] == "check" else call for call in talk.plan()["calls"]]
    talk.edit_plan(ann, *calls)
    open_gate(talk)
    assert (talk.checking, 2_400) not in talk.moved(), "$10 was approved"


def test_p2_a_value_that_a_person_writes_takes_the_call_out_of_the_approval(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    talk.write(ann, agreed={"amount": money(10)}).must()
    move = {"_id": "move", **talk.transfer(0), "amount": "†state.agreed.amount"}
    approved_at_the_gate(talk, ann, sue, move)
    talk.write(ann, agreed={"amount": money(2_300)})
    open_gate(talk)
    assert (talk.checking, 2_300) not in talk.moved(), "$10 was approved"


def test_p2_a_value_that_is_written_over_what_the_tool_gave_is_asked_again(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    gate = {"_id": "gate", "_tool": "wait", "subject": talk.id, "_outputPath": "state.gate"}
    move = {"_id": "move", **talk.transfer(0), "amount": "†state.check.amount"}
    talk.propose(ann, {**CHECK, "amount": money(10)}, gate, behind_the_gate(move)).must()
    talk.one_pending("plan").approve(sue).must()
    eventually(lambda: "check" in talk.state()["state"], "the check has returned")
    talk.write(ann, check={"amount": money(2_300)})
    open_gate(talk)
    assert (talk.checking, 2_300) not in talk.moved(), "$10 was approved"


# P7: every approver is looked up anew at Begin.


def test_p7_a_plans_call_does_not_begin_when_its_approver_is_disabled(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    approved_at_the_gate(talk, ann, sue, {"_id": "move", **talk.transfer(900)})
    stack.at_the_machine("disable", sue.name)
    open_gate(talk)
    assert talk.moved() == [], "its approver is disabled"


def test_p7_a_plans_call_does_not_begin_when_the_lending_it_was_approved_on_has_ended(stack: Stack):
    ann, sue, bob = stack.supervisor(), stack.supervisor(), stack.people("retail:viewer")
    talk = stack.talk(channel="chat")
    lent = talk.lend(sue, bob)
    approved_at_the_gate(talk, ann, bob, {"_id": "move", **talk.transfer(900)})
    sue.delete(f"/delegations/{lent}").must()
    open_gate(talk)
    assert talk.moved() == [], "the right was taken back"


def test_p7_a_plans_call_does_not_begin_when_its_approver_has_lost_the_role(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    approved_at_the_gate(talk, ann, sue, {"_id": "move", **talk.transfer(900)})
    stack.at_the_machine("remove_role", sue.name, "retail:supervisor")
    open_gate(talk)
    assert talk.moved() == [], "its approver has lost the role"


# Q4, Q7, Q12, Q13: a chart forbids until it allows.


def window_is_over(talk: Talk) -> None:
    """So much time has passed that the chart allows no transfer any more."""
    opened = datetime.fromisoformat(talk.view["opened_at"])
    ends = opened.timestamp() + installation.WINDOW + 0.5
    eventually(lambda: datetime.now(opened.tzinfo).timestamp() > ends, "the chart's window is over")


def test_q4_an_approved_call_does_not_begin_after_the_charts_window(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-window")
    request = talk.asks_for(900)
    talk.pause(sue)
    request.approve(sue).must()
    window_is_over(talk)
    talk.resume(sue)
    talk.rests()
    assert talk.moved() == [], "the chart did not allow transfers any more"


def test_q4_a_call_that_is_tried_again_does_not_begin_after_the_charts_window(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-window")
    stack.trouble(talk.id, 2)
    talk.wants({"_tool": "act", "subject": talk.id})
    request = talk.one_pending()
    talk.pause(sue)
    request.approve(sue).must()
    window_is_over(talk)
    talk.resume(sue)
    talk.rests()
    assert talk.effects() == [], "the chart did not allow it any more"


def test_q4_a_plan_does_not_go_on_after_the_charts_window(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(agent="hunt-window", channel="chat")
    approved_while_paused(talk, ann, sue, {"_id": "move", **talk.transfer(900)})
    window_is_over(talk)
    talk.resume(ann)
    talk.rests()
    assert talk.moved() == [], "the chart did not allow transfers any more"


def ask_in_the_promoted_fork(fork: Talk, sue: Person) -> None:
    """Promotes the fork; the customer then asks it for a transfer."""
    fork.promote(sue)
    fork.wants(fork.transfer(900))
    fork.rests()


def moves_nothing_when_approved(fork: Talk, approver: Person) -> None:
    """Approves every request of the fork; the bank books nothing."""
    for request in fork.pending:
        request.approve(approver)
    fork.rests()
    assert fork.moved() == [], "the fraud desk holds this customer's call"


def test_q7_a_hold_of_the_fraud_desk_reaches_the_fork_that_is_promoted(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    fork = talk.fork(sue)
    talk.signal("fraud.suspected").must()
    ask_in_the_promoted_fork(fork, sue)
    moves_nothing_when_approved(fork, sue)


def test_q7_a_hold_is_not_left_by_promoting_a_fork_of_before(stack: Stack):
    sue, bob, talk = stack.supervisor(), stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    seq = talk.seq
    talk.wants(talk.transfer(900))
    talk.signal("fraud.suspected").must()
    fork = talk.fork(sue, seq)
    ask_in_the_promoted_fork(fork, sue)
    moves_nothing_when_approved(fork, bob)


def test_q7_somebody_is_alerted_that_a_held_session_was_promoted(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    fork = talk.fork(sue)
    talk.signal("fraud.suspected").must()
    ask_in_the_promoted_fork(fork, sue)
    held = not fork.moved() and not fork.pending
    assert held, "the promoted fork asks for what the fraud desk holds"
    eventually(lambda: fork.alerted("chart-holds-tools"), "somebody is alerted", 20)


def rolled_back_into_a_brief_hold(stack: Stack) -> Talk:
    """Returns a session that was rolled back into a hold of the fraud desk that ends after seconds."""
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    talk.signal("fraud.brief").must()
    seq = talk.seq
    talk.say("hello").must()
    talk.rests()
    talk.roll_back(sue, seq)
    return talk


def test_q12_a_state_that_only_a_timer_leaves_is_left_after_a_rollback(stack: Stack):
    talk = rolled_back_into_a_brief_hold(stack)
    eventually(lambda: talk.chart() == ["serving"], "the chart's timer runs", 20)


def test_q12_a_fork_of_a_timed_state_leaves_it(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    talk.signal("fraud.brief").must()
    fork = talk.fork(sue)
    fork.promote(sue)
    eventually(lambda: fork.chart() == ["serving"], "the chart's timer runs", 20)


def test_q12_transfers_are_allowed_again_when_the_time_of_a_hold_is_over(stack: Stack):
    talk = rolled_back_into_a_brief_hold(stack)

    def asked() -> bool:
        talk.wants(talk.transfer(900))
        talk.rests()
        return bool(talk.pending)

    eventually(asked, "transfers are asked for again", 20)


def test_q13_a_call_that_is_tried_again_is_judged_by_the_chart_anew(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    stack.trouble(talk.id, 5)
    talk.wants({"_tool": "act", "subject": talk.id})
    talk.one_pending().approve(sue).must()
    eventually(lambda: talk.entries("tool.failed"), "its first try has failed")
    talk.signal("fraud.suspected").must()
    talk.rests()
    assert talk.effects() == [], "the fraud desk holds it"


@pytest.mark.alone
def test_q13_a_lost_result_is_not_begun_again_where_the_chart_forbids_it(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    request = talk.asks_for(900)
    with stack.locked(talk.savings):
        request.approve(sue).must()
        eventually(lambda: talk.entries("tool.intended"), "it has begun")
        stack.up.kill("worker")
        talk.signal("fraud.suspected").must()
    talk.rests()
    assert talk.moved() == [], "the fraud desk holds it"
