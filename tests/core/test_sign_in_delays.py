"""Waiting after wrong passwords, as laws: it grows, it is bounded, it ends, and many at once count as many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.people.delays import ACCOUNT, ADDRESS, KEPT, LONGEST, VALID, remaining

LIMITS = st.sampled_from([ACCOUNT, ADDRESS])
steps = st.lists(st.integers(0, 120), max_size=40)  # seconds between two wrong passwords


@given(limit=LIMITS, between=steps)
def test_no_wait_is_longer_than_half_a_minute_and_all_of_it_is_forgotten(limit, between):
    level = 0.0
    for seconds in between:
        level = limit.raised(limit.after(level, seconds))
        assert 0 <= limit.wait(level) <= LONGEST
    assert limit.wait(limit.after(level, KEPT / 2)) == 0


@pytest.mark.parametrize("limit", [ACCOUNT, ADDRESS])
def test_the_first_wrong_passwords_cost_nothing_and_the_next_ones_twice_as_much_each(limit):
    level, waits = 0.0, []
    for _ in range(limit.free + 8):
        level = limit.raised(level)
        waits.append(limit.wait(level))
    assert waits == [0.0] * limit.free + [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


@given(limit=LIMITS, level=st.floats(0, 40), later=st.floats(0, 1000), more=st.floats(0, 1000))
def test_time_only_helps_and_a_clock_that_goes_back_does_not(limit, level, later, more):
    level = min(level, limit.most)
    assert limit.after(level, later + more) <= limit.after(level, later) <= level == limit.after(level, -later)


@given(opens=st.one_of(st.none(), st.floats(-1000, 30)), wait=st.floats(0, LONGEST))
def test_a_turn_once_given_comes_whatever_others_do(opens, wait):
    found = remaining(opens, wait)
    if opens is not None and opens > 0:
        assert found == opens  # the page said so, and the levels of others do not change it
    elif opens is not None and opens >= -VALID:
        assert found == 0
    else:
        assert found == (None if wait else 0)
