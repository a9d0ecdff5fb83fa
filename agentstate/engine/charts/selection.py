"""Which transitions are taken: enabled by event and guard, innermost first, conflicts between regions settled.

After the algorithm in appendix D of the SCXML recommendation, whose words stand in the function's docstrings.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentstate.engine.charts.state import Happening
from agentstate.engine.charts.tree import Edge, Node
from agentstate.engine.charts.work import Work, in_order, true_now


def selected(work: Work, event: Happening | None) -> list[Edge]:
    """selectTransitions and selectEventlessTransitions: at most one for each innermost state, in document order."""
    words = tuple(event.name.split(".")) if event is not None else None
    enabled: list[Edge] = []
    for atomic in in_order({node for node in work.here if node.atomic}):
        edge = _first(work, (atomic, *atomic.ancestors), words)
        if edge is not None and edge not in enabled:
            enabled.append(edge)
    return _without_conflicts(work, enabled) if len(enabled) > 1 else enabled


def _first(work: Work, nodes: Iterable[Node], words: tuple[str, ...] | None) -> Edge | None:
    for node in nodes:
        for edge in node.edges:
            if matches(edge, words) and true_now(work, edge.when, edge.key):
                return edge
    return None


def matches(edge: Edge, words: tuple[str, ...] | None) -> bool:
    """Whether the transition waits for an event of this name; None: for none."""
    if words is None or edge.events is None:
        return words is None and edge.events is None
    return any(words[: len(descriptor)] == descriptor for descriptor in edge.events)


def _without_conflicts(work: Work, enabled: list[Edge]) -> list[Edge]:
    """removeConflictingTransitions: two that would leave the same state cannot both be taken; inner ones win."""
    kept: list[Edge] = []
    for edge in enabled:
        leaves = exit_set(work, (edge,))
        against = [other for other in kept if leaves & exit_set(work, (other,))]
        if all(other.source in edge.source.ancestors for other in against):
            kept = [other for other in kept if other not in against] + [edge]
    return kept


def exit_set(work: Work, edges: Iterable[Edge]) -> set[Node]:
    """computeExitSet: the held states that taking these transitions leaves."""
    left: set[Node] = set()
    for edge in edges:
        if edge.targets:
            domain = domain_of(work, edge)
            left |= {node for node in work.here if domain in node.ancestors}
    return left


def domain_of(work: Work, edge: Edge) -> Node:
    """getTransitionDomain: the state that is not left and in which everything else happens."""
    targets = effective_targets(work, edge)
    source = edge.source
    if edge.internal and source.compound and all(source in target.ancestors for target in targets):
        return source
    # The chart itself is a compound state around all others, so one is always found.
    return next(
        ancestor
        for ancestor in source.ancestors
        if ancestor.compound and all(ancestor in target.ancestors for target in targets)
    )


def effective_targets(work: Work, edge: Edge) -> list[Node]:
    """getEffectiveTargetStates: histories replaced by what they remember, or by where they lead without a past."""
    found: list[Node] = []
    for target in edge.targets:
        if not target.history:
            found.append(target)
        elif target.id in work.history:
            found.extend(work.tree.nodes[name] for name in work.history[target.id])
        elif target.initial is not None:
            found.extend(effective_targets(work, target.initial))
    return list(dict.fromkeys(found))
