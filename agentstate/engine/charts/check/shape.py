"""The shape of a chart: what can be reached, where it ends, who hears what, what never stops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentstate.engine.charts import chart as ch
from agentstate.engine.charts.check.finding import Finding
from agentstate.engine.charts.check.questions import truth
from agentstate.engine.charts.selection import matches
from agentstate.engine.charts.tree import Edge, Node, Tree, all_actions, all_below

_PLATFORM = ("done", "error", "after")  # what the chart's own running sends


def reachable(tree: Tree) -> Iterator[Finding]:
    """Every state can be entered on some way from the start."""
    reached = _reached(tree)
    for node in tree.nodes.values():
        if node not in reached and not node.history and node.parent in (*reached, tree.root):
            yield Finding("unreachable", "error", node.id, f"No transition leads to {node.id}, and none begins there.")


def dead_ends(tree: Tree) -> Iterator[Finding]:
    """A state that is held for ever is meant to be final; where there is an end, it can be reached from everywhere."""
    reached = _reached(tree)
    ends = {node for node in reached if node.final and node.parent is tree.root}
    for node in sorted(reached, key=lambda node: node.order):
        if not node.atomic or node.final:
            continue
        ways = [edge for held in (node, *node.ancestors) for edge in held.edges if edge.targets and _takes(tree, edge)]
        beside = any(ancestor.parallel for ancestor in node.ancestors)
        if not ways:
            yield Finding(
                "dead_end",
                "warning" if beside else "error",
                node.id,
                f"Nothing leads out of {node.id}, and it is not final.",
            )
        elif ends and not beside and not ends & _from(tree, node):
            yield Finding("no_way_out", "warning", node.id, f"From {node.id} no final state can be reached.")


def handlers(tree: Tree) -> Iterator[Finding]:
    """What the chart declares is heard wherever it may come; what it waits for is declared, or sent by itself."""
    atomic = [node for node in _reached(tree) if node.atomic and not node.final]
    for event in tree.chart.events:
        words = tuple(event.split("."))
        deaf = sorted(node.id for node in atomic if not _hears(tree, node, words))
        if len(deaf) == len(atomic):
            yield Finding("never_handled", "error", event, f"The event {event} is declared and handled nowhere.")
        elif deaf:
            yield Finding("missing_handler", "warning", event, f"{event} changes nothing in: {', '.join(deaf)}.")


def endless(tree: Tree) -> Iterator[Finding]:
    """Transitions that need neither event nor guard must not follow each other in a circle."""
    free = {node: _free(node) for node in tree.nodes.values()}
    for node, edge in free.items():
        seen: set[Node] = set()
        at: Node | None = node
        while at is not None and at not in seen:
            seen.add(at)
            at = _next(at, free)
        if edge is not None and at is node:
            yield Finding("endless", "error", edge.key, f"{node.id} is left and entered again without end.")


def _free(node: Node) -> Edge | None:
    """The transition that a state takes at once, whatever may be."""
    return next((edge for edge in node.edges if edge.events is None and not edge.when), None)


def _next(node: Node, free: dict[Node, Edge | None]) -> Node | None:
    edge = free.get(node)
    if edge is None:
        return None
    target = edge.targets[0] if edge.targets else node
    while target.compound and target.initial is not None and free.get(target) is None:
        target = target.initial.targets[0]
    return target


def _takes(tree: Tree, edge: Edge) -> bool:
    return not edge.when or truth(edge.when, tree.names) is not False


def _reached(tree: Tree) -> set[Node]:
    found: set[Node] = set()
    assert tree.root.initial is not None
    _spread(tree, tree.root.initial.targets, found)
    return found


def _from(tree: Tree, node: Node) -> set[Node]:
    found: set[Node] = set()
    _spread(tree, (node,), found)
    return found


def _spread(tree: Tree, begin: Iterable[Node], found: set[Node]) -> None:
    """Add all that can be entered from `begin` on, by entering it and by taking transitions."""
    waiting = list(begin)
    while waiting:
        node = waiting.pop()
        if node in found or node is tree.root:
            continue
        found.add(node)
        waiting.extend(node.ancestors)
        waiting.extend(node.children if node.parallel else ())
        waiting.extend(node.initial.targets if node.initial is not None else ())
        waiting.extend(target for edge in node.edges if _takes(tree, edge) for target in edge.targets)


def _hears(tree: Tree, node: Node, words: tuple[str, ...]) -> bool:
    """The state itself, those around it, or a region beside it."""
    outermost = next((one for one in reversed(node.ancestors) if one.parallel), node)
    beside = [*all_below(outermost), *outermost.ancestors, *node.ancestors, node]
    return any(matches(edge, words) for one in beside for edge in one.edges)


def unknown_events(tree: Tree, heard: tuple[str, ...]) -> Iterator[Finding]:
    """What a chart that declares its events waits for is declared, sent by itself, or `heard`."""
    if not tree.chart.events:
        return
    said = (*tree.chart.events, *_own(tree), *(name.removesuffix(".*") for name in heard))
    known = [tuple(event.split(".")) for event in said]
    for node in tree.nodes.values():
        for edge in node.edges:
            for words in edge.events or ():
                if words and words[0] not in _PLATFORM and not any(_meet(words, other) for other in known):
                    name = ".".join(words)
                    yield Finding("unknown_event", "warning", edge.key, f"{name} is neither declared nor sent.")


def _own(tree: Tree) -> list[str]:
    sends = [one.event for one in all_actions(tree.chart) if isinstance(one, ch.Raise | ch.Send)]
    inner = [one.chart for node in tree.nodes.values() for one in node.state.invoke]
    return [name for name in sends if name] + [
        one.event for chart in inner for one in all_actions(chart) if isinstance(one, ch.Send) and one.event
    ]


def _meet(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]
