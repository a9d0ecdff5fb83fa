"""What was done outside before a rollback is undone by calls of their own: newest first, one by one, gated."""

from __future__ import annotations

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import RunCall, next_action
from agentstate.engine.decide.compensation import NothingToUndo, undoable
from agentstate.engine.decide.versions import consequences
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.versions import effects
from agentstate.errors import Invalid, NotFound
from tests.core import worlds
from tests.core.worlds import World

FREE = worlds.pol.Rule("free", ("*",), "true", 0, "allow", "Free.")
ASKED = worlds.pol.Rule("asked", ("*",), "true", 2, "approve", "Somebody must look.")


def back(arguments: dict, result: dict) -> dict | None:
    return {"amount": arguments["amount"], "of": result["receipt"]} if result["receipt"] != "stranger" else None


DECLARED = {
    "transfer": effects.Declared("idempotent", lambda arguments, pad: "Move it", "Move it back.", "transfer", back)
}


def put_back(*receipts: str) -> World:
    """Money was moved so often, and the session put back to before all of it."""
    start = worlds.opened().with_rules(FREE)
    world = start
    for number, receipt in enumerate(receipts, 1):
        world = world.asked(worlds.transfer(100 * number)).ran_last({"receipt": receipt})
    since = effects.since(start.state, list(enumerate(e for e, _ in world.history))[start.state.seq :], DECLARED)
    seen = consequences(world.state, start.state, since).digest
    return world.after(core.Rollback(start.state.seq, "user:sue", "wrong", seen, start.state, since))


def order(world: World, *calls: str) -> core.Compensate:
    rolled = world.state.versions.rollbacks[-1].seq
    lasting = world.events(ev.SessionRolledBack)[-1].lasting
    return core.Compensate(rolled, calls, "user:sue", "the wrong account", lasting)


def undoing(world: World) -> list:
    found = [call for call in world.state.calls.values() if call.undoes >= 0]
    return sorted(found, key=lambda call: -call.undoes)


def test_effects_are_undone_newest_first_and_each_begins_when_the_one_before_it_has_ended():
    world = put_back("a", "b", "c")
    world = world.after(order(world))
    third, second, first = undoing(world)
    assert [call.arguments["of"] for call in (third, second, first)] == ["c", "b", "a"]
    for call in (third, second, first):
        assert next_action(world.state, stamp(world.given.at)) == RunCall(call.id, again=False)
        world = world.ran(call, {"receipt": "back"})
    assert [call.status for call in undoing(world)] == [CallStatus.DONE] * 3
    assert fold(world.history) == world.state
    assert from_snapshot(to_snapshot(world.state)) == world.state


def test_each_is_gated_as_any_call_and_a_rejection_leaves_the_next_its_turn():
    world = put_back("a", "b").with_rules(ASKED)
    world = world.after(order(world))
    assert len(pending(world.state)) == 2
    newest, _ = pending(world.state)
    said = core.Decide(newest.asked.request, "reject", "sue", worlds.MAY["sue"], "keep it", seen=newest.asked.digest)
    world = world.after(said)
    assert [call.status.value for call in undoing(world)] == ["rejected", "waiting"]


def test_what_cannot_be_undone_by_a_call_is_not_offered():
    world = put_back("a", "stranger")
    lasting = world.events(ev.SessionRolledBack)[-1].lasting
    assert [each.arguments["amount"]["minor"] for each in undoable(lasting, world.state)] == [100]


def test_an_effect_is_undone_once():
    world = put_back("a")
    world = world.after(order(world))
    with pytest.raises(NothingToUndo):
        world.after(order(world))


def test_only_what_is_named_is_undone_and_what_is_unknown_is_refused():
    world = put_back("a", "b")
    named = world.events(ev.SessionRolledBack)[-1].lasting[0].call
    assert [call.arguments["of"] for call in undoing(world.after(order(world, named)))] == ["a"]
    with pytest.raises(NothingToUndo):
        world.after(order(world, named, "no such call"))
    with pytest.raises(NotFound):
        world.after(core.Compensate(1, (), "user:sue", "because"))
    with pytest.raises(Invalid):
        world.after(core.Compensate(world.state.versions.rollbacks[-1].seq, (), "user:sue", " "))


def test_the_agent_is_told_in_a_note():
    world = put_back("a")
    world = world.after(order(world))
    (call,) = undoing(world)
    assert world.ran(call, {"receipt": "back"}).state.items[-1].role == "note"


def test_while_a_colleague_has_the_session_the_first_undoing_is_tried_again_at_its_time():
    world = put_back("a", "b")
    world = world.after(order(world)).with_rules(ASKED)
    for call in undoing(world):
        world = world.after(core.Begin(call.id))
        if not pending(world.state):
            break
        world = world.after(worlds.decision(world, "approve", "ann"))
    first = undoing(world)[0]
    failing = core.Fail(first.id, first.attempt + 1, "away", transient=True, pause=30.0)
    world = world.after(core.Begin(first.id), failing, core.TakeOver("user:sue", "she asks"))
    assert next_action(world.state, stamp(world.given.at)).until == undoing(world)[0].retry_at
