"""Attacks on what an approval asks, and on who may give it."""

from __future__ import annotations

from tests.attacks.client import Person, Request, Talk, money
from tests.attacks.house import House

CHECK = {"_id": "check", "_tool": "check", "_outputPath": "state.check"}


def refused_or_not_counted(talk: Talk, request: Request, person: Person, **more: object) -> None:
    """Whatever is answered, that approval alone sets nothing going."""
    request.approve(person, **more)
    talk.is_over()
    assert talk.moved() == [], f"{person.name} alone approved what executed"


# C2: an edit is a new call.


def test_c2_an_edit_to_a_stranger_is_judged_by_the_rule_of_the_stranger(house: House):
    sue, talk = house.supervisor(), house.talk()
    talk.asks_for(900).edit(sue, to_account=talk.customer["stranger"], new_payee=True)
    talk.is_over()
    assert talk.moved() == [], "the money went to a stranger without retyping, reason code or delay"


def test_c2_an_edit_above_the_limit_needs_what_the_limit_asks(house: House):
    sue, talk = house.supervisor(), house.talk()
    talk.asks_for(900).edit(sue, amount=money(9_000))
    talk.is_over()
    assert talk.moved() == [], "$9,000 moved by an edit, which nobody has typed again"


# C4: nobody approves what they proposed.


# P5: what is typed again is what will be sent.


def test_p5_a_plan_that_reads_its_amount_does_not_escape_retyping(house: House):
    ann, sue, talk = house.supervisor(), house.supervisor(), house.talk(channel="chat")
    check = {**CHECK, "amount": money(3_000)}
    talk.propose(ann, check, {"_id": "move", **talk.transfer(0), "amount": "†state.check.amount"}).must()
    talk.one_pending("plan").decide(sue, "approve")
    talk.is_over()
    assert talk.moved() == [], "$3,000 moved and nobody typed the amount"


def test_p5_a_plan_that_is_given_its_amount_does_not_escape_retyping(house: House):
    ann, sue, talk = house.supervisor(), house.supervisor(), house.talk(channel="chat")
    call = {"_id": "move", **talk.transfer(0), "amount": "†input.amount"}
    talk.propose(ann, call, inputs={"amount": money(3_000)}).must()
    talk.one_pending("plan").decide(sue, "approve")
    talk.is_over()
    assert talk.moved() == [], "$3,000 moved and nobody typed the amount"


def test_p5_a_plan_that_reads_its_payee_does_not_escape_reason_and_delay(house: House):
    ann, sue, talk = house.supervisor(), house.supervisor(), house.talk(channel="chat")
    check = {**CHECK, "amount": money(100), "to": talk.customer["stranger"]}
    move = {"_id": "move", **talk.to_stranger(100), "to_account": "†state.check.to", "amount": "†state.check.amount"}
    talk.propose(ann, check, move).must()
    talk.one_pending("plan").decide(sue, "approve")
    talk.is_over()
    assert talk.moved() == [], "money went to a stranger without a reason code"


# P9, P10: recorded authorship survives.


def test_p9_a_fork_remembers_who_proposed(house: House):
    ann, bob, talk = house.supervisor(), house.supervisor(), house.talk(topic="four eyes")
    talk.propose(ann, {"_id": "move", **talk.transfer(900)}).must()
    talk.one_pending("transfer")
    fork = talk.fork(bob)
    fork.post(bob, "promote", reason="the better way").must()
    fork.rests()
    for request in fork.pending:
        refused_or_not_counted(fork, request, ann)
    assert fork.moved() == []


def ordered_back(talk: Talk, sue: Person, zoe: Person, dollars: int = 900) -> None:
    """A transfer that was done, a rollback to before it, and zoe's order to undo it."""
    start = talk.seq
    talk.asks_for(dollars).approve(sue).must()
    talk.has_moved(dollars)
    talk.roll_back(sue, start)
    found = talk.house.watcher.get(f"/sessions/{talk.id}/compensation").must()
    talk.post(zoe, "compensation", rollback=found["rollback"], reason="wrong account").must()


def test_p10_who_orders_an_undoing_does_not_approve_it_by_a_lent_right(house: House):
    sue, zoe, talk = house.supervisor(), house.supervisor(), house.talk(topic="four eyes")
    bob = house.people("retail:viewer")
    ordered_back(talk, sue, zoe)
    talk.lend(zoe, bob)
    talk.one_pending("transfer").approve(bob)
    talk.is_over()
    assert talk.moved() == [(talk.checking, 900)], "the lender's own order was approved with the lent right"


# P11, P12, P13: quorum and what is lent.


def calm(house: House) -> Talk:
    """A session in which two people must approve, at tier 2 as long as its state says so."""
    talk = house.talk(topic="two")
    talk.write(house.watcher, calm=True).must()
    return talk


def test_p11_lender_and_borrower_are_one_also_when_the_borrower_comes_first(house: House):
    sue, bob, talk = house.supervisor(), house.people("retail:viewer"), calm(house)
    talk.lend(sue, bob)
    request = talk.asks_for(900)
    request.approve(bob).must()
    refused_or_not_counted(talk, request, sue)


def test_p11_two_borrowers_of_one_lender_are_one(house: House):
    sue, talk = house.supervisor(), calm(house)
    request = talk.asks_for(900)
    for _ in range(2):
        bob = house.people("retail:viewer")
        talk.lend(sue, bob)
        request.approve(bob)
    talk.is_over()
    assert talk.moved() == [], "sue stands behind it twice"


def test_p12_approvals_on_both_sides_of_an_escalation_add_up(house: House):
    ann, sue, talk = house.supervisor(), house.supervisor("seniors:viewer"), house.talk(topic="chain")
    request = talk.asks_for(900)
    request.approve(ann).must()
    request.decide(ann, "escalate").must()
    request.approve(sue).must()
    talk.has_moved(900)
    assert [each.id for each in talk.requests] == [request.id], "it was asked again"


def test_p12_an_approval_before_an_escalation_is_not_counted_twice(house: House):
    sue, talk = house.supervisor("seniors:viewer"), house.talk(topic="chain")
    request = talk.asks_for(900)
    request.approve(sue).must()
    request.decide(sue, "escalate").must()
    refused_or_not_counted(talk, request, sue)


def test_p12_who_is_no_reviewer_after_the_escalation_may_not_add_theirs(house: House):
    ann, bob, talk = house.supervisor(), house.supervisor(), house.talk(topic="chain")
    request = talk.asks_for(900)
    request.approve(ann).must()
    request.decide(ann, "escalate").must()
    refused_or_not_counted(talk, request, bob)
