"""An allowed call that does not begin ends by its name: on the call, on the request that it rests on, in the log."""

from __future__ import annotations

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.interventions import NotOpenToWithdrawal
from agentstate.engine.decide.withdrawals import (
    call_withdrawn,
    calls_withdrawn,
    ended_with,
    requests_withdrawn,
    withdrawn,
)
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.state.evolution import evolve, fold
from agentstate.engine.state.session import calls_in, pending
from agentstate.errors import NotFound, Refused
from tests.core import worlds
from tests.core.test_changes import conflict, contested
from tests.core.test_plan_ends import PAY, READ, handed_over
from tests.core.test_plans_in_sessions import FREE, LARGE, SEEN
from tests.core.worlds import World, approved, transfer, waiting

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
