"""The round of a plan ends by name, and the entry names what had not begun."""

from __future__ import annotations

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import RunCall, next_actions
from agentstate.engine.decide.commands.plans import InstanceGiven, ProposePlan
from agentstate.engine.decide.plans.refusals import PlanUnderWay
from agentstate.engine.decide.withdrawals import (
    MAX_NAMES,
    end_of,
)
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.plan import model
from agentstate.engine.plan.rounds import Outcome
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.rounds import Approval, Instance, Plans
from agentstate.engine.state.session import SessionState, calls_in
from tests.core import worlds
from tests.core.test_plans_in_sessions import FREE, LARGE, SEEN, WHOLE, step
from tests.core.worlds import World, approved

READ = step("load_customer", "state.customer", customer="C-1")
PAY = step("transfer", "state.receipt", amount={"minor": 90_000})


def handed_over(*calls: dict[str, object], rules: tuple[object, ...], **more: object) -> World:
    return worlds.opened().with_rules(*rules).after(ProposePlan(calls, "p", **more))


def test_the_round_of_a_plan_ends_by_its_name_and_names_what_had_not_begun():
    world = handed_over(READ, PAY, rules=(FREE, LARGE, WHOLE))
    world = world.after(worlds.decision(world, "approve", "ann"))
    world = world.after(core.Begin(world.state.plans.proposed)).after(core.End("hung up", "customer"))
    (told,) = world.events(ev.RoundEnded)
    assert told.because == "the conversation ended: hung up"
    assert set(told.not_begun) == {"load_customer", "transfer"}
    assert told.counts == {"not begun": 2}
    assert (told.request, told.approved_by) == (next(iter(world.state.requests)), ("ann",))


def test_an_approved_call_of_a_plan_is_withdrawn_before_its_round_ends():
    world = handed_over(READ, PAY, rules=(FREE, LARGE, SEEN))
    world = world.after(core.Begin(f"{world.state.plans.round}.transfer"))
    world = world.after(worlds.decision(world, "approve", "ann")).after(core.Cancel("fraud", "user:sue"))
    kinds = [type(event) for event, _ in world.history]
    assert kinds[-3:] == [ev.CallWithdrawn, ev.RoundEnded, ev.SessionCancelled]
    (told,) = world.events(ev.RoundEnded)
    assert told.counts == {"not begun": 1, "rejected": 1}
    assert told.not_begun == ("load_customer",)
    assert world.state.plans.own.outcomes["transfer"].reason == "the session was stopped: fraud"


def approved_in_a_plan(*others: dict[str, object]) -> World:
    """A transfer of a plan that a person approved and that has not begun."""
    world = handed_over(PAY, *others, rules=(FREE, LARGE, SEEN))
    world = world.after(core.Begin(f"{world.state.plans.round}.transfer"))
    return world.after(worlds.decision(world, "approve", "ann"))


def test_of_two_proposals_the_second_is_refused_by_name_and_the_first_goes_on():
    world = approved_in_a_plan()
    with pytest.raises(PlanUnderWay, match="version 1"):
        world.after(ProposePlan((READ,), "p"))
    world = world.ran(world.call("transfer"), {"receipt": "r"})
    assert world.after(ProposePlan((READ,), "p")).state.plans.version == 2


def test_an_approved_call_goes_on_beside_a_plan_that_leaves_it_out():
    world = approved_in_a_plan(READ).after(ProposePlan((READ,), "p", replace=True))
    call = world.call("transfer")
    (ended,) = world.events(ev.RoundEnded)
    assert (ended.beside, ended.not_begun) == ((call.id,), ("load_customer",))
    assert (call.status, world.events(ev.CallWithdrawn)) == (CallStatus.READY, [])
    assert RunCall(call.id, again=False) in next_actions(world.state, stamp(world.given.at), frozenset(), 9)
    world = world.ran(call, {"receipt": "r"})
    assert world.events(ev.ToolIntended)[-1].request == next(iter(world.state.requests))
    assert (world.state.items[-1].role, "receipt" in world.state.items[-1].text) == ("note", True)
    assert fold(world.history) == world.state


def test_what_policy_allowed_and_is_to_be_tried_again_ends_by_its_name_when_a_plan_takes_its_place():
    world = handed_over(READ, rules=(FREE, SEEN))
    key = f"{world.state.plans.round}.load_customer"
    world = world.after(core.Begin(key), core.Fail(key, 1, "away", transient=True, pause=30.0))
    world = world.after(ProposePlan((READ,), "p", replace=True))
    assert [(each.call, each.code) for each in world.events(ev.CallWithdrawn)] == [(key, "replaced")]


def test_the_approved_call_of_another_data_subject_ends_by_its_name_before_its_instance_goes():
    members = (InstanceGiven("one", {}, "S-1", "k-1"), InstanceGiven("two", {}, "S-2", "k-2"))
    world = handed_over(PAY, rules=(LARGE, SEEN), instances=members)
    for name in ("one", "two"):
        world = world.after(core.Begin(f"{world.state.plans.round}.transfer@{name}"))
        world = world.after(worlds.decision(world, "approve", "ann"))
    erased = world.after(core.EraseSubject("k-1"))
    (told,) = erased.events(ev.CallWithdrawn)
    assert (told.code, told.call.partition("@")[2]) == ("erased", "one")
    assert [call.instance for call in calls_in(erased.state, CallStatus.READY)] == ["two"]


def carried_out(many: bool = True, **parts: Instance) -> SessionState:
    """A round of a plan of two calls, for these instances."""
    steps = model.read([{**step("load_customer"), "_id": "a"}, {**step("authorize"), "_id": "b"}])
    own = next(iter(parts.values()), Instance())
    plans = Plans(round="r", is_open=True, plan=steps, many=many, instances=parts, own=own)
    return msgspec.structs.replace(approved().state, plans=plans)


def part(kid: str = "", **outcomes: str) -> Instance:
    found = {name: Outcome(status) for name, status in outcomes.items()}
    return Instance(round="r", kid=kid, outcomes=found)


def test_the_end_of_a_round_counts_its_calls_and_its_instances():
    state = carried_out(x=part(a="done", b="skipped"), y=part(a="done", b="failed"), z=part(a="done", b="done"))
    counts = {"done": 4, "skipped": 1, "failed": 1}
    assert end_of(state, "") == ev.RoundEnded("r", counts, {"well": 2, "not well": 1})
    alone = carried_out(many=False, x=part(a="done", b="failed"))
    assert end_of(alone, "") == ev.RoundEnded("r", {"done": 1, "failed": 1})


def test_a_round_that_is_ended_from_outside_names_what_had_not_begun_and_who_approved_it():
    state = carried_out(x=part(a="done"), y=part(), other=part("k"))
    counts, instances = {"done": 1, "not begun": 5}, {"well": 3, "not well": 0}
    ended = ev.RoundEnded("r", counts, instances, "because", not_begun=("b", "a"))
    assert end_of(state, "because") == ended
    request = next(iter(state.requests))
    plans = msgspec.structs.replace(state.plans, approved=Approval(request, 2, 1))
    whole = end_of(msgspec.structs.replace(state, plans=plans), "because")
    assert whole == msgspec.structs.replace(ended, request=request, approved_by=("ann",))


def test_the_names_of_another_data_subject_stand_in_no_entry():
    assert end_of(carried_out(x=part("k")), "because").not_begun == ()


def test_the_end_of_a_round_names_so_many_calls_and_no_more():
    for count in (MAX_NAMES, MAX_NAMES + 1):
        names = [f"n{number}" for number in range(count)]
        steps = model.read([{**step("load_customer"), "_id": name} for name in names])
        plans = Plans(round="r", is_open=True, plan=steps, many=True, instances={"x": part(), "y": part()})
        state = msgspec.structs.replace(approved().state, plans=plans)
        assert end_of(state, "because").not_begun == tuple(names[:MAX_NAMES])
