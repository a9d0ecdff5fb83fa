"""Business hours against a count of minutes, clocks that are set included."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.text import calendars
from sessions.text.calendars import BadCalendar, Calendar
from tests.searching import drawn

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns")
TURNS = (
    datetime(2026, 3, 8, tzinfo=UTC),
    datetime(2026, 3, 29, tzinfo=UTC),
    datetime(2026, 4, 5, tzinfo=UTC),
    datetime(2026, 10, 25, tzinfo=UTC),
    datetime(2026, 11, 1, tzinfo=UTC),
)
MINUTE = timedelta(minutes=1)


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


@st.composite
def hours(draw):
    """Opening times of one day, in order."""
    marks = sorted(draw(st.sets(st.integers(0, 1440), min_size=2, max_size=4)))
    return tuple((clock(a), clock(b)) for a, b in zip(marks[::2], marks[1::2], strict=False))


CALENDARS = st.builds(
    Calendar,
    week=st.dictionaries(st.sampled_from("1234567"), hours(), min_size=1),
    zone=st.sampled_from(ZONES),
    holidays=st.lists(st.sampled_from(["2026-03-29", "2026-11-01", "2026-10-26"]), max_size=2).map(tuple),
    special=st.dictionaries(st.sampled_from(["2026-10-25", "2026-04-05", "2026-03-08"]), hours(), max_size=2),
)
STARTS = st.builds(lambda turn, back: turn - timedelta(minutes=back), st.sampled_from(TURNS), st.integers(0, 2000))


def is_open(calendar: Calendar, at: datetime) -> bool:
    """The definition, as the wall clock shows it."""
    local = at.astimezone(ZoneInfo(calendar.zone))
    day = local.date().isoformat()
    of_day = calendar.special.get(day, calendar.week.get(str(local.isoweekday()), ()))
    shown = clock(local.hour * 60 + local.minute)
    return day not in calendar.holidays and any(begin <= shown < end for begin, end in of_day)


@settings(max_examples=drawn(150))
@given(calendar=CALENDARS, start=STARTS, length=st.integers(0, 3000))
def test_open_time_is_the_number_of_open_minutes(calendar, start, length):
    counted = sum(is_open(calendar, start + number * MINUTE) for number in range(length))
    assert calendars.passed(calendar, start, start + length * MINUTE) == counted * MINUTE


@settings(max_examples=drawn(100))
@given(calendar=CALENDARS, start=STARTS, length=st.integers(1, 900))
def test_the_instant_after_so_much_open_time_is_the_first_at_which_that_much_has_passed(calendar, start, length):
    at = calendars.after(calendar, start, length * MINUTE)
    if at is not None:
        assert calendars.passed(calendar, start, at) == length * MINUTE
        assert calendars.passed(calendar, start, at - timedelta(seconds=1)) < length * MINUTE


@settings(max_examples=drawn(150))
@given(calendar=CALENDARS, at=STARTS)
def test_it_is_open_when_the_clock_on_the_wall_says_so(calendar, at):
    assert calendars.is_open(calendar, at) == is_open(calendar, at)


@settings(max_examples=drawn(60))
@given(calendar=CALENDARS, at=STARTS)
def test_the_next_opening_is_open_and_the_minute_before_is_not(calendar, at):
    opens = calendars.opening(calendar, at)
    assert opens is None or (is_open(calendar, opens) and not is_open(calendar, opens - MINUTE))


def test_without_a_calendar_it_is_always_open():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert calendars.passed(None, start, start + timedelta(days=3)) == timedelta(days=3)
    assert calendars.after(None, start, timedelta(hours=1)) == start + timedelta(hours=1)


def test_open_time_adds_up_over_any_cut():
    calendar = calendars.daily((1, 2, 3, 4, 5), "09:00", "17:00", "Europe/Berlin", ("2026-04-06",))
    start = datetime(2026, 3, 27, tzinfo=UTC)
    days = [start + timedelta(days=number) for number in range(20)]
    parts = sum((calendars.passed(calendar, a, b) for a, b in itertools.pairwise(days)), timedelta(0))
    assert parts == calendars.passed(calendar, days[0], days[-1]) == timedelta(hours=8) * 12


@pytest.mark.parametrize(
    "calendar",
    [
        Calendar({"1": (("09:00", "17:00"),)}, "Mars/Olympus"),
        Calendar({"1": (("09:00", "17:00"),)}, "../../etc/passwd"),
        Calendar({"8": (("09:00", "17:00"),)}),
        Calendar({"1": (("17:00", "09:00"),)}),
        Calendar({"1": (("09:00", "12:00"), ("11:00", "13:00"))}),
        Calendar({"1": (("9", "17:00"),)}),
        Calendar({"1": (("00:00", "24:01"),)}),
        Calendar({}),
        Calendar({"1": (("09:00", "17:00"),)}, holidays=("2026-02-30",)),
        Calendar({"1": (("09:00", "17:00"),)}, special={"tomorrow": ()}),
        Calendar({"1": (("09:00", "17:00"),)}, holidays=("2026-01-01",) * 401),
        Calendar({"1": tuple((f"0{n}:00", f"0{n}:30") for n in range(8))}),
    ],
)
def test_hours_that_cannot_be_kept_are_refused(calendar):
    with pytest.raises(BadCalendar):
        calendars.check(calendar)
