"""Progress of a round: counts, percentage, the longest chain, what holds it up, and whether it ended well."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine.guards import BadGuard
from agentstate.engine.plan import model, rounds
from agentstate.engine.plan.order import graph
from agentstate.engine.plan.progress import Bottleneck, completion, critical_path, progress
from agentstate.engine.plan.rounds import Round
from tests.core import plan_world as world
from tests.core.plan_bank import INPUT, TOOLS, TRANSFER

PLAN = model.read(TRANSFER)
VIEWS = {"state": {}, "input": INPUT}


def at(second: int) -> str:
    return f"2026-11-21T03:00:{second:02}.000000Z"


def test_before_anything_has_happened_the_declared_durations_say_what_takes_longest():
    found = progress(Round(PLAN), VIEWS, TOOLS)
    assert found.counts == {"ready": 2, "waiting": 2}
    assert (found.total, found.percent, found.ended) == (4, 0, False)
    assert found.critical_path == ("authorize", "transfer", "tell")
    assert found.milliseconds == found.remaining == 4350
    assert found.bottleneck == Bottleneck("authorize", 4000, 2)


def test_measured_durations_stand_in_for_declared_ones():
    now = rounds.began(Round(PLAN), "authorize", at(1))
    now, pad, _ = rounds.done(now, {}, "authorize", {"allowed": True}, at(2))
    now = rounds.began(now, "load_customer", at(1))
    now, pad, _ = rounds.done(now, pad, "load_customer", {"accounts": [{"id": "7"}]}, at(10))
    found = progress(now, {**VIEWS, "state": pad}, TOOLS)
    assert found.critical_path == ("load_customer", "transfer", "tell")
    assert (found.percent, found.milliseconds, found.remaining) == (50, 9350, 350)
    assert found.bottleneck == Bottleneck("transfer", 300, 1)


def test_a_call_that_never_ran_took_no_time():
    now = rounds.rejected(Round(PLAN), "authorize", "no")
    found = progress(now, VIEWS, TOOLS)
    assert found.counts == {"ready": 1, "rejected": 1, "blocked": 2}
    assert found.percent == 75
    assert (found.critical_path[0], found.milliseconds) == ("load_customer", 100)


def test_a_plan_without_calls_is_done():
    found = progress(Round(model.read([])), VIEWS)
    assert (found.percent, found.ended, found.bottleneck) == (100, True, None)


@given(st.data())
def test_the_percentage_never_falls_and_is_whole_at_the_end(data):
    plan = data.draw(world.plans())
    fate = data.draw(world.fates(plan))
    now, pad, before = Round(plan), dict(world.GIVEN["state"]), 0
    while True:
        found = progress(now, world.views(pad))
        assert found.percent >= before
        assert sum(found.counts.values()) == found.total
        before = found.percent
        able = [each for each in found.standings.values() if each.status == "ready"]
        if not able:
            break
        now, pad = world.end(rounds.began(now, able[0].call), pad, able[0].call, fate[able[0].call], able[0].arguments)
    assert found.percent == 100
    assert found.ended


@given(world.plans(), st.data())
def test_no_chain_of_calls_takes_longer_than_the_critical_path(plan, data):
    takes = {call.id: data.draw(st.integers(0, 9)) for call in plan.calls}
    path, total = critical_path(Round(plan), takes.__getitem__)
    wiring = graph(plan)
    assert total == sum(takes[call] for call in path)
    assert all(before in wiring.sources(after) for before, after in pairwise(path))
    longest = {}
    for call in wiring.order:
        longest[call] = takes[call] + max((longest[source] for source in wiring.sources(call)), default=0)
    assert total == max(longest.values())


OUTPUT = {"receipt": "†state.receipt.id", "to": "†input.to"}
RESULT = {"type": "object", "properties": {"receipt": {"type": "string"}}, "required": ["receipt"]}


def test_an_end_is_a_good_one_when_output_and_conditions_hold():
    views = {"state": {"receipt": {"id": "R-1"}}, "input": INPUT}
    found = completion(views, OUTPUT, RESULT, ["output.receipt.startsWith('R-')", "has(state.receipt)"])
    assert found.output == {"receipt": "R-1", "to": INPUT["to"]}
    assert not found.problems
    assert [condition.holds for condition in found.conditions] == [True, True]


@pytest.mark.parametrize(
    ("state", "conditions", "problem"),
    [
        ({}, [], "missing"),
        ({"receipt": {"id": 7}}, [], "type"),
        ({"receipt": {"id": "R-1"}}, ["state.receipt.id == 'R-2'"], None),
        ({"receipt": {"id": "R-1"}}, ["state.nothing.at.all"], None),
    ],
)
def test_an_end_that_is_not_says_why(state, conditions, problem):
    found = completion({"state": state, "input": INPUT}, OUTPUT, RESULT, conditions)
    assert [each.rule for each in found.problems] == ([problem] if problem else [])
    assert [condition.holds for condition in found.conditions] == [False] * len(conditions)
    assert problem or conditions


def test_a_condition_that_is_no_question_is_refused():
    with pytest.raises(BadGuard):
        completion(VIEWS, conditions=["open('x')"])
