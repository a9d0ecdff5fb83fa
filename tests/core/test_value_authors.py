"""Who wrote a value that a call reads proposed the call: they do not approve it, and the request names them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide.commands.calls import Intervene
from agentstate.engine.decide.commands.conversation import AddData
from agentstate.engine.decide.commands.plans import Deliver, InstanceGiven, ProposePlan
from agentstate.engine.decide.commands.scratchpad import ChangeState
from agentstate.engine.decide.versions import consequences
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.schemas import Actor
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.participants import MAX_PEOPLE
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.state.value_authors import MAX_PATHS, authors_of_values
from agentstate.engine.versions.effects import Since
from tests.core import test_grants
from tests.core.family_world import HANDS_OVER
from tests.core.test_plans_in_sessions import key, ran, step
from tests.core.test_proposers import ASKS, FREE, left_out
from tests.core.worlds import World, decision, opened

AGENT = "agent:bank"
AT = "2026-11-21T03:00:00.000000Z"
WROTE = "you wrote a value that it reads: another person must approve it"
WHOLE = pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")
READS = replace(FREE, tools=("load_customer",))
PAY = step("transfer", "state.receipt", to="†state.payee.account", amount={"minor": 90_000})


def changed(world: World, path: str, value: Any, by: str = "ann") -> World:
    """The state as `by` has changed it."""
    change = (PathChange(path, value),)
    name = f"change-{len(world.history)}"
    return world.after(ChangeState(world.state.seq, change, by, Actor("staff"), name, world.state.pad))


def paying(world: World, *before: dict[str, Any], pay: dict[str, Any] = PAY) -> World:
    """The session whose agent plans to pay, once `before` have run: the transfer waits for a person."""
    world = world.with_rules(ASKS, FREE).after(ProposePlan((*before, pay), AGENT, source="delegate"))
    for each in before:
        world = ran(world, each["_tool"], {"account": "666"})
    return world.after(core.Begin(key(world, "transfer")))


def proposers(world: World) -> tuple[str, ...]:
    return tuple(world.request.asked.proposed_by)


def test_who_wrote_the_value_that_an_argument_reads_does_not_approve_the_call():
    world = paying(changed(opened(), "state.payee.account", "666"))
    assert world.request.arguments["to"] == "666"
    assert proposers(world) == (AGENT, "ann")
    left_out(world, "ann", WROTE)


def test_it_holds_for_a_call_that_the_model_writes_with_a_reference():
    world = changed(opened().with_rules(ASKS, FREE).offering("references"), "state.payee.account", "666")
    call = ev.CallProposed("1", "transfer", {"to": "†state.payee.account", "amount": {"minor": 90_000}})
    world = world.asked(call)
    world = world.after(core.Begin(world.state.plans.ready[0]))
    assert proposers(world) == (AGENT, "ann")


@pytest.mark.parametrize("path", ["state.payee", "state.payee.account", "state.payee.account.number"])
def test_a_value_is_written_at_its_path_above_it_and_below_it(path):
    pay = {**PAY, "to": "†state.payee.account"}
    value = {"account": {"number": "666"}} if path == "state.payee" else {"number": "666"}
    world = paying(changed(opened(), path, "666" if path.endswith("number") else value), pay=pay)
    assert proposers(world) == (AGENT, "ann")


def test_a_value_that_the_call_does_not_read_makes_nobody_its_proposer():
    start = changed(changed(opened(), "state.payee.account", "666", AGENT), "state.payee.account_name", "Eve")
    world = paying(changed(start, "state.note", "hello"))
    assert proposers(world) == (AGENT,)
    assert world.after(decision(world, "approve", "ann")).call("transfer").status is CallStatus.READY


def test_a_value_is_of_all_who_wrote_it_until_the_agents_own_call_replaces_it():
    start = changed(changed(opened(), "state.payee.account", "666"), "state.payee.account", "667", "bob")
    assert proposers(paying(start)) == (AGENT, "ann", "bob")  # whose words and whose correction it is
    load = step("load_customer", "state.payee", customer="C-1")
    world = paying(changed(opened(), "state.payee.account", "1"), load)
    assert (world.request.arguments["to"], proposers(world)) == ("666", (AGENT,))


def test_a_result_leaves_the_values_beside_it_to_who_wrote_them():
    load = step("load_customer", "state.payee", customer="C-1")
    world = changed(opened().with_rules(ASKS, FREE), "state.payee.name", "Eve")
    world = ran(world.after(ProposePlan((load,), AGENT, source="delegate")), "load_customer", {"account": "666"})
    world = paying(world, pay={**PAY, "to": "†state.payee.name"})
    assert (world.request.arguments["to"], proposers(world)) == ("Eve", (AGENT, "ann"))


def test_what_a_tool_made_of_a_persons_value_is_theirs():
    load = step("load_customer", "state.payee", customer="†state.who")
    world = paying(changed(opened(), "state.who", "C-666"), load)
    assert (world.request.arguments["to"], proposers(world)) == ("666", (AGENT, "ann"))


def test_what_a_call_of_a_persons_plan_returned_is_theirs_in_the_next_plan():
    world = opened().with_rules(ASKS, FREE)
    world = world.after(ProposePlan((step("load_customer", "state.payee", customer="C-666"),), "ann"))
    world = ran(world, "load_customer", {"account": "666"})
    assert proposers(paying(world)) == (AGENT, "ann")


def test_who_sent_the_data_message_that_an_argument_reads_does_not_approve_the_call():
    pay = {**PAY, "to": "†claim.payee.account"}
    first = opened().after(AddData("claim", {"payee": {"account": "1", "name": "Jo"}}, AGENT))
    world = paying(first.after(AddData("claim", {"payee": {"account": "666"}}, "ann")), pay=pay)
    left_out(world, "ann", WROTE)
    assert proposers(paying(first.after(AddData("claim", {"payee": {"name": "Eve"}}, "ann")), pay=pay)) == (AGENT,)


def test_a_data_message_of_another_instance_is_no_value_of_this_ones():
    pay = {**PAY, "to": "†claim.account"}
    world = opened().with_rules(ASKS, FREE)
    for name, by in (("a", "ann"), ("b", AGENT)):
        world = world.after(AddData("claim", {"account": "666"}, by, instance=name))
    members = (InstanceGiven("a"), InstanceGiven("b"))
    world = world.after(ProposePlan((pay,), AGENT, instances=members, source="delegate"))
    world = world.after(*(core.Begin(f"{world.state.plans.round}.transfer@{name}") for name in "ab"))
    assert [each.proposed_by for each in world.events(ev.ApprovalRequested)] == [(AGENT, "ann"), (AGENT,)]


@pytest.mark.parametrize(("name", "by"), [("a", (AGENT, "ann")), ("b", (AGENT,))])
def test_of_a_plan_that_waits_the_authors_of_what_its_instances_read_are_left_out(name, by):
    pay, whole = {**PAY, "to": "†claim.account"}, pol.Rule("whole", ("plan",), "true", 2, "approve", "Looked at.")
    world = opened().with_rules(ASKS, whole)
    for instance, author in (("a", "ann"), ("b", AGENT)):
        world = world.after(AddData("claim", {"account": "666"}, author, instance=instance))
    world = world.after(ProposePlan((pay,), AGENT, instances=(InstanceGiven(name),), source="delegate"))
    assert proposers(world) == by


def test_who_supplied_the_result_that_an_argument_reads_does_not_approve_the_call():
    post = step("post_letter", "state.letter", to="C-1")
    free = replace(FREE, tools=(*FREE.tools, "post_letter"))
    pay = {**PAY, "to": "†state.letter.account"}
    world = opened().with_rules(ASKS, free).after(ProposePlan((post, pay), AGENT, source="delegate"))
    letter = key(world, "post_letter")
    world = world.after(core.Begin(letter), core.Begin(letter))  # its worker died
    world = world.after(Intervene(letter, "happened", "ann", "I saw it", {"account": "666"}))
    left_out(world.after(core.Begin(key(world, "transfer"))), "ann", WROTE)


def test_who_wrote_a_value_in_a_delegate_does_not_approve_the_call_that_reads_its_result():
    letter = step("load_customer", "state.letter", customer="C-1", _delegate="anonymous", _scopes=[])
    pay = {**PAY, "to": "†state.letter.output"}
    world = opened().with_rules(ASKS, FREE, HANDS_OVER).after(ProposePlan((letter, pay), AGENT, source="delegate"))
    call = key(world, "load_customer")
    world = world.after(core.Begin(call), core.Delegated(call, "child"))
    child = changed(changed(opened(), "state.payee", "666"), "state.note", "hello", AGENT)
    authors = authors_of_values(child.state.plans)
    assert authors == ("ann",)
    given = world.after(Deliver(core.Return(call, 1, {"output": "666"}, authors=authors), "child"))
    left_out(given.after(core.Begin(key(given, "transfer"))), "ann", WROTE)
    other = world.after(Deliver(core.Return(call, 1, {"output": "666"}), "child"))
    assert proposers(other.after(core.Begin(key(other, "transfer")))) == (AGENT,)


def test_the_authors_of_an_instances_values_are_among_those_of_the_session():
    world = opened().with_rules(ASKS, FREE)
    for name, by in (("a", "ann"), ("b", "bob")):
        world = world.after(AddData("claim", {"account": "666"}, by, instance=name))
    assert authors_of_values(world.state.plans) == ("ann", "bob")


def test_who_answered_in_the_place_of_the_result_does_not_approve_the_call():
    notes = pol.Rule("notes", ("load_customer",), "true", 2, "approve", "Notes.")
    load = step("load_customer", "state.payee.account", customer="C-1")
    world = opened().with_rules(ASKS, notes, replace(FREE, tools=("plan",)))
    world = world.after(ProposePlan((load, PAY), AGENT, source="delegate"))
    world = world.after(core.Begin(key(world, "load_customer")))
    world = world.after(decision(world, "respond", "ann", response="666"), core.Begin(key(world, "transfer")))
    left_out(world, "ann", WROTE)


def test_a_settled_conflict_is_of_who_proposed_the_value_voted_for_it_and_settled_it():
    asked = ev.ConflictOpened(
        "c", "state.payee.account", "arbiter", 0, "state", (), ("1",), ev.Proposal("p", "ann", ("666",)), "x", 1
    )
    events = (asked, ev.VoteCast("c", "p", "bob"), ev.VoteCast("c", "", "zoe"))
    state = opened().state
    for event in (*events, ev.ConflictEnded("c", "arbitrated", "p", ("666",), by="sue")):
        state = evolve(state, event, AT)
    assert state.plans.own.writers == {"state.payee.account": ("ann", "bob", "sue")}


def test_a_rollback_gives_a_value_back_to_who_wrote_it():
    start = changed(opened().with_rules(ASKS, FREE), "state.payee.account", "666")
    load = step("load_customer", "state.payee", customer="C-1")
    world = start.after(ProposePlan((load,), AGENT, source="delegate"))
    world = ran(world, "load_customer", {"account": "1"})
    assert world.state.plans.own.writers == {}
    seen = consequences(world.state, start.state, Since()).digest
    world = world.after(core.Rollback(start.state.seq, "sue", "wrong", seen, start.state, Since()))
    assert proposers(paying(world)) == (AGENT, "ann")


def test_who_wrote_what_a_plan_reads_does_not_approve_the_plan():
    start = changed(opened().with_rules(WHOLE, ASKS, READS), "state.payee.account", "666")
    world = start.after(ProposePlan((PAY,), AGENT, source="delegate"))
    assert proposers(world) == (AGENT, "ann")
    with pytest.raises(core.DecisionNotAllowed, match=WROTE):
        world.after(decision(world, "approve", "ann"))
    start = changed(start, "state.note", "hello", AGENT)
    other = start.after(ProposePlan(({**PAY, "to": "†state.note"},), AGENT, source="delegate"))
    assert proposers(other) == (AGENT,)


def test_who_changes_what_a_plan_reads_while_it_waits_does_not_approve_it_anew():
    start = changed(opened().with_rules(WHOLE, ASKS, READS), "state.payee.account", "1", AGENT)
    world = start.after(ProposePlan((PAY,), AGENT, source="delegate"))
    world = changed(world, "state.payee.account", "666")
    world = world.after(decision(world, "approve", "sue"), core.Begin(world.state.plans.proposed))
    assert proposers(world) == (AGENT, "ann")


def test_an_edit_of_a_plan_that_reads_a_persons_value_names_them():
    start = changed(opened().with_rules(WHOLE, ASKS), "state.payee.account", "666")
    world = start.after(ProposePlan(({**PAY, "to": "1"},), AGENT, source="delegate"))
    arguments = {**world.request.asked.arguments, "calls": [PAY]}
    assert proposers(world.after(decision(world, "edit", "sue", arguments=arguments))) == ("sue", "ann")


def test_what_a_call_has_resolved_stays_its_writers_when_the_value_changes():
    world = changed(paying(changed(opened(), "state.payee.account", "666")), "state.payee.account", "1", "bob")
    left_out(world, "ann", WROTE)
    assert world.after(decision(world, "approve", "bob")).call("transfer").status is CallStatus.READY
    taken = world.after(decision(world, "approve", "sue"), core.TakeOver("zoe"))
    assert proposers(taken) == (AGENT, "ann")  # asked anew, on the same arguments


def test_a_standing_approval_covers_no_call_that_reads_its_givers_value():
    world = changed(test_grants.granted(), "state.payee.account", "666", "sue")
    world = world.after(ProposePlan((step("transfer", amount={"minor": 900}, to="†state.payee.account"),), AGENT))
    world = world.after(core.Begin(key(world, "transfer")))
    assert world.call("transfer").status is CallStatus.WAITING


def test_what_is_kept_of_writers_is_bounded_and_names_no_fewer():
    state = opened().state
    for number in range(MAX_PATHS + 1):
        by = f"user:{number % (MAX_PEOPLE - 1)}"
        write = ev.Write(f"state.values.v{number}", number)
        state = evolve(state, ev.StateChanged(f"c{number}", 1, by, (write,)), AT)
    assert set(state.plans.own.writers) == {"state"}
    assert len(state.plans.own.writers["state"]) == MAX_PEOPLE - 1
    assert from_snapshot(to_snapshot(state)) == state


def test_a_value_that_a_migration_moved_keeps_its_writer():
    state = changed(opened(), "state.payee.account", "666").state
    moved = ev.StateMigrated("bank@2", 1, 2, {"to": {"account": "666"}}, ("payee",), "digest", True)
    assert evolve(state, moved, AT).plans.own.writers == {"state": ("ann",)}
