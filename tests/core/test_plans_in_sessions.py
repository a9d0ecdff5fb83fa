"""A session carries out a plan: its calls wait for each other, are gated on what they resolve to, and never hang."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_actions
from agentstate.engine.decide import offers
from agentstate.engine.decide.commands.plans import EditPlan, InstanceGiven, ProposePlan
from agentstate.engine.decide.plans.refusals import PlanUnderWay
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Invalid, Refused
from tests.core import worlds
from tests.core.family_world import HANDS_OVER
from tests.core.worlds import World, opened

FREE = worlds.pol.Rule("free", ("load_customer", "authorize"), "true", 0, "allow", "Reads.")
LARGE = worlds.pol.Rule("large", ("transfer",), "arguments.amount.minor > 50000", 2, "approve", "A large amount.")
SMALL = worlds.pol.Rule("small", ("transfer",), "arguments.amount.minor <= 50000", 1, "allow", "A small amount.")
SEEN = worlds.pol.Rule("seen", ("plan",), "true", 1, "allow", "Plans go on.")
WHOLE = worlds.pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")


def step(tool: str, path: str = "", **more: Any) -> dict[str, Any]:
    """A call in the protocol's notation."""
    return {"_tool": tool, **({"_outputPath": path} if path else {}), **more}


LOAD = step("load_customer", "state.customer", customer="C-1")
CHECK = step("authorize", "state.check", name="†state.customer.name")
MOVE = step("transfer", "state.receipt", amount="†state.check.amount")


def ready(world: World) -> list[str]:
    """The names of the calls that may begin now."""
    actions = next_actions(world.state, stamp(world.given.at), frozenset(), 100)
    return [action.call.partition(".")[2] for action in actions if isinstance(action, RunCall)]


def calling(*calls: dict[str, Any], rules: tuple[Any, ...] = (FREE, LARGE, SMALL)) -> World:
    """A session whose model has answered with these calls, written as function calls with meta-properties."""
    proposals = [
        ev.CallProposed("1", call["_tool"], {key: value for key, value in call.items() if key != "_tool"})
        for call in calls
    ]
    return opened().with_rules(*rules).offering(*offers.ALL).asked(*proposals)


def key(world: World, name: str) -> str:
    return f"{world.state.plans.round}.{name}"


def ran(world: World, name: str, result: Any) -> World:
    """The world after the call of that name began and returned."""
    return world.after(core.Begin(key(world, name)), core.Return(key(world, name), 1, result))


def outcome(world: World, name: str) -> str:
    return world.state.plans.own.outcomes[name].status


def test_calls_wait_until_their_references_resolve_and_run_on_the_resolved_values():
    world = calling(LOAD, CHECK, MOVE)
    assert ready(world) == ["load_customer"]
    world = ran(world, "load_customer", {"name": "Ann"})
    assert ready(world) == ["authorize"]
    world = ran(world, "authorize", {"amount": {"minor": 100}})
    world = ran(world, "transfer", {"id": "R-1"})
    assert [event.arguments for event in world.events(ev.ToolIntended)] == [
        {"customer": "C-1"},
        {"name": "Ann"},
        {"amount": {"minor": 100}},
    ]
    assert world.state.pad["receipt"] == {"id": "R-1"}
    assert next_actions(world.state, stamp(world.given.at)) == (AskModel(again=False),)
    assert world.events(ev.RoundEnded)[0].counts == {"done": 3}


def test_a_gate_is_judged_on_the_resolved_arguments():
    world = calling(LOAD, CHECK, MOVE)
    world = ran(ran(world, "load_customer", {"name": "Ann"}), "authorize", {"amount": {"minor": 90_000}})
    world = world.after(core.Begin(key(world, "transfer")))
    assert world.request.asked.arguments == {"amount": {"minor": 90_000}}
    world = world.after(worlds.decision(world, "approve", "ann"))
    world = ran(world, "transfer", {"id": "R-2"})
    assert world.events(ev.ToolIntended)[-1].request
    assert outcome(world, "transfer") == "done"


def test_what_depends_on_a_rejected_call_is_blocked_and_the_agent_is_asked_again():
    after = step("authorize", "state.told", receipt="†state.receipt.id")
    world = calling(step("transfer", "state.receipt", amount={"minor": 90_000}), after)
    world = world.after(core.Begin(key(world, "transfer")))
    world = world.after(worlds.decision(world, "reject", "ann"))
    assert (outcome(world, "transfer"), outcome(world, "authorize")) == ("rejected", "blocked")
    assert next_actions(world.state, stamp(world.given.at)) == (AskModel(again=False),)
    told = [item.text for item in world.state.items if item.role == "tool"]
    assert len(told) == 2
    assert "blocked" in told[1]


def test_what_fails_only_for_a_while_is_tried_again_and_what_depends_on_it_waits_instead_of_being_blocked():
    world = ran(calling(LOAD, CHECK, MOVE), "load_customer", {"name": "Ada"})
    check = key(world, "authorize")
    world = world.after(core.Begin(check), core.Fail(check, 1, "away", transient=True, pause=30.0))
    assert (ready(world), world.state.plans.is_open, world.events(ev.RoundEnded)) == ([], True, [])
    later = dataclasses.replace(world, seconds=world.seconds + 31)
    assert ready(later) == ["authorize"]
    later = later.after(core.Begin(check), core.Return(check, 2, {"amount": {"minor": 100, "currency": "USD"}}))
    assert ready(later) == ["transfer"]


def test_what_fails_for_a_while_too_often_goes_where_the_plan_sends_its_failures():
    world = calling(
        step("load_customer", "state.customer || state.problem", customer="C-1"),
        step("authorize", "state.sorry", what="†state.problem.error"),
    )
    load = key(world, "load_customer")
    for attempt in range(1, world.tools["load_customer"].attempts + 1):
        world = world.after(core.Begin(load), core.Fail(load, attempt, "away", transient=True))
    assert ready(world) == ["authorize"]


def test_what_is_tried_again_too_late_goes_where_the_plan_sends_its_failures():
    world = calling(
        step("load_customer", "state.customer || state.problem", customer="C-1"),
        step("authorize", "state.sorry", what="†state.problem.error"),
    )
    tools = {**world.tools, "load_customer": replace(world.tools["load_customer"], retry_seconds=60.0)}
    load, world = key(world, "load_customer"), dataclasses.replace(world, tools=tools)
    world = world.after(core.Begin(load), core.Fail(load, 1, "away", transient=True, pause=1.0))
    late = dataclasses.replace(world, seconds=world.seconds + 61).after(core.Begin(load))
    assert (outcome(late, "load_customer"), ready(late)) == ("failed", ["authorize"])


def test_an_error_goes_to_the_last_alternative_and_the_branch_is_taken():
    world = calling(
        step("load_customer", "state.customer || state.problem", customer="C-1"),
        step("authorize", "state.fine", name="†state.customer.name"),
        step("authorize", "state.sorry", what="†state.problem.error"),
    )
    world = world.after(core.Begin(key(world, "load_customer")))
    world = world.after(core.Fail(key(world, "load_customer"), 1, "no such customer", False))
    assert outcome(world, "authorize") == "skipped"
    world = ran(world, "authorize-2", {"told": True})
    assert world.state.pad["sorry"] == {"told": True}
    assert not world.state.plans.is_open


def test_of_two_outputs_to_one_path_the_first_appended_wins():
    world = calling(
        step("load_customer", "state.x", customer="C-1", _when="true"), step("authorize", "state.x", _when="true")
    )
    world = ran(ran(world, "authorize", {"from": "authorize"}), "load_customer", {"from": "load"})
    assert world.state.pad["x"] == {"from": "authorize"}
    assert world.state.plans.own.outcomes["load_customer"].reason == "path already written"


def test_a_plan_that_cannot_work_is_refused_call_by_call_before_anything_runs():
    world = calling(LOAD, step("transfer", "state.receipt", amount="†state.nowhere"))
    refused = world.events(ev.CallRefused)
    assert [event.code for event in refused] == ["plan_refused", "plan_refused"]
    assert "no_source" in refused[0].reason
    assert not world.state.plans.version
    assert next_actions(world.state, stamp(world.given.at)) == (AskModel(again=False),)


def whole() -> World:
    """A plan that waits for a person as a whole."""
    return calling(LOAD, CHECK, MOVE, rules=(FREE, LARGE, SMALL, WHOLE))


def test_a_plan_is_approved_as_one_request_and_then_only_what_policy_finds_stricter_stops():
    world = whole()
    assert world.request.asked.tool == "plan"
    assert world.request.asked.tier == 3  # an amount that is not known yet may be anything
    assert ready(world) == []
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = world.after(core.Begin(world.state.plans.proposed))
    world = ran(ran(world, "load_customer", {"name": "Ann"}), "authorize", {"amount": {"minor": 90_000}})
    world = world.after(core.Begin(key(world, "transfer")))
    assert not pending(world.state)
    assert world.events(ev.ToolIntended)[-1].request == world.events(ev.ApprovalRequested)[0].request


def test_a_rejected_plan_tells_every_call_and_runs_none():
    world = whole()
    world = world.after(worlds.decision(world, "reject", "sue"))
    assert [event.code for event in world.events(ev.CallRefused)] == ["plan_rejected"] * 3
    assert ready(world) == []
    assert next_actions(world.state, stamp(world.given.at)) == (AskModel(again=False),)


def test_a_plan_edited_in_its_approval_is_checked_and_carried_out_as_edited():
    world = whole()
    arguments = world.request.asked.arguments
    broken = {**arguments, "calls": [step("transfer", "", amount="†state.nowhere")]}
    with pytest.raises(Invalid):
        world.after(worlds.decision(world, "edit", "sue", arguments=broken))
    for odd in ({"calls": arguments["calls"]}, {**arguments, "by": "x"}, {**arguments, "instances": 7, "inputs": []}):
        with pytest.raises(Invalid):
            world.after(worlds.decision(world, "edit", "sue", arguments=odd))
    shorter = {**arguments, "calls": arguments["calls"][:1]}
    world = world.after(worlds.decision(world, "edit", "sue", arguments=shorter))
    assert world.request.asked.proposed_by == ("sue",)
    with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
        world.after(worlds.decision(world, "approve", "sue"))
    world = world.after(worlds.decision(world, "approve", "zoe"))
    assert world.state.calls[world.state.plans.proposed].status is CallStatus.READY
    world = world.after(core.Begin(world.state.plans.proposed))
    assert list(world.state.plans.plan.by_id) == ["load_customer"]


def test_after_an_approved_plan_a_deviation_stops_for_a_human():
    world = whole()
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = world.after(core.Begin(world.state.plans.proposed))
    world = ran(ran(world, "load_customer", {"name": "Ann"}), "authorize", {"amount": {"minor": 1}})
    world = ran(world, "transfer", {"id": "R"})
    world = world.asked(worlds.proposed("authorize", None, customer="C-9"))
    assert world.request.asked.why.startswith("It deviates from the plan")


def test_of_a_plan_that_deviates_from_the_approved_one_the_request_says_what_deviates():
    world = whole()
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = world.after(core.Begin(world.state.plans.proposed))
    world = ran(ran(world, "load_customer", {"name": "Ann"}), "authorize", {"amount": {"minor": 1}})
    world = ran(world, "transfer", {"id": "R"}).with_rules(FREE, LARGE, SMALL, SEEN)
    as_approved = worlds.proposed("authorize", "state.check", name="†state.customer.name")
    again = world.asked(as_approved)
    assert not pending(again.state)
    assert again.state.plans.version == 2
    world = world.asked(as_approved, worlds.proposed("load_customer", "state.other", customer="C-9"))
    why = world.request.asked.why
    assert why.startswith("It deviates from the plan that was approved. load_customer: ")
    assert "C-9" in why
    assert "authorize" not in why


def test_a_plan_to_be_followed_exactly_lets_the_agent_call_nothing_else():
    world = opened().with_rules(FREE, LARGE, SMALL)
    world = world.after(ProposePlan((LOAD, CHECK), "user:sue", follow=True))
    world = ran(world, "load_customer", {"name": "Ann"})
    world = world.asked(worlds.proposed("authorize", None, customer="C-9"))
    assert world.events(ev.CallRefused)[-1].code == "follow_plan"


def proposed(*calls: dict[str, Any], **more: Any) -> World:
    return opened().with_rules(FREE, LARGE, SMALL).after(ProposePlan(calls, "user:sue", **more))


def test_a_person_edits_what_has_not_begun():
    world = ran(proposed(LOAD, CHECK), "load_customer", {"name": "Ann"})
    named = [dict(call) for call in world.events(ev.PlanCommitted)[0].calls]
    other = {**named[1], "name": "†state.customer.name", "reason": "checked by hand"}
    with pytest.raises(Refused, match="leave it as it is"):
        world.after(EditPlan(({**named[0], "customer": "C-2"}, other), "user:sue", 1))
    with pytest.raises(Refused, match="version 1"):
        world.after(EditPlan((named[0], other), "user:sue", 7))
    world = world.after(EditPlan((named[0], other), "user:sue", 1))
    assert world.state.plans.version == 2
    world = ran(world, "authorize", {"ok": True})
    assert world.events(ev.ToolIntended)[-1].arguments == {"name": "Ann", "reason": "checked by hand"}
    assert [event.version for event in world.events(ev.PlanCommitted)] == [1, 2]


def test_a_plan_that_says_so_takes_the_place_of_another_and_withdraws_what_waits_in_it():
    world = proposed(step("transfer", "state.receipt", amount={"minor": 90_000}))
    world = world.after(core.Begin(key(world, "transfer")))
    request = world.request.asked.request
    with pytest.raises(PlanUnderWay):
        world.after(ProposePlan((LOAD,), "user:sue"))
    world = world.after(ProposePlan((LOAD,), "user:sue", replace=True))
    assert world.state.requests[request].status is RequestStatus.WITHDRAWN
    assert ready(world) == ["load_customer"]
    assert world.events(ev.RoundEnded)[0].because == "another plan took its place"


def test_input_is_read_by_reference_and_that_of_an_instance_stands_over_it():
    call = step("load_customer", "state.customer", customer="†input.customer", bank="†input.bank")
    members = tuple(InstanceGiven(name, {"customer": name}) for name in ("C-1", "C-2"))
    world = proposed(call, inputs={"bank": "north", "customer": "nobody"}, instances=members)
    assert ready(world) == ["load_customer@C-1", "load_customer@C-2"]
    world = ran(ran(world, "load_customer@C-1", {"name": "Ann"}), "load_customer@C-2", {"name": "Bob"})
    assert [event.arguments["customer"] for event in world.events(ev.ToolIntended)] == ["C-1", "C-2"]
    assert world.state.plans.instances["C-2"].pad == {"customer": {"name": "Bob"}}
    assert world.state.pad == {}
    assert world.events(ev.RoundEnded)[0].instances == {"well": 2, "not well": 0}


def test_a_poisoned_instance_stops_no_other():
    members = tuple(InstanceGiven(f"C-{number}", {"customer": number}) for number in range(20))
    call = step("load_customer", "state.customer", customer="†input.customer")
    world = proposed(call, step("authorize", "state.check", name="†state.customer.name"), instances=members)
    for action in ready(world):
        world = world.after(core.Begin(key(world, action)))
        poisoned = action.endswith("@C-7")
        done = (
            core.Fail(key(world, action), 1, "poison", False)
            if poisoned
            else core.Return(key(world, action), 1, {"name": "x"})
        )
        world = world.after(done)
    for action in ready(world):
        world = ran(world, action, {"ok": True})
    assert world.events(ev.RoundEnded)[0].counts == {"done": 38, "failed": 1, "blocked": 1}
    assert world.events(ev.RoundEnded)[0].instances == {"well": 19, "not well": 1}


def test_the_state_of_a_plan_is_the_fold_of_its_events_and_survives_a_snapshot():
    world = ran(proposed(LOAD, CHECK, MOVE), "load_customer", {"name": "Ann"})
    stored = [(ev.decode(ev.encode(event)), at) for event, at in world.history]
    assert fold(stored) == world.state
    assert from_snapshot(to_snapshot(world.state)) == world.state


def test_one_session_holds_a_bounded_number_of_instances():
    first, second = (tuple(InstanceGiven(f"{part}-{number}") for number in range(600)) for part in ("a", "b"))
    world = proposed(LOAD, instances=first)
    with pytest.raises(Refused, match="at most 1000"):
        world.after(ProposePlan((LOAD,), "user:sue", instances=second))


def test_the_end_of_the_session_is_the_end_of_its_plan():
    world = proposed(LOAD, CHECK).after(core.End("hung up", "customer"))
    assert not world.state.plans.is_open
    assert isinstance(next_actions(world.state, stamp(world.given.at))[0], Nothing)


def test_a_plan_that_waits_gives_way_to_one_that_replaces_it():
    world = whole()
    first = world.request.asked
    with pytest.raises(PlanUnderWay, match="waits for a person"):
        world.after(ProposePlan((LOAD,), "user:sue", saved="load@1"))
    world = world.after(ProposePlan((LOAD,), "user:sue", saved="load@1", replace=True))
    assert world.state.requests[first.request].status is RequestStatus.WITHDRAWN
    assert [event.code for event in world.events(ev.CallRefused)] == ["plan_withdrawn"] * 3
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = world.after(core.Begin(world.state.plans.proposed))
    assert (ready(world), world.state.plans.saved) == (["load_customer"], "load@1")


def test_a_call_is_handed_over_only_to_a_plan_that_the_team_keeps():
    calls = (step("load_customer", "state.customer", customer="C-1", _delegate="greet", _scopes=["input"]),)
    with pytest.raises(Invalid, match="unknown_delegate"):
        proposed(*calls)
    world = opened()
    given = replace(world.given, saved=frozenset({"greet"}))
    events = core.decide(ProposePlan(calls, "user:sue"), world.state, given)
    assert any(isinstance(event, ev.PlanProposed | ev.PlanCommitted) for event in events)


def test_a_call_that_is_handed_over_has_no_time_to_try_it_again():
    """Its tool is not tried: the other session is opened once, and takes as long as it takes."""
    tools = {**worlds.TOOLS, "load_customer": replace(worlds.TOOLS["load_customer"], retry_seconds=60.0)}
    for more, timed in (({"_delegate": "anonymous", "_scopes": ["input"]}, False), ({}, True)):
        world = dataclasses.replace(opened(), tools=tools).with_rules(FREE, HANDS_OVER)
        world = world.after(ProposePlan((step("load_customer", "state.customer", customer="C-1", **more),), "user:sue"))
        (intent,) = world.after(core.Begin(world.state.plans.ready[0])).events(ev.ToolIntended)
        assert bool(intent.retry_until) is timed
