"""Hours in which somebody is not to be disturbed, by the clock on their wall. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from agentstate.errors import Invalid
from sessions.text import calendars
from sessions.text.calendars import BadCalendar, Calendar, Span

ALL_DAYS = (1, 2, 3, 4, 5, 6, 7)
AHEAD = timedelta(days=8)  # no stretch is longer than a week
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
    try:
        if calendars.minutes(found.start, "start") == calendars.minutes(found.end, "end"):
            raise BadQuiet("they begin and end at the same time", field="end")
        calendars.zone_named(found.zone, "zone")
    except BadCalendar as error:
        raise BadQuiet(error.detail, field=str(error.facts.get("field", ""))) from None
    if "24:00" in (found.start, found.end):
        raise BadQuiet("midnight is 00:00", field="end")
    if not found.days or not set(found.days) <= set(ALL_DAYS):
        raise BadQuiet("days are 1 (Monday) to 7", field="days")
    return found


def until(at: datetime, hours: Iterable[Quiet]) -> datetime | None:
    """When nobody's hours are quiet any more, if some are at `at`: hours that meet are gone through."""
    kept, found = tuple(map(_calendar, hours)), at
    for _ in range(ROUNDS):
        ends = [end for each in kept if (end := _end(found, each)) is not None]
        if not ends:
            break
        found = max(ends)
    return found if found > at else None


def _calendar(quiet: Quiet) -> Calendar:
    """The quiet times as a calendar that is open in them; what goes over midnight is parted there."""
    week: dict[str, list[Span]] = {}
    for day in sorted(set(quiet.days)):
        if quiet.start < quiet.end:
            week.setdefault(str(day), []).append((quiet.start, quiet.end))
            continue
        week.setdefault(str(day), []).append((quiet.start, "24:00"))
        if quiet.end != "00:00":
            week.setdefault(str(day % 7 + 1), []).insert(0, ("00:00", quiet.end))
    return Calendar({day: tuple(spans) for day, spans in week.items()}, quiet.zone)


def _end(at: datetime, calendar: Calendar) -> datetime | None:
    """The end of the quiet stretch that `at` lies in."""
    if not calendars.is_open(calendar, at):
        return None
    return next(end for _, end in calendars.spans(calendar, at, at + AHEAD))
