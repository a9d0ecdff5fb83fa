"""Words of time as questions about an instant: "tuesday", "last week", "the 18th", "november 12", "before noon".

Days are UTC days, as seen from the instant that is handed in. Nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta

import msgspec

from agentstate.engine.instants import parse
from agentstate.engine.talk.tokens import Token
from agentstate.engine.talk.words import NUMBERS, ORDINALS

WEEKDAYS = {
    name: index
    for index, names in enumerate(
        ("monday mon", "tuesday tue tues", "wednesday wed", "thursday thu thurs", "friday fri", "saturday", "sunday")
    )
    for name in names.split()
}
MONTHS = {
    name: index
    for index, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), start=1
    )
    for name in names.split()
}  # fmt: skip
PARTS = {"morning": (4, 12), "noon": (12, 13), "afternoon": (12, 18), "evening": (17, 24), "night": (20, 28)}
UNITS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}

Question = Callable[[datetime], bool]


class When(msgspec.Struct, frozen=True):
    """A phrase of time: `asks` says whether an instant is meant, `length` how many tokens it took. `nearest`: of
    several days that answer, the one nearest to now is meant, the past first.
    """

    asks: Question
    length: int
    nearest: bool = False


def instant(value: object) -> datetime | None:
    """An attribute's value as an instant: the envelope form, a date, or any RFC 3339 text. None where it is none."""
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return None
    try:
        return parse(value)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    zone = parse("2000-01-01T00:00:00.000000Z").tzinfo
    return found.replace(tzinfo=zone) if found.tzinfo is None else found.astimezone(zone)


def when(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    """The phrase of time that begins at `index`, if one does."""
    if index >= len(tokens) or (tokens[index].kind == "word" and not _may_begin(tokens[index].text)):
        return None
    for read in (_bounded, _relative, _weekday, _month, _ago, _clock, _part, _figures):
        found = read(tokens, index, now)
        if found is not None:
            return found
    return None


_BEGINS = frozenset(
    {*WEEKDAYS, *MONTHS, *PARTS, *NUMBERS, "a", "an", "before", "after", "since", "until", "by", "today", "tonight"}
    | {"yesterday", "tomorrow", "day", "this", "last", "next", "past", "coming"}
)


def _may_begin(word: str) -> bool:
    return word in _BEGINS or word[0].isdecimal() or (word.endswith("s") and word[:-1] in WEEKDAYS)


def day_of_month(tokens: Sequence[Token], index: int) -> When | None:
    """`18th` or `third` as a day: only where the caller knows that no list is meant."""
    number = _ordinal_day(_text(tokens, index)) or ORDINALS.get(_text(tokens, index), 0)
    return When(lambda at: at.day == number, 1, nearest=True) if number else None


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""


def _days(first: date, days: int) -> Question:
    last = first + timedelta(days=days - 1)
    return lambda at: first <= at.date() <= last


def _bounded(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    """`before noon`, `after the 12th`."""
    word = _text(tokens, index)
    if word not in ("before", "after", "since", "until", "by"):
        return None
    later = word in ("after", "since")
    start = index + (2 if _text(tokens, index + 1) in ("the", "around") else 1)
    inner = _clock(tokens, start, now) or _part(tokens, start, now)
    if inner is not None:
        border = _border(tokens, start)
        return When(lambda at: (at.time() >= border) if later else (at.time() < border), start - index + inner.length)
    day = _relative(tokens, start, now) or _weekday(tokens, start, now) or _month(tokens, start, now)
    nearest = _nearest_day(day.asks, now) if day is not None else None
    if day is None or nearest is None:
        return None
    return When(lambda at: (at.date() > nearest) if later else (at.date() < nearest), start - index + day.length)


def _nearest_day(asks: Question, now: datetime) -> date | None:
    """The day nearest to now that is meant, within a year."""
    for away in range(370):
        for day in (now.date() - timedelta(days=away), now.date() + timedelta(days=away)):
            if asks(datetime.combine(day, time(12), now.tzinfo)):
                return day
    return None


def _border(tokens: Sequence[Token], index: int) -> time:
    word = _text(tokens, index)
    if word in PARTS:
        return time(PARTS[word][0] % 24)
    found = _time_of(word) or (0, 0)
    return time(*found)


def _relative(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    word, following = _text(tokens, index), _text(tokens, index + 1)
    today = now.date()
    near = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
    if word in near:
        return When(_days(today + timedelta(days=near[word]), 1), 1)
    if word == "day" and following in ("before", "after") and _text(tokens, index + 2) in ("yesterday", "tomorrow"):
        away = -2 if following == "before" else 2
        return When(_days(today + timedelta(days=away), 1), 3)
    if word in ("this", "last", "next", "past", "coming") and following in ("week", "month", "year", "weekend"):
        return When(_span(following, {"this": 0, "next": 1, "coming": 1}.get(word, -1), today), 2)
    if word == "this" and following in PARTS:
        inner = PARTS[following]
        return When(lambda at: at.date() == today and inner[0] <= at.hour < inner[1], 2)
    if word == "last" and following == "night":
        return When(lambda at: at.date() == today - timedelta(days=1) and at.hour >= 17, 2)
    return None


def _span(unit: str, away: int, today: date) -> Question:
    monday = today - timedelta(days=today.weekday())
    if unit == "week":
        return _days(monday + timedelta(weeks=away), 7)
    if unit == "weekend":
        return _days(monday + timedelta(days=5, weeks=away), 2)
    if unit == "year":
        return lambda at: at.year == today.year + away
    months = today.year * 12 + today.month - 1 + away
    return lambda at: at.year * 12 + at.month - 1 == months


def _weekday(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    word = _text(tokens, index)
    skip = 1 if word in ("last", "this", "next", "coming", "past") else 0
    name = _text(tokens, index + skip).removesuffix("'s")
    if name not in WEEKDAYS and name[:-1] in WEEKDAYS and name.endswith("s"):
        name = name[:-1]
    day = WEEKDAYS.get(name)
    if day is None:
        return None
    today = now.date()
    if word in ("last", "past"):
        return When(lambda at: at.weekday() == day and at.date() < today, skip + 1, nearest=True)
    if word in ("next", "coming"):
        return When(lambda at: at.weekday() == day and at.date() > today, skip + 1, nearest=True)
    return When(lambda at: at.weekday() == day, skip + 1, nearest=True)


def _ordinal_day(word: str) -> int:
    if word[:-2].isdecimal() and word[-2:] in ("st", "nd", "rd", "th") and len(word) <= 4:
        number = int(word[:-2])
        return number if 1 <= number <= 31 else 0
    return 0


def _month(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    """`november`, `nov 12`, `november 12th`, `12 november`, `the 12th of november`."""
    word, following = _text(tokens, index), _text(tokens, index + 1)
    if word in MONTHS and not (word in ("may", "march", "mar", "sun") and not tokens[index].capital):
        month, day = MONTHS[word], _day_number(following)
        if day:
            return When(lambda at: (at.month, at.day) == (month, day), 2, nearest=True)
        return When(lambda at: at.month == month, 1, nearest=True)
    day = _day_number(word)
    skip = 2 if following == "of" else 1
    if day and _text(tokens, index + skip) in MONTHS:
        month = MONTHS[_text(tokens, index + skip)]
        return When(lambda at: (at.month, at.day) == (month, day), skip + 1, nearest=True)
    return None


def _day_number(word: str) -> int:
    if word.isdecimal() and len(word) <= 2 and 1 <= int(word) <= 31:
        return int(word)
    return _ordinal_day(word)


def _ago(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    word, unit = _text(tokens, index), _text(tokens, index + 1)
    count = int(word) if word.isdecimal() and len(word) <= 3 else NUMBERS.get(word, 1 if word in ("a", "an") else 0)
    days = UNITS.get(unit.removesuffix("s"), 0)
    if not count or not days or _text(tokens, index + 2) not in ("ago", "before", "back", "earlier"):
        return None
    slack = {1: 0, 7: 4, 14: 4, 30: 10, 365: 60}[days]
    middle = now.date() - timedelta(days=min(count * days, 30_000))
    return When(_days(middle - timedelta(days=slack), 2 * slack + 1), 3)


def _time_of(word: str) -> tuple[int, int] | None:
    plain = word.replace(".", "").replace(" ", "")
    half = plain[-2:] if plain[-2:] in ("am", "pm") else ""
    hours, _, minutes = plain.removesuffix(half).partition(":")
    if not hours.isdecimal() or (minutes and not minutes.isdecimal()):
        return None
    hour, minute = int(hours), int(minutes or 0)
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _clock(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    if index >= len(tokens) or tokens[index].kind != "clock":
        return None
    found = _time_of(tokens[index].text)
    if found is None:
        return None
    hour, minute = found
    whole = ":" not in tokens[index].text
    return When(lambda at: at.hour == hour and (whole or at.minute == minute), 1)


def _part(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    part = PARTS.get(_text(tokens, index))
    if part is None:
        return None
    return When(lambda at: part[0] <= at.hour < part[1] or part[0] <= at.hour + 24 < part[1], 1)


def _figures(tokens: Sequence[Token], index: int, now: datetime) -> When | None:
    """`2026-11-12`, and `11/12` as month and day."""
    if index >= len(tokens):
        return None
    token = tokens[index]
    if token.kind == "iso":
        return When(lambda at: at.date().isoformat() == token.text, 1)
    if token.kind == "slash":
        month, day = (int(part) for part in token.text.split("/"))
        return When(lambda at: (at.month, at.day) == (month, day), 1, nearest=True)
    return None
