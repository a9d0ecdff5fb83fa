"""The chart that every session has is the lifecycle's table, and the transitions of the seed."""

from __future__ import annotations

from itertools import product

import pytest

from agentstate.engine import charts
from agentstate.engine.charts.lifecycle import lifecycle_chart
from agentstate.engine.lifecycle import SESSION, SESSION_ENDED, SessionMove, SessionStatus
from tests.core.chart_world import AT

CHART = lifecycle_chart()
SEED = {
    ("idle", "new_task"): "planning",
    ("planning", "plan_ready"): "executing",
    ("executing", "step_complete"): "executing",
    ("executing", "needs_input"): "waiting_feedback",
    ("waiting_feedback", "input_received"): "executing",
    ("executing", "task_complete"): "done",
}
STATES = [status.value for status in SessionStatus if status.value in charts.tree_of(CHART).nodes]


def standing(name: str) -> charts.ChartState:
    node = charts.tree_of(CHART).nodes[name]
    around = [one.id for one in reversed(node.ancestors) if one.id in charts.tree_of(CHART).nodes]
    return charts.ChartState(CHART.reference, "session", (*around, name), running=not node.final)


def after(name: str, event: str) -> str | None:
    """Where the event leads from there; None when it is not possible."""
    state, moved = charts.step(CHART, standing(name), charts.Happening(event), {}, AT)
    return state.configuration[-1] if moved.handled else None


@pytest.mark.parametrize(("name", "trigger"), list(product(STATES, SessionMove)))
def test_the_chart_and_the_table_agree_on_every_pair(name, trigger):
    in_table = SESSION.get((SessionStatus(name), trigger))
    assert after(name, trigger.value) == (in_table.value if in_table is not None else None)


@pytest.mark.parametrize(("name", "event"), list(product([*STATES], sorted({event for _, event in SEED}))))
def test_the_seed_s_transitions_are_those_of_the_chart_and_no_others(name, event):
    assert after(name, event) == SEED.get((name, event))


def test_what_has_ended_moves_no_more_and_what_was_paused_goes_on_where_it_was():
    state = standing("waiting_feedback")
    for event in ("pause", "resume"):
        state, _ = charts.step(CHART, state, charts.Happening(event), {}, AT)
    assert state.configuration == ("live", "waiting_feedback")
    assert {name for name in STATES if charts.tree_of(CHART).nodes[name].final} == {
        each.value for each in SESSION_ENDED
    }


def test_the_chart_is_sound_and_begins_idle():
    assert charts.errors_in(charts.check(CHART)) == ()
    assert charts.start(CHART, {}, AT)[0].configuration == ("live", "idle")
