"""Which items a summary covers, and what it replaces: ranges stay apart, and a call stays with its results."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from agentstate.engine.memory.groups import Group
from agentstate.engine.memory.scene import Scene
from agentstate.engine.memory.summaries import Summary, digest_of, written

Part = tuple[list[Group], list[Summary]]  # what a summary is to take: groups, and summaries that it replaces


class Cover(msgspec.Struct, frozen=True):
    """A summary to be made: it covers `groups` and what `replaced` covered. `kept` stays raw inside its range; its
    text may take `limit` tokens.
    """

    first: int
    last: int
    kept: tuple[int, ...]
    groups: tuple[Group, ...]
    replaced: tuple[Summary, ...]
    limit: int

    @property
    def count(self) -> int:
        """How many items it covers in all."""
        return sum(len(group.items) for group in self.groups) + sum(each.count for each in self.replaced)

    @property
    def covers(self) -> str:
        """The digest of what it covers."""
        return digest_of(list(self.groups), self.replaced)

    def text(self, scene: Scene) -> str:
        """The text by rules."""
        return written(list(self.groups), self.replaced, scene.private, scene.counter, self.limit)


def covering(scene: Scene, batch: list[Group], limit: int, most: int) -> list[Cover]:
    """The summaries that take `batch`, each of a range of its own, the one that covers most last. The eldest are made
    one where more than `most` would be held, so that none is written only to be replaced.
    """
    parts = _joined(_components(batch, scene.memory.summaries), scene.memory.summaries, most)
    parts.sort(key=lambda part: (sum(len(group.items) for group in part[0]), _high(*part)))
    return [_cover(scene, groups, replaced, limit) for groups, replaced in parts]


def _joined(parts: list[Part], summaries: tuple[Summary, ...], most: int) -> list[Part]:
    """`parts`, the eldest joined, also with summaries that none of them touches, until `most` are left in all."""
    touched = {each.seq for _, replaced in parts for each in replaced}
    others: list[Part] = [([], [each]) for each in summaries if each.seq not in touched]
    held = sorted([*parts, *others], key=lambda part: _low(*part))
    while len(held) > max(1, most):
        eldest, next_one = held[:2]
        held[:2] = [([*eldest[0], *next_one[0]], [*eldest[1], *next_one[1]])]
    return [part for part in held if part[0] or len(part[1]) > 1]


def joining(scene: Scene, summaries: tuple[Summary, ...], limit: int) -> Cover:
    """The summary that replaces `summaries`, which are neighbours; of a single one, the same in fewer words."""
    return _cover(scene, [], list(summaries), limit)


def _cover(scene: Scene, groups: list[Group], replaced: list[Summary], limit: int) -> Cover:
    first = min([group.first for group in groups] + [each.first for each in replaced])
    last = max([group.last for group in groups] + [each.last for each in replaced])
    gone = {seq for group in groups for seq in group.seqs}
    kept = tuple(item.seq for item in scene.items if first <= item.seq <= last and item.seq not in gone)
    return Cover(first, last, kept, tuple(groups), tuple(replaced), limit)


def _components(batch: list[Group], summaries: tuple[Summary, ...]) -> list[Part]:
    """The batch, parted into ranges that do not overlap; groups between the same two summaries share one."""
    found: list[_Range] = []
    for group in sorted(batch, key=lambda each: each.first):
        one = _Range([group], *_touched(group.first, group.last, summaries))
        while found and _one_range(found[-1], one, summaries):
            earlier = found.pop()
            low, high = min(earlier.low, one.low), max(earlier.high, one.high)
            earlier.groups.extend(one.groups)
            one = _Range(earlier.groups, *_touched(low, high, summaries))
        found.append(one)
    return [(each.groups, each.replaced) for each in found]


class _Range(NamedTuple):
    """A part, and the entries from `low` to `high` that it spans."""

    groups: list[Group]
    replaced: list[Summary]
    low: int
    high: int


def _one_range(earlier: _Range, later: _Range, summaries: tuple[Summary, ...]) -> bool:
    """Whether `earlier` reaches into this range, or lies before it with no summary in either or between."""
    if earlier.high >= later.low:
        return True
    if earlier.replaced or later.replaced:
        return False
    return not any(earlier.high < each.first and each.last < later.low for each in summaries)


def _low(groups: list[Group], replaced: list[Summary]) -> int:
    return min([group.first for group in groups] + [each.first for each in replaced])


def _high(groups: list[Group], replaced: list[Summary]) -> int:
    return max([group.last for group in groups] + [each.last for each in replaced])


def _touched(first: int, last: int, summaries: tuple[Summary, ...]) -> tuple[list[Summary], int, int]:
    """The summaries whose ranges overlap this one, those that the range then reaches too, and what all span."""
    touched = [each for each in summaries if each.first <= last and first <= each.last]
    if not touched:
        return [], first, last
    low, high = min(first, touched[0].first), max(last, touched[-1].last)
    return (touched, low, high) if (low, high) == (first, last) else _touched(low, high, summaries)


def loose(scene: Scene) -> list[Group]:
    """The groups that may be summarised."""
    return [group for group in scene.groups if not scene.must(group)]
