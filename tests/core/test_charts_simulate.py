"""Simulations and cases: what a chart would do, without anything happening."""

from __future__ import annotations

import json

import pytest

from agentstate.engine import charts
from agentstate.engine.charts import BadChart, Step
from tests.claims import ROOT
from tests.core.chart_world import chart, go, put, state

LIGHT = chart(
    state("red", {"after": "30s", "to": ["green"]}),
    state("green", {"after": "20s", "to": ["amber"]}, go("button", do=[put("asked", "true")])),
    state("amber", {"after": "3s", "to": ["red"]}),
    state("off", go("on", "red")),
    data=[{"name": "asked", "value": "false"}],
)


def test_time_passes_as_it_would_and_each_stage_is_kept():
    done = charts.simulate(LIGHT, [Step(wait="31s"), Step("button"), Step(wait="20s"), Step(wait="3s")])
    assert [stage.configuration[-1] for stage in done.stages] == ["red", "green", "green", "amber", "red"]
    assert done.stages[2].moved.changed == {"asked": True}


def test_coverage_names_what_was_never_reached():
    coverage = charts.simulate(LIGHT, [Step(wait="51s")]).coverage
    assert coverage.states == ("red", "green", "amber")
    assert coverage.states_missed == ("off",)
    assert coverage.transitions_missed == ("green#2", "amber#1", "off#1")
    assert coverage.share == 55


def test_a_step_that_is_refused_is_noted_and_the_next_goes_on():
    done = charts.simulate(LIGHT, [Step("no event"), Step(wait="soon"), Step(wait="30s")])
    assert [bool(stage.refused) for stage in done.stages] == [False, True, True, False]
    assert done.stages[-1].configuration == ("green",)


CASES = b"""[
 {"name": "green after red", "when": [{"wait": "30s"}], "then": {"in": ["green"], "data": {"asked": false}}},
 {"name": "wrong", "when": [{"wait": "30s"}], "then": {"in": ["red", "blue"], "data": {"asked": true}, "done": true}}
]"""


def test_a_case_says_all_that_is_wrong():
    run = charts.run_cases(LIGHT, charts.load_cases(CASES))
    assert [verdict.case for verdict in run.failed] == ["wrong"]
    assert run.failed[0].wrong == (
        "there is no state 'blue'", "not in red", "asked is False, want True", "it has not ended",
    )  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'[{"name":"a"}]', b'[{"name":"a","when":[],"then":{"at":1}}]'])
def test_what_is_no_case_is_refused(data):
    with pytest.raises(BadChart):
        charts.load_cases(data)


def test_the_bank_s_chart_is_sound_and_its_cases_cover_all_of_it():
    folder = ROOT / "demo" / "bank_agent" / "library" / "charts"
    from agentstate.engine.decide.charts import HEARD

    made = charts.load((folder / "bank-transfer.1.json").read_bytes())
    run = charts.run_cases(made, charts.load_cases((folder / "bank-transfer.cases.json").read_bytes()))
    assert charts.errors_in(charts.check(made, HEARD)) == ()
    assert {finding.rule for finding in charts.check(made, HEARD)} == {"missing_handler"}
    assert (run.failed, run.coverage.share) == ((), 100)
    assert charts.from_scxml(charts.to_scxml(made)) == made


def test_all_steps_of_a_simulation_share_one_budget():
    busy = chart(
        state("a", go("x", do=[{"act": "foreach", "items": "l", "item": "i", "do": [put("n", "i")]}])),
        data=[{"name": "n", "value": "0"}, {"name": "l", "value": json.dumps([0] * 300)}],
    )
    done = charts.simulate(busy, [Step("x")] * 400)
    assert not done.stages[1].refused
    assert "too many actions" in done.stages[-1].refused
