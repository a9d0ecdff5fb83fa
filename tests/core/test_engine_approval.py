"""What a person decides is what happens: permits, edits, quorum, tiers, and what voids an approval."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.errors import Invalid, Refused
from tests.core import worlds
from tests.core.laws import judge
from tests.core.worlds import AUTHORIZE, MAY, World, decision, edit, proposed, transfer, waiting


def begun(world: World) -> World:
    """The transfer is about to run; its history is lawful."""
    world = world.after(core.Begin(world.call("transfer").id))
    judge(world.history, MAY)
    return world


def is_asked_again(world: World) -> str:
    """Why the transfer, when it is to run, becomes a new request that supersedes the old one."""
    before = world.call("transfer")
    world = begun(world)
    assert world.call("transfer").status is CallStatus.WAITING
    assert world.request.asked.supersedes == before.request
    assert world.request.asked.request != before.request
    return world.request.asked.why


def test_a_request_shows_the_exact_call_its_evidence_and_its_rule():
    asked = waiting().request.asked
    assert asked.arguments == {"amount": {"minor": 100_000, "currency": "USD"}}
    assert (asked.rule, asked.policy, asked.tier, asked.quorum) == ("transfer.large", "bank@1", 2, 1)
    assert asked.preview == "Move 100000 cents"
    assert ev.Evidence("state.authorization", {"allowed": True}) in asked.basis
    assert asked.allowed == ("approve", "edit", "reject", "respond", "ignore")


def test_an_approved_call_is_intended_with_the_digest_that_was_approved():
    world = waiting()
    shown = world.request.asked.digest
    world = begun(world.after(decision(world, "approve", "ann")))
    (made,), intent = world.events(ev.DecisionMade), world.events(ev.ToolIntended)[-1]
    assert made.seen == made.digest == intent.digest == shown


def test_edited_arguments_are_what_is_intended_and_the_model_is_told():
    world = waiting()
    world = begun(world.after(edit(world, "ann", 90_000)))
    call = world.call("transfer")
    assert world.events(ev.ToolIntended)[-1].arguments["amount"]["minor"] == 90_000
    world = world.after(core.Return(call.id, 1, {"receipt": "r"}))
    told = msgspec.json.decode(world.state.items[-1].text)
    assert (told["status"], told["arguments"]["amount"]["minor"]) == ("edited", 90_000)


def test_the_model_is_told_of_an_edit_that_was_superseded_and_approved_again():
    world = waiting()
    world = world.after(edit(world, "ann", 90_000))
    world = begun(replace(world, tools={**world.tools, "transfer": worlds.facts("transfer", "once", version=2)}))
    world = begun(world.after(decision(world, "approve", "bob")))
    world = world.after(core.Return(world.call("transfer").id, 1, {}))
    assert msgspec.json.decode(world.state.items[-1].text)["status"] == "edited"


def test_an_edit_to_no_arguments_at_all_is_an_edit():
    world = worlds.opened().asked(proposed("post_letter", text="Dear customer"))
    world = world.after(decision(world, "edit", "ann", arguments={}))
    world = world.after(decision(world, "approve", "bob"))
    world = world.after(core.Begin(world.call("post_letter").id))
    assert world.events(ev.ToolIntended)[-1].arguments == {}


@pytest.mark.parametrize(("kind", "status"), [("reject", CallStatus.REJECTED), ("respond", CallStatus.RESPONDED)])
def test_what_was_not_let_through_is_never_intended(kind, status):
    world = waiting()
    world = world.after(decision(world, kind, "ann"))
    assert world.call("transfer").status is status
    with pytest.raises(core.Outdated):
        begun(world)
    with pytest.raises(core.AlreadyDecided):
        world.after(core.Decide(world.call("transfer").request, "approve", "sue", MAY["sue"]))


def test_an_expired_request_is_not_decided_and_its_call_never_intended():
    world = waiting()
    request = world.request.asked.request
    world = world.after(core.Expire(request))
    assert world.state.requests[request].status is RequestStatus.EXPIRED
    for command in (core.Decide(request, "approve", "ann", MAY["ann"]), core.Expire(request)):
        with pytest.raises(core.AlreadyDecided):
            world.after(command)
    with pytest.raises(core.Outdated):
        begun(world)


def test_the_same_rejected_call_proposed_again_is_refused_without_a_new_request():
    world = waiting()
    world = world.after(decision(world, "reject", "ann")).asked(transfer(100_000))
    assert world.call("transfer").status is CallStatus.REFUSED
    assert world.events(ev.CallRefused)[-1].code == "refused_before"
    assert len(world.events(ev.ApprovalRequested)) == 1


def test_a_call_that_policy_allowed_does_not_begin_after_a_person_rejected_the_same():
    world = waiting()
    free = pol.Rule("free", ("transfer",), "true", 0, "allow", "Policy asks for no person by now.")
    world = world.with_rules(free).asked(transfer(100_000))
    assert world.call("transfer").status is CallStatus.READY
    world = world.after(decision(world, "reject", "ann"), core.Begin(world.call("transfer").id))
    assert world.events(ev.CallRefused)[-1].code == "refused_before"
    assert not [each for each in world.events(ev.ToolIntended) if each.tool == "transfer"]


def test_a_call_that_a_person_approved_begins_though_the_same_was_rejected():
    world = waiting()
    world = world.after(decision(world, "approve", "ann"))
    key = ev.digest("transfer", world.call("transfer").arguments)
    world = replace(world, state=msgspec.structs.replace(world.state, refused=(*world.state.refused, key)))
    assert world.after(core.Begin(world.call("transfer").id)).events(ev.ToolIntended)[-1].tool == "transfer"


def test_after_a_refusal_another_transfer_goes_to_a_senior():
    world = waiting()
    world = world.after(decision(world, "reject", "ann")).asked(transfer(40_000))
    assert (world.request.asked.tier, world.request.asked.rule) == (3, "transfer.after_refusal")


def test_tier_three_is_for_those_with_the_permission():
    world = waiting(300_000)
    for kind in ("approve", "reject", "respond"):
        with pytest.raises(core.DecisionNotAllowed, match="decide_tier3"):
            world.after(decision(world, kind, "ann"))
    begun(world.after(decision(world, "approve", "sue")))


def test_an_edit_that_raises_the_amount_to_tier_three_is_decided_by_another_with_the_permission():
    world = waiting()
    world = world.after(edit(world, "ann", 300_000))
    assert world.request.asked.tier == 3
    with pytest.raises(core.DecisionNotAllowed, match="decide_tier3"):
        world.after(decision(world, "approve", "bob"))
    world = begun(world.after(decision(world, "approve", "sue")))
    assert world.call("transfer").status is CallStatus.RUNNING


def test_an_edit_that_lowers_the_tier_does_not_lower_who_may_decide():
    world = waiting(300_000)
    with pytest.raises(core.DecisionNotAllowed, match="decide_tier3"):
        world.after(edit(world, "ann", 60_000))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"reason": " "}, "reason"),
        ({"arguments": None}, "arguments"),
        ({"arguments": {"amount": {"minor": 100_000, "currency": "USD"}}}, "arguments"),
        ({"arguments": {"amount": {"minor": -1}}}, "arguments.amount"),
    ],
)
def test_an_edit_is_whole_different_valid_and_has_a_reason(changes, field):
    world = waiting()
    with pytest.raises(Invalid) as refusal:
        world.after(msgspec.structs.replace(edit(world, "ann", 90_000), **changes))
    assert refusal.value.facts["field"] == field


def test_an_approval_carries_no_arguments_and_a_rejection_says_why():
    world = waiting()
    with pytest.raises(Invalid, match="only an edit"):
        world.after(decision(world, "approve", "ann", arguments={"amount": {"minor": 1}}))
    with pytest.raises(Invalid, match="why"):
        world.after(decision(world, "reject", "ann", reason=""))


# A quorum


def two_needed(minor: int = 100_000) -> World:
    """A transfer that waits for two people."""
    return worlds.authorized().with_rules(*worlds.gated_by(2)).asked(transfer(minor))


def test_a_quorum_is_of_different_people():
    world = two_needed()
    world = world.after(decision(world, "approve", "ann"))
    assert world.call("transfer").status is CallStatus.WAITING
    with pytest.raises(core.DecisionNotAllowed, match="another person"):
        world.after(decision(world, "approve", "ann"))
    begun(world.after(decision(world, "approve", "bob")))


def test_one_of_a_quorum_may_still_reject():
    world = two_needed()
    world = world.after(decision(world, "approve", "ann"))
    world = world.after(decision(world, "reject", "bob"))
    assert world.call("transfer").status is CallStatus.REJECTED


def test_an_edit_starts_the_count_of_approvals_anew():
    world = two_needed()
    world = world.after(decision(world, "approve", "ann"))
    world = world.after(edit(world, "bob", 90_000))
    assert world.request.approvals == ("bob",)
    world = begun(world.after(decision(world, "approve", "ann")))
    assert world.events(ev.ToolIntended)[-1].arguments["amount"]["minor"] == 90_000
    assert world.state.requests[world.call("transfer").request].status is RequestStatus.EDITED


def test_who_has_not_seen_the_edit_cannot_approve_it():
    world = two_needed()
    stale = decision(world, "approve", "ann")
    world = world.after(edit(world, "bob", 90_000))
    for seen in (stale.seen, ""):
        with pytest.raises(core.Outdated):
            world.after(msgspec.structs.replace(stale, seen=seen))


def test_an_edit_that_needs_more_people_waits_for_them():
    rule = pol_rule("small", "arguments.amount.minor < 500", quorum=2, edits=worlds.DOWN)
    world = worlds.opened().with_rules(pol_rule("any", "true", edits=worlds.DOWN), rule).asked(transfer(1000))
    world = world.after(edit(world, "ann", 400))
    assert world.request.asked.quorum == 2
    assert world.request.approvals == ()
    with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
        world.after(decision(world, "approve", "ann"))
    world = world.after(decision(world, "approve", "bob"))
    assert world.call("transfer").status is CallStatus.WAITING
    world = begun(world.after(decision(world, "approve", "sue")))
    assert world.call("transfer").status is CallStatus.RUNNING


def pol_rule(name: str, when: str, **changes: object) -> worlds.pol.Rule:
    """A rule that sends every tool to a person."""
    return worlds.pol.Rule(name, ("*",), when, 2, "approve", "Because.", **changes)  # type: ignore[arg-type]


# What voids an approval, and what does not


def approved(minor: int = 100_000) -> World:
    """A transfer that was approved and has not begun, beside an authorization that may still run."""
    world = worlds.authorized().asked(AUTHORIZE, transfer(minor))
    return world.after(decision(world, "approve", "sue"))


def test_a_changed_basis_becomes_a_new_request():
    world = approved()
    world = world.ran(world.call("authorize"), {"allowed": True, "reason": "again"})
    assert "rested on has changed" in is_asked_again(world)


def test_a_policy_that_has_become_stricter_becomes_a_new_request():
    world = replace(approved(), policy=worlds.pol.Policy("new", 1, (pol_rule("two", "true", quorum=2),)))
    assert "stricter" in is_asked_again(world)
    senior = msgspec.structs.replace(pol_rule("three", "true"), tier=3)
    assert "stricter" in is_asked_again(approved().with_rules(senior))


def test_fewer_people_at_a_higher_tier_are_not_taken_for_more_people_at_a_lower():
    world = approved(300_000)  # tier 3, one person
    assert "stricter" in is_asked_again(world.with_rules(pol_rule("two", "true", quorum=2)))


def test_a_new_version_of_the_tool_voids_what_was_approved_for_the_old():
    newer = {**worlds.TOOLS, "transfer": worlds.facts("transfer", "idempotent", version=2)}
    assert "has changed" in is_asked_again(replace(approved(), tools=newer))
    world = replace(waiting(), tools=newer)  # the tool is replaced while the request waits
    assert "has changed" in is_asked_again(world.after(decision(world, "approve", "ann")))
    assert "has changed" in is_asked_again(world.after(edit(world, "ann", 90_000)))


def test_a_call_that_needed_nobody_waits_when_policy_has_changed_before_it_ran():
    world = worlds.authorized().asked(transfer(40_000)).with_rules(pol_rule("all", "true"))
    assert "Policy asks for a person now." in is_asked_again(world)


@pytest.mark.parametrize("change", ["words", "another result", "a looser policy", "an unrelated rule"])
def test_an_unrelated_change_voids_nothing(change):
    world = approved()
    match change:
        case "words":
            world = world.after(core.Say("customer", "Are you there?", "customer"))
        case "another result":
            world = world.asked(proposed("load_customer", "state.weather"))
            world = world.ran(world.call("load_customer"), {"rain": True})
        case "a looser policy":
            world = world.with_rules(worlds.pol.Rule("free", ("*",), "true", 0, "allow", "Free."))
        case "an unrelated rule":
            world = replace(world, policy=worlds.pol.Policy("b", 2, (*worlds.BANK.rules, pol_rule("x", "false"))))
    assert begun(world).call("transfer").status is CallStatus.RUNNING


# The end


def test_the_end_withdraws_what_waits_and_what_is_ready_and_nothing_begins():
    world = waiting().after(core.End("hung up", "customer"))
    assert world.call("transfer").status is CallStatus.WITHDRAWN
    ready = approved().after(core.End("hung up", "customer"))
    assert ready.call("transfer").status is CallStatus.WITHDRAWN
    for after in (world, ready):
        with pytest.raises(Refused):
            begun(after)


def test_the_result_of_a_call_that_ran_at_the_end_is_still_recorded():
    world = begun(approved()).after(core.End("hung up", "customer"))
    call = world.call("transfer")
    world = world.after(core.Return(call.id, call.attempt, {"receipt": "r"}))
    assert world.call("transfer").status is CallStatus.DONE
    assert world.state.pad["transfer"] == {"receipt": "r"}
    assert world.state.ended
    assert not world.state.owes


def test_a_preview_that_breaks_does_not_keep_the_call_from_the_person():
    def broken(arguments: dict, state: dict) -> str:
        raise KeyError("customer")

    tools = {"transfer": worlds.facts("transfer", "idempotent", preview=broken)}
    world = replace(worlds.opened(), tools=tools).asked(transfer(100_000))
    assert "read the arguments" in world.request.asked.preview
