"""A plan as a picture: nodes and edges for a page, Graphviz DOT for whatever draws it, and plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from agentstate.engine.plan.model import Call, Plan, titled
from agentstate.engine.plan.order import graph
from agentstate.engine.plan.ready import Standing

MAX_EDGES = 50_000  # a picture with more says how many it leaves out
NOBODY: Mapping[str, Standing] = {}


class Node(msgspec.Struct, frozen=True):
    """A call: `wave` counts what must come before it, `status` is where it stands, if anything has happened."""

    id: str
    tool: str
    wave: int
    output_path: str = ""
    when: str = ""
    status: str = ""
    reason: str = ""
    activity: str = ""  # the function that is named for it, when not the tool's own


class Edge(msgspec.Struct, frozen=True, order=True):
    """`target` reads at `path` what `source` writes."""

    source: str
    target: str
    path: str


class Drawing(msgspec.Struct, frozen=True):
    """Nodes in the plan's order, and edges. `left_out`: edges beyond MAX_EDGES."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: int = 0


def drawing(plan: Plan, standings: Mapping[str, Standing] = NOBODY) -> Drawing:
    """The picture of a plan. Raises CyclicPlan, BadReference, BadGuard."""
    waves = {call: number for number, calls in enumerate(graph(plan).waves) for call in calls}
    nodes = tuple(_node(call, waves[call.id], standings.get(call.id)) for call in plan.calls)
    edges, count = [], 0
    for edge in edges_of(plan):
        count += 1
        if count <= MAX_EDGES:
            edges.append(edge)
    return Drawing(nodes, tuple(edges), max(0, count - MAX_EDGES))


def edges_of(plan: Plan) -> Iterator[Edge]:
    """Who reads what of whom, each path once."""
    wiring = graph(plan)
    for call in plan.calls:
        for place in wiring.reads[call.id]:
            for source in dict.fromkeys((*wiring.at[place], *wiring.below[place])):
                yield Edge(source, call.id, str(place[1]))


def dot(picture: Drawing) -> str:
    """Graphviz DOT, without styles: whoever draws it colours by the class of a node, its status."""
    lines = ["digraph plan {", "  rankdir=LR;", "  node [shape=box];"]
    for node in picture.nodes:
        status = f", class={_quoted(node.status)}" if node.status else ""
        lines.append(f"  {_quoted(node.id)} [label={_quoted(_label(node))}{status}];")
    lines += [
        f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [label={_quoted(edge.path)}];" for edge in picture.edges
    ]
    return "\n".join([*lines, "}"]) + "\n"


def text(picture: Drawing) -> str:
    """One line a call, by wave: what runs side by side, after what, to where."""
    titles = {node.id: titled(node.tool, node.id) for node in picture.nodes}
    before: dict[str, list[str]] = {}
    for edge in picture.edges:
        before.setdefault(edge.target, []).append(titles[edge.source])
    lines = [
        f"{node.wave + 1}. {_line(node, tuple(dict.fromkeys(before.get(node.id, ()))))}"
        for node in sorted(picture.nodes, key=lambda node: node.wave)
    ]
    return "\n".join(lines) + "\n"


def _node(call: Call, wave: int, standing: Standing | None) -> Node:
    status, reason = (standing.status, standing.reason) if standing else ("", "")
    return Node(call.id, call.tool, wave, call.output_path, call.when, status, reason, call.activity)


def _label(node: Node) -> str:
    return "\n".join(
        part
        for part in (titled(node.tool, node.id), f"if {node.when}" if node.when else "", node.output_path, node.status)
        if part
    )


def _line(node: Node, before: tuple[str, ...]) -> str:
    parts = [titled(node.tool, node.id)]
    parts += [f"by {node.activity}"] if node.activity else []
    parts += [f"after {', '.join(before)}"] if before else []
    parts += [f"if {node.when}"] if node.when else []
    parts += [f"-> {node.output_path}"] if node.output_path else []
    parts += [f"[{node.status}{': ' if node.reason else ''}{node.reason}]"] if node.status else []
    return "  ".join(parts)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{escaped}"'
