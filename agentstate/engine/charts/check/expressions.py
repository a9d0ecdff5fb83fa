"""What the expressions of a chart say: that they compile, that a guard can hold at all, that delays can be read."""

from __future__ import annotations

from collections.abc import Iterator

from agentstate.engine import guards
from agentstate.engine.charts import chart as ch
from agentstate.engine.charts.check.finding import Finding
from agentstate.engine.charts.check.questions import truth
from agentstate.engine.charts.tree import SYSTEM, Node, Tree, within
from agentstate.engine.charts.values import Unusable, delay_of, split_path
from agentstate.errors import Invalid

Found = tuple[str, str, bool]  # where, the expression, whether it is a question


def all_compile(tree: Tree) -> Iterator[Finding]:
    """Every expression compiles over the chart's names, and questions are questions."""
    for where, expression, question in expressions_in(tree):
        try:
            made = guards.expressed(expression, tree.names)
            if question:
                guards.must_ask(made)
        except Invalid as error:
            yield Finding("bad_expression", "error", where, f"{expression!r:.120} cannot be used: {error.detail}")


def can_hold(tree: Tree) -> Iterator[Finding]:
    """A guard that no values make true is never taken; one that all make true is none."""
    for node in _nodes(tree):
        for edge in node.edges:
            holds = truth(edge.when, tree.names) if edge.when else None
            if holds is False:
                yield Finding("never_holds", "error", edge.key, f"No values make {edge.when!r:.120} true.")
            elif holds is True:
                yield Finding("always_holds", "warning", edge.key, f"{edge.when!r:.120} is true of all values.")


def delays_read(tree: Tree) -> Iterator[Finding]:
    """A delay that is written in the chart is one."""
    written = [(edge.key, edge.written.after) for node in _nodes(tree) for edge in node.edges if edge.written]
    written += [(where, one.after) for where, one in _actions(tree) if isinstance(one, ch.Send)]
    for where, delay in written:
        try:
            delay_of(delay)
        except Unusable as error:
            yield Finding("bad_delay", "error", where, f"{error.why[:1].upper()}{error.why[1:]}.")


def assigned_are_declared(tree: Tree) -> Iterator[Finding]:
    """What is assigned to is declared data: an object's inside, or the name of a loop."""
    paths = [(where, one.path) for where, one in _actions(tree) if isinstance(one, ch.Assign)]
    paths += [(where, one.id_to) for where, one in _actions(tree) if isinstance(one, ch.Send) and one.id_to]
    for where, path in paths:
        try:
            name = split_path(path.strip())[0]
        except Unusable as error:
            yield Finding("undeclared", "error", where, f"{error.why}.")
            continue
        if name in SYSTEM or name in tree.chart.reads or name not in tree.names:
            yield Finding("undeclared", "error", where, f"{name!r} is not among the chart's data, so it cannot be set.")


def _nodes(tree: Tree) -> list[Node]:
    return list(tree.nodes.values())


def _actions(tree: Tree) -> Iterator[tuple[str, ch.AnyAction]]:
    for node in (tree.root, *_nodes(tree)):
        blocks = [(f"{node.id}.entry#{number}", block) for number, block in enumerate(node.entry, 1)]
        blocks += [(f"{node.id}.exit#{number}", block) for number, block in enumerate(node.exit, 1)]
        blocks += [(edge.key, edge.do) for edge in node.edges]
        blocks += [(f"{node.id}#initial", node.state.initial_do)]
        blocks += [(f"{node.id}.finalize", one.finalize) for one in node.state.invoke]
        for where, block in blocks:
            for action in within(block):
                yield where, action


def expressions_in(tree: Tree) -> Iterator[Found]:
    for node in (tree.root, *_nodes(tree)):
        yield from ((f"data.{datum.name}", datum.value, False) for datum in node.state.data if datum.value)
        yield from ((edge.key, edge.when, True) for edge in node.edges if edge.when)
        done = (*(param.value for param in node.state.done_params), node.state.done_content)
        yield from ((f"{node.id}.done", value, False) for value in done if value)
        given = [value for one in node.state.invoke for value in (one.type_expr, *(p.value for p in one.params))]
        yield from ((f"{node.id}.invoke", value, False) for value in given if value)
    for where, action in _actions(tree):
        yield from ((where, value, question) for value, question in _of(action) if value)


def _of(action: ch.AnyAction) -> list[tuple[str, bool]]:
    match action:
        case ch.Assign(value=value) | ch.Log(value=value) | ch.ForEach(items=value) | ch.Cancel(id_expr=value):
            return [(value, False)]
        case ch.Choose(branches=branches):
            return [(branch.when, True) for branch in branches]
        case ch.Send():
            exprs = (action.event_expr, action.target_expr, action.type_expr, action.after_expr, action.content)
            return [(value, False) for value in (*exprs, *(param.value for param in action.params))]
    return []
