"""Decisions of people on a request: each refusal with its sentence and field, and what the log records of each."""

from __future__ import annotations

from dataclasses import replace as with_fields
from typing import Any

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide.approvals import EDITED, MAX_CHANGES
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.plans import ProposePlan
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.policy.rules import Step
from agentstate.engine.state.session import pending
from agentstate.errors import Refused
from tests.core import worlds
from tests.core.test_plans_in_sessions import key, step
from tests.core.worlds import DOWN, MAY, World, decision, edit, proposed, transfer

AMOUNT = "arguments.amount.minor"
RULE = pol.Rule("any", ("*",), "true", 2, "approve", "Because.", edits=DOWN)
SENIOR = Step(60, ("role:senior",))
CODED = {"reasons": ("asked", "urgent")}
NOBODY: dict[str, Any] = {"by": "vic", "may": frozenset()}


def asked(minor: int = 90_000, *others: pol.Rule, **terms: Any) -> World:
    """A transfer that waits for a person under a rule with these terms."""
    return worlds.opened().with_rules(replace(RULE, **terms), *others).asked(transfer(minor))


def small(**terms: Any) -> pol.Rule:
    """A rule beside it for amounts below $500.00."""
    return replace(RULE, name="small", when="arguments.amount.minor < 50000", **terms)


def refusal(world: World, command: object) -> tuple[str, dict[str, Any]]:
    with pytest.raises(Refused) as refused:
        world.after(command)
    return refused.value.detail, {name: value for name, value in refused.value.facts.items() if value}


def last(world: World) -> ev.DecisionMade:
    (*_, made) = world.events(ev.DecisionMade)
    return made


# --- refusals -------------------------------------------------------------------------------------------------------

REFUSALS: list[tuple[dict[str, Any], str, dict[str, Any], str, str]] = [
    ({}, "escalate", {"reason": "r"}, "escalate is not offered here", "decision"),
    ({}, "reject", {"reason": " "}, "say why", "reason"),
    ({"chain": (SENIOR,)}, "escalate", {}, "say why", "reason"),
    ({}, "approve", {"arguments": {}}, "only an edit carries arguments", "arguments"),
    ({}, "respond", {"response": " "}, "what is the answer?", "response"),
    ({}, "edit", {"arguments": None}, "an edit needs the whole arguments", "arguments"),
    (CODED, "approve", {}, "choose one of asked, urgent", "code"),
    (CODED, "reject", {}, "choose one of asked, urgent", "code"),
    (CODED, "approve", {"code": "x" * 60}, f"got {'x' * 50!r}, want one of asked, urgent", "code"),
    ({}, "approve", {"code": "asked"}, "got 'asked', want one of none", "code"),
    ({"retype": (AMOUNT,)}, "approve", {}, "type it yourself", f"retyped.{AMOUNT}"),
    (
        {"retype": (AMOUNT,)},
        "approve",
        {"retyped": {AMOUNT: 1}},
        "it is not what would be done",
        f"retyped.{AMOUNT}",
    ),
]


@pytest.mark.parametrize(("terms", "kind", "more", "text", "field"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_decision_that_lacks_something_is_refused_in_these_words(terms, kind, more, text, field):
    world = asked(**terms)
    assert refusal(world, decision(world, kind, "ann", **more)) == (text, {"field": field})


def test_what_needs_no_reason_code_is_decided_without_one():
    world = asked(**CODED)
    for kind in ("respond", "ignore"):
        assert not pending(world.after(decision(world, kind, "ann")).state)
    assert not pending(world.after(decision(world, "reject", "ann", reason="", code="asked")).state)


def test_an_edit_that_changes_nothing_or_was_settled_before_is_refused():
    world = asked()
    same = "nothing was changed: approve it instead"
    assert refusal(world, edit(world, "ann", 90_000)) == (same, {"field": "arguments"})
    settled = "exactly this call was refused, answered or left to expire before"
    for end in ("reject", "respond"):
        ended = world.after(decision(world, end, "ann")).asked(transfer(95_000))
        assert refusal(ended, edit(ended, "bob", 90_000)) == (settled, {"field": "arguments"})
        assert ended.after(edit(ended, "bob", 80_000)).call("transfer").status is CallStatus.READY


def test_who_may_not_decide_is_told_what_is_missing():
    world = asked(reviewers=("role:senior", "user:zoe"))
    groups = "role:senior or user:zoe"
    assert refusal(world, decision(world, "reject", "ann")) == (f"it is for {groups}", {"reviewers": groups})
    both = asked(90_000, replace(RULE, reviewers=("role:fraud",)), reviewers=("role:senior", "user:zoe"))
    (text, _) = refusal(both, decision(both, "reject", "ann"))
    assert text in (f"it is for {groups}, and role:fraud", f"it is for role:fraud, and {groups}")
    command = replace(decision(world, "reject", "ann"), **NOBODY)
    assert refusal(world, command) == ("tier 2 needs the permission decide", {"permission": "decide"})


def test_who_approved_already_or_shares_a_right_with_an_approver_is_told_so():
    world = asked(quorum=2)
    world = world.after(decision(world, "approve", "ann"))
    again = "you have approved it already; another person must"
    assert refusal(world, decision(world, "approve", "ann")) == (again, {})
    shares = "a colleague with whom you share a right has approved it already; another person must"
    assert refusal(world, decision(world, "approve", "bob", sharing=frozenset({"ann"}))) == (shares, {})


def test_a_request_that_has_ended_says_how_by_whom_and_when():
    world = asked()
    late = decision(world, "approve", "bob")
    at = stamp(world.given.at)
    ended = world.after(decision(world, "reject", "ann"))
    facts = {"outcome": "rejected", "by": "ann", "at": at}
    assert refusal(ended, late) == (f"rejected at {at}", facts)


def test_what_is_not_as_it_was_seen_is_not_decided():
    world = asked(quorum=2)
    old, view = decision(world, "approve", "zoe"), ev.View("v", {"digest": world.request.asked.digest})
    seen = world.after(replace(old, shown=view))
    assert last(seen).shown == view
    other = ev.View("v", {"digest": "other"})
    text = "what was shown is not what is decided: look at it again"
    assert refusal(world, replace(old, shown=other)) == (text, {})
    edited = world.after(edit(world, "ann", 80_000))
    assert refusal(edited, old) == ("the request has been edited since: look at it again", {})


def test_what_is_approved_and_delayed_is_not_approved_again():
    world = asked(hold=60)
    world = world.after(decision(world, "approve", "ann"))
    assert refusal(world, decision(world, "approve", "bob")) == ("it is approved and held: undo that first", {})
    by_policy = asked(gate="hold", hold=60)
    assert by_policy.after(decision(by_policy, "approve", "bob")).call("transfer").status is CallStatus.READY


def test_a_tool_that_is_gone_is_named():
    world = with_fields(asked(), tools={})
    text = "the tool 'transfer' is not registered any more"
    assert refusal(world, decision(world, "approve", "ann")) == (text, {})


# --- what is recorded -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["reject", "respond", "ignore"])
def test_a_decision_that_lets_nothing_through_is_recorded_as_it_was_made(kind):
    world = asked()
    world = world.after(decision(world, kind, "ann", **({"response": " By post. "} if kind == "respond" else {})))
    asks = world.events(ev.ApprovalRequested)[0]
    reason, response = ("because" if kind == "reject" else ""), ("By post." if kind == "respond" else "")
    expected = ev.DecisionMade(asks.request, kind, "ann", reason, asks.digest, response=response, tier=2)
    assert last(world) == expected
    because = "a person let it be" if kind == "ignore" else ""
    outcome = {"reject": "rejected", "respond": "responded", "ignore": "ignored"}[kind]
    assert world.events(ev.RequestEnded) == [ev.RequestEnded(asks.request, outcome, because)]


def test_an_approval_is_recorded_with_its_code_and_what_was_typed_on_whose_authority():
    world = asked(retype=(AMOUNT,), **CODED)
    lent = (Authority(MAY["ann"], frozenset(), "ann"),)
    command = decision(world, "approve", "bob", code="asked", retyped={AMOUNT: 90_000, "more": 1}, reason=" ok ")
    world = world.after(replace(command, may=frozenset(), lent=lent))
    asks = world.events(ev.ApprovalRequested)[0]
    assert last(world) == ev.DecisionMade(
        asks.request, "approve", "bob", "ok", asks.digest, asks.digest, tier=2, under="ann", code="asked",
        retyped=(AMOUNT,),
    )  # fmt: skip
    assert world.events(ev.RequestEnded) == [ev.RequestEnded(asks.request, "approved")]


def test_an_edit_is_recorded_with_each_value_that_it_changed():
    letter = {"a": 1, "b": {"c": 2, "d": [1]}, "gone": 1, "price": {"minor": 1, "currency": "USD"}, "same": 1}
    then = {"a": 1, "b": {"c": 3, "d": [2]}, "price": {"minor": 2, "currency": "USD"}, "same": 1, "new": {"x": 1}}
    world = worlds.opened().with_rules(RULE).asked(proposed("post_letter", **letter))
    world = world.after(decision(world, "edit", "ann", arguments=then))
    made, asks = last(world), world.events(ev.ApprovalRequested)[0]
    assert made.changed == (
        ev.Changed("arguments.b.c", 2, 3),
        ev.Changed("arguments.b.d", [1], [2]),
        ev.Changed("arguments.gone", 1, None),
        ev.Changed("arguments.price", letter["price"], then["price"]),
        ev.Changed("arguments.new", None, {"x": 1}),
    )
    assert (made.seen, made.digest, made.arguments, made.tier) == (asks.digest, "", then, 2)
    ended, following = world.events(ev.RequestEnded)[0], world.request.asked
    assert ended == ev.RequestEnded(asks.request, "superseded", EDITED)
    assert (following.why, following.supersedes) == (f"{EDITED} Because.", asks.request)


def test_an_entry_lists_so_many_changes_of_an_edit_and_no_more():
    world = worlds.opened().with_rules(RULE).asked(proposed("post_letter"))
    many = {f"n{number}": number for number in range(MAX_CHANGES + 1)}
    assert len(last(world.after(decision(world, "edit", "ann", arguments=many))).changed) == MAX_CHANGES


def test_what_is_typed_in_an_edit_that_another_person_approves_is_not_recorded_as_typed():
    world = asked(retype=(AMOUNT,))
    assert last(world.after(replace(edit(world, "ann", 95_000), retyped={AMOUNT: 95_000}))).retyped == ()
    own = world.after(replace(edit(world, "ann", 80_000), retyped={AMOUNT: 80_000}))
    assert (last(own).retyped, last(own).seen) == ((AMOUNT,), world.request.asked.digest)
    assert own.events(ev.RequestEnded)[0].outcome == "edited"


# --- escalation and expiry ------------------------------------------------------------------------------------------


def test_a_person_escalates_to_the_next_of_the_chain_and_from_the_last_to_nobody():
    world = asked(chain=(SENIOR,))
    request = world.request.asked.request
    world = world.after(decision(world, "escalate", "ann", reason=" Too large. "))
    groups = (("role:senior",),)
    assert world.events(ev.RequestEscalated) == [ev.RequestEscalated(request, 1, groups, "ann", "Too large.")]
    again = decision(world, "escalate", "sue", reason="r", names=frozenset({"role:senior"}))
    assert refusal(world, again) == ("there is nobody to pass it on to", {"field": "decision"})


def test_a_request_is_escalated_in_time_one_step_at_a_time_and_to_the_end_of_its_chain():
    world = asked(chain=(SENIOR, Step(90, ("role:fraud",))))
    request = world.request.asked.request
    for step_of, at in ((2, 0), (0, 0)):
        assert refusal(world, core.Escalate(request, step_of)) == (f"the request is at step {at}", {})
    world = world.after(core.Escalate(request, 1))
    assert world.events(ev.RequestEscalated) == [ev.RequestEscalated(request, 1, (("role:senior",),))]
    world = world.after(core.Escalate(request, 2))
    assert refusal(world, core.Escalate(request, 3)) == ("the request is at step 2", {})
    delayed = asked(gate="hold", hold=60, chain=(SENIOR,))
    request = delayed.request.asked.request
    assert refusal(delayed, core.Escalate(request, 1)) == ("the request is at step 0", {})


def test_a_request_expires_by_its_name_and_not_while_it_is_delayed():
    world = asked()
    request, end = world.request.asked.request, world.request.expires_at
    world = world.after(core.Expire(request))
    assert world.events(ev.RequestEnded) == [ev.RequestEnded(request, "expired", f"nobody decided before {end}")]
    delayed = asked(gate="hold", hold=60)
    assert refusal(delayed, core.Expire(delayed.request.asked.request)) == ("it is held", {})


# --- which edit approves itself -------------------------------------------------------------------------------------

OWN: list[tuple[dict[str, Any], dict[str, Any], str, bool]] = [
    ({"hold": 60}, {"hold": 60}, "", True),
    ({"gate": "hold", "hold": 60}, {"hold": 1}, "", False),  # the delay of policy is none that an approver waits for
    ({"gate": "hold", "hold": 60}, {}, "", True),
    ({"gate": "hold", "hold": 60}, {"gate": "hold", "hold": 60}, "", True),
    (CODED, CODED, "asked", True),
    (CODED, {"reasons": ("asked",)}, "asked", True),
    (CODED, {"reasons": ("asked",)}, "urgent", False),
]


@pytest.mark.parametrize(("terms", "of_small", "code", "own"), OWN, ids=range(len(OWN)))
def test_a_lowered_amount_approves_itself_where_its_rule_asks_no_more(terms, of_small, code, own):
    large = replace(RULE, when="arguments.amount.minor >= 50000", **terms)
    world = worlds.opened().with_rules(large, small(**of_small)).asked(transfer(90_000))
    world = world.after(replace(edit(world, "ann", 40_000), code=code))
    assert bool(last(world).digest) is own


def test_under_four_eyes_of_the_request_no_edit_approves_itself_whatever_the_rule_of_the_new_amount():
    large = replace(RULE, when="arguments.amount.minor >= 50000", four_eyes=True)
    world = worlds.opened().with_rules(large, small()).asked(transfer(90_000))
    assert not last(world.after(edit(world, "ann", 40_000))).digest


def test_an_edit_that_approves_itself_starts_the_delay_and_the_count_anew():
    world = asked(hold=60)
    until = stamp(world.given.at + worlds.timedelta(seconds=60))
    edited = world.after(edit(world, "ann", 80_000))
    assert (edited.request.held_until, edited.request.approvals) == (until, ("ann",))
    two = asked(quorum=2)
    lent = (Authority(MAY["ann"], frozenset(), "ann"),)
    two = two.after(replace(decision(two, "approve", "bob"), may=frozenset(), lent=lent))
    assert two.after(edit(two, "ann", 80_000)).request.approvals == ("ann",)  # bob's approval rested on ann's right


def test_the_verdict_on_an_approval_is_of_the_arguments_as_they_were_edited():
    two = replace(RULE, quorum=2)
    world = worlds.opened().with_rules(two).asked(transfer(90_000))
    world = world.after(edit(world, "ann", 80_000))
    world = world.with_rules(two, replace(two, name="large", when="arguments.amount.minor > 85000", tier=3))
    assert last(world.after(decision(world, "approve", "bob"))).tier == 2


def test_an_edited_call_stays_bound_to_its_activity():
    facts = replace(worlds.TOOLS["transfer"], activities=frozenset({"slow"}))
    move = step("transfer", "state.receipt", _activity="slow", amount={"minor": 90_000, "currency": "USD"})
    free = replace(RULE, name="free", tools=("plan",), gate="allow", tier=1, edits=())
    world = worlds.opened().with_rules(free, replace(RULE, tools=("transfer",)))
    world = with_fields(world, tools={"transfer": facts}).after(ProposePlan((move,), "user:pat", False))
    world = world.after(core.Begin(key(world, "transfer")))
    world = world.after(edit(world, "ann", 80_000))
    assert world.after(core.Begin(key(world, "transfer"))).call("transfer").status is CallStatus.RUNNING


HOLD = worlds.pol.Rule("held", ("transfer",), "true", 2, "approve", "Looked at and held.", hold=60)


def test_what_is_undone_after_its_deadline_waits_as_long_as_it_did_at_first():
    world = worlds.opened().with_rules(HOLD).asked(transfer(100_000))
    patience = parse(world.request.expires_at) - parse(world.request.at)
    late = with_fields(world, seconds=world.seconds + int(patience.total_seconds()) - 10)
    late = late.after(worlds.decision(late, "approve", "ann"))
    late = with_fields(late, seconds=late.seconds + 30)
    assert stamp(late.given.at) > late.request.expires_at
    undone = late.after(core.Undo(late.request.asked.request, "ann", MAY["ann"], "wrong account"))
    assert undone.request.held_until == ""
    assert parse(undone.request.expires_at) == late.given.at + patience
    assert undone.after(worlds.decision(undone, "approve", "bob")).request.held_until
    ended = undone.after(core.Expire(undone.request.asked.request)).events(ev.RequestEnded)[-1]
    assert ended.because == f"nobody decided before {undone.request.expires_at}"
