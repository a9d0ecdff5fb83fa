"""An allowed call that does not begin ends by its name: on the call, on the request that it rests on, in the log."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_actions
from agentstate.engine.decide.commands import InstanceGiven, ProposePlan
from agentstate.engine.decide.interventions import NotOpenToWithdrawal, is_blocked
from agentstate.engine.decide.plans.refusals import PlanUnderWay
from agentstate.engine.decide.withdrawals import (
    MAX_NAMES,
    WITHDRAW_CALL,
    call_withdrawn,
    calls_withdrawn,
    end_of,
    ended_with,
    requests_withdrawn,
    withdrawable,
    withdrawn,
)
from agentstate.engine.halting import Halt
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.memory.context import messages
from agentstate.engine.plan import model
from agentstate.engine.plan.rounds import Outcome
from agentstate.engine.state import SessionState, calls_in, evolve, fold, pending
from agentstate.engine.state.rounds import Approval, Instance, Plans
from agentstate.errors import NotFound, Refused
from tests.core import worlds
from tests.core.test_changes import conflict, contested
from tests.core.test_plans_in_sessions import FREE, LARGE, SEEN, WHOLE, step
from tests.core.worlds import MAY, World, transfer, waiting
from tests.searching import drawn

READ = step("load_customer", "state.customer", customer="C-1")
PAY = step("transfer", "state.receipt", amount={"minor": 90_000})


def approved() -> World:
    """A transfer of $1,000.00 that a person approved and that has not begun."""
    world = waiting()
    return world.after(worlds.decision(world, "approve", "ann"))


def handed_over(*calls: dict[str, object], rules: tuple[object, ...], **more: object) -> World:
    return worlds.opened().with_rules(*rules).after(ProposePlan(calls, "p", **more))


ENDS = {
    "ended": core.End("hung up", "customer"),
    "cancelled": core.Cancel("fraud", "user:sue"),
    "superseded": core.Supersede("fork", "user:sue", "goes on elsewhere"),
    "erased": core.EraseCustomer("kid", "user:sue"),
}


@pytest.mark.parametrize("code", ENDS)
def test_an_approved_call_ends_by_its_name_with_its_session(code):
    world = approved().after(ENDS[code])
    (told,) = world.events(ev.CallWithdrawn)
    request = next(reversed(world.state.requests.values()))
    assert (told.code, told.approved_by) == (code, ("ann",))
    assert told.request == request.asked.request
    assert (request.status, request.execution) == (RequestStatus.APPROVED, "withdrawn")
    assert request.because == told.because
    assert world.call("transfer").status is CallStatus.WITHDRAWN
    kinds = [type(event) for event, _ in world.history]
    assert kinds.index(ev.CallWithdrawn) < kinds.index(ev.SessionEnded if code != "cancelled" else ev.SessionCancelled)


def test_a_call_that_policy_allowed_ends_by_its_name_and_names_no_approval():
    world = worlds.opened().asked(worlds.AUTHORIZE).after(ENDS["ended"])
    (told,) = world.events(ev.CallWithdrawn)
    assert (told.code, told.request, told.approved_by) == ("ended", "", ())
    assert told.because == "the conversation ended: hung up"


def test_a_person_withdraws_an_approved_call_and_the_agent_learns_it():
    world = approved()
    call = world.call("transfer")
    world = world.after(core.Intervene(call.id, "skip", "user:sue", "The customer changed their mind"))
    (told,) = world.events(ev.CallWithdrawn)
    assert (told.code, told.by, told.because) == ("requested", "user:sue", "The customer changed their mind")
    assert "The customer changed their mind" in world.state.items[-1].text
    assert world.state.owes
    with pytest.raises(Refused):
        world.after(core.Begin(call.id))


def test_the_request_says_what_came_of_its_call():
    def said(world: World) -> str:
        return next(reversed(world.state.requests.values())).execution

    world = approved()
    call = world.call("transfer").id
    assert (said(waiting()), said(world)) == ("", "waiting")
    begun = world.after(core.Begin(call))
    assert said(begun) == "begun"
    assert said(begun.after(core.Return(call, 1, {"receipt": "r"}))) == "done"
    assert said(begun.after(core.Fail(call, 1, "no funds", transient=False))) == "failed"
    assert said(begun.after(core.Fail(call, 1, "away", transient=True, pause=1.0))) == "waiting"
    without = World(world.state, world.history, world.policy, world.memory, {}, world.seconds).after(core.Begin(call))
    assert said(without) == "refused"
    assert "is not registered any more" in next(reversed(without.state.requests.values())).because


def test_a_request_that_is_asked_again_says_so():
    world = approved().with_rules(*worlds.gated_by(2))
    world = world.after(core.Begin(world.call("transfer").id))
    first, second = list(world.state.requests.values())[-2:]
    assert (first.execution, second.execution) == ("asked_again", "")


def test_the_round_of_a_plan_ends_by_its_name_and_names_what_had_not_begun():
    world = handed_over(READ, PAY, rules=(FREE, LARGE, WHOLE))
    world = world.after(worlds.decision(world, "approve", "ann"))
    world = world.after(core.Begin(world.state.plans.proposed)).after(ENDS["ended"])
    (told,) = world.events(ev.RoundEnded)
    assert told.because == "the conversation ended: hung up"
    assert set(told.not_begun) == {"load_customer", "transfer"}
    assert told.counts == {"not begun": 2}
    assert (told.request, told.approved_by) == (next(iter(world.state.requests)), ("ann",))


def test_an_approved_call_of_a_plan_is_withdrawn_before_its_round_ends():
    world = handed_over(READ, PAY, rules=(FREE, LARGE, SEEN))
    world = world.after(core.Begin(f"{world.state.plans.round}.transfer"))
    world = world.after(worlds.decision(world, "approve", "ann")).after(ENDS["cancelled"])
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


def test_a_call_that_waits_and_one_that_is_approved_are_withdrawn_by_who_asks_for_it():
    waits = waiting()
    world = waits.after(core.Withdraw("user:p", "she changed her mind", request=waits.request.asked.request))
    (ended,) = world.events(ev.RequestEnded)
    assert (ended.outcome, ended.because) == ("withdrawn", "she changed her mind")
    allowed = approved()
    for named in ({"call": allowed.call("transfer").id}, {"request": next(reversed(allowed.state.requests))}):
        (told,) = allowed.after(core.Withdraw("user:p", "she changed her mind", **named)).events(ev.CallWithdrawn)
        assert (told.code, told.by, told.because) == ("requested", "user:p", "she changed her mind")


def test_what_has_begun_or_ended_is_not_withdrawn_and_what_is_not_there_is_named():
    begun = approved().after(core.Begin(approved().call("transfer").id))
    call = begun.call("transfer")
    for world in (begun, begun.after(core.Return(call.id, 1, {"receipt": "r"}))):
        with pytest.raises(NotOpenToWithdrawal):
            world.after(core.Withdraw("user:p", "too late", call=call.id))
    for named in ({"call": "nobody"}, {"request": "nobody"}):
        with pytest.raises(NotFound, match="nobody"):
            begun.after(core.Withdraw("user:p", "no such", **named))
    with pytest.raises(Refused):
        approved().after(ENDS["ended"], core.Withdraw("user:p", "late", call=call.id))


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


def test_what_ended_in_silence_in_old_entries_still_folds():
    world = approved()
    call = world.call("transfer")
    at = world.history[-1][1]
    old = evolve(world.state, ev.SessionEnded("hung up", "customer"), at)
    assert old.calls[call.id].status is CallStatus.WITHDRAWN
    assert next(reversed(old.requests.values())).execution == "withdrawn"
    skipped = ev.CallIntervened(call.id, "skip", "user:sue", "not wanted")
    assert evolve(world.state, skipped, at).calls[call.id].status is CallStatus.WITHDRAWN
    plan = handed_over(READ, PAY, rules=(FREE, LARGE, SEEN))
    assert evolve(plan.state, ev.RoundEnded(plan.state.plans.round, {}), at).plans.is_open is False


@pytest.mark.parametrize("code", ENDS)
def test_nothing_is_open_after_an_end(code):
    world = approved().asked(transfer(200_000)).after(ENDS[code])
    assert pending(world.state) == []
    assert calls_in(world.state, CallStatus.READY, CallStatus.WAITING) == []
    assert fold(world.history) == world.state


HOLD = worlds.pol.Rule("held", ("transfer",), "true", 2, "approve", "Looked at and held.", hold=60)


def test_what_is_undone_after_its_deadline_waits_as_long_as_it_did_at_first():
    world = worlds.opened().with_rules(HOLD).asked(transfer(100_000))
    patience = parse(world.request.expires_at) - parse(world.request.at)
    late = replace(world, seconds=world.seconds + int(patience.total_seconds()) - 10)
    late = late.after(worlds.decision(late, "approve", "ann"))
    late = replace(late, seconds=late.seconds + 30)
    assert stamp(late.given.at) > late.request.expires_at
    undone = late.after(core.Undo(late.request.asked.request, "ann", MAY["ann"], "wrong account"))
    assert undone.request.held_until == ""
    assert parse(undone.request.expires_at) == late.given.at + patience
    assert undone.after(worlds.decision(undone, "approve", "bob")).request.held_until
    ended = undone.after(core.Expire(undone.request.asked.request)).events(ev.RequestEnded)[-1]
    assert ended.because == f"nobody decided before {undone.request.expires_at}"


def failed(world: World) -> World:
    """Its tries are used up, and the agent has said that it was sorry."""
    call = world.call("transfer")
    world = world.after(core.Begin(call.id), core.Fail(call.id, 1, "away", transient=False, code="broke"))
    return world.after(core.Ask("sorry", "model", 0, 0, (), "digest"), core.Answer("sorry", "model", "I am sorry.", ()))


def test_what_a_person_approved_and_failed_is_blocked_until_a_person_intervenes():
    world = failed(approved())
    assert is_blocked(world.state, world.call("transfer"))
    seen = world.after(core.Intervene(world.call("transfer").id, "skip", "user:sue", "seen"))
    assert not is_blocked(seen.state, seen.call("transfer"))
    ended = world.after(ENDS["ended"])
    assert not is_blocked(ended.state, ended.call("transfer"))
    allowed = (
        worlds.opened().with_rules(worlds.pol.Rule("free", ("*",), "true", 0, "allow", "Free.")).asked(transfer(1))
    )
    assert not is_blocked(failed(allowed).state, failed(allowed).call("transfer"))


def test_a_stop_of_one_tool_holds_its_calls_alone():
    world = approved()
    halt = Halt(tools=frozenset({"transfer"}))
    held = halt.held_calls(world.state)
    assert held == {world.call("transfer").id}

    def action(here: World) -> object:
        return next_actions(here.state, stamp(here.given.at), held=held)[0]

    said = world.after(core.Say("customer", "What is my balance?", "customer"))
    assert action(said) == AskModel(again=False)
    quiet = said.after(core.Ask("s", "model", 0, 0, (), "d"), core.Answer("s", "model", "It is $5.", ()))
    assert action(quiet) == Nothing("stop")
    assert isinstance(next_actions(quiet.state, stamp(quiet.given.at))[0], RunCall)
    due = stamp(quiet.given.at + timedelta(seconds=60))
    assert action(quiet.after(core.SetTimer("remind", due, "user:sue", "Ask again"))) == Nothing("stop", due)
    taken = quiet.after(core.TakeOver("user:sue", "she asks"))
    assert action(taken) == Nothing("colleague")
    begun = world.after(core.Begin(world.call("transfer").id))
    assert halt.held_calls(begun.state) == held  # its result may be lost: it does not begin again
    assert action(begun.after(core.Say("customer", "Hello?", "customer"))) == AskModel(again=False)
    plan = handed_over(READ, PAY, rules=(FREE, LARGE, SEEN))
    assert {key.partition(".")[2] for key in halt.held_calls(plan.state)} == {"transfer"}


def patient() -> World:
    """An approved transfer whose tool is tried again for two minutes."""
    tool = msgspec.structs.replace(worlds.TOOLS["transfer"], retry_seconds=120.0)
    return replace(approved(), tools={**worlds.TOOLS, "transfer": tool})


def failing(world: World) -> World:
    """The transfer begins and fails for reasons that pass."""
    call = world.call("transfer")
    failure = core.Fail(call.id, call.attempt + 1, "no connection", transient=True, pause=1.0)
    return world.after(core.Begin(call.id), failure)


def test_a_try_that_comes_after_the_total_time_does_not_begin_and_the_request_says_why():
    world = failing(patient())
    late = replace(world, seconds=world.seconds + 121)  # the session was paused meanwhile
    late = late.after(core.Begin(late.call("transfer").id))
    (refused,) = late.events(ev.CallRefused)
    (request,) = late.state.requests.values()
    assert (refused.code, late.call("transfer").status) == ("retries_over", CallStatus.REFUSED)
    assert (request.execution, request.because) == ("refused", refused.reason)
    assert "the time to try it again ended at 2026-11-21T03:0" in refused.reason


def test_a_lost_try_is_not_begun_again_after_the_total_time():
    world = failing(patient())
    world = world.after(core.Begin(world.call("transfer").id))  # its worker died
    late = replace(world, seconds=world.seconds + 121).after(core.Begin(world.call("transfer").id))
    assert late.call("transfer").status is CallStatus.DOUBTED
    assert world.after(core.Begin(world.call("transfer").id)).call("transfer").attempt == 3


def test_a_person_who_has_it_tried_again_and_a_new_approval_begin_the_total_time_anew():
    world = failing(patient())
    world = world.after(core.Begin(world.call("transfer").id))
    world = replace(world, seconds=world.seconds + 121).after(core.Begin(world.call("transfer").id))
    again = core.Intervene(world.call("transfer").id, "not_happened", "user:sue", "the bank has nothing of it")
    assert failing(world.after(again)).call("transfer").status is CallStatus.READY
    asked = failing(patient()).with_rules(*worlds.gated_by(2))
    asked = asked.after(core.Begin(asked.call("transfer").id))
    asked = replace(asked, seconds=asked.seconds + 121)
    for by in ("ann", "bob"):
        asked = asked.after(worlds.decision(asked, "approve", by))
    assert failing(asked).call("transfer").status is CallStatus.READY


@given(
    st.lists(st.sampled_from(["begin", "fail", "pause", "resume", "a second", "a minute", "two minutes"]), max_size=40)
)
@settings(max_examples=drawn(300), deadline=None)
def test_no_try_begins_after_the_total_time(moves: list[str]):
    world, waits = patient(), {"a second": 1, "a minute": 60, "two minutes": 120}
    for move in moves:
        call = world.call("transfer")
        commands = {
            "begin": core.Begin(call.id),
            "fail": core.Fail(call.id, call.attempt, "no connection", transient=True, pause=1.0),
            "pause": core.Pause("wait", "user:sue"),
            "resume": core.Resume("user:sue"),
        }
        with contextlib.suppress(Refused):
            world = (
                world.after(commands[move]) if move in commands else replace(world, seconds=world.seconds + waits[move])
            )
    until = ""
    for event, at in world.history:
        if isinstance(event, ev.ToolFailed):
            until = event.retry_until
        elif isinstance(event, ev.ToolIntended) and event.attempt > 1:
            assert not until or at <= until


def test_an_approved_call_is_tried_again_for_the_time_that_its_tool_declares_and_each_try_is_judged_anew():
    world = patient()
    call, start = world.call("transfer").id, world.seconds
    for attempt, pause in enumerate((1.0, 2.0, 4.0, 8.0, 16.0), 1):  # an outage of 32 seconds
        world = world.after(core.Begin(call), core.Fail(call, attempt, "no connection", transient=True, pause=pause))
        assert world.call("transfer").status is CallStatus.READY
        world = replace(world, seconds=world.seconds + int(pause))
    until = {event.retry_until for event in world.events(ev.ToolFailed)}
    assert len(until) == 1
    assert world.seconds - start > 32
    asked = world.with_rules(*worlds.gated_by(2)).after(core.Begin(call))
    assert asked.request.asked.call == call
    last = world.after(core.Begin(call), core.Fail(call, 6, "no connection", transient=True, pause=120.0))
    assert last.call("transfer").status is CallStatus.FAILED
    assert (last.events(ev.ToolFailed)[-1].retry_at, last.events(ev.ToolFailed)[-1].retry_until) == ("", "")
    assert world.ran(world.call("transfer"), {"receipt": "r"}).call("transfer").status is CallStatus.DONE


# --- exactly what ends, and by which name ---------------------------------------------------------------------------


def test_all_that_is_open_ends_with_the_same_reason_and_person():
    world = approved().asked(transfer(95_000))
    call, waits = world.state.requests[next(iter(world.state.requests))].asked, world.request.asked.request
    ends = withdrawn(world.state, "because", "cancelled", "user:sue")
    assert ends == [
        ev.RequestEnded(waits, "withdrawn", "because"),
        ev.CallWithdrawn(call.call, "cancelled", "because", "user:sue", call.request, ("ann",)),
    ]
    assert withdrawn(world.state, "because", "ended")[1] == msgspec.structs.replace(ends[1], code="ended", by="")


def test_a_conflict_ends_with_its_session_and_names_what_was_lost():
    world = contested()
    found = conflict(world)
    assert withdrawn(world.state, "because", "ended") == [
        ev.ConflictEnded(found.id, "withdrawn", lost=found.proposals, reason="because")
    ]


def test_of_one_data_subject_only_its_own_requests_and_calls_end():
    world = approved().asked(transfer(95_000))
    (waits,) = pending(world.state)
    (ready,) = calls_in(world.state, CallStatus.READY)
    theirs = msgspec.structs.replace(
        world.state,
        requests={**world.state.requests, waits.asked.request: msgspec.structs.replace(waits, kid="k")},
        calls={**world.state.calls, ready.id: msgspec.structs.replace(ready, kid="k")},
    )
    assert requests_withdrawn(theirs, "because", "k") == requests_withdrawn(world.state, "because")
    assert calls_withdrawn(theirs, "because", "erased", kid="k") == calls_withdrawn(world.state, "because", "erased")
    assert [each.by for each in calls_withdrawn(theirs, "because", "erased", "user:sue", "k")] == ["user:sue"]
    assert [each.by for each in calls_withdrawn(theirs, "because", "erased")] == [""]
    for state, kid in ((world.state, "k"), (theirs, "other")):
        assert requests_withdrawn(state, "because", kid) == calls_withdrawn(state, "because", "erased", kid=kid) == []


def test_what_is_looked_ahead_ends_when_the_session_last_changed():
    world = waiting()
    request, at = world.request.asked.request, world.state.last_at
    assert at
    assert ended_with(world.state, [ev.RequestEnded(request, "withdrawn")]).requests[request].ended_at == at


def test_a_call_that_rests_on_no_approval_names_no_request():
    state = approved().state
    (ready,) = calls_in(state, CallStatus.READY)
    unapproved = msgspec.structs.replace(ready, approved="")
    assert call_withdrawn(state, unapproved, "because", "ended") == ev.CallWithdrawn(ready.id, "ended", "because")
    gone = msgspec.structs.replace(state, requests={})
    assert call_withdrawn(gone, ready, "because", "ended").approved_by == ()


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


def asked_back(world: World, tool: str = "transfer") -> World:
    """The agent's tool for withdrawing has returned, for the calls of `tool`."""
    withdraw = ev.CallProposed("withdraw-1", WITHDRAW_CALL, {"tool": tool, "why": "never mind"}, None)
    world = replace(world, tools={**world.tools, WITHDRAW_CALL: worlds.facts(WITHDRAW_CALL, "pure")}).asked(withdraw)
    return world.ran(world.call(WITHDRAW_CALL), {"asked": True})


@pytest.mark.parametrize("status", ["waiting", "approved"])
def test_the_agent_withdraws_what_it_has_proposed_before_it_begins(status):
    world = worlds.waiting()
    if status == "approved":
        world = world.after(worlds.decision(world, "approve", "ann"))
    assert [each.tool for each in withdrawable(world.state)] == ["transfer"]
    other = asked_back(world, "authorize")
    assert other.call("transfer").status is world.call("transfer").status
    world = asked_back(world)
    assert world.call("transfer").status is CallStatus.WITHDRAWN
    assert withdrawable(world.state) == []
    if status == "approved":
        ended = world.events(ev.CallWithdrawn)[-1]
        assert (ended.because, ended.code, ended.by) == ("never mind", "requested", "agent:bank")
    else:
        assert world.events(ev.RequestEnded)[-1].because == "never mind"
    with pytest.raises(core.Outdated):
        world.after(core.Begin(world.call("transfer").id))


def test_the_agent_withdraws_what_a_person_has_edited_and_nothing_that_runs():
    edited = worlds.waiting()
    less = {"amount": {"minor": 90_000, "currency": "USD"}}
    edited = edited.after(worlds.decision(edited, "edit", "ann", arguments=less))
    assert asked_back(edited).call("transfer").status is CallStatus.WITHDRAWN
    running = worlds.waiting()
    running = running.after(worlds.decision(running, "approve", "ann"), core.Begin(running.call("transfer").id))
    assert withdrawable(running.state) == []
    assert asked_back(running).call("transfer").status is CallStatus.RUNNING


def test_the_agent_withdraws_no_call_of_a_plan_and_no_undoing():
    call = worlds.waiting().call("transfer")
    state = worlds.waiting().state
    for foreign in ({"round": "r-1"}, {"kid": "k-1"}, {"undoes": 0}):
        calls = {call.id: msgspec.structs.replace(call, **foreign)}
        assert withdrawable(msgspec.structs.replace(state, calls=calls)) == []


def test_the_model_reads_the_result_of_an_earlier_call_beside_that_of_a_later_one():
    world = asked_back(worlds.waiting())
    told = [(each.role, each.name) for each in messages(world.state.items)]
    assert told[-2:] == [("tool", WITHDRAW_CALL), ("note", "transfer")]
