"""Each of the 55 recorded service flows becomes a checked plan that runs in its order, and not past a refused check."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine.plan import goals, library
from agentstate.engine.plan.dry_run import dry_run
from agentstate.engine.plan.order import graph
from tests.core import flows


def given(saved: library.Saved) -> dict[str, str]:
    return {name: f"some {name}" for name in saved.inputs["properties"]}


def ran(saved: library.Saved, facts) -> dict[str, object]:
    run = dry_run(saved.plan, replace(facts, views={"state": {}, "input": given(saved)}))
    return {step.tool: step for step in run.steps}


def test_all_55_flows_become_plans_without_a_finding():
    facts = flows.facts()
    plans = [flows.plan_of(flow) for flow in flows.recorded()["kb"]]
    assert len(plans) == 55
    assert [(saved.name, finding) for saved in plans for finding in library.findings(saved, facts)] == []
    assert all(library.instantiate(saved, given(saved), facts) == saved.plan for saved in plans)


def test_every_flow_is_kept_and_read_back():
    for flow in flows.recorded()["kb"]:
        saved = flows.plan_of(flow)
        assert library.load(library.dump(saved)) == saved


def test_every_flow_runs_in_the_order_that_it_was_written_in():
    facts = flows.facts()
    for flow, actions in flows.recorded()["kb"].items():
        saved = flows.plan_of(flow)
        tools = [saved.plan.by_id[call].tool for wave in graph(saved.plan).waves for call in wave]
        assert tools == [*actions, "say"]
        assert list(ran(saved, facts)) == list(dict.fromkeys([*actions, "say"]))


def test_behind_a_refused_check_nothing_is_changed():
    refusing = flows.facts()
    cards = {**refusing.tools}
    for check in flows.CHECKS:
        cards[check] = replace(cards[check], example={"ok": False})
    refusing = replace(refusing, tools=cards)
    guarded = 0
    for flow, actions in flows.recorded()["kb"].items():
        first = min((actions.index(check) for check in flows.CHECKS if check in actions), default=len(actions))
        steps = ran(flows.plan_of(flow), refusing)
        late = [action for action in actions[first:] if action in flows.CHANGES]
        guarded += len(late)
        assert not steps.keys() & set(late)
    assert guarded > 20


def test_every_guideline_is_a_goal_whose_tasks_come_one_after_the_other():
    count = 0
    for group, found in flows.recorded()["guidelines"].items():
        for name in found["subflows"]:
            goal = flows.goal_of(group, name)
            ready = [task for task, each in goals.standings(goal, {}).items() if each.status == "ready"]
            assert ready == ["flow", "t0"]
            count += 1
    assert count == 55
