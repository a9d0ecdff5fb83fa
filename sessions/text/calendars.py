"""Business hours: the one notion of opening times, for schedules of triggers, service levels and quiet hours. Pure.

A calendar says by the wall clock of a zone when it is open; an instant is open when the clock of the zone then shows an
open time. So an hour that is doubled when clocks go back counts twice, and one that is skipped does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from agentstate.errors import Invalid

MAX_HOLIDAYS = 400
MAX_SPECIAL = 400  # days with hours of their own
MAX_SPANS = 6  # opening times of one day
DAYS_AHEAD = 400  # within which it must open, and how far ahead is looked
DAY = 24 * 60  # minutes
STEP = timedelta(hours=12)  # clocks change less often than this
STRETCH = timedelta(days=8)  # looked at in one go: whoever wants the next opening looks no further than needed

Span = tuple[str, str]  # "HH:MM" to "HH:MM", the end not included; "24:00" is midnight


class BadCalendar(Invalid):
    """The opening hours cannot be kept."""

    code = "bad_calendar"


class Calendar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Opening times by weekday, "1" (Monday) to "7"; `holidays` are closed, `special` days have hours of their own."""

    week: dict[str, tuple[Span, ...]]
    zone: str = "UTC"
    holidays: tuple[str, ...] = ()
    special: dict[str, tuple[Span, ...]] = {}


class _Compiled(msgspec.Struct, frozen=True):
    zone: tzinfo
    week: tuple[tuple[tuple[int, int], ...], ...]  # minutes of the day, from Monday
    days: dict[str, tuple[tuple[int, int], ...]]


def check(calendar: Calendar, field: str = "calendar") -> None:
    """Raises BadCalendar naming the part of `field`."""
    zone_named(calendar.zone, f"{field}.zone")
    if not set(calendar.week) <= set("1234567"):
        raise BadCalendar("days are 1 (Monday) to 7", field=f"{field}.week")
    for name, most in (("holidays", MAX_HOLIDAYS), ("special", MAX_SPECIAL)):
        if len(getattr(calendar, name)) > most:
            raise BadCalendar(f"at most {most}", field=f"{field}.{name}")
    for day in (*calendar.holidays, *calendar.special):
        _must_be_a_day(day, field)
    for spans_of_day in (*calendar.week.values(), *calendar.special.values()):
        _must_be_in_order(spans_of_day, field)
    if opening(calendar, datetime(2026, 1, 1, tzinfo=UTC)) is None:
        raise BadCalendar("it never opens", field=field)


def zone_named(name: str, field: str) -> ZoneInfo:
    """The time zone of this IANA name. Raises BadCalendar."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadCalendar(f"got {name[:60]!r}, which is no time zone", field=field) from None


def _must_be_a_day(day: str, field: str) -> None:
    try:
        if len(day) != len("2026-01-01"):
            raise ValueError
        date.fromisoformat(day)
    except ValueError:
        raise BadCalendar(f"got {day[:20]!r}, want a date", field=field) from None


def _must_be_in_order(of_day: tuple[Span, ...], field: str) -> None:
    if len(of_day) > MAX_SPANS:
        raise BadCalendar(f"at most {MAX_SPANS} opening times a day", field=field)
    last = -1
    for begin, end in of_day:
        opens, closes = minutes(begin, field), minutes(end, field)
        if opens < last or closes <= opens:
            raise BadCalendar("it opens before it closes, and then again", field=field)
        last = closes


def minutes(text: str, field: str) -> int:
    """The minutes of a day that "HH:MM" shows; "24:00" is its end. Raises BadCalendar."""
    if text == "24:00":
        return DAY
    try:
        if len(text) != len("00:00"):
            raise ValueError
        wall = time.fromisoformat(text)
    except ValueError:
        raise BadCalendar(f"got {text[:20]!r}, want HH:MM", field=field) from None
    return wall.hour * 60 + wall.minute


def daily(days: tuple[int, ...], opens: str, closes: str, zone: str, holidays: tuple[str, ...] = ()) -> Calendar:
    """The same hours on each of these days, 1 (Monday) to 7."""
    return Calendar({str(day): ((opens, closes),) for day in days}, zone, holidays)


def spans(calendar: Calendar, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The open times between two instants, in UTC and in order; those that touch are one."""
    held: tuple[datetime, datetime] | None = None
    for each in _pieces(_compiled(msgspec.json.encode(calendar)), start.astimezone(UTC), end.astimezone(UTC)):
        if held is not None and each[0] == held[1]:
            held = (held[0], each[1])
            continue
        if held is not None:
            yield held
        held = each
    if held is not None:
        yield held


def is_open(calendar: Calendar, at: datetime) -> bool:
    """Whether it is open at this instant."""
    made = _compiled(msgspec.json.encode(calendar))
    local = at.astimezone(made.zone)
    minute = local.hour * 60 + local.minute
    return any(opens <= minute < closes for opens, closes in _of_day(made, local.date()))


def opening(calendar: Calendar, after: datetime) -> datetime | None:
    """The first instant behind `after` at which it opens; None when it does not within DAYS_AHEAD days."""
    end = after + timedelta(days=DAYS_AHEAD)
    return next((begin for begin, _ in spans(calendar, after, end) if begin > after), None)


def passed(calendar: Calendar | None, since: datetime, until: datetime) -> timedelta:
    """How much open time lies between two instants. Without a calendar it is always open."""
    if until <= since:
        return timedelta(0)
    if calendar is None:
        return until - since
    return sum((end - begin for begin, end in spans(calendar, since, until)), timedelta(0))


def after(calendar: Calendar | None, since: datetime, length: timedelta) -> datetime | None:
    """The instant at which so much open time has passed; None when it has not within DAYS_AHEAD days."""
    if calendar is None:
        return since + length
    left = length
    for begin, end in spans(calendar, since, since + timedelta(days=DAYS_AHEAD)):
        if end - begin >= left:
            return begin + left
        left -= end - begin
    return None


def _pieces(made: _Compiled, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """As `spans`, cut wherever the zone's clock is set."""
    for begin, until, offset in _even(made.zone, start, end):
        first, last = (begin + offset).replace(tzinfo=None), (until + offset).replace(tzinfo=None)
        day = first.date()
        while day <= last.date():
            midnight = datetime.combine(day, time())
            for opens, closes in _of_day(made, day):
                low = max(first, midnight + timedelta(minutes=opens))
                high = min(last, midnight + timedelta(minutes=closes))
                if low < high:
                    yield (low - offset).replace(tzinfo=UTC), (high - offset).replace(tzinfo=UTC)
            day += timedelta(days=1)


def _of_day(made: _Compiled, day: date) -> tuple[tuple[int, int], ...]:
    if made.days and (own := made.days.get(day.isoformat())) is not None:
        return own
    return made.week[day.weekday()]


def _even(zone: tzinfo, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime, timedelta]]:
    """Stretches of time in which the zone's clock is not set, each with its offset."""
    at, offset = start, _offset(zone, start)
    looked = start
    while looked < end:
        ahead = min(looked + STEP, end)
        if (other := _offset(zone, ahead)) != offset:
            turn = _turn(zone, looked, ahead, offset)
            yield at, turn, offset
            at, offset = turn, other
        if ahead - at >= STRETCH:
            yield at, ahead, offset
            at = ahead
        looked = ahead
    if at < end:
        yield at, end, offset


def _turn(zone: tzinfo, low: datetime, high: datetime, offset: timedelta) -> datetime:
    """The instant, to the second, at which the offset is `offset` no more. It is at `low`, and is not at `high`."""
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        if _offset(zone, middle) == offset:
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)


def _offset(zone: tzinfo, at: datetime) -> timedelta:
    found = at.astimezone(zone).utcoffset()
    assert found is not None
    return found


@lru_cache(maxsize=256)
def _compiled(data: bytes) -> _Compiled:
    calendar = msgspec.json.decode(data, type=Calendar)
    week = tuple(_minutes(calendar.week.get(str(day), ())) for day in range(1, 8))
    days = {day: _minutes(of_day) for day, of_day in calendar.special.items()}
    return _Compiled(zone_named(calendar.zone, "zone"), week, days | dict.fromkeys(calendar.holidays, ()))


def _minutes(of_day: tuple[Span, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((minutes(begin, "hours"), minutes(end, "hours")) for begin, end in of_day)
