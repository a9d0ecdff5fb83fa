"""What a session has set going today: how often each tool, and how much money, for rules that limit a day.

Counted when the intent is committed, because from then on it may have happened; what only reads is not counted. A day
is one of UTC. Bounded: what does not fit any more counts under OTHERS, so a limit is never reached later for it.
"""

from __future__ import annotations

from typing import Any

import msgspec

MAX_TOOLS = 100
MAX_CURRENCIES = 20  # of one tool
OTHERS = "*"


class Tally(msgspec.Struct, frozen=True):
    """Of one day (`2026-11-21`): calls by tool, and by tool and currency the minor units that stood in arguments."""

    day: str = ""
    calls: dict[str, int] = {}
    moved: dict[str, dict[str, int]] = {}


def counted(tally: Tally, tool: str, arguments: dict[str, Any], at: str) -> Tally:
    """With one call more, that began at the instant `at`."""
    tally = today(tally, at)
    tool = _place(tally.calls, tool, MAX_TOOLS)
    sums = dict(tally.moved.get(tool, {}))
    for value in arguments.values():
        if isinstance(value, dict) and _is_money(value):
            currency = _place(sums, value["currency"], MAX_CURRENCIES)
            sums[currency] = sums.get(currency, 0) + value["minor"]
    moved = {**tally.moved, tool: sums} if sums else tally.moved
    return Tally(tally.day, {**tally.calls, tool: tally.calls.get(tool, 0) + 1}, moved)


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
