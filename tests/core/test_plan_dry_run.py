"""Dry runs and pictures: what a plan would do, in which order, on which branch, and how it looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstate.engine.plan import drawing, model, ready, rounds
from agentstate.engine.plan.check import PlanRefused, accepted
from agentstate.engine.plan.deviation import deviations
from agentstate.engine.plan.difference import difference
from agentstate.engine.plan.dry_run import dry_run, simulated
from agentstate.engine.plan.facts import Facts, ToolCard
from agentstate.engine.plan.model import BadPlan
from agentstate.engine.plan.progress import progress
from agentstate.engine.plan.rounds import Round
from tests.core import plan_world
from tests.core.plan_bank import CUSTOMER, FACTS, INPUT, TOOLS, TRANSFER, junk

LOADED = {"name": "Ada", "accounts": [{"id": "1000000001"}]}
EXAMPLES = {
    **TOOLS,
    "load_customer": replace(TOOLS["load_customer"], example=LOADED),
    "authorize": replace(TOOLS["authorize"], example={"allowed": True}),
    "transfer": replace(TOOLS["transfer"], example={"receipt": "R-1"}),
}
BANK = replace(FACTS, tools=EXAMPLES)
PLAN = model.read(TRANSFER)


def standing(run, call):
    found = run.standings[call]
    return found.status, found.reason


def test_a_dry_run_shows_what_would_run_side_by_side_and_with_what():
    run = dry_run(PLAN, BANK)
    assert run.waves == (("load_customer", "authorize"), ("transfer",), ("tell",))
    moved = run.steps[2]
    assert moved.arguments == {"from_account": "1000000001", "to_account": INPUT["to"], "amount": INPUT["amount"]}
    assert run.states[""]["receipt"] == {"receipt": "R-1"}
    assert FACTS.views["state"] == {"open": {"since": "today"}}


def test_the_error_path_is_a_branch_of_its_own():
    run = dry_run(PLAN, BANK, {"transfer": "failed"})
    assert standing(run, "transfer") == ("failed", "simulated")
    assert run.steps[-1].arguments == {"text": {"error": "simulated"}}
    assert "receipt" not in run.states[""]


def test_what_depends_on_a_rejected_call_is_blocked_by_its_name():
    run = dry_run(PLAN, BANK, {"load_customer": "rejected"})
    assert standing(run, "transfer") == ("blocked", "load_customer rejected")
    assert standing(run, "tell") == ("blocked", "load_customer rejected")
    assert standing(run, "authorize") == ("done", "")


def test_what_a_guard_refuses_is_skipped_and_so_is_what_comes_of_it():
    cards = {**EXAMPLES, "authorize": replace(TOOLS["authorize"], example={"allowed": False})}
    run = dry_run(PLAN, replace(BANK, tools=cards))
    assert standing(run, "transfer") == ("skipped", "its guard says no")
    assert run.standings["tell"].status == "skipped"


def test_the_other_outcome_of_a_tool_leads_the_other_way():
    run = dry_run(PLAN, BANK, {"transfer": 1})
    assert run.states[""]["trouble"] == {"receipt": "R-1"}


def test_arguments_that_the_tool_would_refuse_are_found():
    loose = ToolCard("look", result=None, example={"id": 7})
    calls = [{"_tool": "look", "_outputPath": "state.found"}, {"_tool": "load_customer", "customer": "†state.found.id"}]
    run = dry_run(model.read(calls), replace(BANK, tools={**EXAMPLES, "look": loose}))
    assert standing(run, "load_customer") == ("rejected", "arguments.customer: type")


def test_what_would_stop_for_a_person_is_said():
    run = dry_run(PLAN, BANK, gate=lambda call, arguments, views: "tier 3" if call == "transfer" else "")
    assert [(step.call, step.gate) for step in run.steps if step.gate] == [("transfer", "tier 3")]


def test_a_plan_with_errors_is_not_tried():
    with pytest.raises(PlanRefused):
        dry_run(model.read([{"_tool": "fly"}]), BANK)


def test_instances_keep_to_themselves():
    calls = [
        {"_tool": "tell", "text": "†state.id", "_instance": "ann", "_outputPath": "state.said"},
        {"_tool": "tell", "text": "†state.said", "_instance": "ann"},
    ]
    run = dry_run(model.read(calls), BANK)
    assert run.steps[0].arguments == {"text": "7"}
    assert "said" in run.states["ann"]
    assert "said" not in run.states[""]


@pytest.mark.parametrize(
    "schema", [CUSTOMER, {"type": "string", "enum": ["yes"]}, {"type": "array", "items": {"type": "integer"}}]
)
def test_a_simulated_result_is_one_that_the_tool_could_give(schema):
    from agentstate.engine.schemas import validate

    validate(schema, simulated(ToolCard("t", True, schema)))


@given(st.data())
def test_a_dry_run_comes_to_the_same_end_as_the_round_itself(data):
    plan = data.draw(plan_world.plans())
    fates = {call.id: data.draw(st.sampled_from([0, "failed", "rejected"])) for call in plan.calls}
    facts = Facts({"work": ToolCard("work", example="x")}, views=plan_world.GIVEN)
    try:
        run = dry_run(plan, facts, fates)
    except PlanRefused:
        return  # a reference to nowhere
    now, pad = Round(plan), dict(plan_world.GIVEN["state"])
    while able := [e for e in ready.standings(now, plan_world.views(pad)).values() if e.status == "ready"]:
        call = able[-1].call
        if fates[call] == "rejected":
            now = rounds.rejected(now, call)
        elif fates[call] == "failed":
            now, pad, _ = rounds.failed(now, pad, call, {"error": "simulated"})
        else:
            now, pad, _ = rounds.done(now, pad, call, "x")
    assert run.states[""] == pad
    ends = ready.standings(now, plan_world.views(pad))
    assert {call: each.status for call, each in run.standings.items()} == {c: e.status for c, e in ends.items()}


@given(st.lists(junk, max_size=4))
def test_whatever_is_accepted_can_be_tried_drawn_measured_and_compared(data):
    try:
        plan = accepted(model.read(data), BANK)
    except (BadPlan, PlanRefused):
        return
    run = dry_run(plan, BANK)
    assert len(drawing.dot(drawing.drawing(plan, run.standings))) > len(drawing.text(drawing.drawing(plan)))
    assert progress(Round(plan), BANK.views, BANK.tools, BANK.instances).total == len(plan.calls)
    assert not difference(plan, model.read(model.write(plan)))
    assert not any(deviations(plan, plan, BANK.views))


def test_a_plan_is_shown_as_text_wave_by_wave():
    assert drawing.text(drawing.drawing(PLAN)) == (
        "1. load_customer  -> †state.customer\n"
        "1. authorize  -> †state.authorization\n"
        "2. transfer  after load_customer, authorize  if state.authorization.allowed"
        "  -> †state.receipt || †state.trouble\n"
        "3. tell  after transfer\n"
    )


def test_a_picture_has_the_edges_and_where_each_call_stands():
    run = dry_run(PLAN, BANK, {"authorize": "rejected"})
    picture = drawing.drawing(PLAN, run.standings)
    assert [(edge.source, edge.target, edge.path) for edge in picture.edges] == [
        ("load_customer", "transfer", "state.customer.accounts.0.id"),
        ("authorize", "transfer", "state.authorization.allowed"),
        ("transfer", "tell", "state.receipt"),
        ("transfer", "tell", "state.trouble"),
    ]
    assert [node.status for node in picture.nodes] == ["done", "rejected", "blocked", "blocked"]


def test_dot_text_quotes_whatever_a_plan_says():
    nasty = {"_tool": "tell", "_when": "state.x == '\"];} \\\\'", "text": "†state.open"}
    text = drawing.dot(drawing.drawing(model.read([nasty])))
    assert text.startswith("digraph plan {\n")
    assert '\\"];}' in text
    assert "style" not in text
    inside = [line for line in text.splitlines() if line.startswith('  "')]
    assert len(inside) == 1
