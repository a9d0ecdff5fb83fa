"""Whether policy requires more than was met: one comparison, over every field, for permits, edits, plans and standing
approvals.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import fields, replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.plans import ProposePlan
from agentstate.engine.policy.requirements import Requirements, asks_more
from agentstate.engine.policy.rules import Step
from agentstate.engine.policy.terms import Escalation, Terms, is_known_at
from agentstate.engine.policy.verdict import Verdict
from tests.core import worlds
from tests.core.test_plans_in_sessions import step
from tests.core.worlds import MAY, World, decision, transfer

AMOUNT = "arguments.amount.minor"
MET = Requirements(reviewers=(("role:supervisor",),), reasons=("asked",), tier=2, quorum=1, hold=10)
# For each field of what is required: values that ask for more than MET, and values that do not. A new field needs a
# row, and a way to ask for more or a reason in OFFERS_ONLY.
MORE: dict[str, tuple[list[Any], list[Any]]] = {
    "gate": (["approve"], ["allow", "hold"]),
    "tier": ([3], [0, 1, 2]),
    "quorum": ([2, 20], [0, 1]),
    "hold": ([11], [0, 10]),
    "reviewers": ([(("role:senior",),), (("role:supervisor",), ("user:zoe",))], [(), (("role:supervisor",),)]),
    "four_eyes": ([True], [False]),
    "reasons": ([("urgent",)], [(), ("asked",), ("urgent", "asked")]),
    "retype": ([(AMOUNT,)], [()]),
    "chain": ([(Escalation(60, (("role:senior",),)),)], [(), (Escalation(60, (("role:supervisor",),)),)]),
    "sticky": ([], [None, pol.Sticky("session", 60, 1)]),
    "edits": ([], [(), (pol.Editable(AMOUNT),)]),
    "proposer_may_approve": ([False], [True]),
}
BEFORE: dict[str, dict[str, Any]] = {"gate": {"gate": "hold"}, "proposer_may_approve": {"proposer_may_approve": True}}
OFFERS_ONLY = {"sticky", "edits"}


def test_every_field_of_what_is_required_is_compared():
    names = {field.name for field in fields(Requirements)}
    assert names == set(MORE) == names | {field.name for field in fields(Terms)}
    for name, (more, no_more) in MORE.items():
        met = replace(MET, **BEFORE.get(name, {}))
        assert bool(more) == (name not in OFFERS_ONLY)
        for value in more:
            assert asks_more(replace(met, **{name: value}), met) == (name,)
        for value in no_more:
            assert asks_more(replace(met, **{name: value}), met) == ()


def test_a_verdict_requires_all_that_it_says_of_people():
    beside = {"rule", "policy", "why", "expires_in", "evidence", "adapted"}  # what is shown, and until when
    assert {field.name for field in fields(Verdict)} - beside == {field.name for field in fields(Requirements)}


def test_an_approval_ends_a_delay_of_policy_and_a_delay_that_ran_out_has_asked_nobody():
    delayed = Requirements(gate="hold", hold=60, reviewers=(("role:senior",),), quorum=2, tier=2)
    by_people = Requirements(tier=2, quorum=2, reviewers=delayed.reviewers)
    ran_out = Requirements(gate="hold", hold=60, tier=2, quorum=0)
    assert asks_more(delayed, by_people) == ()
    assert asks_more(delayed, ran_out) == ()
    assert asks_more(replace(delayed, hold=61), ran_out) == ("hold",)
    assert asks_more(replace(delayed, gate="approve"), ran_out) == ("gate", "quorum", "reviewers")
    others = replace(delayed, reviewers=(("role:fraud",),))
    assert asks_more(others, by_people) == ("reviewers",)


def test_what_policy_allows_now_requires_nothing_whatever_its_other_fields_say():
    every = {name: more[0] for name, (more, _) in MORE.items() if more}
    assert asks_more(replace(MET, **{**every, "gate": "allow"}), MET) == ()


def test_where_no_code_was_chosen_a_rule_with_codes_asks_more():
    assert asks_more(replace(MET, reasons=("asked",)), replace(MET, reasons=())) == ("reasons",)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (AMOUNT, True),
        ("arguments.memo", True),
        ("arguments.missing.deep", True),
        ("arguments.to", False),
        ("arguments.to.account", False),
        ("arguments.lines.0.minor", True),
        ("arguments.lines.1.minor", False),
        ("arguments.lines", False),
        ("arguments.dagger", True),
    ],
)
def test_a_value_is_known_unless_a_reference_fills_it_or_what_it_is_part_of(path, known):
    arguments = {
        "amount": {"minor": 5},
        "memo": "rent",
        "to": "†state.payee",
        "lines": [{"minor": 1}, "†state.line"],
        "dagger": "††state.x",
    }
    assert is_known_at(arguments, path) is known


ANY = pol.Rule("any", ("transfer",), "true", 2, "approve", "Money.", reasons=("asked", "urgent"))
FREE = pol.Rule("free", ("load_customer", "authorize"), "true", 0, "allow", "Reads.")
STRICTER = {
    "reasons": {"reasons": ("urgent",)},
    "retype": {"retype": (AMOUNT,)},
    "hold": {"hold": 10},
    "tier": {"tier": 3},
    "quorum": {"quorum": 2},
    "reviewers": {"reviewers": ("user:zoe",)},
}


def approved() -> World:
    world = worlds.opened().with_rules(ANY, FREE).asked(transfer(100_000))
    return world.after(decision(world, "approve", "ann", code="asked"))


@pytest.mark.parametrize("field", STRICTER)
def test_a_permit_is_asked_for_again_when_policy_became_stricter_in_any_field(field):
    world = approved()
    then = world.with_rules(replace(ANY, **STRICTER[field]), FREE).after(core.Begin(world.call("transfer").id))
    assert "stricter" in then.request.asked.why
    assert then.request.asked.supersedes
    assert not then.events(ev.ToolIntended)


def test_a_permit_goes_on_when_policy_asks_for_nothing_more():
    world = approved()
    looser = replace(ANY, reasons=("asked", "urgent", "other"), tier=1)
    assert world.with_rules(looser, FREE).after(core.Begin(world.call("transfer").id)).events(ev.ToolIntended)


def test_each_approver_is_measured_by_the_reviewers_of_the_step_at_which_they_approved():
    names = {"ann": frozenset({"role:supervisor"}), "sue": frozenset({"role:senior"})}
    rule = replace(
        ANY,
        reasons=(),
        quorum=2,
        reviewers=("role:supervisor", "role:senior"),
        chain=(Step(60, ("role:senior",)),),
    )
    world = worlds.opened().with_rules(rule, FREE).asked(transfer(100_000))
    world = world.after(decision(world, "approve", "ann", names=names["ann"]))
    world = world.after(core.Escalate(world.request.asked.request, 1))
    world = world.after(decision(world, "approve", "sue", names=names["sue"]))
    standing = {by: (Authority(MAY[by], names[by]),) for by in names}
    begun = world.after(core.Begin(world.call("transfer").id, authorities=standing))
    assert [intent.call for intent in begun.events(ev.ToolIntended)] == [world.call("transfer").id]
    standing["sue"] = (Authority(MAY["sue"], names["ann"]),)  # among those of the first step, not of hers
    again = world.after(core.Begin(world.call("transfer").id, authorities=standing))
    assert "may not decide" in again.request.asked.why


WHOLE = pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")
TYPED = replace(ANY, reasons=(), retype=(AMOUNT,))


def planned(amount: Any, rule: pol.Rule = TYPED) -> World:
    """A plan whose transfer moves `amount`, before a person."""
    calls = (
        step("load_customer", "state.customer", customer="C-1"),
        step("transfer", "state.receipt", memo="†state.customer.name", amount=amount),
    )
    plan = ProposePlan(calls, "user:prog", False)
    return worlds.opened().with_rules(WHOLE, rule, FREE).after(plan)


def through(world: World, **more: Any) -> World:
    """The plan approved, its first call done, and its transfer begun."""
    world = world.after(decision(world, "approve", "sue", **more))
    world = world.after(core.Begin(world.state.plans.proposed))
    load, move = (f"{world.state.plans.round}.{name}" for name in ("load_customer", "transfer"))
    found = {"name": "Ann", "amount": {"minor": 300_000, "currency": "USD"}}
    return world.after(core.Begin(load), core.Return(load, 1, found), core.Begin(move))


def test_what_was_typed_in_a_plan_is_not_typed_again():
    path = "arguments.calls.1.amount.minor"
    world = planned({"minor": 90_000, "currency": "USD"})
    assert world.request.terms.retype == (path,)
    world = through(world, retyped={path: 90_000})
    assert [intent.tool for intent in world.events(ev.ToolIntended)] == ["load_customer", "transfer"]


def test_a_value_that_a_reference_fills_is_typed_when_it_is_known():
    world = planned("†state.customer.amount")
    assert world.request.terms.retype == ()
    world = through(world)
    assert world.request.asked.tool == "transfer"
    assert world.request.terms.retype == (AMOUNT,)
    assert world.request.asked.arguments["amount"]["minor"] == 300_000


@pytest.mark.parametrize("field", ["reasons", "hold", "retype", "reviewers"])
def test_a_call_of_a_plan_is_asked_about_when_policy_became_stricter_in_any_field(field):
    amount = {"minor": 90_000, "currency": "USD"}
    world = planned(amount, replace(ANY, reasons=()))
    assert through(world).events(ev.ToolIntended)[-1].tool == "transfer"
    stricter = through(world.with_rules(WHOLE, replace(ANY, reasons=()), FREE))  # nothing has changed
    assert stricter.events(ev.ToolIntended)[-1].tool == "transfer"
    world = world.after(decision(world, "approve", "sue"))
    world = world.after(core.Begin(world.state.plans.proposed))
    load, move = (f"{world.state.plans.round}.{name}" for name in ("load_customer", "transfer"))
    world = world.after(core.Begin(load), core.Return(load, 1, {"name": "Ann"}))
    then = world.with_rules(WHOLE, replace(ANY, **STRICTER[field]), FREE).after(core.Begin(move))
    assert then.request.asked.tool == "transfer"
