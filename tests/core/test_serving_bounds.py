"""Laws of what the web server counts: incomplete heads by address, a body's rate, a socket's frames."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from agentstate.serving.heads import Heads
from agentstate.serving.rates import Body, Bucket

steps = st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.integers(0, 12)), max_size=80)


@given(steps, st.integers(1, 4))
@example([(True, "a", 1), (True, "a", 2)], 1)
def test_an_address_never_has_more_than_its_number_and_the_oldest_goes_first(moves, limit):
    heads, ages = Heads[int](limit), dict[str, list[int]]()
    for begins, address, connection in moves:
        mine = ages.setdefault(address, [])
        if begins and connection not in mine:
            mine.append(connection)
            expected = mine.pop(0) if len(mine) > limit else None
            assert heads.begin(address, connection) == expected
        elif not begins:
            heads.end(address, connection)
            if connection in mine:
                mine.remove(connection)
        assert {each: heads.count(each) for each in ages} == {each: len(open_) for each, open_ in ages.items()}
    assert len(heads) == sum(bool(open_) for open_ in ages.values())  # nothing is kept of who has none


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 5000)), max_size=30))
def test_a_body_is_too_slow_exactly_when_its_average_is(parts):
    body, now = Body(100.0, grace=10.0, rate=1000.0), 100.0
    for seconds, size in parts:
        now += seconds
        body.received += size
        assert (body.left(now) >= -1e-6) == (body.received >= (now - 110.0) * 1000.0 - 1e-3)


@given(st.lists(st.floats(0, 5), max_size=300))
def test_no_window_of_time_holds_more_frames_than_rate_and_burst_allow(pauses):
    bucket, now, taken = Bucket(20.0, 100.0, 0.0), 0.0, []
    for pause in pauses:
        now += pause
        if bucket.take(now):
            taken.append(now)
    for first in range(len(taken)):
        assert len(taken) - first <= 100 + (taken[-1] - taken[first]) * 20 + 1


def test_a_socket_that_sends_as_often_as_is_allowed_is_never_refused():
    bucket = Bucket(20.0, 100.0, 0.0)
    assert all(bucket.take(n / 20) for n in range(1000))
    assert not all(bucket.take(50.0) for _ in range(101))


def test_a_long_pause_buys_no_more_than_the_burst():
    bucket = Bucket(20.0, 100.0, 0.0)
    assert bucket.take(0.0)
    assert sum(bucket.take(1000.0) for _ in range(200)) == 100


def test_a_clock_that_goes_back_buys_nothing():
    bucket = Bucket(20.0, 100.0, 50.0)
    assert sum(bucket.take(50.0) for _ in range(200)) == 100
    assert not bucket.take(0.0)
    assert not bucket.take(50.0)
