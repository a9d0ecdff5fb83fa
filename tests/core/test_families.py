"""A delegate is bound as its parent is: refusals, sums of the day, charts, values that rules read, take-overs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.charts.standing import Standing
from agentstate.engine.charts.state import ChartState
from agentstate.engine.decide import families
from agentstate.engine.decide.commands.plans import OpenDelegate, ProposePlan
from agentstate.engine.decide.refusals import FamilyFull
from agentstate.engine.looping import held as held_loop
from agentstate.engine.looping.held import Loop, Used
from agentstate.engine.looping.settings import Delegates, Limits, Looping
from agentstate.engine.policy import Rule
from agentstate.engine.policy.tally import Tally
from agentstate.engine.remembered import Remembered, Settled, gained, with_gain
from agentstate.engine.state.session import pending
from tests.core import worlds
from tests.core.family_world import HANDS_OVER, family
from tests.core.test_plans_in_sessions import WHOLE, step
from tests.core.worlds import proposed, transfer

FREE = Rule("free", ("load_customer",), "true", 0, "allow", "Reads.")
MONEY = Rule("money", ("transfer",), "arguments.amount.minor > 50000", 2, "approve", "A large amount.")
SMALL = Rule("small", ("transfer",), "arguments.amount.minor <= 50000", 1, "allow", "A small amount.")
MOVED = "(has(history.today.moved.transfer) ? history.today.moved.transfer.USD : 0)"
DAILY = Rule("daily", ("transfer",), f"{MOVED} + arguments.amount.minor > 50000", 3, "approve", "$500 a day.")
FLAGGED = Rule("flagged", ("transfer",), "has(state.flags) && 'fraud' in state.flags", 3, "approve", "Fraud?")
AGAIN = Rule("again", ("transfer",), "history.refusals > 0", 3, "approve", "Refused before.")
LOOKS = proposed("load_customer", None, customer="C-1", _delegate="anonymous")


def test_a_call_with_a_delegate_asks_a_person_where_no_rule_speaks_of_delegates():
    world = worlds.opened().with_rules(FREE).offering("_delegate").asked(LOOKS)
    world = world.after(core.Begin(world.state.plans.ready[0]))
    asked = world.request.asked
    assert (asked.rule, asked.tier, asked.tool) == ("default.delegate", 2, "load_customer")


def test_a_rule_for_delegates_decides_and_the_rule_of_the_tool_is_kept():
    strict = Rule("strict", ("load_customer",), "true", 3, "approve", "Nobody reads.")
    for rules, rule in (((FREE, HANDS_OVER), None), ((strict, HANDS_OVER), "strict"), ((FREE,), "default.delegate")):
        world = worlds.opened().with_rules(*rules).offering("_delegate").asked(LOOKS)
        world = world.after(core.Begin(world.state.plans.ready[0]))
        assert [each.asked.rule for each in pending(world.state)] == ([rule] if rule else [])


def test_the_request_says_that_a_session_of_its_own_acts():
    world = worlds.opened().with_rules(FREE).offering("_delegate").asked(LOOKS)
    world = world.after(core.Begin(world.state.plans.ready[0]))
    assert world.request.asked.preview.startswith("Open a session of its own")
    assert "anonymous" in world.request.asked.preview


def test_an_approval_of_a_plan_asks_for_its_delegates_too():
    strict = Rule("strict", ("delegate",), "true", 3, "approve", "No delegates.")
    handed = step("load_customer", customer="C-1", _delegate="anonymous")
    for rules, tier in (((FREE, WHOLE), 2), ((FREE, WHOLE, strict), 3)):
        world = worlds.opened().with_rules(*rules).after(ProposePlan((handed,), "user:pat"))
        assert world.request.asked.tier == tier


def test_no_standing_approval_of_a_tool_lets_its_delegate_through():
    offering = replace(HANDS_OVER, gate="approve", tier=2, sticky=worlds.pol.Sticky("session", 60, 3))
    world = worlds.opened().with_rules(FREE, offering).offering("_delegate").asked(LOOKS)
    assert world.after(core.Begin(world.state.plans.ready[0])).request.asked.terms.sticky is None


def test_what_a_person_rejected_in_the_parent_is_refused_in_the_delegate_also_later():
    held = family(FREE, MONEY, SMALL).opening()
    root = held.root.asked(transfer(60_000))
    held = replace_root(held, root.after(worlds.decision(root, "reject", "ann")))
    held = held.child(0, transfer(60_000))
    assert [each.code for each in held.members[0].events(ev.CallRefused)] == ["refused_before"]


def test_what_a_person_rejected_in_a_delegate_is_refused_in_the_parent_and_in_the_other_delegates_at_once():
    held = family(FREE, MONEY, SMALL, AGAIN).opening().opening()
    held = held.child(0, transfer(60_000))
    held = held.did(0, worlds.decision(held.members[0], "reject", "ann"))
    assert held.root.state.refusals == 1
    held = held.child(1, transfer(60_000))
    assert [each.code for each in held.members[1].events(ev.CallRefused)] == ["refused_before"]
    root = held.root.asked(transfer(60_000), transfer(100))
    assert [each.code for each in root.events(ev.CallRefused)] == ["refused_before"]
    assert root.request.asked.rule == "again"


def test_two_delegates_side_by_side_do_not_each_spend_the_allowance_of_the_day():
    held = family(FREE, SMALL, DAILY).opening().opening()
    held = held.child(0, transfer(40_000)).child(1, transfer(40_000))  # each is allowed as it is proposed
    for number in (0, 1):
        held = held.did(number, core.Begin(held.members[number].call("transfer").id))
    assert len(held.members[0].events(ev.ToolIntended)) == 1
    assert not held.members[1].events(ev.ToolIntended)
    assert held.members[1].request.asked.rule == "daily"
    assert held.root.state.tally.moved == {"transfer": {"USD": 40_000}}


def test_two_calls_of_one_commit_count_for_each_other():
    held = family(FREE, SMALL, DAILY).opening()
    member = held.child(0, transfer(40_000)).members[0]
    before = member.state
    given = families.counted(member.given, before, member.after(core.Begin(member.call("transfer").id)).state)
    assert given.family.remembered.tally.moved == {"transfer": {"USD": 40_000}}


def test_a_flag_that_staff_set_in_the_parent_binds_the_delegate():
    held = family(FREE, SMALL, FLAGGED).opening()
    held = replace_root(held, flagged(held.root)).child(0, transfer(100))
    assert held.members[0].request.asked.rule == "flagged"


def test_what_the_delegate_has_found_itself_counts_above_what_its_parent_knew():
    assert families.laid_over({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"x": 5}, "c": 6}) == {
        "a": {"x": 5, "y": 2},
        "b": 3,
        "c": 6,
    }


def test_what_the_chart_of_the_parent_forbids_now_does_not_begin_in_the_delegate():
    held = family(FREE, SMALL).opening().child(0, transfer(100))
    call = held.members[0].call("transfer")
    root = held.root
    chart = Standing(inside=ChartState("fraud@1", configuration=("held",)), tools=("load_customer",))
    held = replace_root(held, replace_state(root, chart=chart))
    after = held.did(0, core.Begin(call.id)).members[0]
    assert [each.code for each in after.events(ev.CallRefused)] == ["not_in_this_state"]
    assert "held" in after.events(ev.CallRefused)[0].reason
    assert [each.code for each in held.child(0, transfer(200)).members[0].events(ev.CallRefused)] == [
        "not_in_this_state"
    ]


def test_of_a_parent_of_another_subject_only_the_chart_binds():
    stranger = replace_state(worlds.opened(), refusals=3, pad={"flags": ["fraud"]}, chart=Standing(tools=("x",)))
    found = families.family_of((), (stranger.state,))
    assert (found.remembered, found.pad, len(found.charts)) == (Remembered(), {}, 1)


def test_a_take_over_of_the_parent_pauses_its_delegates_until_it_is_handed_back():
    held = family(FREE, SMALL).opening().rooted(core.TakeOver("user:ann", ""))
    assert held.members[0].state.paused_with_parent
    paused = held.rooted(core.Pause("look", "user:bob"))
    assert paused.rooted(core.HandBack(summary="", by="user:ann")).members[0].state.paused_at
    assert not held.rooted(core.HandBack(summary="", by="user:ann")).members[0].state.paused_at


def test_a_delegate_that_is_opened_while_a_person_has_the_parent_begins_paused():
    world = worlds.World(policy=worlds.BANK).after(core.Open("C-1", "team", "bank", "phone"))
    assert world.after(core.TakeTask("p", "c", "agent:bank", "Do it.", paused_by="user:ann")).state.paused_with_parent
    assert not world.after(core.TakeTask("p", "c", "agent:bank", "Do it.")).state.paused_at


@pytest.mark.parametrize("how", ["responded", "expired"])
def test_what_is_gained_and_added_is_what_happened(how):
    before = Remembered(("a",), 1, (), Tally("2026-11-21", {"transfer": 1}, {"transfer": {"USD": 5}}))
    after = Remembered(
        ("a", "b"), 3, (Settled("c", how),), Tally("2026-11-21", {"transfer": 2}, {"transfer": {"USD": 9}})
    )
    found = gained(before, after)
    assert found == Remembered(
        ("b",), 2, (Settled("c", how),), Tally("2026-11-21", {"transfer": 1}, {"transfer": {"USD": 4}})
    )
    assert with_gain(before, found) == after
    assert gained(after, after) == Remembered()


def replace_state(world, **changes):
    return worlds.replace(world, state=replace(world.state, **changes))


def replace_root(held, root):
    return worlds.replace(held, root=root)


def flagged(world):
    return replace_state(world, pad={**world.state.pad, "flags": ["fraud"]})


# --- budgets ----------------------------------------------------------------------------------------------


def test_no_more_delegates_are_at_work_than_the_agent_declares():
    held = family(FREE)
    for _ in range(Delegates().at_once):
        held = held.opening()
    root = held.root.asked(LOOKS)
    root = root.after(core.Begin(root.state.plans.ready[-1]))
    (refused,) = root.events(ev.CallRefused)
    assert (refused.code, refused.reason.split(".")[1]) == ("family_full", " 4 of 4 delegates are at work")
    root = held.over(0).root.asked(LOOKS)
    assert not root.after(core.Begin(root.state.plans.ready[-1])).events(ev.CallRefused)


def test_no_more_delegates_are_opened_in_all_than_the_agent_declares():
    held = family(FREE)
    for number in range(Delegates().opened):
        held = held.opening().over(number)
    root = held.root.asked(LOOKS)
    (refused,) = root.after(core.Begin(root.state.plans.ready[-1])).events(ev.CallRefused)
    assert (refused.code, "16 of 16" in refused.reason) == ("family_full", True)


def test_what_a_delegate_may_use_is_reserved_and_what_it_used_counts_in_its_place():
    held = family(FREE).opening()
    share = held.members[0].state.loop.share
    assert held.root.state.loop.session.steps == 1 + share.steps
    assert share.steps == (25 - 1) // 5
    held = held.child(0, transfer(100)).over(0)
    assert (held.root.state.loop.session.steps, held.root.state.loop.shares) == (2, {})
    assert held.over(0).root.state.loop == held.root.state.loop


def test_a_delegate_is_stopped_when_its_share_is_used_up():
    held = family(FREE, SMALL).opening()
    steps = held.members[0].state.loop.share.steps
    for number in range(steps):
        held = held.child(0, transfer(100 + number))
    member = held.members[0].after(core.Ask("one more", "model", 0, 0, (), "digest"))
    (stopped,) = member.events(ev.RunStopped)
    assert (stopped.code, stopped.of, stopped.limit) == ("steps", "session", steps)


def test_the_delegate_of_a_delegate_takes_from_the_budget_of_the_session_above_all_others():
    held = family(FREE, SMALL).opening()
    root = held.root.after(OpenDelegate("grandchild"))
    assert root.state.loop.opened == 2
    full = families.family_of((held.members[0].state, replace_loop(held.root, opened=16).state), ())
    member = worlds.replace(held.members[0], above=(replace_loop(held.root, opened=16),))
    assert member.given.family.loop == full.loop
    member = member.offering("_delegate").asked(LOOKS)
    (refused,) = member.after(core.Begin(member.state.plans.ready[-1])).events(ev.CallRefused)
    assert refused.code == "family_full"


@pytest.mark.parametrize(
    ("bounds", "loop", "share"),
    [
        (Looping(run=Limits(steps=25)), Loop(run=Used(0, 0, 5)), Used(0, 0, 4)),
        (Looping(run=Limits(steps=25), session=Limits(steps=8)), Loop(session=Used(0, 0, 3)), Used(0, 0, 1)),
        (Looping(run=Limits(), session=Limits(tokens=100)), Loop(granted_session=Limits(tokens=50)), Used(30)),
        (Looping(run=Limits(micros=4)), Loop(), Used(0, 1)),
        (Looping(run=Limits()), Loop(), Used()),
    ],
)
def test_a_share_is_an_equal_part_of_what_is_left(bounds, loop, share):
    families.must_have_room(loop, bounds)
    assert families.share_of(loop, bounds) == share


def test_nothing_is_shared_of_a_budget_that_is_used_up():
    with pytest.raises(FamilyFull, match="too little"):
        families.must_have_room(Loop(session=Used(0, 0, 9)), Looping(session=Limits(steps=9)))


def test_an_agent_may_forbid_delegates():
    with pytest.raises(FamilyFull, match="0 of 0"):
        families.must_have_room(Loop(), Looping(delegates=Delegates(opened=0)))


def test_what_a_delegate_of_an_earlier_run_leaves_over_is_the_sessions():
    loop = held_loop.reserved(Loop(), "a", Used(0, 0, 4), "run-1")
    later = held_loop.settled(replace(loop, run=Used(0, 0, 1)), "a", Used(0, 0, 3), "run-2")
    assert (later.run.steps, later.session.steps, later.shares) == (1, 3, {})


def test_the_count_of_delegates_outlasts_a_run():
    loop = held_loop.over(held_loop.reserved(Loop(), "a", Used(0, 0, 4), "run-1"))
    assert (loop.opened, list(loop.shares)) == (1, ["a"])


def replace_loop(world, **changes):
    return replace_state(world, loop=replace(world.state.loop, **changes))
