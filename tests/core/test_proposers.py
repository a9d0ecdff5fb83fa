"""Nobody approves what they proposed: who is left out, by recorded facts alone, whatever the rule says."""

from __future__ import annotations

from dataclasses import replace as world_with
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide import tasks
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.plans import EditPlan, ProposePlan, TakeTask
from agentstate.engine.decide.reviewing import PROPOSED, WROTE, authors_of, had_a_part
from agentstate.engine.decide.supervision import TAKEN_OVER
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.participants import MAX_PEOPLE, Involvement, took_part
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Refused
from tests.core import worlds
from tests.core.test_plans_in_sessions import step
from tests.core.worlds import MAY, World, decision, transfer, waiting

ASKS = pol.Rule("asks", ("transfer",), "true", 2, "approve", "Money.")
FREE = pol.Rule("free", ("authorize", "load_customer", "plan"), "true", 0, "allow", "Reads.")
MOVE = step("transfer", "state.receipt", amount={"minor": 90_000, "currency": "USD"})


def planned(by: str, *rules: pol.Rule) -> World:
    """A plan that `by` has handed over, whose transfer waits for a person."""
    world = worlds.opened().with_rules(*(rules or (ASKS, FREE)))
    world = world.after(ProposePlan((step("load_customer", "state.c", customer="C"), MOVE), by, False))
    return world.after(core.Begin(f"{world.state.plans.round}.transfer"))


def left_out(world: World, by: str, why: str) -> None:
    """`by` may not approve the request that waits, and may reject it; a colleague may approve it."""
    with pytest.raises(core.DecisionNotAllowed, match=why):
        world.after(decision(world, "approve", by))
    assert world.after(decision(world, "reject", by)).call("transfer").status is CallStatus.REJECTED
    other = "zoe" if by != "zoe" else "sue"
    assert world.after(decision(world, "approve", other)).call("transfer").status is CallStatus.READY


def test_who_handed_the_plan_over_does_not_approve_its_call_although_no_rule_asks_for_four_eyes():
    world = planned("ann")
    assert world.request.asked.proposed_by == ("ann",)
    left_out(world, "ann", "you proposed it")


def test_what_the_agent_proposes_is_proposed_by_the_agent():
    assert waiting().request.asked.proposed_by == ("agent:bank",)
    assert waiting().after(decision(waiting(), "approve", "ann")).call("transfer").status is CallStatus.READY


def test_authorship_of_a_plan_survives_an_edit_by_a_colleague():
    world = planned("ann")
    calls = ({**step("load_customer", "state.c", customer="D")}, MOVE)
    world = world.after(EditPlan(calls, "bob", world.state.plans.version))
    left_out(world, "ann", "you proposed it")
    left_out(world, "bob", "you proposed it")


def test_who_edited_the_request_of_a_plan_does_not_approve_its_calls():
    whole = pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")
    free = replace(FREE, tools=("authorize", "load_customer"))
    world = worlds.opened().with_rules(whole, replace(ASKS, tier=3), free)
    world = world.after(ProposePlan((step("load_customer", "state.c", customer="C"), MOVE), "agent:bank", False))
    arguments = {**world.request.asked.arguments, "calls": [MOVE]}
    world = world.after(decision(world, "edit", "sue", arguments=arguments))
    world = world.after(decision(world, "approve", "zoe"))
    world = world.after(core.Begin(world.state.plans.proposed))
    assert world.state.plans.authors == ("sue",)


def test_who_ordered_an_undoing_does_not_approve_it():
    from tests.core.test_compensation import order, put_back

    world = put_back("a").with_rules(ASKS)
    world = world.after(replace(order(world), by="zoe"))
    left_out(world, "zoe", "you proposed it")


def test_a_session_that_does_the_task_of_another_inherits_who_proposed_it():
    world = worlds.opened().with_rules(ASKS, FREE)
    world = world.after(TakeTask("parent", "call", "agent:bank", "do it", authors=("ann",)))
    world = world.asked(transfer(90_000))
    assert world.request.asked.proposed_by == ("ann",)
    left_out(world, "ann", "you proposed it")


def test_who_wrote_or_edited_the_saved_plan_does_not_approve_its_calls():
    world = worlds.opened().with_rules(ASKS, FREE)
    plan = ProposePlan((MOVE,), "carl", saved="pay@2", source="saved", saved_by=("ann", "bob"))
    direct = world.after(plan)
    direct = direct.after(core.Begin(f"{direct.state.plans.round}.transfer"))
    assert direct.request.asked.proposed_by == ("carl", "ann", "bob")
    left_out(direct, "ann", "you proposed it")
    whole = pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")
    asked = world.with_rules(whole, ASKS, replace(FREE, tools=("load_customer",))).after(plan)
    assert asked.request.asked.proposed_by == ("carl", "ann", "bob")
    with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
        asked.after(decision(asked, "approve", "bob"))
    asked = asked.after(decision(asked, "approve", "sue"), core.Begin(asked.state.plans.proposed))
    assert set(asked.state.plans.authors) == {"carl", "ann", "bob"}


def test_a_saved_plan_that_a_delegate_runs_is_its_writers():
    world = worlds.opened().with_rules(ASKS, FREE)
    plan = ProposePlan((MOVE,), "agent:bank", True, saved="pay@2", source="delegate", saved_by=("ann",))
    world = world.after(TakeTask("parent", "call", "agent:bank", plan=plan))
    world = world.after(core.Begin(f"{world.state.plans.round}.transfer"))
    assert world.request.asked.proposed_by == ("ann",)


def test_a_delegate_leaves_out_who_spoke_as_the_customer_in_its_parents():
    world = worlds.opened().with_rules(ASKS, FREE)
    world = world.after(TakeTask("parent", "call", "agent:bank", "do it", customers=("ann",)))
    world = world.asked(transfer(90_000))
    assert world.request.asked.proposed_by == ("agent:bank",)
    left_out(world, "ann", "spoke as the customer")


def test_a_delegate_leaves_out_who_speaks_as_the_customer_in_its_parent_later():
    parent = worlds.opened()
    spoke = parent.after(core.Say("customer", "Hurry.", "ann"))
    assert tasks.new_customers(parent.state, spoke.state) == ("ann",)
    again = spoke.after(core.Say("customer", "Please.", "ann"), core.Say("customer", "Hello?", "customer"))
    assert tasks.new_customers(spoke.state, again.state) == ()
    world = worlds.opened().with_rules(ASKS, FREE).after(TakeTask("parent", "call", "agent:bank", "do it"))
    world = world.asked(transfer(90_000))
    told = tasks.because_of_customers(("ann",), world.state)
    assert told is not None
    world = world.after(told)
    left_out(world, "ann", "spoke as the customer")
    assert tasks.because_of_customers(("ann",), world.state) is None
    ended = world.after(core.End("hung up", "customer"))
    assert tasks.because_of_customers(("bob",), ended.state) is None


def test_who_spoke_as_the_customer_does_not_approve():
    world = waiting().after(core.Say("customer", "And hurry.", "ann"))
    left_out(world, "ann", "spoke as the customer")


def test_who_spoke_for_the_agent_does_not_approve_until_the_next_hand_back():
    world = waiting().after(core.BargeIn("One moment.", "ann"))
    left_out(world, "ann", "spoke to the customer for the agent")
    world = world.after(core.TakeOver("bob"), core.Speak("I look at it.", "bob"))
    left_out(world, "ann", "spoke to the customer for the agent")
    world = world.after(core.HandBack("Go on.", "bob"))
    assert world.after(decision(world, "approve", "ann")).call("transfer").status is CallStatus.READY
    assert world.after(decision(world, "approve", "bob")).call("transfer").status is CallStatus.READY


def test_who_has_the_session_does_not_approve():
    left_out(waiting().after(core.TakeOver("ann")), "ann", "took the session over")


def test_under_four_eyes_the_person_to_whom_the_session_is_assigned_does_not_approve():
    assigned = core.Assign("", "ann", "zoe")
    world = worlds.opened().with_rules(replace(ASKS, four_eyes=True), FREE).asked(transfer(90_000)).after(assigned)
    left_out(world, "ann", "got the session assigned")
    alone = waiting().after(assigned)
    assert alone.after(decision(alone, "approve", "ann")).call("transfer").status is CallStatus.READY


def test_the_author_of_a_plan_is_no_author_of_a_call_beside_it_or_of_an_earlier_round():
    world = planned("ann")
    call = replace(world.call("transfer"), authors=())
    assert authors_of(world.state, call) == ("ann",)
    for round_id in ("", "earlier"):
        assert authors_of(world.state, replace(call, round=round_id)) == ()


def test_who_whispered_does_not_approve_at_tier_three_and_does_at_tier_two():
    low = waiting().after(core.Whisper("Sell it.", "sue"))
    assert low.after(decision(low, "approve", "sue")).call("transfer").status is CallStatus.READY
    left_out(waiting(300_000).after(core.Whisper("Sell it.", "sue")), "sue", "whispered")


def test_a_tier_that_rose_while_the_request_waited_leaves_out_who_whispered():
    world = waiting().after(core.Whisper("Sell it.", "sue"))
    raised = world.with_rules(replace(ASKS, tier=3), FREE)
    with pytest.raises(core.DecisionNotAllowed, match="whispered"):
        raised.after(decision(raised, "approve", "sue"))


def lent(of: str) -> tuple[Authority, ...]:
    return (Authority(MAY[of], frozenset(), of),)


def test_who_lends_a_right_and_who_uses_it_count_as_one_person():
    world = planned("sue")
    with pytest.raises(core.DecisionNotAllowed, match="the person you decide for proposed it"):
        world.after(core.Decide(world.request.asked.request, "approve", "vic", frozenset(), lent=lent("sue")))
    world = planned("vic")
    with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
        world.after(core.Decide(world.request.asked.request, "approve", "vic", frozenset(), lent=lent("sue")))


def test_on_a_lent_right_nobody_approves_what_its_lender_may_not():
    """Vic approves on ann's right; ann shares hers with sue, who proposed it, or who has approved it already."""
    chain = (Authority(MAY["ann"], frozenset(), "ann", shares=frozenset({"sue", "vic"})),)
    world = planned("sue")
    with pytest.raises(core.DecisionNotAllowed, match="the person you decide for shares a right with"):
        world.after(core.Decide(world.request.asked.request, "approve", "vic", frozenset(), lent=chain))
    two = planned("zoe", replace(ASKS, quorum=2), FREE)
    two = two.after(decision(two, "approve", "sue"))
    with pytest.raises(core.DecisionNotAllowed, match="has approved it already"):
        two.after(core.Decide(two.request.asked.request, "approve", "vic", frozenset(), lent=chain))
    alone = planned("zoe")
    assert alone.after(core.Decide(alone.request.asked.request, "approve", "vic", frozenset(), lent=chain))


SPOKE = {"customer": "spoke as the customer in this session"}


def test_people_who_proposed_together_proposed_it_and_beside_the_agent_they_wrote_values():
    state = worlds.opened().state
    assert had_a_part(state, None, ("pat", "sue"), 2, False) == {"pat": PROPOSED, "sue": PROPOSED, **SPOKE}
    assert had_a_part(state, None, ("agent:bank", "sue"), 2, False) == {"sue": WROTE, **SPOKE}


def test_one_authority_counts_once_also_where_the_tier_rose():
    """Sue approves at tier 2; the tier becomes 3; who acts under ann and sue uses sue's right a second time."""
    two = replace(ASKS, quorum=2)
    world = worlds.opened().with_rules(two, FREE).asked(transfer(90_000))
    world = world.after(decision(world, "approve", "sue"))
    world = world.with_rules(replace(two, tier=3), FREE)
    under = (Authority(frozenset({"decide"}), frozenset(), "ann"), *lent("sue"))
    bob = decision(world, "approve", "bob")
    with pytest.raises(core.DecisionNotAllowed, match="already"):
        world.after(replace(bob, may=frozenset(), lent=under))
    with_zoe = world.after(replace(bob, may=frozenset(), lent=(*under, *lent("zoe"))))
    assert with_zoe.events(ev.DecisionMade)[-1].under == "zoe"


def test_a_policy_may_let_proposers_approve_below_the_highest_tier_on_record():
    mine = replace(ASKS, proposer_may_approve=True)
    world = planned("sue", mine, FREE)
    assert world.request.terms.proposer_may_approve
    assert world.request.asked.proposed_by == ("sue",)
    assert world.after(decision(world, "approve", "sue")).call("transfer").status is CallStatus.READY
    raised = world.with_rules(replace(ASKS, tier=3), FREE)
    with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
        raised.after(decision(raised, "approve", "sue"))
    stricter = world.after(decision(world, "approve", "sue")).with_rules(ASKS, FREE)
    again = stricter.after(core.Begin(stricter.call("transfer").id))
    assert "stricter" in again.request.asked.why
    for other in (ASKS, replace(mine, four_eyes=True)):
        both = planned("sue", mine, replace(other, name="other"), FREE)
        with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
            both.after(decision(both, "approve", "sue"))


@pytest.mark.parametrize("changes", [{"tier": 3}, {"four_eyes": True}, {"gate": "allow"}])
def test_a_rule_cannot_let_proposers_approve_at_the_highest_tier(changes):
    rule: dict[str, Any] = {"name": "r", "tools": ["t"], "when": "true", "tier": 2, "gate": "approve", "why": "x"}
    text = msgspec.json.encode(
        {"name": "p", "version": 1, "rules": [{**rule, "proposer_may_approve": True, **changes}]}
    )
    with pytest.raises(pol.BadPolicy, match="proposer_may_approve"):
        pol.load(text)


def test_the_facts_survive_a_rollback_and_are_folded_from_entries():
    from tests.core.test_versions import rollback

    world = waiting().after(core.Say("customer", "Hurry.", "ann"), core.Whisper("Slowly.", "bob"))
    assert fold(world.history).involved == world.state.involved
    world = world.after(rollback(world, 8))
    assert world.state.involved.customer[-1:] == ("ann",)
    assert world.state.involved.guidance == ("bob",)


def test_the_facts_are_bounded_and_name_people_alone():
    found = Involvement()
    for number in range(MAX_PEOPLE + 5):
        found = took_part(found, "customer", f"user:{number}")
    assert len(found.customer) == MAX_PEOPLE
    assert found.customer[-1] == f"user:{MAX_PEOPLE + 4}"
    for nobody in ("", "agent:bank", "system"):
        assert took_part(found, "agent", nobody) == found


def test_a_take_over_asks_again_about_what_was_approved_and_has_not_begun():
    world = waiting().after(decision(waiting(), "approve", "ann"))
    old = world.call("transfer").request
    world = world.after(core.TakeOver("ann"))
    assert world.request.asked.supersedes == old
    assert "took over the conversation" in world.request.asked.why
    with pytest.raises(Refused):
        world.after(core.Begin(world.call("transfer").id))
    left_out(world, "ann", "took the session over")
    world = world.after(decision(world, "approve", "bob"), core.Begin(world.call("transfer").id))
    assert world.call("transfer").status is CallStatus.RUNNING


def test_a_take_over_undoes_an_approval_that_is_delayed_and_leaves_what_has_begun():
    delayed = worlds.opened().with_rules(replace(ASKS, hold=60), FREE).asked(transfer(90_000))
    world = delayed.after(decision(delayed, "approve", "ann")).after(core.TakeOver("sue"))
    assert (world.request.held_until, world.request.approvals) == ("", ())
    undone = world.events(ev.RequestUndone)
    assert [(each.request, each.by, each.reason, each.until) for each in undone] == [
        (delayed.request.asked.request, "sue", TAKEN_OVER, "")  # its deadline stays
    ]
    by_policy = worlds.opened().with_rules(replace(ASKS, gate="hold", hold=60), FREE).asked(transfer(90_000))
    assert not by_policy.after(core.TakeOver("sue")).request.held_until
    running = waiting().after(decision(waiting(), "approve", "ann"))
    running = running.after(core.Begin(running.call("transfer").id), core.TakeOver("sue"))
    assert running.call("transfer").status is CallStatus.RUNNING
    failed = world_with(running)
    failed = failed.after(core.Fail(failed.call("transfer").id, 1, "away", transient=True, pause=1.0))
    assert failed.call("transfer").status is CallStatus.READY


def test_a_take_over_asks_again_about_an_approved_plan_that_is_not_committed():
    whole = replace(ASKS, name="whole", tools=("plan",))
    world = worlds.opened().with_rules(whole, ASKS).after(ProposePlan((MOVE,), "user:pat", False))
    old = world.request.asked.request
    world = world.after(decision(world, "approve", "sue"), core.TakeOver("sue"))
    assert (world.request.asked.tool, world.request.asked.supersedes) == ("plan", old)
    left = world.after(decision(world, "approve", "zoe"), core.Begin(world.state.plans.proposed))
    assert left.events(ev.PlanCommitted)


def test_a_take_over_asks_also_where_policy_would_let_it_through_by_now():
    world = waiting().after(decision(waiting(), "approve", "ann"))
    free = pol.Rule("free", ("*",), "true", 1, "allow", "Fine.")
    world = world.with_rules(free).after(core.TakeOver("sue"))
    assert world.request.terms.gate == "approve"


def test_a_state_recorded_before_these_facts_were_kept_has_them_from_what_was_said():
    world = waiting().after(core.Say("customer", "Hurry.", "ann"), core.Whisper("Slowly.", "bob"))
    world = world.after(core.BargeIn("One moment.", "sue"))
    approved = world.after(decision(world, "approve", "zoe"))
    request = approved.call("transfer").request
    for state in (world.state, approved.state, world.after(core.TakeOver("sue"), core.HandBack("Go on.", "sue")).state):
        older = msgspec.json.decode(to_snapshot(state))
        del older["involved"]
        for each in older["requests"].values():
            each.pop("steps", None)
        assert from_snapshot(msgspec.json.encode(older)).involved == state.involved
        assert from_snapshot(to_snapshot(state)) == state
    older = msgspec.json.decode(to_snapshot(approved.state))
    del older["requests"][request]["steps"]
    read = from_snapshot(msgspec.json.encode(older)).requests[request]
    assert (read.approvals, read.steps, read.codes) == (("zoe",), (0,), ("",))


def test_a_colleague_who_shares_a_right_with_the_proposer_or_an_approver_is_no_second_person():
    world = planned("ann")
    with pytest.raises(core.DecisionNotAllowed, match="with whom you share a right proposed it"):
        world.after(replace(decision(world, "approve", "bob"), sharing=frozenset({"ann"})))
    assert world.after(replace(decision(world, "approve", "bob"), sharing=frozenset({"zoe"})))
    two = planned("sue", replace(ASKS, quorum=2), FREE)
    two = two.after(decision(two, "approve", "ann"))
    with pytest.raises(core.DecisionNotAllowed, match="with whom you share a right has approved it"):
        two.after(replace(decision(two, "approve", "bob"), sharing=frozenset({"ann"})))
