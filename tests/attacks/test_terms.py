"""Attacks on what an approval asks, and on who may give it."""

from __future__ import annotations

from tests.attacks.client import Json, Person, Request, Talk, eventually, money
from tests.attacks.stack import Stack

CHECK = {"_id": "check", "_tool": "check", "_outputPath": "state.check"}


def refused_or_not_counted(talk: Talk, request: Request, person: Person, **more: object) -> None:
    """Whatever is answered, that approval alone sets nothing going."""
    request.approve(person, **more)
    talk.is_over()
    assert talk.moved() == [], f"{person.name} alone approved what executed"


# C2: an edit is a new call.


def test_c2_an_edit_to_a_stranger_is_judged_by_the_rule_of_the_stranger(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    talk.asks_for(900).edit(sue, to_account=talk.customer["stranger"], new_payee=True)
    talk.is_over()
    assert talk.moved() == [], "the money went to a stranger without retyping, reason code or delay"


def test_c2_an_edit_above_the_limit_needs_what_the_limit_asks(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    talk.asks_for(900).edit(sue, amount=money(9_000))
    talk.is_over()
    assert talk.moved() == [], "$9,000 moved by an edit, which nobody has typed again"


def test_c2_an_edit_of_a_waiting_plan_is_approved_by_somebody_else(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    talk.propose(ann, {"_id": "move", **talk.transfer(10)}).must()
    request = talk.one_pending("plan")
    calls = [{**call, "amount": money(2_400)} if call.get("_tool") == "transfer" else call for call in _calls(request)]
    request.edit(sue, calls=calls)
    talk.is_over()
    assert talk.moved() == [], "who made $10 into $2,400 is the only one who has seen it"


def _calls(request: Request) -> list[Json]:
    return list(request.view["arguments"]["calls"])


# C4: nobody approves what they proposed.


def test_c4_who_proposes_a_plan_does_not_approve_its_calls(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk()
    talk.propose(ann, talk.to_stranger(3_100)).must()
    refused_or_not_counted(talk, talk.one_pending("transfer"), ann)


def test_c4_who_spoke_as_the_customer_does_not_approve_what_the_customer_asked_for(stack: Stack):
    maya, talk = stack.supervisor("retail:caller"), stack.talk()
    talk.wants(talk.transfer(900), by=maya)
    refused_or_not_counted(talk, talk.one_pending(), maya)


def test_c4_who_proposes_does_not_approve_by_a_right_that_was_lent(stack: Stack):
    ann, bob, talk = stack.supervisor(), stack.people("retail:viewer"), stack.talk()
    talk.propose(ann, talk.transfer(900)).must()
    talk.lend(ann, bob)
    refused_or_not_counted(talk, talk.one_pending(), bob)


def test_c4_who_whispered_does_not_approve_at_tier_3(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk()
    talk.post(sue, "guidance", text="Offer them the larger sum.").must()
    refused_or_not_counted(talk, talk.asks_for(3_000), sue)


def test_c4_a_taken_session_runs_no_approved_call_that_has_not_begun(stack: Stack):
    sue, bob, talk = stack.supervisor(), stack.supervisor(), stack.talk(topic="held")
    request = talk.asks_for(900)
    request.approve(sue).must()
    talk.post(bob, "takeover", reason="I speak to them").must()
    eventually(lambda: not request.view["held_until"] or request.state != "pending", "its delay is over", 8)
    talk.is_over()
    assert talk.moved() == [], "it began while a person spoke to the customer"


def test_c4_the_request_says_who_proposed_it(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk()
    talk.propose(ann, talk.transfer(900)).must()
    view = talk.one_pending().view
    assert any(ann.actor in str(value) for name, value in view.items() if "propos" in name), view


def test_c4_who_wrote_the_amount_that_a_call_reads_does_not_approve_the_call(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk()
    talk.write(sue, agreed={"amount": money(900)}).must()
    talk.propose(ann, {"_id": "move", **talk.transfer(0), "amount": "†state.agreed.amount"}).must()
    refused_or_not_counted(talk, talk.one_pending("transfer"), sue)


def test_c4_who_saved_the_plan_that_another_runs_does_not_approve_its_calls(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk()
    name = f"pay-{talk.id[-12:]}"
    sue.post("/plans", name=name, team="retail", calls=[talk.transfer(900)]).must()
    talk.post(ann, "plans", saved=name).must()
    refused_or_not_counted(talk, talk.one_pending("transfer"), sue)


def test_c4_a_program_proposes_and_never_decides(stack: Stack):
    program, talk = stack.people("retail:program"), stack.talk()
    other = talk.asks_for(900)
    assert not other.approve(program).ok, "a program decided"
    assert other.state == "pending"
    talk.propose(program, talk.transfer(100)).must()


# P5: what is typed again is what will be sent.


def test_p5_a_plan_that_reads_its_amount_does_not_escape_retyping(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    check = {**CHECK, "amount": money(3_000)}
    talk.propose(ann, check, {"_id": "move", **talk.transfer(0), "amount": "†state.check.amount"}).must()
    talk.one_pending("plan").decide(sue, "approve")
    talk.is_over()
    assert talk.moved() == [], "$3,000 moved and nobody typed the amount"


def test_p5_a_plan_that_is_given_its_amount_does_not_escape_retyping(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    call = {"_id": "move", **talk.transfer(0), "amount": "†input.amount"}
    talk.propose(ann, call, inputs={"amount": money(3_000)}).must()
    talk.one_pending("plan").decide(sue, "approve")
    talk.is_over()
    assert talk.moved() == [], "$3,000 moved and nobody typed the amount"


def test_p5_a_plan_that_reads_its_payee_does_not_escape_reason_and_delay(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    check = {**CHECK, "amount": money(100), "to": talk.customer["stranger"]}
    move = {"_id": "move", **talk.to_stranger(100), "to_account": "†state.check.to", "amount": "†state.check.amount"}
    talk.propose(ann, check, move).must()
    talk.one_pending("plan").decide(sue, "approve")
    talk.is_over()
    assert talk.moved() == [], "money went to a stranger without a reason code"


# P9, P10: recorded authorship survives.


def test_p9_a_colleagues_edit_does_not_wash_off_who_proposed(stack: Stack):
    ann, bob, talk = stack.supervisor(), stack.supervisor(), stack.talk(topic="four eyes")
    act = {"_id": "act", "_tool": "act", "subject": talk.id, "_outputPath": "state.act"}
    later = {"_id": "later", "_tool": "note", "subject": "†state.act.done"}
    move = {"_id": "move", **talk.transfer(900)}
    talk.propose(ann, act, later, move).must()
    talk.one_pending("transfer")
    talk.edit_plan(bob, act, {**later, "subject": "another word"}, move).must()
    refused_or_not_counted(talk, talk.one_pending("transfer"), ann)


def test_p9_a_delegate_carries_out_its_proposers_plan(stack: Stack):
    ann, talk = stack.supervisor(), stack.talk(topic="four eyes")
    talk.propose(ann, talk.task_for(ann, {"_id": "move", **talk.transfer(900)})).must()
    child = talk.child()
    refused_or_not_counted(child, child.one_pending("transfer"), ann)


def test_p9_a_fork_remembers_who_proposed(stack: Stack):
    ann, bob, talk = stack.supervisor(), stack.supervisor(), stack.talk(topic="four eyes")
    talk.propose(ann, {"_id": "move", **talk.transfer(900)}).must()
    talk.one_pending("transfer")
    fork = talk.fork(bob)
    fork.post(bob, "promote", reason="the better way").must()
    fork.rests()
    for request in fork.pending:
        refused_or_not_counted(fork, request, ann)
    assert fork.moved() == []


def test_p10_who_orders_an_undoing_does_not_approve_it(stack: Stack):
    sue, zoe, talk = stack.supervisor(), stack.supervisor(), stack.talk(topic="four eyes")
    ordered_back(talk, sue, zoe)
    request = talk.one_pending("transfer")
    request.approve(zoe)
    talk.is_over()
    assert talk.moved() == [(talk.checking, 900)], "who ordered it back approved it alone"


def ordered_back(talk: Talk, sue: Person, zoe: Person, dollars: int = 900) -> None:
    """A transfer that was done, a rollback to before it, and zoe's order to undo it."""
    start = talk.seq
    talk.asks_for(dollars).approve(sue).must()
    talk.has_moved(dollars)
    talk.roll_back(sue, start)
    found = talk.stack.watcher.get(f"/sessions/{talk.id}/compensation").must()
    talk.post(zoe, "compensation", rollback=found["rollback"], reason="wrong account").must()


def test_p10_who_orders_an_undoing_does_not_approve_it_without_four_eyes_either(stack: Stack):
    sue, zoe, talk = stack.supervisor(), stack.supervisor(), stack.talk()
    ordered_back(talk, sue, zoe)
    talk.one_pending("transfer").approve(zoe)
    talk.is_over()
    assert talk.moved() == [(talk.checking, 900)], "who ordered it back approved it alone"


def test_p10_who_orders_an_undoing_does_not_approve_it_by_a_lent_right(stack: Stack):
    sue, zoe, talk = stack.supervisor(), stack.supervisor(), stack.talk(topic="four eyes")
    bob = stack.people("retail:viewer")
    ordered_back(talk, sue, zoe)
    talk.lend(zoe, bob)
    talk.one_pending("transfer").approve(bob)
    talk.is_over()
    assert talk.moved() == [(talk.checking, 900)], "the lender's own order was approved with the lent right"


# P11, P12, P13: quorum and what is lent.


def calm(stack: Stack) -> Talk:
    """A session in which two people must approve, at tier 2 as long as its state says so."""
    talk = stack.talk(topic="two")
    talk.write(stack.watcher, calm=True).must()
    return talk


def test_p11_one_authority_stands_behind_a_quorum_once(stack: Stack):
    sue, ann, bob, talk = stack.supervisor(), stack.supervisor(), stack.people("retail:viewer"), calm(stack)
    request = talk.asks_for(900)
    request.approve(sue).must()
    talk.write(ann, calm=False)
    talk.lend(ann, bob, "decide")
    talk.lend(sue, bob, "decide_tier3")
    for each in talk.pending:
        each.approve(bob)
    talk.is_over()
    assert talk.moved() == [], "sue stands behind it twice"


def test_p11_lender_and_borrower_are_one_also_when_the_borrower_comes_first(stack: Stack):
    sue, bob, talk = stack.supervisor(), stack.people("retail:viewer"), calm(stack)
    talk.lend(sue, bob)
    request = talk.asks_for(900)
    request.approve(bob).must()
    refused_or_not_counted(talk, request, sue)


def test_p11_two_borrowers_of_one_lender_are_one(stack: Stack):
    sue, talk = stack.supervisor(), calm(stack)
    request = talk.asks_for(900)
    for _ in range(2):
        bob = stack.people("retail:viewer")
        talk.lend(sue, bob)
        request.approve(bob)
    talk.is_over()
    assert talk.moved() == [], "sue stands behind it twice"


def test_p12_approvals_on_both_sides_of_an_escalation_add_up(stack: Stack):
    ann, sue, talk = stack.supervisor(), stack.supervisor("seniors:viewer"), stack.talk(topic="chain")
    request = talk.asks_for(900)
    request.approve(ann).must()
    request.decide(ann, "escalate").must()
    request.approve(sue).must()
    talk.has_moved(900)
    assert [each.id for each in talk.requests] == [request.id], "it was asked again"


def test_p12_an_approval_before_an_escalation_is_not_counted_twice(stack: Stack):
    sue, talk = stack.supervisor("seniors:viewer"), stack.talk(topic="chain")
    request = talk.asks_for(900)
    request.approve(sue).must()
    request.decide(sue, "escalate").must()
    refused_or_not_counted(talk, request, sue)


def test_p12_who_is_no_reviewer_after_the_escalation_may_not_add_theirs(stack: Stack):
    ann, bob, talk = stack.supervisor(), stack.supervisor(), stack.talk(topic="chain")
    request = talk.asks_for(900)
    request.approve(ann).must()
    request.decide(ann, "escalate").must()
    refused_or_not_counted(talk, request, bob)


def lent_and_granted(stack: Stack) -> tuple[Talk, Person, str]:
    """bob approves with what sue, a senior, has lent, and lets the same through for what follows."""
    sue, bob, talk = stack.supervisor("seniors:viewer"), stack.supervisor(), stack.talk(topic="standing")
    lent = talk.lend(sue, bob)
    request = talk.asks_for(990)
    request.approve(bob).must()
    talk.has_moved(990)
    talk.post(bob, "grants", request=request.id)
    return talk, sue, lent


def approved_by_a_senior(stack: Stack) -> tuple[Talk, Person, Request]:
    """Returns a session in which sue, a senior, approved a transfer that is done."""
    sue, talk = stack.supervisor("seniors:viewer"), stack.talk(topic="standing")
    request = talk.asks_for(990)
    request.approve(sue).must()
    talk.has_moved(990)
    return talk, sue, request


def is_asked_again(talk: Talk, why: str) -> None:
    """The same transfer is proposed again, and the bank does not book it."""
    talk.wants(talk.transfer(990))
    talk.rests()
    assert len(talk.moved()) == 1, why


def test_p13_a_standing_approval_ends_with_the_lending_that_it_was_given_on(stack: Stack):
    talk, sue, lent = lent_and_granted(stack)
    sue.delete(f"/delegations/{lent}").must()
    is_asked_again(talk, "the standing approval outlived the delegation")


def test_p13_a_standing_approval_is_given_by_who_is_a_reviewer_at_that_moment(stack: Stack):
    talk, sue, request = approved_by_a_senior(stack)
    stack.at_the_machine("remove_role", sue.name, "seniors:viewer")
    talk.post(sue, "grants", request=request.id)
    is_asked_again(talk, "its giver was no reviewer any more")


def test_p13_a_standing_approval_ends_when_its_giver_is_no_reviewer_any_more(stack: Stack):
    talk, sue, request = approved_by_a_senior(stack)
    talk.post(sue, "grants", request=request.id).must()
    stack.at_the_machine("remove_role", sue.name, "seniors:viewer")
    is_asked_again(talk, "its giver is no reviewer any more")
