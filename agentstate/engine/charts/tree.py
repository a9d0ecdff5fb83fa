"""A chart prepared for running: every state with its place in the document, every transition with its targets found.

Made once for a chart and kept (a chart is its own key); nothing here changes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from agentstate.engine.charts.chart import (
    FROM_OUTSIDE,
    MAX_DEPTH,
    MAX_STATES,
    AnyAction,
    BadChart,
    Block,
    Cancel,
    Chart,
    Choose,
    ForEach,
    Send,
    State,
    Transition,
)

ROOT = ""  # the chart itself, around all states
SYSTEM = ("_event", "_name", "_sessionid", "_ioprocessors")


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A transition with its states. `events` holds descriptors as their parts; None: it needs no event."""

    key: str
    source: Node
    events: tuple[tuple[str, ...], ...] | None
    when: str
    targets: tuple[Node, ...]
    internal: bool
    do: Block
    written: Transition | None = None


@dataclass(slots=True, eq=False)
class Node:
    """A state and its place: `order` is that of the document, `ancestors` go from the parent to the chart."""

    state: State
    order: int
    ancestors: tuple[Node, ...]
    children: tuple[Node, ...] = ()
    histories: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    initial: Edge | None = None
    entry: tuple[Block, ...] = ()
    exit: tuple[Block, ...] = ()

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def parent(self) -> Node | None:
        return self.ancestors[0] if self.ancestors else None

    @property
    def final(self) -> bool:
        return self.state.kind == "final"

    @property
    def parallel(self) -> bool:
        return self.state.kind == "parallel"

    @property
    def history(self) -> bool:
        return self.state.kind == "history"

    @property
    def compound(self) -> bool:
        return self.state.kind == "state" and bool(self.children)

    @property
    def atomic(self) -> bool:
        return not self.children and not self.history


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The prepared chart. `names` are all that its expressions may read."""

    chart: Chart
    root: Node
    nodes: dict[str, Node] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    declared: frozenset[str] = frozenset()


@lru_cache(maxsize=256)
def tree_of(chart: Chart) -> Tree:
    """The chart, prepared. Raises BadChart: a name used twice, a state that does not exist, a form without meaning."""
    # The chart itself is the state around all others; its id is none that a state could have.
    around = State("_chart", initial=chart.initial, initial_do=chart.initial_do, states=chart.states, data=chart.data)
    nodes: dict[str, Node] = {}
    root = _grown(around, (), nodes, _counter())
    del nodes[around.id]
    for node in (root, *nodes.values()):
        _connect(node, nodes)
    declared = _declared(root)
    for action in all_actions(chart):
        if isinstance(action, Choose):
            _must_be_asked(action)
    return Tree(chart, root, nodes, _names(chart, declared), declared)


def _must_be_asked(choose: Choose) -> None:
    first, *others = [branch.when for branch in choose.branches]
    if not first or not all(others[:-1]):
        raise BadChart("only the last of several branches is without a question", rule="form")


def _counter() -> Iterator[int]:
    return iter(range(1_000_000))


def _grown(state: State, ancestors: tuple[Node, ...], nodes: dict[str, Node], orders: Iterator[int]) -> Node:
    if state.id in nodes:
        raise BadChart(f"two states are called {state.id!r}", field=state.id)
    if len(ancestors) > MAX_DEPTH or len(nodes) > MAX_STATES:
        raise BadChart(f"at most {MAX_STATES} states, {MAX_DEPTH} deep", field=state.id)
    node = Node(state, next(orders), ancestors)
    nodes[state.id] = node
    below = [_grown(child, (node, *ancestors), nodes, orders) for child in state.states]
    node.children = tuple(child for child in below if not child.history)
    node.histories = tuple(child for child in below if child.history)
    if node.history and (state.transitions or state.entry or state.exit or state.data or state.invoke):
        raise BadChart("a history remembers, and does nothing itself", field=state.id)
    if not node.children and not ancestors:
        raise BadChart("a chart has a state to begin in", rule="form")
    if below and state.kind in ("final", "history"):
        raise BadChart(f"a {state.kind} state has no states inside", field=state.id)
    return node


def _connect(node: Node, nodes: dict[str, Node]) -> None:
    state = node.state
    if node.final and state.transitions:
        raise BadChart("a final state has no transitions", field=state.id)
    node.edges = tuple(_edge(node, number, one, nodes) for number, one in enumerate(state.transitions, 1))
    node.initial = _initial(node, nodes)
    timed = [(edge, f"after.{edge.key}") for edge in node.edges if edge.written and edge.written.after]
    starts = tuple(Send(event=name, id=name, after=edge.written.after) for edge, name in timed if edge.written)
    stops = tuple(Cancel(id=name) for _, name in timed)
    node.entry = (*state.entry, starts) if starts else state.entry
    node.exit = (*state.exit, stops) if stops else state.exit


def _edge(node: Node, number: int, one: Transition, nodes: dict[str, Node]) -> Edge:
    key = f"{node.id}#{number}"
    event = f"after.{key}" if one.after else one.event
    if one.after and one.event:
        raise BadChart("a transition waits for an event or for a time, not for both", field=key)
    if not event and not one.to and not one.do:
        raise BadChart("a transition without event, target and action does nothing, for ever", field=key)
    events = tuple(map(_descriptor, event.split())) or None
    return Edge(key, node, events, one.when, _found(one.to, nodes, key), one.internal, one.do, one)


def _descriptor(text: str) -> tuple[str, ...]:
    """`foo.bar`, `foo.bar.` and `foo.bar.*` are the same; `*` is no part at all and matches everything."""
    return tuple(text.removesuffix("*").removesuffix(".").split(".")) if text.strip("*.") else ()


def _found(ids: Iterable[str], nodes: dict[str, Node], where: str) -> tuple[Node, ...]:
    missing = [name for name in ids if name not in nodes]
    if missing:
        raise BadChart(f"there is no state {missing[0]!r}", field=where, rule="missing_target")
    return tuple(nodes[name] for name in ids)


def _initial(node: Node, nodes: dict[str, Node]) -> Edge | None:
    """Where a compound state begins: as it says, else its first child. Where a history leads that has no past."""
    state, key = node.state, f"{node.id}#initial"
    if not (node.compound or node.history):
        return None
    if node.history and not state.initial:
        raise BadChart("a history names in `initial` where it leads when there is no past", field=state.id)
    targets = _found(state.initial, nodes, key) if state.initial else node.children[:1]
    around = node.parent if node.history else node
    if any(around not in target.ancestors for target in targets):
        raise BadChart("a state begins in a state inside it", field=key)
    return Edge(key, node, None, "", targets, False, state.initial_do)


def _declared(root: Node) -> frozenset[str]:
    names = [datum.name for node in all_below(root) for datum in node.state.data]
    taken = [name for name in names if name.startswith("_") or name in FROM_OUTSIDE]
    if taken:
        raise BadChart(f"{taken[0]!r} is no name for data: it is taken", field=taken[0])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadChart(f"{twice!r} is declared twice", field=twice)
    return frozenset(names)


def _names(chart: Chart, declared: frozenset[str]) -> tuple[str, ...]:
    """All names that expressions may read: data, what loops bind, what comes from outside, and the system's."""
    bound = {name for one in all_actions(chart) if isinstance(one, ForEach) for name in (one.item, one.index)}
    loops = {name for name in bound if name.isidentifier() and name.isascii() and not name.startswith("_")}
    return tuple(sorted(declared | loops | set(chart.reads))) + SYSTEM


def all_below(node: Node) -> Iterator[Node]:
    """The node, the histories and all states in it, as the document has them."""
    yield node
    for child in sorted((*node.children, *node.histories), key=lambda child: child.order):
        yield from all_below(child)


def all_states(states: Iterable[State]) -> Iterator[State]:
    """The states and all in them, as the document has them."""
    for state in states:
        yield state
        yield from all_states(state.states)


def all_actions(chart: Chart) -> Iterator[AnyAction]:
    """Every action of the chart, those inside others too."""
    yield from within(chart.initial_do)
    for state in all_states(chart.states):
        blocks = (*state.entry, *state.exit, state.initial_do, *(one.do for one in state.transitions))
        for block in (*blocks, *(one.finalize for one in state.invoke)):
            yield from within(block)


def within(block: Block) -> Iterator[AnyAction]:
    for action in block:
        yield action
        if isinstance(action, Choose):
            for branch in action.branches:
                yield from within(branch.do)
        if isinstance(action, ForEach):
            yield from within(action.do)
