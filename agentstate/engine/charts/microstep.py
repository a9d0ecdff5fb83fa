"""One microstep: states are left, transitions carried out, states entered. After SCXML's appendix D."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentstate.engine.charts.content import do_block, payload
from agentstate.engine.charts.selection import domain_of, effective_targets, exit_set
from agentstate.engine.charts.state import Happening
from agentstate.engine.charts.tree import Edge, Node
from agentstate.engine.charts.values import Unusable
from agentstate.engine.charts.work import Work, complain, in_order, put, queue, value_of


@dataclass(slots=True)
class Entering:
    """What is to be entered, whose default way in it is, and what the defaults of histories do."""

    nodes: set[Node] = field(default_factory=set)
    defaults: set[Node] = field(default_factory=set)
    histories: dict[Node, Edge] = field(default_factory=dict)


def microstep(work: Work, edges: list[Edge]) -> None:
    """Take these transitions together. Raises ChartOverrun when the call has done too much already."""
    work.budget.step()
    work.taken.extend(edge.key for edge in edges)
    leave(work, exit_set(work, edges))
    for edge in edges:
        do_block(work, edge.do, edge.key)
    enter(work, edges)


def leave(work: Work, nodes: set[Node]) -> None:
    """exitStates: what histories must remember is noted first; children before parents."""
    going = in_order(nodes)[::-1]
    for node in going:
        for history in node.histories:
            work.history[history.id] = _remembered(work, node, history)
    for node in going:
        for number, block in enumerate(node.exit, 1):
            do_block(work, block, f"{node.id}.exit#{number}")
        _stop_invoked(work, node)
        work.here.discard(node)
        work.ids.discard(node.id)
        work.to_invoke.discard(node)
        work.exited.append(node.id)


def _remembered(work: Work, parent: Node, history: Node) -> tuple[str, ...]:
    if history.state.deep:
        held = {node for node in work.here if node.atomic and parent in node.ancestors}
    else:
        held = {node for node in work.here if node.parent is parent}
    return tuple(node.id for node in in_order(held))


def _stop_invoked(work: Work, node: Node) -> None:
    """Charts inside end with the state that began them; what they would still say is not heard."""
    for name, (state, _) in list(work.begun.items()):
        if state == node.id:
            del work.inside[name], work.begun[name]


def enter(work: Work, edges: list[Edge]) -> None:
    """enterStates: parents before children, each with its late data, its entry blocks and its default way in."""
    entering = Entering()
    for edge in edges:
        _add_targets(work, edge, entering)
    for node in in_order(entering.nodes):
        _enter_one(work, node, entering)


def _enter_one(work: Work, node: Node, entering: Entering) -> None:
    work.here.add(node)
    work.ids.add(node.id)
    work.to_invoke.add(node)
    work.entered.append(node.id)
    if work.tree.chart.binding == "late":
        bind_data(work, node)
    for number, block in enumerate(node.entry, 1):
        do_block(work, block, f"{node.id}.entry#{number}")
    if node in entering.defaults and node.initial is not None:
        do_block(work, node.initial.do, node.initial.key)
    if node in entering.histories:
        do_block(work, entering.histories[node].do, entering.histories[node].key)
    if node.final:
        _finish(work, node)


def _finish(work: Work, node: Node) -> None:
    """A final state was entered: its parent is done, and a parallel one around it when all its regions are."""
    carried = _done_data(work, node)
    parent = node.parent
    if parent is None or parent.parent is None:
        work.running, work.result = False, carried
        return
    queue(work, Happening(f"done.state.{parent.id}", carried, "internal"), internal=True)
    around = parent.parent
    if around.parallel and all(in_final(work, child) for child in around.children):
        queue(work, Happening(f"done.state.{around.id}", None, "internal"), internal=True)


def _done_data(work: Work, node: Node) -> Any:
    try:
        return payload(work, node.state.done_params, node.state.done_content)
    except Unusable as error:
        complain(work, error, f"{node.id}.done")
        return None


def in_final(work: Work, node: Node) -> bool:
    """isInFinalState."""
    if node.compound:
        return any(child.final and child in work.here for child in node.children)
    return node.parallel and all(in_final(work, child) for child in node.children)


def bind_data(work: Work, node: Node) -> None:
    """Give the names that a state declares their first values; one that cannot be had is null, and an error."""
    for datum in node.state.data:
        if datum.name in work.scope:
            continue
        work.scope[datum.name] = None
        try:
            put(work, datum.name, value_of(work, datum.value) if datum.value else None)
        except Unusable as error:
            complain(work, error, f"data.{datum.name}")


def _add_targets(work: Work, edge: Edge, entering: Entering) -> None:
    """computeEntrySet for one transition."""
    for target in edge.targets:
        _add_below(work, target, entering)
    if not edge.targets:
        return
    domain = edge.source if edge.key.endswith("#initial") else domain_of(work, edge)
    for target in effective_targets(work, edge):
        _add_above(work, target, domain, entering)


def _add_below(work: Work, node: Node, entering: Entering) -> None:
    """addDescendantStatesToEnter."""
    if node.history:
        _add_history(work, node, entering)
        return
    entering.nodes.add(node)
    if node.compound and node.initial is not None:
        entering.defaults.add(node)
        for target in node.initial.targets:
            _add_below(work, target, entering)
        for target in node.initial.targets:
            _add_above(work, target, node, entering)
    elif node.parallel:
        _add_regions(work, node, entering)


def _add_history(work: Work, node: Node, entering: Entering) -> None:
    remembered = work.history.get(node.id)
    if remembered is None and node.initial is not None and node.parent is not None:
        entering.histories[node.parent] = node.initial
    known = [work.tree.nodes[name] for name in remembered or ()]
    targets = known or (node.initial.targets if node.initial is not None else ())
    for target in targets:
        _add_below(work, target, entering)
    for target in targets:
        if node.parent is not None:
            _add_above(work, target, node.parent, entering)


def _add_above(work: Work, node: Node, domain: Node, entering: Entering) -> None:
    """addAncestorStatesToEnter: the states between `node` and `domain`, with the other regions of parallel ones."""
    for ancestor in node.ancestors:
        if ancestor is domain:
            return
        entering.nodes.add(ancestor)
        if ancestor.parallel:
            _add_regions(work, ancestor, entering)


def _add_regions(work: Work, parallel: Node, entering: Entering) -> None:
    for child in parallel.children:
        if not any(child is node or child in node.ancestors for node in entering.nodes):
            _add_below(work, child, entering)


def report_done(work: Work) -> None:
    """Tell the chart around that this one has ended. It is kept there, ended, until its state is left: what it said
    last may still have to be finalized.
    """
    up = work.up
    if up is None:
        return
    for name, inside in up.inside.items():
        if inside is work:
            queue(up, Happening(f"done.invoke.{name}", work.result, "external", invokeid=name))
