"""Checkpoints and rollbacks: what goes back, what stays, and what an older epoch can still say."""

from __future__ import annotations

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, next_action
from agentstate.engine.decide.interventions import ways
from agentstate.engine.decide.refusals import Outdated, SessionOver
from agentstate.engine.decide.versions import NoSuchPoint, TooManyCheckpoints, consequences
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.rollback import GOES_BACK, MADE_ANEW, STAYS, fingerprint
from agentstate.engine.state.session import SessionState, pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.versions.effects import Declared, since
from agentstate.engine.versions.kept import KEPT_AUTOMATIC, KEPT_NAMED
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.worlds import World, decision, transfer

TOOLS = {
    name: Declared(tool.effect, tool.preview, "Move it back." if name == "transfer" else "")
    for name, tool in worlds.TOOLS.items()
}


def at(world: World, seq: int) -> SessionState:
    """The state after the first `seq` entries."""
    return fold(world.history[:seq])


def rollback(world: World, to: int, **more: object) -> core.Rollback:
    """The rollback that a supervisor confirms who has just looked at what it would do."""
    older = at(world, to)
    effects = since(older, list(enumerate(event for event, _ in world.history))[to:], TOOLS)
    seen = consequences(world.state, older, effects).digest
    fields = {"to": to, "by": "user:sue", "reason": "the agent misheard", "seen": seen, "older": older}
    return core.Rollback(**{**fields, "since": effects, **more})  # type: ignore[arg-type]


def moved() -> World:
    """A transfer of $400.00 was let through by policy and done."""
    world = worlds.authorized().asked(transfer(40_000))
    return world.ran(world.call("transfer"), {"receipt": "TR-1"})


def before_the_transfer(world: World) -> int:
    """The seq just before the model proposed it."""
    return next(n for n, (event, _) in enumerate(world.history) if isinstance(event, ev.ModelAnswered) and n > 6)


def test_the_scratchpad_goes_back_and_the_words_stay():
    world = moved().after(core.Say("customer", "Thank you!", "customer"))
    back = world.after(rollback(world, before_the_transfer(world)))
    assert "transfer" in world.state.pad
    assert "transfer" not in back.state.pad
    assert back.state.pad["authorization"] == {"allowed": True}
    assert [item.text for item in back.state.items if item.role == "customer"][-1] == "Thank you!"
    assert back.state.seq == world.state.seq + 1


def test_the_epoch_is_raised_and_history_stays():
    world = worlds.authorized()
    back = world.after(rollback(world, 2))
    assert (world.state.epoch, back.state.epoch) == (0, 1)
    assert back.history[: len(world.history)] == world.history
    assert fold(back.history) == back.state


def test_what_waits_is_withdrawn_by_name():
    world = worlds.waiting()
    request = world.request.asked.request
    back = world.after(rollback(world, 2))
    assert not pending(back.state)
    (ended,) = back.events(ev.RequestEnded)
    assert (ended.request, ended.outcome) == (request, "withdrawn")
    assert back.state.requests[request].status is RequestStatus.WITHDRAWN


def test_a_call_that_was_open_then_is_withdrawn_and_the_agent_is_asked_again():
    world = worlds.waiting()
    back = world.after(rollback(world, world.state.seq - 1))
    assert back.call("transfer").status is CallStatus.WITHDRAWN
    assert next_action(back.state, stamp(back.given.at)) == AskModel(again=False)


def test_a_permit_of_an_older_epoch_lets_nothing_run():
    world = worlds.waiting()
    world = world.after(decision(world, "approve", "sue"))
    call = world.call("transfer")
    back = world.after(rollback(world, world.state.seq - 1))
    with pytest.raises(Outdated):
        back.after(core.Begin(call.id))


def test_a_late_result_is_recorded_and_changes_nothing():
    world = worlds.authorized().asked(transfer(40_000))
    call = world.call("transfer")
    running = world.after(core.Begin(call.id))
    back = running.after(rollback(running, 2))
    assert call.id in back.state.versions.late
    late = back.after(core.Return(call.id, 1, {"receipt": "TR-1"}))
    assert isinstance(late.history[-1][0], ev.ToolReturned)
    assert late.state.versions.late == {}
    assert (late.state.pad, late.state.calls, late.state.items) == (back.state.pad, back.state.calls, back.state.items)
    with pytest.raises(core.Outdated):
        back.after(core.Return(call.id, 2, {}))


def test_a_late_failure_is_not_tried_again():
    world = worlds.authorized().asked(transfer(40_000))
    running = world.after(core.Begin(world.call("transfer").id))
    back = running.after(rollback(running, 2))
    late = back.after(core.Fail(running.call("transfer").id, 1, "no answer", transient=True))
    assert late.history[-1][0].retry_at == ""  # type: ignore[union-attr]
    assert late.state.versions.late == {}


def test_it_lists_what_is_not_undone_with_the_compensation_the_tool_declares():
    world = moved()
    command = rollback(world, before_the_transfer(world))
    (effect,) = command.since.lasting
    assert (effect.tool, effect.outcome, effect.what) == ("transfer", "done", "Move 40000 cents")
    assert effect.compensation == "Move it back."
    back = world.after(command)
    assert back.history[-1][0].lasting == (effect,)  # type: ignore[union-attr]
    assert "never do it again" in back.state.items[-1].text
    assert "Move 40000 cents" in back.state.items[-1].text


def test_an_effect_whose_result_is_not_known_is_listed_as_such():
    world = worlds.authorized().asked(transfer(40_000))
    running = world.after(core.Begin(world.call("transfer").id))
    (effect,) = rollback(running, running.state.seq - 1).since.lasting
    assert effect.outcome == "unknown"
    at_the_intent = rollback(running.after(core.Say("customer", "Hello?", "customer")), running.state.seq)
    assert [each.outcome for each in at_the_intent.since.lasting] == ["unknown"]


def test_what_only_reads_is_no_effect():
    world = worlds.opened().asked(worlds.proposed("load_customer", "state.customer", customer="C-1"))
    world = world.ran(world.call("load_customer"), {"name": "Robert"})
    assert rollback(world, 2).since.lasting == ()


def test_a_refusal_by_a_person_never_goes_back():
    world = worlds.waiting()
    world = world.after(decision(world, "reject", "sue"))
    back = world.after(rollback(world, 2))
    assert (back.state.refusals, back.state.refused) == (world.state.refusals, world.state.refused)


def test_a_rollback_that_nobody_looked_at_is_refused():
    world = worlds.authorized()
    with pytest.raises(Outdated, match="look again"):
        world.after(rollback(world, 2, seen="something else"))


def test_what_happened_since_it_was_looked_at_stops_it():
    world = worlds.authorized().asked(transfer(40_000))
    looked = rollback(world, 2)
    acted = world.after(core.Begin(world.call("transfer").id))
    with pytest.raises(Outdated):
        acted.after(looked)


@pytest.mark.parametrize("seq", [0, 8, 9])
def test_there_is_no_going_back_to_nowhere_or_to_now(seq):
    world = worlds.authorized()
    longer = world.after(core.Say("note", "x", "ann"))
    older = fold(longer.history[:seq])
    assert world.state.seq == 8
    with pytest.raises(NoSuchPoint):
        consequences(world.state, older, since(older, [], TOOLS))


def test_a_session_that_is_over_stays_over():
    world = worlds.authorized()
    command = rollback(world, 2)
    with pytest.raises(SessionOver):
        world.after(core.End("hung up", "customer")).after(command)


def test_a_rollback_needs_a_reason():
    world = worlds.authorized()
    with pytest.raises(Invalid, match="must not be empty"):
        world.after(rollback(world, 2, reason="  "))


def test_a_rollback_can_be_undone():
    world = moved()
    back = world.after(rollback(world, 2))
    point = next(each for each in back.state.versions.checkpoints if each.why == "rollback")
    again = back.after(rollback(back, point.seq))
    assert again.state.pad == world.state.pad
    assert again.state.epoch == 2


def test_named_checkpoints_are_kept_and_a_name_moves():
    world = worlds.authorized().after(core.Name("before the money", "user:sue"))
    point = world.state.versions.checkpoints[-1]
    assert (point.name, point.seq, point.why) == ("before the money", world.state.seq - 1, "named")
    assert point.digest == fingerprint(at(world, point.seq))
    moved_on = world.after(core.Say("note", "x", "ann"), core.Name("before the money", "user:sue"))
    named = [each for each in moved_on.state.versions.checkpoints if each.name]
    assert [each.seq for each in named] == [moved_on.state.seq - 1]


def test_an_earlier_point_gets_a_name_with_its_own_digest():
    world = worlds.authorized()
    named = world.after(core.Name("start", "user:sue", 2, at(world, 2)))
    assert named.state.versions.checkpoints[0].digest == fingerprint(at(world, 2))
    with pytest.raises(NoSuchPoint):
        world.after(core.Name("start", "user:sue", 3, at(world, 2)))


def test_names_are_few():
    world = worlds.opened()
    for number in range(KEPT_NAMED):
        world = world.after(core.Name(f"point {number}", "user:sue"))
    with pytest.raises(TooManyCheckpoints):
        world.after(core.Name("one more", "user:sue"))
    assert world.after(core.Name("point 3", "user:sue"))


def test_checkpoints_come_by_themselves_and_stay_few():
    world = worlds.waiting()
    gates = [each.seq for each in world.state.versions.checkpoints if each.why == "gate"]
    assert gates == [world.request.seq]
    world = world.after(core.Rest("decision"))
    assert world.state.versions.checkpoints[-1].why == "rest"
    for turn in range(40):
        world = world.after(core.Say("note", f"{turn}", "ann")).asked(text="Yes.").after(core.Rest("customer"))
    automatic = [each for each in world.state.versions.checkpoints if not each.name]
    assert len(automatic) == KEPT_AUTOMATIC
    assert [each.seq for each in automatic] == sorted(each.seq for each in automatic)
    assert any(each.why == "every" for each in automatic)


def test_gates_of_one_answer_are_one_checkpoint():
    world = worlds.authorized().asked(transfer(100_000), transfer(100_001), transfer(100_002))
    assert len(pending(world.state)) == 3
    assert [each.why for each in world.state.versions.checkpoints].count("gate") == 1


def test_a_snapshot_of_a_state_with_versions_is_read_back():
    world = worlds.waiting().after(core.Name("here", "user:sue"))
    back = world.after(rollback(world, 2))
    assert from_snapshot(to_snapshot(back.state)) == back.state


def test_every_part_of_a_state_says_what_a_rollback_does_with_it():
    placed = [*STAYS, *MADE_ANEW, *GOES_BACK]
    assert len(placed) == len(set(placed))
    missing = set(SessionState.__struct_fields__) - set(placed)
    assert not missing, f"say in state/rollback.py whether a rollback puts back: {missing}"


def stuck() -> World:
    """A transfer that policy lets through, and that failed for reasons that are not its own."""
    world = worlds.authorized().asked(transfer(40_000))
    while (call := world.call("transfer")).status is CallStatus.READY:
        world = failed(world, call.id, call.attempt + 1)
    return world


def failed(world: World, call: str, attempt: int) -> World:
    return world.after(core.Begin(call), core.Fail(call, attempt, "the bank is away", transient=True))


def intervened(world: World, how: str, *result: object) -> World:
    call = world.call("transfer").id
    return world.after(core.Intervene(call, how, "user:ann", "the bank is back", *result))  # type: ignore[arg-type]


def ways_of(world: World, call: str) -> tuple[str, ...]:
    return ways(world.state, world.state.calls[call])


def test_what_a_person_tried_again_and_was_done_is_not_offered_again_after_a_rollback():
    world = stuck()
    call, to = world.call("transfer"), world.state.seq
    assert "retry" in ways_of(world, call.id)
    done = intervened(world, "retry")
    done = done.ran(done.state.calls[call.id], {"receipt": "TR-1"})
    back = done.after(rollback(done, to))
    assert back.state.calls[call.id].status is CallStatus.DONE
    assert ways_of(back, call.id) == ()


def test_what_a_person_did_by_hand_is_not_offered_again_after_a_rollback():
    world = stuck()
    call, to = world.call("transfer"), world.state.seq
    supplied = intervened(world, "supply", {"receipt": "TR-1"})
    back = supplied.after(rollback(supplied, to))
    assert ways_of(back, call.id) == ()
    assert [each.outcome for each in back.events(ev.SessionRolledBack)[0].lasting] == ["done"]


def test_what_was_running_again_when_the_session_was_rolled_back_is_not_offered_again():
    world = stuck()
    call, to = world.call("transfer"), world.state.seq
    running = intervened(world, "retry").after(core.Begin(call.id))
    back = running.after(rollback(running, to))
    assert ways_of(back, call.id) == ()


def test_what_had_failed_and_still_has_may_be_tried_again_after_a_rollback():
    world = stuck().after(core.Say("customer", "And?", "customer"))
    back = world.after(rollback(world, world.state.seq - 1))
    assert "retry" in ways_of(back, back.call("transfer").id)


def test_a_call_that_was_open_then_and_done_since_stays_done_and_the_agent_is_told_so():
    world = worlds.authorized().asked(transfer(40_000))
    call, to = world.call("transfer"), world.state.seq
    done = world.ran(call, {"receipt": "TR-1"})
    back = done.after(rollback(done, to))
    assert back.state.calls[call.id].status is CallStatus.DONE
    (told,) = [item.text for item in back.state.items if item.call == call.id and item.role == "tool"]
    assert "does not undo it" in told


def test_a_failed_call_that_two_rollbacks_brought_back_is_tried_again_and_asks_again():
    """The first rollback lets go of the call and its request; the second, to before the first, brings both back."""
    world = worlds.waiting()
    world = world.after(decision(world, "approve", "sue"))
    call = world.call("transfer")
    while world.state.calls[call.id].status is CallStatus.READY:
        world = failed(world, call.id, world.state.calls[call.id].attempt + 1)
    failed_at = world.state.seq
    world = world.after(core.Say("customer", "Hello?", "customer"))
    world = world.after(rollback(world, 2))
    assert call.id not in world.state.calls
    world = world.after(core.Say("customer", "Hello?", "customer"))
    world = world.after(rollback(world, failed_at))
    assert world.state.calls[call.id].request in world.state.requests
    assert not pending(world.state)
    world = intervened(world, "retry").after(core.Begin(call.id))
    assert [each.asked.call for each in pending(world.state)] == [call.id]
    assert fold(world.history) == world.state


def test_an_approved_call_that_has_not_begun_is_named_before_a_rollback_and_withdrawn_by_name():
    world = worlds.waiting()
    world = world.after(decision(world, "approve", "sue"))
    call = world.call("transfer")
    found = rollback(world, 2)
    older = at(world, 2)
    assert consequences(world.state, older, found.since).not_begun == (call.id,)
    back = world.after(found)
    (withdrawn,) = back.events(ev.CallWithdrawn)
    assert (withdrawn.call, withdrawn.code, withdrawn.approved_by) == (call.id, "rolled_back", ("sue",))
