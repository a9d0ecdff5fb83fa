"""A model, a plan or an error that writes where a rule reads. Over the engine alone: no installation is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.plan.check import PlanRefused
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import pending
from tests.core import worlds
from tests.core.worlds import proposed
from tests.core.writer_world import (
    CUSTOMER,
    STRANGER,
    World,
    at_the_airline,
    at_the_bank,
    cleared,
    loaded,
    moving,
    only_staff,
    opened,
    reservation,
)

RECEIPT = {"receipt": "TR-1", "amount": {"minor": 1, "currency": "USD"}}
BEYOND = (3, "transfer.beyond_authorization")
ASKS = pol.Policy("asks", 1, (pol.Rule("asks", ("get_record",), "true", 2, "approve", "A person looks."),))


def last_id(world: World) -> str:
    """The id of the call that may begin next."""
    return world.state.plans.ready[0]


def in_a_plan(world: World, tool: str, **call: Any) -> World:
    """The world after the model proposed a plan of one call."""
    return world.asked(proposed(PLAN, calls=[{"_tool": tool, **call}]))


def authorized(world: World) -> World:
    """The world after the authorization service said yes."""
    return world.asked(proposed("authorize", customer="C-1")).ran_last({"allowed": True})


def transferred(world: World, **wanted: Any) -> World:
    """The world after a transfer was proposed and, where nobody is asked, made."""
    world = world.asked(proposed("transfer", **wanted))
    call = world.call("transfer")
    return world.ran(call, RECEIPT) if call.status is CallStatus.READY else world


def test_r2_an_error_does_not_wipe_a_mark_of_a_supervisor():
    world = at_the_bank().changed_by_staff("state.flags", ["fraud"])
    world = in_a_plan(world, "authorize", customer="C-9999", _outputPath="state.scrap || state.flags")
    (refused,) = world.refusals()
    assert (refused.code, "state.authorization" in refused.reason) == ("plan_refused", True)
    assert not world.began("authorize")
    assert world.state.pad == {"flags": ["fraud"]}


def test_r2_the_error_of_a_tool_without_a_place_goes_only_where_any_tool_may_write():
    world = opened(only_staff(flags={"x-writers": ["tool:remember", "staff"]})).changed_by_staff("state.flags", ["x"])
    world = world.asked(proposed("remember", what="x", _outputPath="state.scrap || state.flags"))
    assert [each.code for each in world.refusals()] == ["plan_refused"]
    with pytest.raises(PlanRefused, match=r"not_a_writer: state\.flags"):
        world.planned({"_tool": "remember", "what": "x", "_outputPath": "state.scrap || state.flags"})


def test_r2_an_error_does_not_land_where_a_rule_reads_although_nothing_is_declared():
    world = opened(reads=("'fraud' in state.flags",))
    with pytest.raises(PlanRefused, match=r"not_a_writer: state\.flags"):
        world.planned({"_tool": "remember", "what": "x", "_outputPath": "state.scrap || state.flags.last"})


def test_r2_an_error_of_a_plan_from_before_a_deployment_is_recorded_and_not_written():
    world = opened().planned({"_tool": "remember", "what": "x", "_outputPath": "state.scrap || state.flags"})
    world = world.after(core.Begin(last_id(world)))
    world = World(**{**world.__dict__, "reads": opened(reads=("state.flags",)).reads})
    world = world.after(core.Fail(world.call("remember").id, 1, "it broke", False))
    (failed,) = world.events(ev.ToolFailed)
    assert "state.flags" in failed.unwritten
    assert world.state.pad == {}


def test_r2_the_words_of_a_reviewer_do_not_stand_in_the_place_of_a_record():
    world = World(**{**opened(output_paths={"get_record": "state.record"}).__dict__, "policy": ASKS})
    world = world.planned({"_tool": "get_record", "id": "R1", "_outputPath": "state.record"})
    world = world.after(core.Begin(last_id(world)))
    world = world.after(worlds.decision(world, "respond", "ann"))
    ended = world.events(ev.RequestEnded)[-1]
    assert (ended.outcome, "state.record" in ended.unwritten) == ("responded", True)
    assert world.state.pad == {}
    assert not world.state.plans.is_open


def test_r3_a_no_is_not_sent_away_from_where_the_rule_reads():
    world = authorized(at_the_bank())
    world = in_a_plan(world, "authorize", customer="C-1", amount=3_000_000, _outputPath="state.scrap")
    (refused,) = world.refusals()
    assert (refused.code, "goes to state.authorization" in refused.reason) == ("plan_refused", True)
    assert len(world.events(ev.ToolIntended)) == 1


def test_r3_a_no_stands_where_the_rule_reads_when_a_plan_names_no_place():
    world = in_a_plan(authorized(at_the_bank()), "authorize", customer="C-1")
    world = world.after(core.Begin(last_id(world)))
    world = world.after(core.Return(world.call("authorize").id, 1, {"allowed": False}))
    assert world.state.pad["authorization"]["allowed"] is False


def test_r3_a_second_check_of_one_plan_is_not_dropped_behind_the_first():
    first = {"_tool": "authorize", "customer": "C-1", "amount": 1, "_when": "true"}
    world = at_the_bank().asked(proposed(PLAN, calls=[first, {**first, "amount": 3_000_000}]))
    (refused,) = world.refusals()
    assert (refused.code, "two_writers" in refused.reason) == ("plan_refused", True)
    assert not world.began("authorize")


@pytest.mark.parametrize("path", ["state.authorization", "state.authorization.allowed", "state.authorization.x.y"])
def test_r3_no_other_tool_writes_at_or_below_a_place(path):
    for world in (at_the_bank(), opened(output_paths={"authorize": "state.authorization"})):
        refused = world.asked(proposed("remember", what="x", _outputPath=path)).refusals()
        assert [each.code for each in refused] == ["plan_refused"]
        with pytest.raises(PlanRefused, match="not_a_writer"):
            world.planned({"_tool": "remember", "what": "x", "_outputPath": path})


def test_r3_no_other_tool_writes_above_a_place():
    world = opened(output_paths={"authorize": "state.checks.authorization"})
    assert world.asked(proposed("remember", what="x", _outputPath="state.checks")).refusals()


def test_r3_a_delegate_gives_no_result_in_the_name_of_a_tool():
    call = {"_tool": "authorize", "_delegate": "anonymous", "_outputPath": "state.authorization"}
    with pytest.raises(PlanRefused, match="not_a_writer"):
        at_the_bank().planned(call)
    named = only_staff(checks={"x-writers": ["tool:authorize"]})
    with pytest.raises(PlanRefused, match="not_a_writer"):
        opened(named).planned({**call, "_outputPath": "state.checks"})


def test_r3_a_model_writes_nothing_where_rules_read_and_no_tool_is_declared():
    world = opened(reads=("state.user_id",)).asked(proposed("remember", what="x", _outputPath="state.user_id"))
    assert [each.code for each in world.refusals()] == ["plan_refused"]


def test_r8_money_does_not_move_before_its_place_is_looked_at():
    world = authorized(at_the_bank())
    world = in_a_plan(world, "transfer", amount=100, _outputPath="state.customer")
    assert [each.code for each in world.refusals()] == ["plan_refused"]
    assert not world.began("transfer")


@pytest.mark.parametrize("path", ["state.customer", "state.notes", "state.verification.answer"])
def test_r8_a_plan_of_a_person_is_refused_when_it_is_proposed(path):
    with pytest.raises(PlanRefused, match="not_a_writer"):
        at_the_bank().planned({"_tool": "remember", "what": "x", "_outputPath": path})


@pytest.mark.parametrize("before", [7, "paid", [1], None, False])
def test_r8_a_call_does_not_begin_where_a_value_is_in_its_way(before: Any):
    world = opened().changed_by_staff("state.seen", before)
    world = world.planned({"_tool": "transfer", "amount": 100, "_outputPath": "state.seen.receipt"})
    world = world.after(core.Begin(last_id(world)))
    (refused,) = world.refusals()
    assert (refused.code, "state.seen" in refused.reason) == ("breaks_schema", True)
    assert world.state.pad == {"seen": before}


def test_r8_the_place_of_an_error_is_judged_before_anything_runs():
    form = only_staff(record={"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}})
    with pytest.raises(PlanRefused, match=r"state\.record"):
        opened(form).planned({"_tool": "remember", "what": "x", "_outputPath": "state.said || state.record"})


def test_r8_a_record_that_fits_is_written():
    world = at_the_bank().planned({"_tool": "load_customer", "_outputPath": "state.customer"})
    world = world.after(core.Begin(last_id(world)))
    world = world.after(core.Return(world.call("load_customer").id, 1, CUSTOMER))
    assert world.state.pad["customer"] == CUSTOMER


def asked_for(world: World) -> tuple[int, str]:
    """The tier and the rule of the only pending request."""
    return world.request.asked.tier, world.request.asked.rule


def test_r12_a_yes_to_one_cent_covers_one_cent():
    world = transferred(cleared(loaded(), **moving(1)), **moving(49_900))
    assert (asked_for(world), world.began("transfer")) == (BEYOND, False)


def test_r12_the_transfer_that_was_asked_about_goes_on_and_a_lower_one_too():
    world = cleared(loaded(), **moving(49_900))
    assert transferred(world, **moving(49_900)).began("transfer")
    assert transferred(world, **moving(49_800)).began("transfer")


@pytest.mark.parametrize("wanted", [{"from_account": "1000000003"}, {"to_account": STRANGER}])
def test_r12_a_yes_covers_the_accounts_that_were_asked_about(wanted: dict[str, str]):
    world = transferred(cleared(loaded(), **moving(500)), **moving(500, **wanted))
    assert (world.request.asked.tier, world.began("transfer")) == (3, False)


def test_r12_a_yes_to_another_purpose_moves_no_money():
    world = transferred(cleared(loaded(), **moving(500), purpose="opening hours"), **moving(500))
    assert asked_for(world) == BEYOND


def test_r12_an_answer_to_a_later_question_is_not_joined_with_an_older_question():
    world = cleared(loaded(), allowed=False, **moving(49_900))
    world = transferred(cleared(world, purpose="transfer between own accounts"), **moving(49_900))
    assert (world.request.asked.tier, world.began("transfer")) == (3, False)


def test_r12_a_yes_has_an_age():
    world = replace(cleared(loaded(), **moving(500)), seconds=15 * 60 + 10)
    assert asked_for(transferred(world, **moving(500))) == (3, "transfer.authorization_old")


def test_r12_an_approved_transfer_is_asked_again_when_its_yes_has_become_old():
    world = transferred(cleared(loaded(), **moving(100_000)), **moving(100_000))
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = replace(world, seconds=15 * 60 + 10).after(core.Begin(world.call("transfer").id))
    assert (asked_for(world), world.began("transfer")) == ((3, "transfer.authorization_old"), False)


def test_r12_five_transfers_below_the_limit_do_not_add_up_without_a_person():
    world = cleared(loaded(), **moving(49_900))
    for _ in range(5):
        world = transferred(world, **moving(49_900))
    assert sum(each.tool == "transfer" for each in world.events(ev.ToolIntended)) == 2
    assert {each.asked.rule for each in pending(world.state)} == {"transfer.day"}


def read(world: World, key: str, **more: Any) -> World:
    """The world after a reservation was read."""
    world = world.asked(proposed("get_reservation_details", reservation_id=key))
    return world.ran_last(reservation(key, **more))


def cancelling(world: World, key: str) -> str:
    """What policy makes of the cancellation of a reservation: the name of its rule."""
    world = world.asked(proposed("cancel_reservation", reservation_id=key))
    return world.call("cancel_reservation").rule or world.request.asked.rule


@pytest.mark.parametrize("declared", [True, False])
def test_r4_another_record_does_not_stand_under_the_id_that_a_rule_reads(declared: bool):
    world = read(read(at_the_airline(declared=declared), "R1", cabin="economy"), "R2")
    world = in_a_plan(world, "get_reservation_details", reservation_id="R2", _outputPath="state.reservations.R1")
    assert ("fixed_property" in world.refusals()[-1].reason, cancelling(world, "R2")) == (True, "cancel.any")
    assert cancelling(world, "R1") == "cancel.unfounded"


@pytest.mark.parametrize("declared", [True, False])
def test_r4_a_record_lands_under_its_own_id_and_under_no_other(declared: bool):
    world = read(at_the_airline(declared=declared), "R2")
    assert list(world.state.pad["reservations"]) == ["R2"]
    assert (cancelling(world, "R2"), cancelling(world, "R1")) == ("cancel.any", "change.not_looked_up")


@pytest.mark.parametrize("key", ["R1.status", "R1.x.y", "", " R1", "R1 ", "†state.user_id", ["R1"], None, 1, {"a": 1}])
def test_r4_a_key_that_is_no_plain_word_leads_nowhere(key: Any):
    world = at_the_airline(declared=False)
    for after in (
        world.asked(proposed("get_reservation_details", reservation_id=key)),
        in_a_plan(world, "get_reservation_details", reservation_id=key),
    ):
        assert (after.refusals()[-1].code in ("bad_key", "plan_refused"), after.state.pad) == (True, world.state.pad)
        assert not after.began("get_reservation_details")


def test_r4_a_record_does_not_replace_all_records():
    world = read(at_the_airline(declared=False), "R1")
    for path in ("state.reservations", "state.reservations.R1.status", "state.reservations.{reservation_id}"):
        world = in_a_plan(world, "get_reservation_details", reservation_id="R2", _outputPath=path)
        assert "fixed_property" in world.refusals()[-1].reason
        delegated = {"_tool": "get_user_details", "_delegate": "anonymous", "_outputPath": path}
        with pytest.raises(PlanRefused, match="not_a_writer"):
            world.planned(delegated)


def test_r4_an_edit_of_the_id_moves_the_place_of_the_result():
    world = read(at_the_airline(declared=True), "R1", cabin="economy")
    world = read(world, "R2", cabin="economy").asked(proposed("cancel_reservation", reservation_id="R1"))
    edit = worlds.decision(world, "edit", "sue", arguments={"reservation_id": "R2"}, reason="misheard", code="gesture")
    world = world.after(edit)
    if world.call("cancel_reservation").status is not CallStatus.READY:
        world = world.after(worlds.decision(world, "approve", "zoe", code="gesture"))
    world = world.ran(world.call("cancel_reservation"), reservation("R2", status="cancelled"))
    stands = {key: each["status"] for key, each in world.state.pad["reservations"].items()}
    assert stands == {"R1": "active", "R2": "cancelled"}
