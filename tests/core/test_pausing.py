"""A person stops a session: for a while, or for good."""

from __future__ import annotations

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_action, next_actions
from agentstate.engine.decide.forks import forked
from agentstate.engine.decide.refusals import NotPaused, SessionOver, SessionPaused
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus, SessionStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from tests.core import worlds
from tests.core.worlds import World, approved

PAUSE = core.Pause("the customer is at the counter", "user:sue")
RESUME = core.Resume("user:sue")
CANCEL = core.Cancel("opened by mistake", "user:sue")


def action(world: World) -> object:
    return next_action(world.state, stamp(world.given.at))


def test_nothing_is_begun_while_it_is_paused_and_all_that_was_due_is_due_again():
    world = approved()
    due = action(world)
    assert isinstance(due, RunCall)
    paused = world.after(PAUSE)
    assert (paused.state.status, action(paused)) == (SessionStatus.PAUSED, Nothing("resume"))
    with pytest.raises(SessionPaused):
        paused.after(core.Begin(world.call("transfer").id))
    assert action(paused.after(RESUME)) == due


def test_the_model_is_not_asked_while_it_is_paused_and_what_was_said_meanwhile_is_answered():
    paused = worlds.opened().after(PAUSE, core.Say("customer", "Are you there?", "customer"))
    assert (paused.state.status, action(paused)) == (SessionStatus.PAUSED, Nothing("resume"))
    with pytest.raises(SessionPaused):
        paused.after(core.Ask("step", "model", 0, 0, (), "digest"))
    resumed = paused.after(RESUME)
    assert (resumed.state.status, action(resumed)) == (SessionStatus.PLANNING, AskModel(again=False))


def test_what_runs_may_return_and_people_may_decide_meanwhile():
    world = approved()
    call = world.call("transfer")
    returned = world.after(core.Begin(call.id), PAUSE)
    assert next_actions(returned.state, stamp(returned.given.at), {call.id}) == ()
    returned = returned.after(core.Return(call.id, 1, {"receipt": "R-1"}))
    assert (returned.call("transfer").status, returned.state.status) == (CallStatus.DONE, SessionStatus.PAUSED)
    waiting = worlds.waiting().after(PAUSE)
    decided = waiting.after(worlds.decision(waiting, "approve", "sue"))
    assert (decided.call("transfer").status, decided.state.status) == (CallStatus.READY, SessionStatus.PAUSED)
    assert isinstance(action(decided.after(RESUME)), RunCall)


def test_a_result_that_was_lost_in_a_crash_is_settled_only_when_it_goes_on():
    world = approved()
    world = world.after(core.Begin(world.call("transfer").id), PAUSE)
    assert action(world) == Nothing("resume")
    assert action(world.after(RESUME)) == RunCall(world.call("transfer").id, again=True)


def test_its_status_is_again_what_its_state_amounts_to():
    for world in (worlds.opened(), worlds.authorized(), worlds.waiting(), approved()):
        assert world.after(PAUSE, RESUME).state.status is world.state.status


@pytest.mark.parametrize(("first", "then", "refusal"), [((PAUSE,), PAUSE, SessionPaused), ((), RESUME, NotPaused)])
def test_it_is_paused_once_and_resumed_only_when_it_is(first, then, refusal):
    with pytest.raises(refusal):
        worlds.opened().after(*first, then)


@pytest.mark.parametrize("over", [core.End("done", "customer"), CANCEL])
@pytest.mark.parametrize("then", [PAUSE, RESUME, CANCEL])
def test_what_has_ended_is_neither_paused_nor_resumed_nor_stopped(over, then):
    with pytest.raises(SessionOver):
        worlds.opened().after(over, then)


@pytest.mark.parametrize("before", [(), (PAUSE,)])
def test_what_is_stopped_for_good_lets_go_of_all_that_waits(before):
    world = worlds.waiting().after(*before, CANCEL)
    (request,) = world.state.requests.values()
    assert (request.status, request.because) == (RequestStatus.WITHDRAWN, f"the session was stopped: {CANCEL.reason}")
    assert world.call("transfer").status is CallStatus.WITHDRAWN
    assert (world.state.status, world.state.ended, world.state.ended_reason) == ("cancelled", True, CANCEL.reason)
    assert action(world) == Nothing("nobody")
    with pytest.raises(SessionOver):
        world.after(core.Say("customer", "Hello?", "customer"))


def test_what_runs_when_it_is_stopped_is_recorded_and_what_was_let_through_does_not_run():
    world = approved().after(CANCEL)
    assert world.call("transfer").status is CallStatus.WITHDRAWN
    running = approved()
    running = running.after(core.Begin(running.call("transfer").id), CANCEL)
    told = running.after(core.Return(running.call("transfer").id, 1, {"receipt": "R-1"}))
    assert (told.call("transfer").status, told.state.status) == (CallStatus.DONE, SessionStatus.CANCELLED)


def test_the_customer_may_hang_up_while_it_is_paused():
    world = worlds.waiting().after(PAUSE, core.End("hung up", "customer"))
    assert (world.state.status, world.state.paused_at) == (SessionStatus.DONE, "")


def test_a_paused_session_survives_a_snapshot_and_its_entries():
    world = approved().after(PAUSE)
    assert from_snapshot(to_snapshot(world.state)) == world.state
    assert fold((ev.decode(ev.encode(event)), at) for event, at in world.history) == world.state


def test_a_fork_of_a_paused_session_goes_on_by_itself():
    state = approved().after(PAUSE).state
    fork = forked(core.Fork("parent", state.seq, "user:sue", "what if", state), World().state, World().given)
    assert fold((event, stamp(worlds.START)) for event in fork).status is not SessionStatus.PAUSED
