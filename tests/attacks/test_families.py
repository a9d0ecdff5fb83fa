"""Attacks by a model that hands its calls to delegates. On the engine alone: no installation is needed."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide.refusals import FamilyFull
from agentstate.engine.lifecycle import CallStatus
from tests.core import worlds
from tests.core.family_world import HANDS_OVER, Family, family
from tests.core.worlds import proposed, transfer

BANK = worlds.BANK.rules  # the shipped rules
HARMLESS = proposed("load_customer", None, customer="C-1", _delegate="anonymous")
MOVED = "(has(history.today.moved.transfer) ? history.today.moved.transfer.USD : 0)"
DAY = (
    pol.Rule("day", ("transfer",), f"{MOVED} + arguments.amount.minor > 50000", 3, "approve", "$500 a day."),
    pol.Rule("small", ("transfer",), "arguments.amount.minor <= 50000", 1, "allow", "A small amount."),
)


def rejected() -> Family:
    """A transfer of $600 that a person rejected; then a delegate."""
    held = family(*BANK, world=worlds.authorized())
    root = held.root.asked(transfer(60_000))
    return dataclasses.replace(held, root=root.after(worlds.decision(root, "reject", "ann"))).opening()


def test_r1_a_rejection_in_the_parent_makes_a_small_transfer_of_its_delegate_ask():
    held = rejected().child(0, transfer(2_345))
    assert held.members[0].request.asked.rule == "transfer.after_refusal"
    assert not held.members[0].events(ev.CallAllowed)


def test_r1_the_rejected_call_itself_is_refused_in_the_delegate():
    held = rejected().child(0, transfer(60_000))
    assert [each.code for each in held.members[0].events(ev.CallRefused)] == ["refused_before"]


def test_r1_a_harmless_call_does_not_open_a_delegate_unasked():
    world = worlds.opened().offering("_delegate").asked(HARMLESS)
    world = world.after(core.Begin(world.state.plans.ready[0]))
    assert world.request.asked.rule == "default.delegate"
    assert not world.events(ev.ToolIntended)


def test_r1_two_delegates_do_not_each_move_the_allowance_of_the_day():
    held = family(*BANK[:1], *DAY).opening().opening()
    held = held.child(0, transfer(40_000)).child(1, transfer(40_000))
    for number in (0, 1):
        held = held.did(number, core.Begin(held.members[number].call("transfer").id))
    assert sum(len(each.events(ev.ToolIntended)) for each in held.members) == 1


def test_r1_a_flag_that_staff_set_while_the_delegate_works_holds_in_it():
    flagged = pol.Rule("flag", ("transfer",), "has(state.flags) && 'fraud' in state.flags", 3, "approve", "Fraud?")
    held = family(flagged, *DAY).opening().child(0, transfer(100))
    state = replace(held.root.state, pad={"flags": ["fraud"]})
    held = dataclasses.replace(held, root=dataclasses.replace(held.root, state=state))
    held = held.did(0, core.Begin(held.members[0].call("transfer").id))
    assert held.members[0].request.asked.rule == "flag"


def test_r1_nothing_begins_in_a_delegate_of_a_session_that_a_person_has():
    held = family(*BANK, HANDS_OVER).opening().rooted(core.TakeOver("user:ann", "fraud"))
    assert held.members[0].state.paused_at


def test_r9_five_calls_in_every_answer_open_four_delegates():
    root = family(*BANK).root
    for _ in range(5):
        root = root.asked(*[replace(HARMLESS, id=f"call-{number}") for number in range(5)])
        for key in root.state.plans.ready:
            root = root.after(core.Begin(key))
        for call in [each for each in root.state.calls.values() if each.status is CallStatus.RUNNING]:
            if call.delegate:
                continue
            try:
                root = root.after(core.Delegated(call.id, f"child-{call.id}"))
            except FamilyFull as full:  # they began together, so the runtime is refused
                root = root.after(core.Fail(call.id, call.attempt, str(full), transient=False, code=full.code))
    assert len(root.events(ev.CallDelegated)) == 4
    ended = [*root.events(ev.CallRefused), *root.events(ev.ToolFailed)]
    assert {each.code for each in ended} == {"family_full"}
    assert len(ended) == 25 - 4


def test_r9_a_delegate_opens_none_where_its_family_has_its_number():
    held = family(*BANK)
    for _ in range(4):
        held = held.opening()
    member = held.member(0).offering("_delegate").asked(HARMLESS)
    member = member.after(core.Begin(member.state.plans.ready[-1]))
    assert [each.code for each in member.events(ev.CallRefused)] == ["family_full"]


def test_r9_delegates_ask_no_more_models_than_their_session_might():
    held = family(*BANK)
    for number in range(4):
        held = held.opening()
        for turn in range(25):
            asked = held.member(number).after(core.Ask(f"{number}-{turn}", "model", 0, 0, ("authorize",), "digest"))
            if asked.state.failure:
                break
            answer = core.Answer(f"{number}-{turn}", "model", "", (proposed("authorize", None, customer=str(turn)),))
            held = held.then(number, asked.after(answer))
    requests = sum(len(each.events(ev.ModelRequested)) for each in (held.root, *held.members))
    assert requests <= 25
