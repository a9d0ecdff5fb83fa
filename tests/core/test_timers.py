"""Timers of a session: set, due, cancelled; and triggers that act in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RingTimer, next_action
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.decide.timers import MAX_DAYS, MAX_TIMERS, ForkHasNoTimers, TooManyTimers, UnknownTimer
from agentstate.engine.decide.triggers import ForkHearsNoTrigger
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import SessionStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.rollback import resting
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.versions.kept import Origin, Versions
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.worlds import World


def due(world: World, seconds: int = 100) -> str:
    return stamp(world.given.at + timedelta(seconds=seconds))


def later(world: World, seconds: int) -> World:
    return replace(world, seconds=world.seconds + seconds)


def timed(world: World, what: str = "remind", seconds: int = 100) -> World:
    return world.after(core.SetTimer(what, due(world, seconds), "user:sue", "Ask about the card"))


def action(world: World) -> object:
    return next_action(world.state, stamp(world.given.at))


def ring(world: World) -> core.Ring:
    return core.Ring(stamp(world.given.at))


def idle() -> World:
    """A session whose agent has answered."""
    return worlds.opened().asked(text="How can I help?").after(core.Rest("customer"))


def test_a_session_looks_again_when_its_first_timer_is_due():
    world = timed(timed(idle(), seconds=500), seconds=100)
    assert action(world) == Nothing("customer", min(each.due for each in world.state.timers.values()))
    assert action(later(world, 100)) == RingTimer()


def test_a_reminder_is_told_to_the_agent_which_then_acts():
    world = later(timed(idle()), 100)
    rung = world.after(ring(world))
    assert rung.state.items[-1].text == "Ask about the card"
    assert (rung.state.timers, action(rung)) == ({}, AskModel(again=False))
    assert rung.events(ev.TimerFired)[-1].outcome == "told"


def test_what_this_process_takes_for_due_is_not_if_the_database_says_otherwise():
    world = timed(idle())
    with pytest.raises(Outdated):
        later(world, 1000).after(core.Ring(stamp(world.given.at)))


def test_a_follow_up_passes_when_the_customer_has_come_back():
    world = timed(idle(), "follow_up").after(core.Say("customer", "Here I am", "customer"))
    world = later(world, 100)
    assert world.after(ring(world)).events(ev.TimerFired)[-1].outcome == "passed"


def test_an_idle_session_expires_and_one_with_work_does_not():
    world = later(timed(idle(), "expire"), 100)
    expired = world.after(ring(world))
    assert expired.state.status is SessionStatus.EXPIRED
    busy = later(timed(idle(), "expire").after(core.Say("note", "Look at this", "user:sue")), 100)
    assert busy.after(ring(busy)).events(ev.TimerFired)[-1].outcome == "passed"


def test_a_cancelled_timer_never_fires():
    world = timed(idle())
    (timer,) = world.state.timers
    world = later(world.after(core.CancelTimer(timer, "user:sue")), 1000)
    assert isinstance(action(world), Nothing)
    with pytest.raises(UnknownTimer):
        world.after(core.CancelTimer(timer, "user:sue"))


def test_timers_are_few_near_and_say_what_for():
    world = idle()
    for _ in range(MAX_TIMERS):
        world = timed(world)
    with pytest.raises(TooManyTimers):
        timed(world)
    with pytest.raises(Invalid):
        timed(idle(), seconds=(MAX_DAYS + 1) * 24 * 3600)
    with pytest.raises(Invalid):
        idle().after(core.SetTimer("remind", due(idle()), "user:sue", "  "))


def test_a_paused_session_is_reminded_once_it_goes_on():
    world = later(timed(idle()).after(core.Pause("wait", "user:sue")), 1000)
    assert action(world) == Nothing("resume")
    assert action(world.after(core.Resume("user:sue"))) == RingTimer()


def test_a_rollback_and_the_end_leave_no_timer():
    world = timed(idle())
    at = stamp(world.given.at)
    assert resting(world.state, at, at).timers == {}
    assert world.after(core.End("done", "user:sue")).state.timers == {}


def test_a_fork_has_no_timers_and_hears_no_trigger():
    draft = replace(idle(), state=replaced_as_draft(idle()))
    with pytest.raises(ForkHasNoTimers):
        timed(draft)
    with pytest.raises(ForkHearsNoTrigger):
        draft.after(trigger(note="Look"))


def replaced_as_draft(world: World):
    from msgspec.structs import replace as with_fields

    return with_fields(world.state, versions=Versions(origin=Origin("parent", 1, "digest", "user:sue")))


def trigger(**wishes):
    return core.Triggered("t-1", "flagged", 1, wishes.pop("firing", "f-1"), "row", ("t-0", "t-1"), **wishes)


def test_a_trigger_leaves_its_name_and_chain_and_its_words_reach_the_agent():
    world = idle().after(trigger(note="The bank has flagged this customer"))
    assert world.state.cause == ("t-0", "t-1")
    assert world.state.items[-1].text == "The bank has flagged this customer"
    assert action(world) == AskModel(again=False)
    assert fold(world.history) == world.state == from_snapshot(to_snapshot(world.state))


def test_a_trigger_starts_a_run_with_words_and_a_task():
    world = idle().after(trigger(run=True, note="The bank has flagged this customer", goal="Ask about the flag"))
    kinds = [ev.kind_of(event) for event, _ in world.history][-4:]
    assert kinds == ["trigger.fired", "message.added", "goals.set", "run.started"]
    assert (world.state.run != "", world.state.goals.tree.title) == (True, "Ask about the flag")
    assert action(world) == AskModel(again=False)
    again = world.after(trigger(run=True, goal="And once more", firing="f-2"))
    assert again.state.run == world.state.run, "a run that is under way goes on"
    assert [task.title for task in again.state.goals.tree.tasks] == ["And once more"]


def test_a_trigger_starts_no_run_in_a_paused_session_before_it_goes_on():
    paused = idle().after(core.Pause("user:1", "look")).after(trigger(run=True))
    assert (paused.state.run, action(paused)) == ("", Nothing("resume"))
    assert action(paused.after(core.Resume("user:1"))) == AskModel(again=False)


def test_a_trigger_that_only_runs_has_the_agent_look_once():
    world = idle().after(trigger(run=True))
    assert world.state.run
    assert action(world) == AskModel(again=False)
    answered = world.asked(text="All is well.").after(core.Rest("customer"))
    assert isinstance(action(answered), Nothing)


def test_what_the_customer_says_begins_a_chain_anew():
    world = idle().after(trigger(note="Look"), core.Say("customer", "Hello", "customer"))
    assert world.state.cause == ()


def test_a_trigger_opens_a_session_that_begins_with_its_name():
    world = World().after(trigger(note="Call them", then=core.Open("C-1", "team", "bank", "chat")))
    assert [type(event) for event, _ in world.history][:2] == [ev.SessionOpened, ev.TriggerFired]
    assert action(world) == AskModel(again=False)
