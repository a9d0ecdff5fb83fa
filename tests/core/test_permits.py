"""What an approval is bound to and what it has met, field by field, when its call is to begin."""

from __future__ import annotations

from dataclasses import replace as with_fields
from typing import Any

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.plans import ProposePlan
from agentstate.engine.decide.permits import basis_of, changed_since, met_by_plan, permit_digest
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.policy import Escalation, Requirements, Verdict
from agentstate.engine.policy.rules import Step
from agentstate.engine.state.rounds import Instance, Plans
from agentstate.engine.state.session import Call, SessionState, pending
from tests.core import worlds
from tests.core.test_plans_in_sessions import key, step
from tests.core.worlds import MAY, World, decision, transfer

AMOUNT = "arguments.amount.minor"
RULE = pol.Rule("any", ("*",), "true", 2, "approve", "Because.")
SAME = Verdict("approve", 2, "any", "other@2", "Because.")
MOVE = step("transfer", "state.receipt", amount={"minor": 90_000})
STRICTER = "Policy has become stricter since the approval."
SENIOR, FRAUD = (("role:senior",),), (("role:fraud",),)
LATER = (Escalation(60, SENIOR),)


def asked(**terms: Any) -> World:
    """A transfer that waits for a person under a rule with these terms."""
    return worlds.opened().with_rules(replace(RULE, **terms)).asked(transfer(90_000))


def approved(**terms: Any) -> World:
    """... and that ann, a senior, approved with the first of its reason codes; its delay is over."""
    world, codes = asked(**terms), terms.get("reasons", ("",))
    world = world.after(decision(world, "approve", "ann", code=codes[0], names=frozenset({"role:senior"})))
    waits = pending(world.state)
    return world.after(core.HoldOver(waits[0].asked.request)) if waits else world


def changed(world: World, standing: Any = None, **verdict: Any) -> str:
    call = world.call("transfer")
    return changed_since(world.state, call, world.tools["transfer"], replace(SAME, **verdict), standing)


def test_a_permit_is_bound_to_each_part_of_what_was_shown():
    bound = ("call", 1, "tool", 1, {"n": 1}, (ev.Evidence("state.x", 1),), "activity")
    others = ("other", 2, "other", 2, {"n": 2}, (ev.Evidence("state.x", 2),), "other")
    digests = {permit_digest(*bound[:at], other, *bound[at + 1 :]) for at, other in enumerate(others)}
    assert len(digests | {permit_digest(*bound), permit_digest(*bound[:-1])}) == len(bound) + 2
    assert permit_digest(*bound[:-1]) == ev.digest(*bound[:-1])  # as recorded before calls had activities


def test_what_a_call_of_an_instance_rests_on_stands_in_its_own_scratchpad():
    plans = Plans(round="r", instances={"i": Instance(pad={"x": 1})}, many=True)
    state = replace(SessionState(), plans=plans, pad={"x": 2})
    assert basis_of(state, "r.a@i", ["state.x"]) == (ev.Evidence("state.x", 1),)
    assert basis_of(state, "other", ["state.x"]) == (ev.Evidence("state.x", 2),)


def test_what_passed_on_policy_alone_begins_while_policy_allows_it():
    world = asked(gate="allow")
    assert changed(world, gate="allow") == ""
    assert changed(world) == "Policy asks for a person now."


def test_each_way_in_which_an_approval_ends_has_its_sentence():
    world = approved()
    newer = worlds.facts("transfer", "idempotent", version=2)
    assert changed(world) == ""
    assert changed(world, tier=3) == STRICTER
    again = changed_since(world.state, world.call("transfer"), newer, SAME)
    assert again == "What the approval rested on has changed since."
    assert changed(world, {}) == "Who approved it may not decide it any more."
    assert changed(world, {"ann": (Authority(MAY["ann"]),)}) == ""


def test_a_permit_is_bound_to_the_activity_that_executes_the_call():
    facts = replace(worlds.TOOLS["transfer"], activities=frozenset({"slow", "quick"}))
    world = with_fields(worlds.opened().with_rules(RULE), tools={"transfer": facts})
    world = world.after(ProposePlan(({**MOVE, "_activity": "slow"},), "user:pat", False))
    world = world.after(decision(world, "approve", "sue"), core.Begin(world.state.plans.proposed))
    stricter = with_fields(world, policy=pol.Policy("new", 1, (replace(RULE, tier=3),)))
    world = stricter.after(core.Begin(key(world, "transfer")))
    world = world.after(decision(world, "approve", "sue"))
    call = world.call("transfer")
    assert (call.activity, changed_since(world.state, call, facts, SAME)) == ("slow", "")
    other = changed_since(world.state, replace(call, activity="quick"), facts, SAME)
    assert other == "What the approval rested on has changed since."


# terms of the request, what policy says today, the answer. An approval by people ends a delay of policy.
DELAYED = {"gate": "hold", "hold": 60}
MET: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (DELAYED, {}, ""),
    (DELAYED, {"gate": "hold", "hold": 99}, ""),
    (DELAYED, {"hold": 1}, STRICTER),
    ({"hold": 60}, {"hold": 60}, ""),
    ({"hold": 60}, {"hold": 61}, STRICTER),
    ({"reviewers": ("role:senior",)}, {"reviewers": SENIOR}, ""),
    ({"reviewers": ("role:senior",)}, {"reviewers": FRAUD}, STRICTER),
    ({"reasons": ("asked", "urgent")}, {"reasons": ("asked",)}, ""),
    ({"reasons": ("asked", "urgent")}, {"reasons": ("urgent",)}, STRICTER),
    ({"four_eyes": True}, {"four_eyes": True}, ""),
    ({}, {"four_eyes": True}, ""),
    ({"proposer_may_approve": True}, {}, ""),
    ({}, {"chain": LATER}, ""),
    ({"chain": (Step(60, ("role:senior",)),)}, {"chain": (Escalation(60, FRAUD),)}, ""),
]


@pytest.mark.parametrize(("terms", "verdict", "answer"), MET, ids=range(len(MET)))
def test_what_people_approved_meets_what_policy_asks_today_or_not(terms, verdict, answer):
    assert changed(approved(**terms), **verdict) == answer


def test_what_ran_out_unopposed_meets_a_delay_and_no_person():
    world = asked(**DELAYED)
    world = world.after(core.HoldOver(world.request.asked.request))
    assert changed(world, gate="hold", hold=60) == ""
    assert changed(world, gate="hold", hold=61) == STRICTER
    assert changed(world) == STRICTER


def test_a_group_named_since_counts_as_met_where_each_approver_is_among_it_today():
    world = approved()
    for names, answer in ((("role:senior",), ""), (("role:supervisor",), STRICTER)):
        standing = {"ann": (Authority(MAY["ann"], frozenset(names)),)}
        assert changed(world, standing, reviewers=SENIOR) == answer
    assert changed(world, reviewers=SENIOR) == STRICTER  # nobody has asked what ann is among


def assigned(world: World) -> World:
    return world.after(core.Assign("", "ann", "user:sue"))


def test_four_eyes_asked_since_leave_out_the_person_with_the_session_and_a_lifted_exclusion_does_not():
    world = assigned(approved())
    assert changed(world) == ""
    assert changed(world, four_eyes=True) == STRICTER
    lifted = assigned(approved(proposer_may_approve=True))
    assert changed(lifted) == ""


def test_who_proposed_it_met_nothing_once_policy_no_longer_lets_proposers_approve():
    world = asked(proposer_may_approve=True)
    world = world.after(core.Say("customer", "Hurry.", "ann"))
    world = world.after(decision(world, "approve", "ann"))
    assert changed(world) == STRICTER
    assert changed(world, proposer_may_approve=True) == ""


def test_after_an_escalation_a_chain_with_other_people_asks_more():
    world = asked(chain=(Step(60, ("role:senior",)),))
    world = world.after(core.Escalate(world.request.asked.request, 1))
    world = world.after(decision(world, "approve", "ann", names=frozenset({"role:senior"})))
    assert changed(world, chain=LATER) == ""
    assert changed(world, chain=(Escalation(60, FRAUD),)) == STRICTER


# --- the approval of a plan -----------------------------------------------------------------------------------------

TYPED = (f"arguments.calls.0.{AMOUNT.removeprefix('arguments.')}",)


ANYTHING = Requirements()


def planned(**terms: Any) -> World:
    """A plan with one transfer, before a person."""
    rule = replace(RULE, tools=("plan",), **terms)
    free = replace(RULE, name="free", tools=("transfer",), gate="allow")
    return worlds.opened().with_rules(rule, free).after(ProposePlan((MOVE,), "user:pat", False))


def met(world: World, now: Requirements = ANYTHING, request: Any = None, approval: Any = None) -> Requirements:
    """What the approval of the whole plan has met for its transfer."""
    plans = world.state.plans
    approval = approval or plans.approved
    request = request or world.state.requests[approval.request]
    call = Call(key(world, "transfer"), "transfer", {}, None, CallStatus.READY)
    return met_by_plan(request, approval, call, plans, now)


def test_an_approved_plan_has_met_its_terms_with_the_codes_that_were_chosen_and_the_tier_it_was_decided_at():
    world = planned(reasons=("asked", "urgent"), gate="hold", hold=5)
    world = world.after(decision(world, "approve", "sue", code="asked"), core.Begin(world.state.plans.proposed))
    assert met(world) == Requirements(gate="approve", hold=5, reasons=("asked",), tier=2, quorum=1)
    approval = world.state.plans.approved
    assert met(world, approval=replace(approval, tier=3)).tier == 3
    assert met(world, approval=replace(approval, tier=0)).tier == 2


def test_a_plan_that_nobody_opposed_has_met_a_delay():
    world = planned(gate="hold", hold=5)
    world = world.after(core.HoldOver(world.request.asked.request), core.Begin(world.state.plans.proposed))
    assert met(world) == Requirements(gate="hold", hold=5, tier=2, quorum=0)


def test_a_value_of_a_plan_counts_as_typed_where_it_was_typed_and_known():
    world = planned()
    world = world.after(decision(world, "approve", "sue"), core.Begin(world.state.plans.proposed))
    request = world.state.requests[world.state.plans.approved.request]
    asks = Requirements(retype=(AMOUNT,))
    assert met(world, asks).retype == ()
    typed = replace(request, asked=replace(request.asked, terms=replace(request.terms, retype=TYPED)))
    assert met(world, asks, typed).retype == (AMOUNT,)
    assert met(world, Requirements(), typed).retype == ()
    beside = Call("beside", "transfer", {}, None, CallStatus.READY)
    assert met_by_plan(typed, world.state.plans.approved, beside, world.state.plans, asks).retype == ()
    written = {**request.arguments, "calls": [{**request.arguments["calls"][0], "amount": "†state.amount"}]}
    filled = replace(typed, asked=replace(typed.asked, arguments=written))
    assert met(world, asks, filled).retype == ()
