"""What would have happened: other policies and other inputs on a record, without effects and without inventions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import policy as pol
from agentstate.engine.instants import parse
from agentstate.engine.state.snapshot import to_snapshot
from agentstate.engine.versions.replay import BadInput, CallReplayed, Input, Replayed, replay
from tests.core import worlds
from tests.core.test_retries import failing, patient, too_late
from tests.core.test_versions import moved, rollback
from tests.core.worlds import BANK, World, decision, transfer

STRICT = pol.Rule("all.transfers", ("transfer",), "true", 3, "approve", "Every transfer is looked at.", quorum=2)
LOOSE = pol.Rule("no.questions", ("transfer", "authorize"), "true", 1, "allow", "Anything goes.")


def under(world: World, *rules: pol.Rule) -> Callable[[str], core.CommandContext]:
    """What `decide` is handed under other rules, or under today's."""
    policy = pol.Policy("other", 2, rules) if rules else BANK
    return lambda at: msgspec.structs.replace(world.given, at=parse(at), policy=policy)


def replayed(world: World, *rules: pol.Rule, **more: Any) -> Replayed:
    history = [(seq, event, at) for seq, (event, at) in enumerate(world.history)]
    return replay(history, under(world, *rules), **more)


def of(found: Replayed, tool: str) -> CallReplayed:
    return next(call for call in found.calls if call.tool == tool)


def test_under_the_same_policy_all_happens_as_it_did():
    for world in (moved(), worlds.waiting(), worlds.waiting().after(decision(worlds.waiting(), "approve", "ann"))):
        found = replayed(world)
        assert not any(call.differs for call in found.calls)
        assert (found.from_seq, found.left_out, found.not_needed, found.not_made) == (-1, {}, 0, 0)
        assert found.state.pad == world.state.pad


def test_a_call_that_was_tried_again_too_late_fails_in_a_replay_too():
    world = too_late(failing(patient()))
    for found in (replayed(world), replayed(world, LOOSE)):
        assert found.left_out == {}
        assert (of(found, "transfer").ended, of(found, "transfer").would_end) == ("failed", "failed")


def test_a_stricter_policy_would_have_asked():
    found = replayed(moved(), STRICT)
    call = of(found, "transfer")
    assert (call.recorded.kind, call.recorded.rule) == ("allowed", "transfer.small")
    assert (call.replayed.kind, call.replayed.tier, call.replayed.quorum) == ("asked", 3, 2)
    assert call.differs
    assert found.not_made >= 1
    assert (call.ended, call.would_end) == ("done", "done")  # if people had approved


def test_if_people_had_said_no_it_would_not_have_run():
    call = of(replayed(moved(), STRICT, assume="reject"), "transfer")
    assert (call.ended, call.would_end) == ("done", "rejected")
    found = replayed(moved(), STRICT, assume="wait")
    assert of(found, "transfer").would_end == "waiting"
    assert "transfer" not in found.state.pad


def test_a_looser_policy_would_have_asked_nobody_and_nobody_knows_the_result():
    world = worlds.waiting()
    world = world.after(decision(world, "reject", "ann"))
    found = replayed(world, LOOSE)
    call = of(found, "transfer")
    assert (call.recorded.kind, call.replayed.kind) == ("asked", "allowed")
    assert call.unknown
    assert found.not_needed == 1
    assert "transfer" not in found.state.pad


def test_with_another_result_policy_sees_another_state():
    world = moved()
    seq = next(n for n, (event, _) in enumerate(world.history) if getattr(event, "result", None) == {"allowed": True})
    found = replayed(world, inputs=[Input(seq, result={"allowed": False})])
    assert found.from_seq == seq
    assert found.state.pad["authorization"] == {"allowed": False}
    assert of(found, "transfer").replayed.kind == "asked"


def test_other_words_are_taken_as_said():
    world = worlds.opened()
    found = replayed(world, inputs=[Input(1, text="Close my account.")])
    assert [item.text for item in found.state.items] == ["Close my account."]


@pytest.mark.parametrize("wrong", [Input(0, text="x"), Input(1, result=1), Input(1), Input(99, text="x")])
def test_what_cannot_be_replaced_is_refused(wrong):
    with pytest.raises(BadInput):
        replayed(worlds.opened(), inputs=[wrong])


def test_too_many_inputs_are_refused():
    with pytest.raises(BadInput):
        replayed(worlds.opened(), inputs=[Input(1, text="x")] * 101)


def test_a_record_with_a_rollback_is_gone_through_as_well():
    world = moved()
    back = world.after(rollback(world, 2)).asked(transfer(40_000))
    assert not any(call.differs for call in replayed(back).calls)
    assert replayed(back, STRICT).state.epoch == 1


def test_the_record_itself_is_untouched():
    world = moved()
    before = (world.history, to_snapshot(world.state))
    replayed(world, STRICT)
    assert (world.history, to_snapshot(world.state)) == before
