"""Transitions of one state that could both be taken: the order in the document decides then, and rarely on purpose.

A transition without a guard after guarded ones is "otherwise", and is no finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from agentstate.engine.charts.check.finding import Finding
from agentstate.engine.charts.check.questions import implies, together
from agentstate.engine.charts.tree import Edge, Node, Tree, all_below


def between_transitions(tree: Tree) -> Iterator[Finding]:
    """Within each state, and between the regions of each parallel one."""
    for node in tree.nodes.values():
        for first, second in combinations(node.edges, 2):
            yield from _pair(tree, first, second)
        if node.parallel:
            yield from _regions(node)


def _pair(tree: Tree, first: Edge, second: Edge) -> Iterator[Finding]:
    if _covers(first, second) and _wider(tree, first, second):
        yield Finding("shadowed", "error", second.key, f"It is never taken: {first.key} always comes first.")
    elif first.when and second.when and _common(first, second) and not _same(first, second):
        answer = together(first.when, second.when, tree.names)
        if answer != "no":
            perhaps = "" if answer == "yes" else "perhaps "
            sentence = f"Its guard and that of {first.key} can {perhaps}both hold; the first one wins."
            yield Finding("non_deterministic", "error" if answer == "yes" else "warning", second.key, sentence)


def _wider(tree: Tree, first: Edge, second: Edge) -> bool:
    return not first.when or (bool(second.when) and implies(second.when, first.when, tree.names))


def _same(first: Edge, second: Edge) -> bool:
    return first.targets == second.targets and first.do == second.do and first.internal == second.internal


def _covers(first: Edge, second: Edge) -> bool:
    """Whether every event that the second waits for is one that the first waits for."""
    if first.events is None or second.events is None:
        return first.events is None and second.events is None
    return all(any(words[: len(wide)] == wide for wide in first.events) for words in second.events)


def _common(first: Edge, second: Edge) -> bool:
    """Whether both wait for one and the same event: a wider one after a narrow one is "otherwise" too."""
    if first.events is None or second.events is None:
        return first.events is second.events
    return bool(set(first.events) & set(second.events))


def _regions(parallel: Node) -> Iterator[Finding]:
    leaving = [
        (child, edge)
        for child in parallel.children
        for node in all_below(child)
        for edge in node.edges
        if any(parallel not in target.ancestors for target in edge.targets)
    ]
    for (one, first), (other, second) in combinations(leaving, 2):
        if one is not other and _common(first, second) and first.targets != second.targets:
            sentence = f"It and {first.key} leave {parallel.id} on one event; one wins."
            yield Finding("regions_disagree", "warning", second.key, sentence)
