"""Three-way merge of a change: what it was made on, what it wants, and what stands now, path by path.

Where nobody else has changed a path, the change holds. Where somebody has, the path's merge type makes one value of
both; without a type it is a clash, and the path's rule says what becomes of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from agentstate.engine import scratchpad
from agentstate.engine.events.scratchpad import Write
from agentstate.engine.merge.paths import in_the_way, put, read, removed
from agentstate.engine.merge.rules import Clashes, MergeKind, Rules
from agentstate.engine.merge.types import Meeting, merged
from agentstate.engine.merge.values import ABSENT, same
from agentstate.engine.schemas import bounds
from agentstate.engine.scratchpad import Pad
from agentstate.errors import Invalid

MAX_PATHS = 200  # that one change may touch
MAX_VALUE = bounds.Bounds(depth=32, nodes=20_000, text=200_000)  # of one path


class BadChange(Invalid):
    """The change is malformed."""

    code = "bad_change"


class PathChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a path is to hold: `value`, or with `remove` nothing."""

    path: str
    value: Any = None
    remove: bool = False

    @property
    def wanted(self) -> Any:
        """The value, or ABSENT."""
        return ABSENT if self.remove else self.value


class Clash(msgspec.Struct, frozen=True):
    """A path that was changed twice, and has no merge type. A value is in a tuple, or the tuple is empty: absent."""

    path: str
    base: tuple[Any, ...]
    ours: tuple[Any, ...]
    theirs: tuple[Any, ...]
    becomes: Clashes


class Merge(msgspec.Struct, frozen=True):
    """The outcome, path by path."""

    writes: tuple[Write, ...] = ()
    clashes: tuple[Clash, ...] = ()


class Versions(msgspec.Struct, frozen=True):
    """What a change was made on, what stands now, and where in the log these are."""

    base: Pad
    now: Pad
    seen: int
    seq: int
    marks: Mapping[str, tuple[str, ...]] = {}


def merge(changes: Iterable[PathChange], change: str, versions: Versions, rules: Rules) -> Merge:
    """The change whose id is `change`, merged into what stands now. Raises BadChange, BadPath,
    BreaksSchema (too large, or no JSON), NotMergeable, each naming the path.
    """
    writes: dict[str, Write] = {}
    clashes: dict[str, Clash] = {}
    for path, base, ours in _units(_checked(changes), versions, rules):
        met = _met(path, base, ours, change, versions, rules)
        if isinstance(met, Clash):
            clashes[path] = met
        elif met is not None:
            writes[path] = met
    return Merge(tuple(writes.values()), tuple(clashes.values()))


def _checked(changes: Iterable[PathChange]) -> list[PathChange]:
    """The changes, if they are well formed and no path is within another."""
    listed = list(changes)
    if not 0 < len(listed) <= MAX_PATHS:
        raise BadChange(f"got {len(listed)} paths, want 1 to {MAX_PATHS}", field="changes")
    taken: list[tuple[str, ...]] = []
    for each in listed:
        names = tuple(scratchpad.parts(each.path))
        if any(names[: len(other)] == other[: len(names)] for other in taken):
            raise BadChange(f"{each.path} is changed twice", field=each.path)
        taken.append(names)
        if not each.remove:
            bounds.check(each.value, each.path, MAX_VALUE)
    return listed


def _units(changes: list[PathChange], versions: Versions, rules: Rules) -> Iterator[tuple[str, Any, Any]]:
    """(path, value before, value wanted) of each value that is merged as one."""
    count = 0
    for each in changes:
        base, now = read(versions.base, each.path), read(versions.now, each.path)
        for unit in _split(each.path, base, each.wanted, now, rules):
            count += 1
            if count > MAX_PATHS:
                raise BadChange(f"more than {MAX_PATHS} values are changed", field=each.path)
            yield unit


def _split(path: str, base: Any, ours: Any, now: Any, rules: Rules) -> Iterator[tuple[str, Any, Any]]:
    if rules.kind_of(path) is None and _is_split(path, base, ours, now, rules):
        before, there = (each if isinstance(each, dict) else {} for each in (base, now))
        for name in sorted(before.keys() | ours.keys()):
            was, want, stands = (each.get(name, ABSENT) for each in (before, ours, there))
            yield from _split(f"{path}.{name}", was, want, stands, rules)
    elif not same(base, ours):
        yield path, base, ours


def _is_split(path: str, base: Any, ours: Any, now: Any, rules: Rules) -> bool:
    """Objects are merged by key, so that two may fill in one form; a new one where another has made it as well, or
    where something below it merges.
    """
    if not isinstance(ours, dict) or not all(map(_is_name, ours)):
        return False
    if isinstance(base, dict):
        return all(map(_is_name, base))
    return base is ABSENT and (isinstance(now, dict) or (bool(ours) and rules.merges_below(path)))


def _is_name(key: str) -> bool:
    return bool(key) and "." not in key


def _met(path: str, base: Any, ours: Any, change: str, versions: Versions, rules: Rules) -> Write | Clash | None:
    """The outcome at one path; None when it holds already what is wanted."""
    theirs = read(versions.now, path)
    kind = rules.kind_of(path)
    if kind is not None:
        meeting = Meeting(path, base, ours, theirs, versions.seen, change, versions.seq, versions.marks.get(path, ()))
        return _merged(kind, meeting)
    obstacle = in_the_way(versions.now, scratchpad.parts(path))
    if obstacle and not same(read(versions.now, obstacle), read(versions.base, obstacle)):
        return Clash(path, _held(base), _held(ours), _held(read(versions.now, obstacle)), rules.clash_of(path))
    if same(ours, theirs):
        return None
    if same(theirs, base):
        return _plain(path, ours)
    return Clash(path, _held(base), _held(ours), _held(theirs), rules.clash_of(path))


def _merged(kind: MergeKind, meeting: Meeting) -> Write | None:
    result = merged(kind, meeting)
    if same(result.value, meeting.theirs) and result.marks == meeting.marks and result.lost is ABSENT:
        return None
    lost = () if same(result.lost, result.value) else _held(result.lost)
    return Write(meeting.path, result.value, how=kind, lost=lost, marks=result.marks)


def _plain(path: str, ours: Any) -> Write:
    return Write(path, removed=True) if ours is ABSENT else Write(path, ours)


def _held(value: Any) -> tuple[Any, ...]:
    return () if value is ABSENT else (value,)


def written(pad: Pad, writes: Iterable[Write]) -> Pad:
    """The pad after `writes`."""
    for each in writes:
        pad = removed(pad, each.path) if each.removed else put(pad, each.path, each.value)
    return pad
