"""A failed call is tried again for its tool's total time, and then a person settles it."""

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
from agentstate.engine.decide.interventions import is_blocked, ways
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import evolve
from agentstate.errors import Refused
from tests.core import laws, worlds
from tests.core.worlds import MAY, World, approved, transfer
from tests.searching import drawn


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
    ended = world.after(core.End("hung up", "customer"))
    assert not is_blocked(ended.state, ended.call("transfer"))
    allowed = (
        worlds.opened().with_rules(worlds.pol.Rule("free", ("*",), "true", 0, "allow", "Free.")).asked(transfer(1))
    )
    assert not is_blocked(failed(allowed).state, failed(allowed).call("transfer"))


def patient(effect: str = "idempotent") -> World:
    """An approved transfer whose tool is tried again for two minutes."""
    tool = msgspec.structs.replace(worlds.TOOLS["transfer"], retry_seconds=120.0, effect=effect)
    return replace(approved(), tools={**worlds.TOOLS, "transfer": tool})


def tries(world: World) -> list[tuple[ev.ToolIntended, str]]:
    """The tries of the transfer, each with when it began."""
    call = world.call("transfer").id
    return [(event, at) for event, at in world.history if isinstance(event, ev.ToolIntended) and event.call == call]


def failing(world: World) -> World:
    """The transfer begins and fails for reasons that pass."""
    call = world.call("transfer")
    failure = core.Fail(call.id, call.attempt + 1, "no connection", transient=True, pause=1.0)
    return world.after(core.Begin(call.id), failure)


def too_late(world: World) -> World:
    """A worker comes to the next try of the transfer after the total time: the session was paused meanwhile."""
    late = replace(world, seconds=world.seconds + 121)
    return late.after(core.Begin(late.call("transfer").id))


def used_up(world: World) -> World:
    """The last try of the transfer fails, and the next one would come after the total time."""
    call = world.call("transfer")
    failure = core.Fail(call.id, call.attempt + 1, "no connection", transient=True, pause=121.0)
    return world.after(core.Begin(call.id), failure)


def test_a_call_whose_next_try_comes_after_the_total_time_fails_for_good_and_a_person_settles_it():
    late = too_late(failing(patient()))
    call, failure = late.call("transfer"), late.events(ev.ToolFailed)[-1]
    assert (call.status, call.attempt, len(tries(late))) == (CallStatus.FAILED, 1, 1)
    assert (failure.attempt, failure.transient, failure.retry_at, failure.retry_until) == (1, True, "", "")
    assert "the time to try it again ended at 2026-11-21T03:0" in failure.reason
    assert late.events(ev.CallRefused) == []
    assert failure.reason in late.state.items[-1].text
    laws.judge(late.history, MAY)
    again = late.after(core.Intervene(call.id, "retry", "user:sue", "the bank is back"))
    assert failing(again).call("transfer").status is CallStatus.READY
    assert again.ran(again.call("transfer"), {"receipt": "r"}).state.requests[call.request].execution == "done"


def test_a_call_whose_next_try_comes_too_late_ends_as_one_whose_last_try_failed():
    late, last = too_late(failing(patient())), used_up(patient())
    for world in (late, last):
        (request,) = world.state.requests.values()
        assert (request.execution, request.because) == ("failed", "")
        assert is_blocked(world.state, world.call("transfer"))
        assert ways(world.state, world.call("transfer")) == ("retry", "supply", "skip")
        assert world.state.owes
    calls = [msgspec.structs.replace(world.call("transfer"), retry_until="") for world in (late, last)]
    assert calls[0] == calls[1]


def test_a_lost_try_is_not_begun_again_after_the_total_time():
    world = failing(patient())
    world = world.after(core.Begin(world.call("transfer").id))  # its worker died
    late = replace(world, seconds=world.seconds + 121).after(core.Begin(world.call("transfer").id))
    assert late.call("transfer").status is CallStatus.DOUBTED
    assert world.after(core.Begin(world.call("transfer").id)).call("transfer").attempt == 3


@pytest.mark.parametrize(("effect", "status"), [("idempotent", CallStatus.DOUBTED), ("pure", CallStatus.FAILED)])
def test_a_first_try_that_was_lost_is_not_begun_again_after_the_total_time(effect: str, status: CallStatus):
    world = patient(effect)
    first = world.after(core.Begin(world.call("transfer").id))  # its worker died
    again = core.Begin(first.call("transfer").id)
    in_time = replace(first, seconds=first.seconds + 119).after(again)
    assert (in_time.call("transfer").status, in_time.call("transfer").attempt) == (CallStatus.RUNNING, 2)
    assert len({event.retry_until for event, _ in tries(in_time)}) == 1
    late = replace(in_time, seconds=first.seconds + 121).after(again)
    assert late.call("transfer").status is status
    (why,) = [event.reason for event, _ in late.history if isinstance(event, ev.CallDoubted | ev.ToolFailed)]
    assert why.startswith("it is not known whether it happened, and the time to try it again ended at 2026-11-21T03:0")


def test_a_tool_whose_lost_result_is_for_a_person_has_no_time_to_try_it_again():
    world = patient("once")
    ((begun, _),) = tries(world.after(core.Begin(world.call("transfer").id)))
    assert begun.retry_until == ""


def test_a_try_from_before_tries_named_their_end_leaves_the_end_that_its_failure_named():
    world = failing(patient())
    until = world.call("transfer").retry_until
    (begun, _) = tries(world.after(core.Begin(world.call("transfer").id)))[-1]
    before = evolve(world.state, msgspec.structs.replace(begun, retry_until=""), stamp(world.given.at))
    assert until
    assert before.calls[begun.call].retry_until == until


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
@settings(max_examples=drawn(300))
def test_no_try_begins_after_the_total_time(moves: list[str]):
    world, waits = failing(patient()), {"a second": 1, "a minute": 60, "two minutes": 120}
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
    begun = [parse(at) for _, at in tries(world)]
    assert all(at - begun[0] <= timedelta(seconds=120) for at in begun)
    laws.judge(world.history, MAY)
    ended = world.call("transfer").status not in (CallStatus.READY, CallStatus.RUNNING)
    assert is_blocked(world.state, world.call("transfer")) is ended


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
