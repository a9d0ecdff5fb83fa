"""The expression language: what is not a bounded question over the declared values is refused by name."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import guards
from agentstate.engine.guards import BadGuard, UnreadableGuard
from tests.core.made import values


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("true || " * 300 + "true", "2000 allowed"),
        ("os.environ == ''", "undeclared reference to 'os.environ'"),
        ("now() > 0", "undeclared reference to 'now'"),
        ("__import__('os') == 1", "undeclared reference"),
        ("open('/etc/passwd') == ''", "undeclared reference to 'open'"),
        ("1", "want a yes or a no"),
        ("'yes'", "want a yes or a no"),
        ("'a' + 1 == 'b'", "no matching overload"),
        ("", "Syntax error"),
        ("true true", "Syntax error"),
        ("true\x00", "Syntax error"),
        ("(" * 900 + "true" + ")" * 900, "recursion"),
        ("\ud800", ""),
    ],
)
def test_what_is_no_question_does_not_compile(expression, reason):
    with pytest.raises(BadGuard) as refusal:
        guards.compiled(expression)
    assert reason in refusal.value.detail


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1 / 0 == 1", "divide by zero"),
        ("state.missing > 1", "missing"),
        ("state.text > 1", "overload"),
        ("state.text", "want true or false"),
        ("state", "want true or false"),
        ("state.number", "want true or false"),
        ("9223372036854775807 + state.number > 0", "overflow"),
        ("state.list[7] == 1", "7"),
    ],
)
def test_what_cannot_be_read_is_never_a_yes(expression, reason):
    with pytest.raises(UnreadableGuard) as refusal:
        guards.holds(expression, {"state": {"text": "true", "number": 1, "list": [1]}})
    assert reason in refusal.value.detail


def nested(depth: int) -> str:
    """A question over a list, in a question over a list, ..."""
    inner = "true"
    for level in range(depth):
        inner = f"state.list.all(x{level}, {inner})"
    return inner


@pytest.mark.parametrize("depth", [2, 3, 8])
def test_a_huge_comprehension_is_cut_off_in_bounded_time(depth):
    begun = time.process_time()
    with pytest.raises(UnreadableGuard, match="budget exceeded"):
        guards.holds(nested(depth), {"state": {"list": list(range(1000))}})
    assert time.process_time() - begun < 15


def test_a_pattern_that_would_take_for_ever_elsewhere_takes_no_time_here():
    begun = time.process_time()
    assert not guards.holds("state.text.matches('^(a+)+$')", {"state": {"text": "a" * 5000 + "b"}})
    assert time.process_time() - begun < 3


def test_what_is_not_given_is_empty_and_not_an_error():
    assert guards.holds("!has(state.x) && size(arguments) == 0", {})


@given(st.text(max_size=40), values)
def test_any_text_over_any_values_is_answered_or_refused_by_name(expression, value):
    with suppress(BadGuard, UnreadableGuard):
        assert guards.holds(expression, {"state": value}) in (True, False)


@given(
    values, st.sampled_from(["state.x > 0", "state.x", "state.x.y == 'a'", "state.x in [1]", "state.x.all(i, i > 0)"])
)
def test_a_question_over_any_values_is_answered_or_refused_by_name(value, expression):
    with suppress(UnreadableGuard):
        assert guards.holds(expression, {"state": {"x": value}}) in (True, False)
