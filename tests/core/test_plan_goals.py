"""Goals taken apart: by hand, by template, by a model; progress rolled up, dependencies kept, everything bounded."""

from __future__ import annotations

import time
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import schemas
from agentstate.engine.plan import goals
from agentstate.engine.plan.goals import BadGoal, Goal, Standing
from agentstate.errors import NotFound
from tests.core.made import values

MOVE = {
    "id": "move-house",
    "title": "Change the address everywhere",
    "tasks": [
        {"id": "identify", "title": "Verify the customer", "done_when": "state.verified"},
        {
            "id": "change",
            "title": "Change the records",
            "needs": ["identify"],
            "tasks": [{"id": "cards", "title": "Cards"}, {"id": "loans", "title": "Loans", "needs": ["cards"]}],
        },
        {"id": "tell", "title": "Tell the customer", "needs": ["change"]},
    ],
}
GOAL = goals.read(MOVE)


def stand(goal: Goal, **state) -> dict[str, tuple[str, int]]:
    return {name: (each.status, each.percent) for name, each in goals.standings(goal, state).items()}


def done(goal: Goal, *tasks: str) -> Goal:
    for task in tasks:
        goal = goals.changed(goal, task, {"status": "done"})
    return goal


def test_at_first_what_needs_nothing_is_ready_and_the_rest_waits():
    found = goals.standings(GOAL, {})
    assert [name for name, each in found.items() if each.status == "ready"] == ["move-house", "identify"]
    assert found["cards"].reason == "needs identify"
    assert found["loans"].status == found["tell"].status == "waiting"


def test_progress_is_rolled_up():
    goal = done(GOAL, "identify", "cards")
    assert stand(goal, verified=True) == {
        "move-house": ("running", 50),
        "identify": ("done", 100),
        "change": ("running", 50),
        "cards": ("done", 100),
        "loans": ("ready", 0),
        "tell": ("waiting", 0),
    }
    assert stand(done(goal, "loans", "tell"), verified=True)["move-house"] == ("done", 100)


def test_a_task_is_done_only_while_its_criterion_holds():
    goal = done(GOAL, "identify")
    for state, why in (({}, "cannot be read"), ({"verified": False}, "not yet: state.verified")):
        found = goals.standings(goal, state)["identify"]
        assert (found.status, found.percent) == ("running", 99)
        assert why in found.reason


def test_what_was_dropped_does_not_count_and_what_failed_shows_above():
    goal = done(goals.changed(GOAL, "loans", {"status": "dropped"}), "cards")
    assert stand(goal)["change"] == ("done", 100)
    goal = done(goals.changed(GOAL, "loans", {"status": "failed"}), "cards")
    assert stand(goal)["change"] == ("failed", 50)


def test_a_tree_is_changed_by_hand():
    goal = goals.added(GOAL, "change", {"id": "savings", "title": "Savings", "needs": ["loans"]})
    assert stand(goal)["savings"] == ("waiting", 0)
    assert goals.removed(goal, "savings") == GOAL
    for change in (
        lambda: goals.removed(GOAL, "change"),
        lambda: goals.added(GOAL, "change", {"id": "tell", "title": "Again"}),
    ):
        with pytest.raises(BadGoal):
            change()
    with pytest.raises(NotFound):
        goals.changed(GOAL, "nothing", {"status": "done"})


def test_a_template_is_a_tree_with_references_to_inputs():
    template = {"id": "call", "title": "†input.title", "tasks": "†input.tasks || †input.usual"}
    goal = goals.from_template(template, {"title": "Call back", "usual": [{"id": "dial", "title": "Dial"}]})
    assert [task.id for _, task in goals.walk(goal)] == ["call", "dial"]
    with pytest.raises(BadGoal, match="there is no input"):
        goals.from_template(template, {})


def test_a_model_s_answer_is_taken_as_it_is_read():
    assert goals.read(MOVE) == GOAL
    assert goals.read(msgspec.to_builtins(GOAL)) == GOAL


def test_the_schema_that_a_model_is_given_takes_what_we_take():
    schemas.check_schema(goals.SCHEMA)
    schemas.validate(goals.SCHEMA, MOVE)
    for wrong in ({"id": "A b", "title": "x"}, {"id": "a"}, {"id": "a", "title": "x", "odd": 1}):
        assert schemas.problems(goals.SCHEMA, wrong)
        with pytest.raises(BadGoal):
            goals.read(wrong)


def deep(levels: int) -> dict:
    tree: dict = {"id": "last", "title": "x"}
    for number in range(levels):
        tree = {"id": f"t{number}", "title": "x", "tasks": [tree]}
    return tree


WIDE = {
    "id": "top",
    "title": "x",
    "tasks": [
        {"id": f"g{a}", "title": "x", "tasks": [{"id": f"g{a}.{b}", "title": "x"} for b in range(150)]}
        for a in range(10)
    ],
}


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (7, "schema"),
        ({"id": "a", "title": "x", "tasks": [{"id": "a", "title": "y"}]}, "id"),
        ({"id": "a", "title": "x", "needs": ["b"]}, "needs"),
        ({"id": "a", "title": "x", "needs": ["a"]}, "cycle"),
        ({"id": "a", "title": "x", "tasks": [{"id": "b", "title": "x", "needs": ["a"]}]}, "cycle"),
        (
            {
                "id": "a",
                "title": "x",
                "tasks": [{"id": "b", "title": "x", "needs": ["c"]}, {"id": "c", "title": "x", "needs": ["b"]}],
            },
            "cycle",
        ),
        ({"id": "a", "title": "x", "done_when": "now()"}, "done_when"),
        (deep(8), "max_depth"),
        (deep(10_000), "max_depth"),
        (WIDE, "max_tasks"),
        ({"id": "a", "title": 1.5}, "float"),
    ],
)
def test_what_cannot_be_a_goal_is_refused_by_its_rule(data, rule):
    begun = time.process_time()
    with pytest.raises(BadGoal) as refusal:
        goals.read(data)
    assert refusal.value.rule == rule
    assert time.process_time() - begun < 6


@pytest.mark.parametrize("fields", [{"stauts": "done"}, {"goal": 1}, {"title": ""}, {"id": "tell"}, {"needs": ["x"]}])
def test_what_a_task_cannot_be_changed_into_is_refused(fields):
    with pytest.raises(BadGoal):
        goals.changed(GOAL, "change", fields)


def test_a_task_that_a_plan_does_stands_where_the_plan_stands():
    goal = goals.read(
        {"id": "top", "title": "T", "tasks": [{"id": "a", "title": "A", "plan": "p", "done_when": "true"}]}
    )
    for standing in (Standing("running", 40), Standing("done", 100), Standing("failed", 0, "it broke")):
        found = goals.standings(goal, {}, {"p": standing})
        assert found["a"] == standing
        assert found["top"].percent == standing.percent
    said = goals.changed(goal, "a", {"status": "dropped"})
    assert goals.standings(said, {}, {"p": Standing("done", 100)})["a"].status == "dropped"


@given(
    values
    | st.fixed_dictionaries({"id": st.sampled_from("ab"), "title": values}, optional={"tasks": values, "needs": values})
)
def test_anything_at_all_is_taken_or_refused_by_name(data):
    with suppress(BadGoal):
        assert goals.standings(goals.read(data), {})


trees = st.recursive(
    st.sampled_from(["open", "running", "done", "failed", "dropped"]),
    lambda below: st.lists(below, min_size=1, max_size=3),
)


def grown(shape, number=None) -> Goal:
    number = number if number is not None else iter(range(10_000))
    name = f"t{next(number)}"
    if isinstance(shape, str):
        return Goal(name, "x", status=shape)
    return Goal(name, "x", tasks=tuple(grown(each, number) for each in shape))


@given(trees)
def test_percentages_are_whole_exactly_when_a_task_is_done(shape):
    with suppress(BadGoal):
        for found in goals.standings(goals.checked(grown(shape)), {}).values():
            assert 0 <= found.percent <= 100
            assert (found.percent == 100) == (found.status == "done")
