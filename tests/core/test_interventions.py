"""Where the runtime cannot go on by itself, a person settles it: once, by name, on the record."""

from __future__ import annotations

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_action
from agentstate.engine.decide.interventions import NothingToRetry, NotOpenToIntervention, PlanWentOn, ways
from agentstate.engine.decide.refusals import SessionOver
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, SessionStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.worlds import World

FREE = worlds.pol.Rule("free", ("*",), "true", 0, "allow", "Free.")
LETTER = ev.CallProposed("1", "post_letter", {"to": "Ada"}, "state.letter")


def free() -> World:
    """A session in which policy lets everything through."""
    return worlds.opened().with_rules(FREE)


def begun(*more: ev.CallProposed) -> World:
    """A letter is being posted, which is done once."""
    world = free().asked(LETTER, *more)
    return world.after(core.Begin(world.call("post_letter").id))


def doubted() -> World:
    """And the worker died in it."""
    world = begun()
    return world.after(core.Begin(world.call("post_letter").id))


def settle(world: World, how: str, **more: object) -> World:
    return world.after(core.Intervene(world.call("post_letter").id, how, "user:sue", "looked it up", **more))


def action(world: World) -> object:
    return next_action(world.state, stamp(world.given.at))


def test_a_once_effect_whose_result_is_lost_waits_for_a_person_and_is_not_repeated():
    world = doubted()
    assert world.events(ev.CallDoubted)[0].reason == "it is not known whether it happened"
    assert world.call("post_letter").status is CallStatus.DOUBTED
    assert action(world) == Nothing("stuck")
    assert world.state.status is SessionStatus.WAITING_FEEDBACK
    assert len(world.events(ev.ToolIntended)) == 1


def test_a_once_effect_whose_time_is_up_is_doubted_too():
    world = begun()
    late = core.Fail(world.call("post_letter").id, 1, "no answer within 10 s", True, 1.0, "no_answer")
    assert world.after(late).call("post_letter").status is CallStatus.DOUBTED


def test_it_happened_and_this_is_its_result():
    world = settle(doubted(), "happened", result={"letter": 7})
    assert world.call("post_letter").status is CallStatus.DONE
    assert world.state.pad["letter"] == {"letter": 7}
    assert isinstance(action(world), AskModel)


def test_it_did_not_happen_and_runs_again_under_the_same_key():
    world = settle(doubted(), "not_happened")
    call = world.call("post_letter")
    assert action(world) == RunCall(call.id, again=False)
    again = world.after(core.Begin(call.id), core.Return(call.id, 2, {}))
    first, second = again.events(ev.ToolIntended)
    assert (first.key, first.attempt, second.key, second.attempt) == (first.key, 1, first.key, 2)


def test_it_is_skipped_and_the_agent_is_told_why():
    world = settle(doubted(), "skip")
    assert world.call("post_letter").status is CallStatus.FAILED
    assert "looked it up" in world.state.items[-1].text
    assert isinstance(action(world), AskModel)


def tried_in_vain() -> World:
    """The authorization service was away three times."""
    world = free().asked(ev.CallProposed("1", "authorize", {}, "state.check"))
    call = world.call("authorize")
    for attempt in (1, 2, 3):
        world = world.after(core.Begin(call.id), core.Fail(call.id, attempt, "away", True, 0.0))
    return world


def test_a_call_that_failed_for_reasons_not_its_own_can_be_tried_again_or_be_given_its_result():
    world = tried_in_vain()
    call = world.call("authorize")
    assert (call.status, call.stuck) == (CallStatus.FAILED, "failed")
    again = world.after(core.Intervene(call.id, "retry", "user:sue", "it is back"))
    assert again.call("authorize").status is CallStatus.READY
    done = again.after(core.Begin(call.id), core.Return(call.id, 4, {"allowed": True}))
    assert done.state.pad["check"] == {"allowed": True}
    given = world.after(core.Intervene(call.id, "supply", "user:sue", "by phone", {"allowed": True}))
    assert given.state.pad["check"] == {"allowed": True}
    assert given.state.items[-1].role == "note"
    assert world.after(core.Intervene(call.id, "skip", "user:sue", "seen")).call("authorize").stuck == ""


def test_a_refusal_of_the_tool_itself_is_no_business_of_a_persons():
    world = free().asked(ev.CallProposed("1", "authorize", {}, None))
    call = world.call("authorize")
    world = world.after(core.Begin(call.id), core.Fail(call.id, 1, "there is no such account", False))
    assert ways(world.state, world.call("authorize")) == ()
    with pytest.raises(NotOpenToIntervention):
        world.after(core.Intervene(call.id, "retry", "user:sue", "please"))


@pytest.mark.parametrize("how", ["retry", "supply"])
def test_a_doubted_call_is_not_merely_retried(how: str):
    with pytest.raises(NotOpenToIntervention):
        settle(doubted(), how, **({"result": 1} if how == "supply" else {}))


def test_it_is_settled_once():
    world = settle(doubted(), "happened", result={})
    with pytest.raises(NotOpenToIntervention):
        settle(world, "not_happened")


def test_a_reason_is_needed_and_a_result_only_where_it_ends_with_one():
    with pytest.raises(Invalid):
        doubted().after(core.Intervene(doubted().call("post_letter").id, "skip", "user:sue", "  "))
    with pytest.raises(Invalid):
        settle(doubted(), "skip", result={"letter": 7})
    with pytest.raises(Invalid):
        settle(doubted(), "happened", result="x" * 200_000)


def test_after_the_end_it_can_still_be_said_what_happened_and_nothing_runs():
    world = doubted().after(core.End("bye", "customer"))
    assert settle(world, "happened", result={}).call("post_letter").status is CallStatus.DONE
    over = settle(world, "not_happened")
    assert over.call("post_letter").status is CallStatus.FAILED
    assert action(over) == Nothing("nobody")


def test_a_session_that_failed_is_tried_again_by_a_person():
    world = free().after(core.Ask("s", "m", 0, 0, (), "d"), core.NoAnswer("s", "no model", False))
    assert world.state.status is SessionStatus.FAILED
    again = world.after(core.RetrySession("user:sue", "the model is back"))
    assert again.events(ev.SessionRetried)[0].why == "no model"
    assert isinstance(action(again), AskModel)
    with pytest.raises(NothingToRetry):
        again.after(core.RetrySession("user:sue", "once more"))
    with pytest.raises(SessionOver):
        world.after(core.End("bye", "customer"), core.RetrySession("user:sue", "late"))


def test_a_parked_session_is_tried_again_though_nothing_of_it_failed():
    world = free().after(core.RetrySession("user:sue", "fixed", "failing KeyError"))
    assert world.events(ev.SessionRetried)[0].why == "failing KeyError"


def test_folding_again_and_the_snapshot_agree_on_it():
    for world in (doubted(), settle(doubted(), "happened", result={"letter": 7}), tried_in_vain()):
        assert fold(world.history) == world.state
        assert from_snapshot(to_snapshot(world.state)) == world.state


PLAN = [
    {"_tool": "post_letter", "_id": "post", "to": "Ada", "_outputPath": "state.posted"},
    {"_tool": "authorize", "_id": "then", "letter": "†state.posted.letter"},
]


def doubted_in_a_plan() -> World:
    world = free().after(core.ProposePlan(tuple(PLAN), "user:sue"))
    key = world.state.plans.ready[0]
    return world.after(core.Begin(key), core.Begin(key))


def test_a_plan_goes_on_with_the_result_that_a_person_gives_for_a_doubted_call():
    world = settle(doubted_in_a_plan(), "happened", result={"letter": 7})
    assert [key.rpartition(".")[2] for key in world.state.plans.ready] == ["then"]


def test_what_depends_on_a_skipped_call_of_a_plan_ends_as_blocked_and_the_round_ends():
    world = settle(doubted_in_a_plan(), "skip")
    assert {name: each.status for name, each in world.state.plans.own.outcomes.items()} == {
        "post": "failed",
        "then": "blocked",
    }
    assert not world.state.plans.is_open
    with pytest.raises((PlanWentOn, NotOpenToIntervention)):
        settle(world, "retry")
