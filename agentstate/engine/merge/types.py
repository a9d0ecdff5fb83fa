"""The merge types: of two changes to one value that did not know of each other, one value.

The order in which changes arrive makes no difference, and a change that arrives twice counts once. What that takes
beside the values is `marks`, a few texts a path: when each element of a set was added, by which change each element of
a list and the last writer's value came. A value without marks is older than all that have them.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine.merge.rules import MergeKind
from agentstate.engine.merge.values import ABSENT, is_number, mark, same, text
from agentstate.engine.money import is_amount
from agentstate.errors import Refused

MAX_ELEMENTS = 200  # of a set or list that merges
_exact = decimal.Context(prec=60, traps=[decimal.Inexact, decimal.Rounded, decimal.Overflow, decimal.InvalidOperation])


class NotMergeable(Refused):
    """This change does not fit the type by which its path merges."""

    code = "not_mergeable"
    remedy = "Read the state again and change the path as its type says."


class Meeting(msgspec.Struct, frozen=True):
    """Two changes of one value: from `base`, which `ours` was made on when the log had `seen` entries, to `theirs`."""

    path: str
    base: Any
    ours: Any
    theirs: Any
    seen: int
    change: str  # the id of our change
    seq: int  # of the entry that will hold the outcome
    marks: tuple[str, ...] = ()

    @property
    def stamp(self) -> str:
        """What our change is ordered by: who had seen more comes later, and between equals the id decides."""
        return f"{self.seen:016d}.{self.change}"

    def refused(self, why: str, kind: str) -> NotMergeable:
        """The refusal that names path, type and reason."""
        return NotMergeable(f"{self.path} is a {kind}: {why}", path=self.path, rule=kind)


class Merged(msgspec.Struct, frozen=True):
    """The value that holds now, its marks, and the value that lost, if one did."""

    value: Any
    marks: tuple[str, ...] = ()
    lost: Any = ABSENT


def merged(kind: MergeKind, meeting: Meeting) -> Merged:
    """What the two changes amount to. Raises NotMergeable."""
    if meeting.ours is ABSENT:
        raise meeting.refused("it cannot be removed", kind)
    return _TYPES[kind](meeting)


def _counter(meeting: Meeting) -> Merged:
    """Both differences count."""
    base, ours, theirs = (_amount(meeting, each) for each in (meeting.base, meeting.ours, meeting.theirs))
    units = {unit for unit, _ in (base, ours, theirs) if unit is not None}
    if len(units) > 1:
        raise meeting.refused("amounts of one currency, or plain numbers", "counter")
    try:
        total = _sum(theirs[1], _sum(ours[1], base[1], -1), 1)
    except (decimal.DecimalException, ValueError):
        raise meeting.refused("the sum has too many digits", "counter") from None
    unit = next(iter(units), "")
    return Merged({"minor": total, "currency": unit} if unit else total)


def _amount(meeting: Meeting, value: Any) -> tuple[str | None, int | Decimal]:
    """The currency ("" for plain numbers, None where nothing stands) and the number."""
    if value is ABSENT:
        return None, 0
    if is_amount(value):
        return value["currency"], value["minor"]
    if is_number(value):
        return "", value
    raise meeting.refused("want a number or an amount of money", "counter")


def _sum(one: int | Decimal, other: int | Decimal, sign: int) -> int | Decimal:
    if isinstance(one, int) and isinstance(other, int):
        return one + sign * other
    return _exact.add(Decimal(one), _exact.multiply(Decimal(sign), Decimal(other)))


def _set(meeting: Meeting) -> Merged:
    """What either added is in; what either removed is out, unless it was added again by one who came after."""
    base, ours, theirs = (_elements(meeting, each, "set") for each in (meeting.base, meeting.ours, meeting.theirs))
    added_at = dict(_halves(each) for each in meeting.marks)
    kept = {
        key: value
        for key, value in theirs.items()
        if not (key in base and key not in ours and int(added_at.get(key, "-1")) < meeting.seen)
    }
    new = {key: value for key, value in ours.items() if key not in base}
    everything = {**kept, **new}
    if len(everything) > MAX_ELEMENTS:
        raise meeting.refused(f"at most {MAX_ELEMENTS} elements", "set")
    times = {**{key: at for key, at in added_at.items() if key in everything}, **dict.fromkeys(new, str(meeting.seq))}
    return Merged(sorted(everything.values(), key=text), tuple(f"{key} {times[key]}" for key in sorted(times)))


def _elements(meeting: Meeting, value: Any, kind: str) -> dict[str, Any]:
    return {mark(each): each for each in _listed(meeting, value, kind)}


def _listed(meeting: Meeting, value: Any, kind: str) -> list[Any]:
    if value is ABSENT:
        return []
    if not isinstance(value, list):
        raise meeting.refused("want an array", kind)
    return value


def _list(meeting: Meeting) -> Merged:
    """What either appended is in, once, in one order that does not depend on who was first."""
    base, ours, theirs = (_listed(meeting, each, "list") for each in (meeting.base, meeting.ours, meeting.theirs))
    if not same(ours[: len(base)], base):
        raise meeting.refused("elements are appended, never changed or removed", "list")
    held = _stamped(theirs, meeting.marks)
    known = {stamp for stamp, _ in held}
    appended = [(f"{meeting.stamp}.{number:04d}", each) for number, each in enumerate(ours[len(base) :])]
    everything = held + [pair for pair in appended if pair[0] not in known]
    if len(everything) > MAX_ELEMENTS:
        raise meeting.refused(f"at most {MAX_ELEMENTS} elements", "list")
    everything.sort(key=lambda pair: pair[0])  # stable: elements without a stamp stay first, as they were
    return Merged([each for _, each in everything], tuple(f"{mark(each)} {stamp}" for stamp, each in everything))


def _stamped(elements: list[Any], marks: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Each element with its stamp; an empty one where the mark is of something else: an output has replaced it."""
    stamps = dict(enumerate(_halves(each) for each in marks))
    nothing = ("", "")
    return [
        (stamps[at][1] if stamps.get(at, nothing)[0] == mark(each) else "", each) for at, each in enumerate(elements)
    ]


def _halves(of_mark: str) -> tuple[str, str]:
    key, _, rest = of_mark.partition(" ")
    return key, rest


def _greatest(sign: int, kind: str) -> Callable[[Meeting], Merged]:
    def extreme(meeting: Meeting) -> Merged:
        ours, theirs = meeting.ours, meeting.theirs
        if theirs is ABSENT:
            _comparable(meeting, ours, ours, kind)
            return Merged(ours)
        one, other = _comparable(meeting, ours, theirs, kind)
        wins = one > other if sign > 0 else one < other
        if one == other:  # 1.0 and 1.00: the same to everybody, so that it is the same whoever was first
            wins = text(ours) > text(theirs)
        return Merged(ours if wins else theirs, lost=theirs if wins else ours)

    return extreme


def _comparable(meeting: Meeting, one: Any, other: Any, kind: str) -> tuple[Any, Any]:
    if is_number(one) and is_number(other):
        return one, other
    if is_amount(one) and is_amount(other) and one["currency"] == other["currency"]:
        return one["minor"], other["minor"]
    if isinstance(one, str) and isinstance(other, str):
        return one, other
    raise meeting.refused("want numbers, amounts of one currency, or texts", kind)


def _last(meeting: Meeting) -> Merged:
    """Who had seen more wrote last; between two who had seen the same the ids decide, for everybody alike."""
    held = max((rest for key, rest in map(_halves, meeting.marks) if key == mark_of(meeting.theirs)), default="")
    ours_last = meeting.stamp >= held
    value, lost = (meeting.ours, meeting.theirs) if ours_last else (meeting.theirs, meeting.ours)
    return Merged(value, (f"{mark_of(value)} {max(meeting.stamp, held)}",), lost)


def mark_of(value: Any) -> str:
    """The mark of a value that may be absent."""
    return "" if value is ABSENT else mark(value)


_TYPES: Mapping[MergeKind, Callable[[Meeting], Merged]] = {
    "counter": _counter,
    "set": _set,
    "list": _list,
    "maximum": _greatest(1, "maximum"),
    "minimum": _greatest(-1, "minimum"),
    "last": _last,
}
