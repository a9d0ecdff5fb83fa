"""When a schedule is due: cron by the wall clock of a zone, every so many seconds, or once; within business hours.

Where clocks are changed, as Debian's cron does (Cronsim, https://github.com/cuu508/cronsim, evaluates it). A time of
day that is skipped comes at the end of the gap, one that is doubled comes once, the first time. Patterns whose minute
or hour begins with `*` go by what the clock shows: nothing in a skipped hour, and twice through a doubled one.
Intervals are lengths of time and know no clocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from cronsim import CronSim, CronSimError

from agentstate.errors import Invalid
from sessions.text import calendars
from sessions.text.calendars import Calendar

MIN_EVERY = 10  # seconds
MAX_EVERY = 366 * 24 * 3600
LOOK = 1_000  # times that are tried until one lies within business hours
MAX_CATCH_UP = 100  # missed times that are made up for
GRACE = timedelta(seconds=60)  # later than this a time counts as missed

CatchUp = Literal["none", "once", "all"]


class BadSchedule(Invalid):
    """The schedule cannot be kept."""

    code = "bad_schedule"


class Hours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Business hours by the schedule's zone: `days` from 1 (Monday) to 7, `open` to `close` as HH:MM (the end is not
    meant any more). What falls outside is left out, or with `outside` "next" comes at the next opening, once.
    """

    days: tuple[int, ...]
    open: str
    close: str
    holidays: tuple[str, ...] = ()
    outside: Literal["skip", "next"] = "skip"


class Schedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of `cron`, `every` (seconds) and `once` (an instant). `catch_up` says what becomes of times that passed while
    nobody was there: nothing, one for all of them, or each, at most MAX_CATCH_UP.
    """

    cron: str = ""
    every: int = 0
    once: str = ""
    zone: str = "UTC"
    hours: Hours | None = None
    catch_up: CatchUp = "once"


class Due(msgspec.Struct, frozen=True):
    """What a look at the clock finds: the times to act on, how many were missed beside them, and the next time."""

    times: tuple[datetime, ...]
    missed: int
    next_at: datetime | None


def check(schedule: Schedule) -> None:
    """Raises BadSchedule naming the field."""
    if sum(map(bool, (schedule.cron, schedule.every, schedule.once))) != 1:
        raise BadSchedule("want one of cron, every and once", field="on.schedule")
    zone = _zone(schedule)
    if schedule.cron:
        _must_be_cron(schedule.cron, zone)
    if schedule.every and not MIN_EVERY <= schedule.every <= MAX_EVERY:
        raise BadSchedule(f"want {MIN_EVERY} to {MAX_EVERY} seconds", field="on.schedule.every")
    if schedule.once:
        _instant(schedule.once)
    if schedule.hours is not None:
        _must_open(schedule.hours, schedule.zone)


def _must_be_cron(text: str, zone: ZoneInfo) -> None:
    if len(text) > 200 or len(text.split()) != 5:
        raise BadSchedule("want five fields: minute hour day month weekday", field="on.schedule.cron")
    try:
        next(CronSim(text, datetime(2026, 1, 1, tzinfo=zone)))
    except CronSimError as error:
        raise BadSchedule(str(error), field="on.schedule.cron") from None
    except StopIteration:
        raise BadSchedule("it never comes", field="on.schedule.cron") from None


def _must_open(hours: Hours, zone: str) -> None:
    if not hours.days:
        raise BadSchedule("days are 1 (Monday) to 7", field="on.schedule.hours.days")
    try:
        calendars.check(_calendar(hours, zone), "on.schedule.hours")
    except calendars.BadCalendar as error:
        raise BadSchedule(error.detail, field=str(error.facts.get("field", "on.schedule.hours"))) from None


def _calendar(hours: Hours, zone: str) -> Calendar:
    return calendars.daily(hours.days, hours.open, hours.close, zone, hours.holidays)


def _zone(schedule: Schedule) -> ZoneInfo:
    try:
        return ZoneInfo(schedule.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadSchedule(f"got {schedule.zone[:60]!r}, which is no time zone", field="on.schedule.zone") from None


def _instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadSchedule(f"got {text[:40]!r}, want an instant with its time zone", field="on.schedule.once")
    return found.astimezone(UTC)


def following(schedule: Schedule, after: datetime, since: datetime) -> datetime | None:
    """The first time after `after`, in UTC; None when there is none any more. Intervals are counted from `since`."""
    hours, zone = schedule.hours, _zone(schedule)
    if hours is None:
        return _raw(schedule, zone, after, since)
    calendar = _calendar(hours, schedule.zone)
    for _ in range(LOOK):
        found = _raw(schedule, zone, after, since)
        if found is None or calendars.is_open(calendar, found):
            return found
        opening = calendars.opening(calendar, found)
        if opening is None or (schedule.once and hours.outside == "skip"):
            return None
        if hours.outside == "next":
            return opening
        after = opening - timedelta(microseconds=1)
    return None


def _raw(schedule: Schedule, zone: ZoneInfo, after: datetime, since: datetime) -> datetime | None:
    """The first time after `after`, whatever the business hours."""
    if schedule.once:
        once = _instant(schedule.once)
        return once if once > after else None
    if schedule.every:
        passed = max(0, (after - since) // timedelta(seconds=schedule.every) + 1)
        return (since + passed * timedelta(seconds=schedule.every)).astimezone(UTC)
    for found in _cron(schedule.cron, after.astimezone(zone)):
        if found > after:
            return found
    return None


def _cron(text: str, start: datetime) -> Iterator[datetime]:
    for found in CronSim(text, start):
        yield found.astimezone(UTC)


def due(schedule: Schedule, next_at: datetime, now: datetime, since: datetime) -> Due:
    """What is to be done at `now` about a schedule whose next time was `next_at`, which has come."""
    times: list[datetime] = []
    missed, at = 0, next_at
    while at <= now and missed < LOOK:
        if schedule.catch_up == "all" and len(times) < MAX_CATCH_UP:
            times.append(at)
        elif schedule.catch_up == "all":
            missed += 1
        else:
            missed += len(times)
            times = [at]
        coming = following(schedule, at, since)
        if coming is None:
            return Due(*_kept(schedule, times, missed, now), None)
        at = coming
    if at <= now:  # too many to be counted
        at = following(schedule, now, since) or at
    return Due(*_kept(schedule, times, missed, now), at if at > now else None)


def _kept(schedule: Schedule, times: list[datetime], missed: int, now: datetime) -> tuple[tuple[datetime, ...], int]:
    """Without those that are too late, where nothing is made up for."""
    if schedule.catch_up != "none":
        return tuple(times), missed
    kept = tuple(at for at in times if now - at <= GRACE)
    return kept, missed + len(times) - len(kept)
