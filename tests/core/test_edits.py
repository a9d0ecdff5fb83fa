"""Whoever edits a call proposes another one: which edit counts as an approval, and what becomes of every other."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.policy.edits import Editable, named_by_all, not_editable
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.worlds import DOWN, World, decision, proposed

AMOUNT = "arguments.amount.minor"
OWN = pol.Rule("own", ("transfer",), "true", 2, "approve", "Money.", edits=DOWN)
STRANGER = pol.Rule(
    "stranger",
    ("transfer",),
    "has(arguments.new_payee) && arguments.new_payee",
    3,
    "approve",
    "To a stranger.",
    hold=60,
    reasons=("called_back",),
    retype=(AMOUNT,),
    edits=DOWN,
)
FREE = pol.Rule("free", ("authorize", "load_customer"), "true", 0, "allow", "Reads.")


def asked(minor: int = 90_000, *rules: pol.Rule, **more: Any) -> World:
    world = worlds.opened().with_rules(*(rules or (OWN, STRANGER, FREE)))
    return world.asked(proposed("transfer", to="own", amount={"minor": minor, "currency": "USD"}, **more))


def edited(world: World, by: str = "ann", minor: int | None = None, more: dict[str, Any] | None = None, **given: Any):
    """`by` edits the amount, or other arguments too."""
    arguments = {**world.request.arguments, **(more or {})}
    if minor is not None:
        arguments["amount"] = {"minor": minor, "currency": "USD"}
    return world.after(decision(world, "edit", by, arguments=arguments, **given))


def test_an_edit_to_a_stranger_is_asked_about_on_the_terms_of_its_own_verdict():
    world = asked()
    old = world.request.asked.request
    world = edited(world, "sue", more={"to": "stranger", "new_payee": True})
    assert world.state.requests[old].status is RequestStatus.SUPERSEDED
    new = world.request
    assert (new.asked.supersedes, new.asked.tier, new.terms.hold) == (old, 3, 60)
    assert (new.terms.reasons, new.terms.retype) == (("called_back",), (AMOUNT,))
    assert (new.asked.proposed_by, new.arguments["to"]) == (("sue",), "stranger")
    assert not world.events(ev.ToolIntended)
    typed = {"code": "called_back", "retyped": {AMOUNT: 90_000}}
    with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
        world.after(decision(world, "approve", "sue", **typed))
    with pytest.raises(core.DecisionNotAllowed, match="decide_tier3"):
        world.after(decision(world, "approve", "ann", **typed))
    world = world.after(decision(world, "approve", "zoe", **typed))
    assert world.request.held_until
    world = world.after(core.HoldOver(world.request.asked.request), core.Begin(world.call("transfer").id))
    assert world.events(ev.ToolIntended)[0].arguments["to"] == "stranger"


def test_a_lowered_amount_counts_as_the_editors_approval():
    world = edited(asked(), minor=80_000)
    world = world.after(core.Begin(world.call("transfer").id))
    assert world.events(ev.ToolIntended)[0].arguments["amount"]["minor"] == 80_000
    assert world.events(ev.RequestEnded)[0].outcome == "edited"


@pytest.mark.parametrize(
    ("minor", "more"),
    [(100_000, {}), (None, {"to": "other"}), (80_000, {"to": "other"}), (None, {"memo": "rent"})],
)
def test_what_the_rule_does_not_name_is_asked_about_anew(minor, more):
    world = edited(asked(), minor=minor, more=more)
    assert world.call("transfer").status is CallStatus.WAITING
    assert world.request.asked.proposed_by == ("ann",)
    with pytest.raises(core.DecisionNotAllowed, match="you proposed it"):
        world.after(decision(world, "approve", "ann"))
    assert world.after(decision(world, "approve", "bob")).call("transfer").status is CallStatus.READY


def test_the_agent_is_told_of_an_edit_that_another_person_approved():
    world = edited(asked(), more={"to": "other"})
    world = world.after(decision(world, "approve", "bob"))
    world = world.ran(world.call("transfer"), {"receipt": 1})
    assert '"edited"' in world.state.items[-1].text
    assert '"other"' in world.state.items[-1].text


ASKS_MORE = {
    "tier": {"tier": 3},
    "quorum": {"quorum": 2},
    "hold": {"hold": 5},
    "reviewers": {"reviewers": ("role:senior",)},
    "four_eyes": {"four_eyes": True},
    "reasons": {"reasons": ("asked",)},
    "retype": {"retype": (AMOUNT,)},
}


@pytest.mark.parametrize("field", ASKS_MORE)
def test_a_lowered_amount_does_not_count_where_its_rule_asks_for_more(field):
    small = replace(OWN, name="small", when="arguments.amount.minor < 85000", **ASKS_MORE[field])
    world = edited(asked(90_000, OWN, small, FREE), minor=80_000)
    assert world.call("transfer").status is CallStatus.WAITING
    assert world.request.asked.proposed_by == ("ann",)
    assert world.request.asked.tier == small.tier
    kept = edited(asked(90_000, OWN, small, FREE), minor=86_000)
    assert kept.call("transfer").status is CallStatus.READY


def test_a_rule_of_the_new_arguments_that_names_nothing_is_asked():
    small = replace(OWN, name="small", when="arguments.amount.minor < 85000", edits=())
    assert edited(asked(90_000, OWN, small, FREE), minor=80_000).call("transfer").status is CallStatus.WAITING


def test_a_person_is_asked_even_where_policy_would_let_the_agent_do_what_the_edit_proposes():
    mine = replace(OWN, when="arguments.to != 'other'")
    free = pol.Rule("other", ("transfer",), "arguments.to == 'other'", 1, "allow", "Fine.")
    later = replace(free, gate="hold", hold=30)
    for rule in (free, later):
        world = edited(asked(90_000, mine, rule, FREE), more={"to": "other"})
        assert world.call("transfer").status is CallStatus.WAITING
        assert (world.request.terms.gate, world.request.held_until) == ("approve", "")


def test_an_amount_lowered_to_what_needs_nobody_counts():
    free = pol.Rule("small", ("transfer",), "arguments.amount.minor < 50000", 1, "allow", "Small.")
    large = replace(OWN, when="arguments.amount.minor >= 50000")
    assert edited(asked(90_000, large, free, FREE), minor=40_000).call("transfer").status is CallStatus.READY


def test_under_four_eyes_no_edit_counts():
    world = edited(asked(90_000, replace(OWN, four_eyes=True), FREE), minor=80_000)
    assert world.request.asked.proposed_by == ("ann",)
    assert world.after(decision(world, "approve", "bob")).call("transfer").status is CallStatus.READY


def test_every_edit_voids_earlier_approvals():
    two = replace(OWN, quorum=2)
    world = asked(90_000, two, FREE)
    world = world.after(decision(world, "approve", "ann"))
    assert edited(world, "bob", minor=80_000).request.approvals == ("bob",)
    then = edited(world, "bob", more={"to": "other"})
    assert then.request.approvals == ()
    assert then.state.requests[world.request.asked.request].approvals == ()


def test_the_values_of_the_edit_are_what_is_typed():
    typed = replace(OWN, retype=(AMOUNT,))
    world = asked(90_000, typed, FREE)
    with pytest.raises(Invalid, match="type it yourself"):
        edited(world, minor=80_000)
    with pytest.raises(Invalid, match="not what would be done"):
        edited(world, minor=80_000, retyped={AMOUNT: 90_000})
    assert edited(world, minor=80_000, retyped={AMOUNT: 80_000}).call("transfer").status is CallStatus.READY


def test_a_value_that_the_call_does_not_have_is_typed_as_nothing():
    memo = "arguments.memo"
    world = asked(90_000, replace(OWN, retype=(memo,)), FREE)
    with pytest.raises(Invalid, match="type it yourself"):
        world.after(decision(world, "approve", "ann"))
    with pytest.raises(Invalid, match="not what would be done"):
        world.after(decision(world, "approve", "ann", retyped={memo: "rent"}))
    assert (
        world.after(decision(world, "approve", "ann", retyped={memo: None})).call("transfer").status is CallStatus.READY
    )


def test_an_edit_by_somebody_who_is_left_out_is_a_proposal():
    world = asked().after(core.TakeOver("ann"))
    world = edited(world, "ann", minor=80_000)
    assert world.request.asked.proposed_by == ("ann",)
    assert world.after(decision(world, "approve", "bob")).call("transfer").status is CallStatus.READY


def test_what_was_edited_and_rejected_is_refused_in_both_forms():
    world = edited(asked(), more={"to": "other"})
    world = world.after(decision(world, "reject", "bob"))
    amount = {"minor": 90_000, "currency": "USD"}
    for payee in ("own", "other"):
        again = world.asked(proposed("transfer", to=payee, amount=amount))
        assert again.events(ev.CallRefused)[-1].code == "refused_before"
    third = world.asked(proposed("transfer", to="third", amount=amount))
    with pytest.raises(core.DecisionNotAllowed, match="refused"):
        edited(third, more={"to": "other"})


def test_what_was_edited_and_expired_is_not_asked_about_again_in_both_forms():
    world = edited(asked(), more={"to": "other"})
    world = world.after(core.Expire(world.request.asked.request))
    for payee in ("own", "other"):
        again = world.asked(proposed("transfer", to=payee, amount={"minor": 90_000, "currency": "USD"}))
        assert again.events(ev.CallRefused)[-1].code == "expired_before"


BOTH = {"a": 1, "b": {"c": 2, "d": [1, 2]}, "e": "x"}


@pytest.mark.parametrize(
    ("named", "new", "outside"),
    [
        ((), BOTH, ()),
        ((), {**BOTH, "a": 2}, ("arguments.a",)),
        ((Editable("arguments.a"),), {**BOTH, "a": "much"}, ()),
        ((Editable("arguments.a", "down"),), {**BOTH, "a": 0}, ()),
        ((Editable("arguments.a", "down"),), {**BOTH, "a": 2}, ("arguments.a",)),
        ((Editable("arguments.a", "up"),), {**BOTH, "a": 2}, ()),
        ((Editable("arguments.a", "up"),), {**BOTH, "a": 0}, ("arguments.a",)),
        ((Editable("arguments.a", "down"),), {**BOTH, "a": False}, ("arguments.a",)),
        ((Editable("arguments.a", "down"),), {**BOTH, "a": "0"}, ("arguments.a",)),
        ((Editable("arguments.b"),), {**BOTH, "b": {"c": 9}}, ()),
        ((Editable("arguments.b", "down"),), {**BOTH, "b": {**BOTH["b"], "c": 1}}, ("arguments.b.c",)),
        ((Editable("arguments.b.c"),), {**BOTH, "b": {**BOTH["b"], "cc": 1}}, ("arguments.b.cc",)),
        ((Editable("arguments.b.d"),), {**BOTH, "b": {**BOTH["b"], "d": [1]}}, ()),
        ((), {"a": 1, "b": BOTH["b"]}, ("arguments.e",)),
        ((Editable("arguments.b.c"),), {**BOTH, "b.c": 1}, ("arguments.'b.c'",)),
        ((), {**BOTH, "a": True}, ("arguments.a",)),
        ((), {**BOTH, "b": "x"}, ("arguments.b",)),
        ((), {**BOTH, "e": {"f": 1}}, ("arguments.e",)),
        ((), {**BOTH, "f": None}, ("arguments.f",)),
        ((Editable("arguments.a", "down"),), {**BOTH, "a": Decimal(1)}, ("arguments.a",)),
        ((Editable("arguments.a", "up"),), {**BOTH, "a": Decimal(1)}, ("arguments.a",)),
    ],
)
def test_what_an_edit_changes_is_compared_leaf_by_leaf(named, new, outside):
    assert not_editable(named, BOTH, new) == outside


def test_a_null_that_is_taken_away_is_a_change():
    assert not_editable((), {"a": None}, {}) == ("arguments.a",)


def test_of_several_rules_all_must_name_it_in_their_direction():
    down, up, free = Editable("arguments.a", "down"), Editable("arguments.a", "up"), Editable("arguments.a")
    assert named_by_all([]) == ()
    assert named_by_all([(down,), (free,)]) == (down,)
    assert named_by_all([(free,), (up,)]) == (up,)
    assert named_by_all([(down,), (up,)]) == ()
    assert named_by_all([(free,), ()]) == ()
