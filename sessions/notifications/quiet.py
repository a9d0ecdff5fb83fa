"""Hours in which somebody is not to be disturbed, by the clock on their wall. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from agentstate.errors import Invalid

ALL_DAYS = (1, 2, 3, 4, 5, 6, 7)
ROUNDS = 20  # of hours that follow each other; more would be for ever


class BadQuiet(Invalid):
    """These quiet hours cannot be kept."""

    code = "bad_quiet_hours"


class Quiet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From `start` to `end` (HH:MM, over midnight if the end is earlier), beginning on `days` (1 is Monday), in `zone`.
    The same instant for both is no hour at all.
    """

    start: str
    end: str
    zone: str = "UTC"
    days: tuple[int, ...] = ALL_DAYS


def load(data: Any) -> Quiet | None:
    """Sound quiet hours of decoded JSON; None of nothing. Raises BadQuiet naming the field."""
    if not data:
        return None
    try:
        found = msgspec.convert(data, Quiet)
    except msgspec.ValidationError as error:
        raise BadQuiet(str(error)[:200], field="quiet") from None
    if _time(found.start, "start") == _time(found.end, "end"):
        raise BadQuiet("they begin and end at the same time", field="end")
    if not found.days or not set(found.days) <= set(ALL_DAYS):
        raise BadQuiet("days are 1 (Monday) to 7", field="days")
    zone_of(found.zone)
    return found


def zone_of(name: str) -> ZoneInfo:
    """The time zone. Raises BadQuiet."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadQuiet(f"got {name[:60]!r}, which is no time zone", field="zone") from None


def _time(text: str, field: str) -> time:
    try:
        if len(text) != len("00:00"):
            raise ValueError
        return time.fromisoformat(text)
    except ValueError:
        raise BadQuiet(f"got {text[:20]!r}, want HH:MM", field=field) from None


def until(at: datetime, hours: Iterable[Quiet]) -> datetime | None:
    """When nobody's hours are quiet any more, if some are at `at`: hours that meet are gone through."""
    hours, found = tuple(hours), at
    for _ in range(ROUNDS):
        ends = [end for each in hours if (end := _end(found, each)) is not None]
        if not ends:
            break
        found = max(ends)
    return found if found > at else None


def _end(at: datetime, quiet: Quiet) -> datetime | None:
    """The end of the stretch that `at` lies in."""
    zone = ZoneInfo(quiet.zone)
    today = at.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        if day.isoweekday() in quiet.days:
            start, end = _stretch(day, quiet, zone)
            if start <= at < end:
                return end
    return None


def _stretch(day: date, quiet: Quiet, zone: ZoneInfo) -> tuple[datetime, datetime]:
    start, end = _time(quiet.start, "start"), _time(quiet.end, "end")
    ends_on = day + timedelta(days=1) if end < start else day
    return _instant(day, start, zone), _instant(ends_on, end, zone)


def _instant(day: date, wall: time, zone: ZoneInfo) -> datetime:
    """Of a doubled time of day the first; a skipped one is as long after midnight as it would have been."""
    return datetime.combine(day, wall, zone).astimezone(UTC)
