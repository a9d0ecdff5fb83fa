"""What a session has set going today: how often each tool, and how much money, for rules that limit a day.

Counted when the intent is committed, because from then on it may have happened; what only reads is not counted. A day
is one of UTC. Bounded: what does not fit any more counts under OTHERS. Money counts by the amounts that a tool
declares, in absolute value. Where one of them cannot be read, rules read null instead of the tool's sums and ask a
person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agentstate.engine.money import as_amount

MAX_TOOLS = 100
MAX_CURRENCIES = 20  # of one tool
OTHERS = "*"
UNREAD = "?"  # in the place of a currency: how many calls moved an amount that could not be read
_OF_MONEY = re.compile(r"(?:\w*_)?(?:minor|currency)")  # names that only an amount of money has


class Tally(msgspec.Struct, frozen=True):
    """Of one day (`2026-11-21`): calls by tool, and by tool and currency the minor units that they moved."""

    day: str = ""
    calls: dict[str, int] = {}
    moved: dict[str, dict[str, int]] = {}


def counted(tally: Tally, tool: str, amounts: Mapping[str, int], at: str) -> Tally:
    """With one call more, that began at the instant `at` and moved these amounts by currency."""
    tally = today(tally, at)
    tool = _place(tally.calls, tool, MAX_TOOLS)
    sums = dict(tally.moved.get(tool, {}))
    for currency, minor in amounts.items():
        currency = _place(sums, currency, MAX_CURRENCIES)
        sums[currency] = sums.get(currency, 0) + minor
    moved = {**tally.moved, tool: sums} if sums else tally.moved
    return Tally(tally.day, {**tally.calls, tool: tally.calls.get(tool, 0) + 1}, moved)


def amounts_of(arguments: dict[str, Any], declared: tuple[str, ...] | None) -> dict[str, int]:
    """Returns the minor units by currency at the declared paths of a call's arguments, in absolute value; UNREAD alone
    where nothing is declared, where the call has none of them, or where one or any other amount cannot be read.
    """
    if declared == ():
        return {}
    if _has_money(arguments):  # a flat amount
        return {UNREAD: 1}
    sums: dict[str, int] = {}
    for amount in _amounts(arguments, declared or ()):
        if amount is None:
            return {UNREAD: 1}
        currency, minor = amount
        sums[currency] = sums.get(currency, 0) + abs(minor)
    return sums or {UNREAD: 1}


def _amounts(arguments: dict[str, Any], declared: tuple[str, ...]) -> Iterator[tuple[str, int] | None]:
    """Yields each declared amount, `*` in a path being any item of a list; None for each that cannot be read."""
    waiting: list[tuple[str, Any]] = list(arguments.items())
    while waiting:
        path, value = waiting.pop()
        if path in declared:
            yield as_amount(value)
        elif isinstance(value, dict):
            if _has_money(value):
                yield None
            waiting += [(f"{path}.{name}", each) for name, each in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}.*", each) for each in value]


def _has_money(value: dict[str, Any]) -> bool:
    return any(_OF_MONEY.fullmatch(name.lower()) for name in value)


def amounts_before(arguments: dict[str, Any]) -> dict[str, int]:
    """Returns what an entry that names no amounts counted for: each argument that is an amount, as it is written."""
    sums: dict[str, int] = {}
    for value in arguments.values():
        if isinstance(value, dict) and _is_money(value):
            sums[value["currency"]] = sums.get(value["currency"], 0) + value["minor"]
    return sums


def readable(tally: Tally, unread: str) -> dict[str, dict[str, int] | None]:
    """Returns the sums by tool as rules read them: null for the tool `unread`, and where an amount was not read."""
    sums = {tool: None if each.get(UNREAD) or each.get(OTHERS) else each for tool, each in tally.moved.items()}
    return {**sums, unread: None} if unread else sums


def today(tally: Tally, at: str) -> Tally:
    """The tally as far as it is of the day of `at`."""
    return tally if tally.day == at[:10] else Tally(at[:10])


def later(ours: Tally, theirs: Tally) -> Tally:
    """The one of the later day; of the same day `theirs`, which has gone on from `ours`."""
    return ours if ours.day > theirs.day else theirs


def added(tally: Tally, more: Tally) -> Tally:
    """Both together, if they are of the same day; else the one of the later day."""
    return _combined(tally, more, 1) if tally.day == more.day else later(tally, more)


def without(tally: Tally, before: Tally) -> Tally:
    """What was set going since `before`, which `tally` has gone on from."""
    return _combined(tally, before, -1) if tally.day == before.day else tally


def _combined(tally: Tally, other: Tally, sign: int) -> Tally:
    calls = dict(tally.calls)
    for tool, count in other.calls.items():
        tool = _place(calls, tool, MAX_TOOLS)
        calls[tool] = calls.get(tool, 0) + sign * count
    moved = {tool: dict(sums) for tool, sums in tally.moved.items()}
    for tool, sums in other.moved.items():
        own = moved.setdefault(_place(moved, tool, MAX_TOOLS), {})
        for currency, minor in sums.items():
            currency = _place(own, currency, MAX_CURRENCIES)
            own[currency] = own.get(currency, 0) + sign * minor
    return Tally(tally.day, calls, moved)


def _place(held: dict[str, Any], name: str, most: int) -> str:
    return name if name in held or len(held) < most else OTHERS


def _is_money(value: dict[str, Any]) -> bool:
    minor = value.get("minor")
    return isinstance(minor, int) and not isinstance(minor, bool) and isinstance(value.get("currency"), str)
