"""The graph of a plan: who writes what others read, and hence what comes before what.

Edges come from references to output paths (a guard's `state.x` is such a reference too) and from nothing else. A
place is read when a reference names it, something above it, or something below it. The graph keeps places between
calls, so it is as large as the plan and not as its square.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import msgspec

from agentstate.engine import references
from agentstate.engine.plan import when
from agentstate.engine.plan.model import BadPlan, Call, Plan
from agentstate.engine.references import Path
from agentstate.errors import Broken

MAX_WRITERS = 100  # calls that aim at one path

_KNOWN = "wiring"
Place = tuple[str, Path]  # instance, path


class CyclicPlan(BadPlan):
    """The plan goes round in a circle."""

    code = "cyclic_plan"


class Graph(msgspec.Struct, frozen=True):
    """A plan's wiring. `order` is one in which every call comes after what it waits for, `waves` which can run side by
    side; `at` and `below` are the calls that write a place or above it, and below it.
    """

    order: tuple[str, ...]
    waves: tuple[tuple[str, ...], ...]
    reads: Mapping[str, tuple[Place, ...]]
    feeds: Mapping[str, tuple[Place, ...]]
    read_by: Mapping[Place, tuple[str, ...]]
    at: Mapping[Place, tuple[str, ...]]
    below: Mapping[Place, tuple[str, ...]]

    def sources(self, call: str) -> tuple[str, ...]:
        """The calls that `call` waits for, each once."""
        return _flat([(*self.at[place], *self.below[place]) for place in self.reads[call]])

    def dependents(self, call: str) -> tuple[str, ...]:
        """The calls that wait for `call`, each once."""
        return _flat([self.read_by[place] for place in self.feeds[call]])


def graph(plan: Plan) -> Graph:
    """The wiring of a plan. Raises CyclicPlan naming the calls of the circle, BadReference, BadGuard, BadPlan."""
    # Remembered with the plan and forgotten with it: a plan may hold what is personal, so no cache of ours outlives it.
    known: Graph | None = plan.__dict__.get(_KNOWN)
    if known is None:
        known = plan.__dict__[_KNOWN] = _wired(plan)
    return known


def _wired(plan: Plan) -> Graph:
    written = written_by(plan)
    reads = {call.id: _places_read(call) for call in plan.calls}
    read_by: dict[Place, list[str]] = defaultdict(list)
    for call, places in reads.items():
        for place in places:
            read_by[place].append(call)
    at, below = overlaps(read_by, written)
    wired = {call: tuple(place for place in places if at[place] or below[place]) for call, places in reads.items()}
    feeds: dict[str, list[Place]] = {call.id: [] for call in plan.calls}
    for place in read_by:
        for call in dict.fromkeys((*at[place], *below[place])):
            feeds[call].append(place)
    order = _sorted(wired, feeds, read_by)
    if len(order) < len(wired):
        raise _goes_round(wired, at, below)
    return Graph(
        order=order,
        waves=_waves(order, wired, at, below),
        reads=wired,
        feeds={call: tuple(places) for call, places in feeds.items()},
        read_by={place: tuple(calls) for place, calls in read_by.items()},
        at=at,
        below=below,
    )


def reads(call: Call) -> tuple[Path, ...]:
    """Every path that a call waits for: what its parameters name, and what its guard names but for what the call writes
    itself (`load it unless it is there` looks at what stood there before). Raises BadReference, BadGuard.
    """
    named = [path for _, reference in call.refers for path in reference.paths]
    own = call.outputs
    asked = (path for path in when.reads(call.when) if path.names and not any(_overlap(path, each) for each in own))
    return tuple(dict.fromkeys((*named, *asked)))


def _overlap(one: Path, other: Path) -> bool:
    return one.kind == other.kind and all(a == b for a, b in zip(one.names, other.names, strict=False))


def _places_read(call: Call) -> tuple[Place, ...]:
    return tuple((call.instance, path) for path in reads(call) if references.is_written(path.kind))


def written_by(plan: Plan) -> dict[Place, list[str]]:
    """Every place that is aimed at, and the calls that do. Raises BadReference, BadPlan."""
    written: dict[Place, list[str]] = defaultdict(list)
    for call in plan.calls:
        for path in call.outputs:
            aiming = written[call.instance, path]
            aiming.append(call.id)
            if len(aiming) > MAX_WRITERS:
                raise BadPlan(call.id, "max_writers", f"more than {MAX_WRITERS} calls aim at {path}")
    return written


def overlaps(
    places: Iterable[Place], written: Mapping[Place, list[str]]
) -> tuple[dict[Place, tuple[str, ...]], dict[Place, tuple[str, ...]]]:
    """Of each place: who writes it or above it, and who writes below it."""
    under: dict[Place, list[str]] = defaultdict(list)
    for place, calls in written.items():
        for above in above_of(place):
            under[above] += calls
    wanted = list(places)
    at = {place: _flat([written[each] for each in (*above_of(place), place) if each in written]) for place in wanted}
    return at, {place: _flat([under[place]] if place in under else ()) for place in wanted}


def above_of(place: Place) -> list[Place]:
    """The places above this one, the widest first."""
    instance, path = place
    return [(instance, Path(path.kind, path.names[:count])) for count in range(len(path.names))]


def _flat(groups: Sequence[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([each for group in groups for each in group])) if groups else ()


def _sorted(
    reads: Mapping[str, tuple[Place, ...]], feeds: Mapping[str, list[Place]], read_by: Mapping[Place, list[str]]
) -> tuple[str, ...]:
    """The calls, each after all that it waits for: whoever waits for nothing more is next (Kahn, 1962). Those of a
    circle, and those that wait for one, are not among them.
    """
    writers: Counter[Place] = Counter()
    for places in feeds.values():
        writers.update(places)
    lacking = {call: len(places) for call, places in reads.items()}
    order = [call for call, places in lacking.items() if not places]
    for call in order:  # it grows while it is walked
        for place in feeds[call]:
            writers[place] -= 1
            if writers[place]:
                continue
            for reader in read_by[place]:
                lacking[reader] -= 1
                if not lacking[reader]:
                    order.append(reader)
    return tuple(order)


def _goes_round(
    reads: Mapping[str, tuple[Place, ...]], at: Mapping[Place, tuple[str, ...]], below: Mapping[Place, tuple[str, ...]]
) -> CyclicPlan:
    """The refusal of a plan that has a circle, which it names."""
    sorter: TopologicalSorter[str | Place] = TopologicalSorter()
    for call, places in reads.items():
        sorter.add(call, *places)
    for place in dict.fromkeys(place for places in reads.values() for place in places):
        sorter.add(place, *at[place], *below[place])
    try:
        sorter.prepare()
    except CycleError as error:
        calls = [node for node in reversed(error.args[1]) if isinstance(node, str)]
        return CyclicPlan(calls[0], "cycle", _circle(calls))
    raise Broken("a plan has no circle and no order")


def _circle(calls: list[str]) -> str:
    around = [*dict.fromkeys(calls)]
    shown = around if len(around) <= 12 else [*around[:11], f"{len(around) - 11} more"]
    if len(around) == 1:
        return f"{around[0]} reads what it writes itself"
    return " waits for ".join([*shown, around[0]])


def _waves(
    order: tuple[str, ...],
    reads: Mapping[str, tuple[Place, ...]],
    at: Mapping[Place, tuple[str, ...]],
    below: Mapping[Place, tuple[str, ...]],
) -> tuple[tuple[str, ...], ...]:
    """The calls by the number of steps that must come before them."""
    depth: dict[str, int] = {}
    ready: dict[Place, int] = {}
    waves: list[list[str]] = []
    for call in order:
        for place in reads[call]:
            if place not in ready:
                ready[place] = 1 + max(depth[each] for each in (*at[place], *below[place]))
        depth[call] = max((ready[place] for place in reads[call]), default=0)
        if depth[call] == len(waves):
            waves.append([])
        waves[depth[call]].append(call)
    return tuple(map(tuple, waves))
