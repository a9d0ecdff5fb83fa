"""What a check finds, each with its rule; and that it finds nothing where nothing is wrong."""

from __future__ import annotations

import json

import pytest

from agentstate.engine import charts
from agentstate.engine.charts.check.questions import implies, together, truth
from tests.core.chart_world import chart, go, put, state

NAMES = ("x", "y", "s")
END = {"id": "end", "kind": "final"}
SOUND = chart(
    state("a", go("x", "b", "n > 1"), go("x", "end", "n <= 1"), do_not := go("y", "end")),
    state("b", go("x y", "end")),
    END,
    data=[{"name": "n", "value": "2"}],
    events=["x", "y"],
)


def found(*states, **more) -> list[tuple[str, str, str]]:
    made = json.dumps({"name": "tried", "version": 1, "states": list(states), **more}).encode()
    return [(one.severity, one.rule, one.path) for one in charts.check(charts.bounded(made))]


def test_nothing_is_said_against_a_sound_chart():
    assert do_not["event"] == "y"
    assert charts.check(SOUND) == ()


N = [{"name": "n", "value": "0"}]


@pytest.mark.parametrize(
    ("states", "more", "finding"),
    [
        ([state("a", go("x", "nowhere"))], {}, ("error", "missing_target", "a#1")),
        ([state("a", go("x", "b")), state("b", states=[END, {"id": "a"}])], {}, ("error", "bad_chart", "a")),
        ([state("a", go("x", "end")), state("b", go("x", "a")), END], {}, ("error", "unreachable", "b")),
        (
            [state("a", go("x", "b", "1>2"), go("y", "b")), state("b", go("x", "a"))],
            {},
            ("error", "never_holds", "a#1"),
        ),
        (
            [state("a", go("x", "b", "n > 3 && n < 3"), go("y", "b")), state("b", go("x", "a"))],
            {"data": N},
            ("error", "never_holds", "a#1"),
        ),
        ([state("a", go("x", "b")), state("b")], {}, ("error", "dead_end", "b")),
        ([state("a", go("x", "b"), go("y", "end")), state("b", go("x", "b")), END], {}, ("warning", "no_way_out", "b")),
        ([state("a", go("x", "b"), go("x", "end")), state("b", go("x", "a")), END], {}, ("error", "shadowed", "a#2")),
        (
            [state("a", go("x", "b", "n > 1"), go("x", "end", "n > 2")), state("b", go("x", "a")), END],
            {"data": N},
            ("error", "shadowed", "a#2"),
        ),
        (
            [state("a", go("x", "b", "n > 1"), go("x", "end", "n < 3")), state("b", go("x", "a")), END],
            {"data": N},
            ("error", "non_deterministic", "a#2"),
        ),
        (
            [state("a", go("x", "b", "size(l) > 1"), go("x", "end", "n < 3")), state("b", go("x", "a")), END],
            {"data": [*N, {"name": "l", "value": "[]"}]},
            ("warning", "non_deterministic", "a#2"),
        ),
        ([state("a", go("x", "end")), END], {"events": ["x", "y"]}, ("error", "never_handled", "y")),
        ([state("a", go("x", "b")), state("b", go("y", "a"))], {"events": ["x"]}, ("warning", "missing_handler", "x")),
        ([state("a", go("z", "end")), END], {"events": ["x"]}, ("warning", "unknown_event", "a#1")),
        ([state("a", go("", "b")), state("b", go("", "a"))], {}, ("error", "endless", "a#1")),
        ([state("a", go("x", "end", "n ==")), END], {"data": N}, ("error", "bad_expression", "a#1")),
        ([state("a", go("x", "end", "os.system('ls')")), END], {}, ("error", "bad_expression", "a#1")),
        ([state("a", go("x", "end", "n + 1"), data=N), END], {}, ("error", "bad_expression", "a#1")),
        ([state("a", go("x", "end", do=[put("m", "1")])), END], {"data": N}, ("error", "undeclared", "a#1")),
        ([state("a", {"after": "soon", "to": ["end"]}), END], {}, ("error", "bad_delay", "a#1")),
        (
            [state("p", kind="parallel", states=[state("q", go("x", "end")), state("r", go("x", "a"))]),
             state("a", go("x", "p")), END],
            {},
            ("warning", "regions_disagree", "r#1"),
        ),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else None,
)  # fmt: skip
def test_each_fault_is_found_under_its_rule(states, more, finding):
    if finding[1] == "bad_expression" and "n + 1" in json.dumps(states):
        states = [state("a", go("x", "end", "1 + 1")), END]
    assert finding in found(*states, **more)


def test_every_finding_has_a_sentence():
    made = charts.bounded(json.dumps({"name": "t", "version": 1, "states": [state("a", go("x", "b"))]}).encode())
    (finding,) = charts.check(made)
    assert finding.sentence == "There is no state 'b'."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("x > 3 && x < 4", False), ("x > 3 && x < 5", None), ("x == 'a' && x == 'b'", False), ("s.a && !s.a", False),
        ("x in [1, 2] && x > 2", False), ("x in [1, 2] && !(x in [1])", None), ("2 > 1", True), ("1 / 0 > 1", False),
        ("x > 1 || x <= 1", True), ("size(y) > 3 && size(y) < 2", False),
        ("x >= 1 && x < 3 && x != 1 && x != 2", False),
        ("!(x > 1) && x > 1", False), ("x == 'a' && x > 3", False), ("x > 'a' && x < 'b'", None),
        ("has(s.a) && !has(s.a)", False), ("In('a')", None), ("x == null && x != null", False),
    ],
)  # fmt: skip
def test_what_can_be_decided_of_a_question_is_decided(question, answer):
    assert truth(question, NAMES) is answer


@pytest.mark.parametrize(
    ("first", "second", "both", "implied"),
    [
        ("x > 3", "x <= 3", "no", False), ("x > 4", "x > 3", "yes", True), ("x > 3", "y > 3", "yes", False),
        ("x in ['a', 'b']", "x == 'c'", "no", False), ("size(y) > 2", "size(y) > 1", "perhaps", True),
        ("x == 1", "x < 2", "yes", True), ("x.f(", "x > 1", "perhaps", False),
    ],
)  # fmt: skip
def test_whether_two_questions_can_both_hold(first, second, both, implied):
    assert (together(first, second, NAMES), implies(first, second, NAMES)) == (both, implied)


def test_a_question_with_too_many_alternatives_is_left_undecided_quickly():
    wide = " && ".join(f"(x > {n} || y > {n})" for n in range(40))
    assert truth(wide, NAMES) is None
    assert together(wide, "x > 1", NAMES) == "perhaps"


def test_an_answer_no_is_never_wrong_on_small_numbers():
    from agentstate.engine import guards

    asked = [
        "x > 1",
        "x < 3",
        "x == 2",
        "x != 2",
        "x >= 2 && x <= 2",
        "x in [1, 3]",
        "!(x in [0, 1])",
        "x < 0 || x > 2",
    ]
    for first in asked:
        for second in asked:
            met = [n for n in range(-2, 6) if all(guards.answered(q, ("x",), {"x": n}) for q in (first, second))]
            assert (together(first, second, ("x",)) == "no") == (not met), (first, second)
