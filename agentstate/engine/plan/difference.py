"""The difference between two versions of a plan: calls added, removed and changed, and the edges that come and go.

Calls are matched by the name they were given, else by what they are: the same call, the same output, the same made
name, the same tool, in that order. So one more call in front does not change all those behind it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.plan.drawing import Edge, edges_of
from agentstate.engine.plan.model import Call, Plan, written

_encoder = msgspec.json.Encoder(decimal_format="number")
MAX_SHOWN = 120  # characters of a value in words


class Property(msgspec.Struct, frozen=True):
    """A parameter or meta-property that differs; UNSET stands for one that is not there."""

    name: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET

    def __str__(self) -> str:
        if self.before is msgspec.UNSET:
            return f"{self.name} = {_shown(self.after)}"
        if self.after is msgspec.UNSET:
            return f"no {self.name} (was {_shown(self.before)})"
        return f"{self.name}: {_shown(self.before)} became {_shown(self.after)}"


class Changed(msgspec.Struct, frozen=True):
    """A call that is in both versions and differs."""

    before: str
    after: str
    properties: tuple[Property, ...]


class Difference(msgspec.Struct, frozen=True):
    """Names of added calls are those of the new version, of removed ones those of the old. Falsy where nothing
    differs.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Changed, ...]
    renamed: Mapping[str, str]  # old name -> new name, where they differ
    edges_added: tuple[Edge, ...]
    edges_removed: tuple[Edge, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.edges_added or self.edges_removed)


def difference(before: Plan, after: Plan) -> Difference:
    """What is different in `after`. Raises CyclicPlan, BadReference."""
    pairs = _pairs(before, after)
    kept = set(pairs.values())
    changes = (Changed(old, new, properties(before.by_id[old], after.by_id[new])) for old, new in pairs.items())
    old_edges = {Edge(pairs.get(e.source, e.source), pairs.get(e.target, e.target), e.path) for e in edges_of(before)}
    new_edges = set(edges_of(after))
    return Difference(
        added=tuple(call.id for call in after.calls if call.id not in kept),
        removed=tuple(call.id for call in before.calls if call.id not in pairs),
        changed=tuple(change for change in changes if change.properties),
        renamed={old: new for old, new in pairs.items() if old != new},
        edges_added=tuple(sorted(new_edges - old_edges)),
        edges_removed=tuple(sorted(old_edges - new_edges)),
    )


def properties(before: Call, after: Call) -> tuple[Property, ...]:
    """What differs between two calls; a name that was made means nothing."""
    old, new = written(before), written(after)
    names = dict.fromkeys((*old, *new))
    found = (Property(name, old.get(name, msgspec.UNSET), new.get(name, msgspec.UNSET)) for name in names)
    return tuple(each for each in found if not _same(each.before, each.after))


def words(found: Difference, before: Plan, after: Plan) -> tuple[str, ...]:
    """The difference of two versions in sentences, for the person who approves the new one."""
    gone = {call.id: call.title for call in before.calls}
    title = gone | {call.id: call.title for call in after.calls}
    lines = [f"{title[name]} is new" for name in found.added]
    lines += [f"{gone[name]} is gone" for name in found.removed]
    lines += [f"{title[change.after]}: {'; '.join(map(str, change.properties))}" for change in found.changed]
    lines += [f"{title[edge.target]} now waits for {title[edge.source]} ({edge.path})" for edge in found.edges_added]
    lines += [
        f"{title[edge.target]} no longer waits for {title[edge.source]} ({edge.path})" for edge in found.edges_removed
    ]
    return tuple(lines)


def _pairs(before: Plan, after: Plan) -> dict[str, str]:
    """Old name -> new name of the calls that are in both versions, in the new version's order."""
    old, new = dict(before.by_id), dict(after.by_id)
    pairs: dict[str, str] = {}
    keys: tuple[Callable[[Call], Hashable], ...] = (
        lambda call: (call.id, call.tool) if call.named else None,
        lambda call: ev.digest({**written(call), "_id": ""}),
        lambda call: (call.tool, call.output_path, call.instance) if call.output_path else None,
        lambda call: (call.id, call.tool),
        lambda call: (call.tool, call.instance),
    )
    for key in keys:
        waiting = _by(key, old.values())
        for call in list(new.values()):
            same = waiting.get(key(call))
            if same:
                pairs[same.pop(0)] = call.id
                del new[call.id]
        for name in pairs:
            old.pop(name, None)
    place = {name: number for number, name in enumerate(after.by_id)}
    return dict(sorted(pairs.items(), key=lambda pair: place[pair[1]]))


def _by(key: Callable[[Call], Hashable], calls: Iterable[Call]) -> dict[Hashable, list[str]]:
    found: dict[Hashable, list[str]] = defaultdict(list)
    for call in calls:
        if key(call) is not None:
            found[key(call)].append(call.id)
    return found


def _same(one: Any, other: Any) -> bool:
    """Whether two values are written alike: 1 is not true, and 1.0 is not 1."""
    if one is msgspec.UNSET or other is msgspec.UNSET:
        return one is other
    return ev.digest(one) == ev.digest(other)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else _encoder.encode(value).decode()
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."
