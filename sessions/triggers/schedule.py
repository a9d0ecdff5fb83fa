"""When a schedule is due: cron by the wall clock of a zone, every so many seconds, or once; within business hours.

Where clocks are changed, as Debian's cron does (Cronsim, https://github.com/cuu508/cronsim, evaluates it). A time of
day that is skipped comes at the end of the gap, one that is doubled comes once, the first time. Patterns whose minute
or hour begins with `*` go by what the clock shows: nothing in a skipped hour, and twice through a doubled one.
Intervals are lengths of time and know no clocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from cronsim import CronSim, CronSimError

from agentstate.errors import Invalid

MIN_EVERY = 10  # seconds
MAX_EVERY = 366 * 24 * 3600
MAX_HOLIDAYS = 400
LOOK = 1_000  # times that are tried until one lies within business hours
DAYS_AHEAD = 400  # within which business hours must open
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
        _must_open(schedule.hours, zone)


def _must_be_cron(text: str, zone: ZoneInfo) -> None:
    if len(text) > 200 or len(text.split()) != 5:
        raise BadSchedule("want five fields: minute hour day month weekday", field="on.schedule.cron")
    try:
        next(CronSim(text, datetime(2026, 1, 1, tzinfo=zone)))
    except CronSimError as error:
        raise BadSchedule(str(error), field="on.schedule.cron") from None
    except StopIteration:
        raise BadSchedule("it never comes", field="on.schedule.cron") from None


def _must_open(hours: Hours, zone: ZoneInfo) -> None:
    if not hours.days or not set(hours.days) <= set(range(1, 8)):
        raise BadSchedule("days are 1 (Monday) to 7", field="on.schedule.hours.days")
    if _time(hours.open, "open") >= _time(hours.close, "close"):
        raise BadSchedule("it opens before it closes", field="on.schedule.hours.close")
    if len(hours.holidays) > MAX_HOLIDAYS:
        raise BadSchedule(f"at most {MAX_HOLIDAYS}", field="on.schedule.hours.holidays")
    for day in hours.holidays:
        try:
            date.fromisoformat(day)
        except ValueError:
            raise BadSchedule(f"got {day[:20]!r}, want a date", field="on.schedule.hours.holidays") from None
    if _opening(hours, zone, datetime(2026, 1, 1, tzinfo=UTC)) is None:
        raise BadSchedule("it never opens", field="on.schedule.hours")


def _time(text: str, name: str) -> time:
    try:
        if len(text) != len("00:00"):
            raise ValueError
        return time.fromisoformat(text)
    except ValueError:
        raise BadSchedule(f"got {text[:20]!r}, want HH:MM", field=f"on.schedule.hours.{name}") from None


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
    for _ in range(LOOK):
        found = _raw(schedule, zone, after, since)
        if found is None or hours is None or _is_open(hours, zone, found):
            return found
        opening = _opening(hours, zone, found)
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


def _is_open(hours: Hours, zone: ZoneInfo, at: datetime) -> bool:
    local = at.astimezone(zone)
    return _opens_on(hours, local.date()) and _time(hours.open, "open") <= local.time() < _time(hours.close, "close")


def _opens_on(hours: Hours, day: date) -> bool:
    return day.isoweekday() in hours.days and day.isoformat() not in hours.holidays


def _opening(hours: Hours, zone: ZoneInfo, at: datetime) -> datetime | None:
    """The first opening after `at`."""
    today = at.astimezone(zone).date()
    for ahead in range(DAYS_AHEAD):
        day = today + timedelta(days=ahead)
        if _opens_on(hours, day):
            opening = _of_day(day, _time(hours.open, "open"), zone)
            if opening > at:
                return opening
    return None


def _of_day(day: date, wall: time, zone: ZoneInfo) -> datetime:
    """The instant of a time of day: of a doubled one the first, of a skipped one the end of the gap."""
    found = datetime.combine(day, wall, zone).astimezone(UTC)
    if found.astimezone(zone).time() == wall:
        return found
    early = datetime.combine(day, wall, zone).replace(fold=1).astimezone(UTC)  # before the gap, as the gap is skipped
    while found - early > timedelta(seconds=1):
        middle = early + (found - early) / 2
        if middle.astimezone(zone).time() > wall:
            found = middle
        else:
            early = middle
    return found.replace(microsecond=0)


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
