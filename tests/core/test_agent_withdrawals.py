"""The agent withdraws a call that it proposed, before the call begins."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.withdrawals import (
    WITHDRAW_CALL,
    withdrawable,
)
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.memory.context import messages
from tests.core import worlds
from tests.core.worlds import World


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
