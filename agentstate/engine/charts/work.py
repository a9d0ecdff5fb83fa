"""One chart while it runs: a working copy of its state, its queues, and what the call has done so far.

It lives for one call of start, step or tick and is never seen outside; the budget is shared with the charts inside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentstate.engine import guards
from agentstate.engine.charts.chart import ChartOverrun
from agentstate.engine.charts.state import (
    MAX_TIMERS,
    PROCESSOR,
    ChartState,
    Happening,
    Invoked,
    Logged,
    Moved,
    Timer,
)
from agentstate.engine.charts.tree import SYSTEM, Node, Tree, tree_of
from agentstate.engine.charts.values import Unusable, must_fit
from agentstate.errors import Invalid

MAX_MICROSTEPS = 500  # in one call
MAX_ACTIONS = 5_000  # actions carried out in one call
MAX_EFFORT = 4_000_000  # of evaluating expressions in one call, about 0.2 s; see guards.cost
MAX_QUEUE = 200  # events that wait in one queue
MAX_LOGS = 50
MAX_ERRORS = 50


@dataclass(slots=True)
class Budget:
    """What one call may still do. Spending more raises ChartOverrun."""

    microsteps: int = MAX_MICROSTEPS
    actions: int = MAX_ACTIONS
    effort: int = MAX_EFFORT

    def step(self) -> None:
        self.microsteps -= 1
        if self.microsteps < 0:
            raise ChartOverrun("too many microsteps", rule="microsteps")

    def act(self) -> None:
        self.actions -= 1
        if self.actions < 0:
            raise ChartOverrun("too many actions", rule="actions")

    def weigh(self, work: Work, expression: str) -> None:
        self.effort -= guards.effort_of(expression, work.tree.names, work.scope)
        if self.effort < 0:
            raise ChartOverrun("its expressions take too long together", rule="effort")


@dataclass(slots=True)
class Work:
    """The working copy. `scope` holds everything expressions read; the data are its declared and bound names."""

    tree: Tree
    id: str
    at: str
    scope: dict[str, Any]
    outside: Mapping[str, Any]
    budget: Budget
    up: Work | None = None
    here: set[Node] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    history: dict[str, tuple[str, ...]] = field(default_factory=dict)
    timers: list[Timer] = field(default_factory=list)
    inside: dict[str, Work] = field(default_factory=dict)
    begun: dict[str, tuple[str, int]] = field(default_factory=dict)
    to_invoke: set[Node] = field(default_factory=set)
    internal: deque[Happening] = field(default_factory=deque)
    external: deque[Happening] = field(default_factory=deque)
    event: Happening | None = None
    sent: int = 0
    running: bool = True
    result: Any = None
    exited: list[str] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    timers_set: list[Timer] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    logs: list[Logged] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    complained: set[str] = field(default_factory=set)
    handled: bool = False


def work_on(
    tree: Tree, state: ChartState, outside: Mapping[str, Any], at: str, budget: Budget, up: Work | None = None
) -> Work:
    """A working copy of `state`."""
    work = Work(tree, state.id, at, {}, outside, budget, up)
    work.scope = {**{name: outside.get(name, {}) for name in tree.chart.reads}, **state.data, **_system(work)}
    work.here = {tree.nodes[name] for name in state.configuration}
    work.ids = set(state.configuration)
    work.history, work.timers = dict(state.history), list(state.timers)
    work.sent, work.running, work.result = state.sent, state.running, state.result
    for name, invoked in state.invoked.items():
        invoke = tree.nodes[invoked.state].state.invoke[invoked.index]
        work.inside[name] = work_on(tree_of(invoke.chart), invoked.inside, outside, at, budget, work)
        work.begun[name] = (invoked.state, invoked.index)
    return work


def _system(work: Work) -> dict[str, Any]:
    place = {"location": f"#_scxml_{work.id}"}
    chart = work.tree.chart
    return {
        "_event": None,
        "_name": chart.title or chart.name,
        "_sessionid": work.id,
        "_ioprocessors": {PROCESSOR: place, "scxml": place},
    }


def state_of(work: Work) -> ChartState:
    """Where the chart stands now."""
    return ChartState(
        chart=work.tree.chart.reference,
        id=work.id,
        configuration=tuple(node.id for node in in_order(work.here)),
        history=work.history,
        data=data_of(work),
        timers=tuple(sorted(work.timers, key=lambda timer: (timer.due, timer.number))),
        invoked={name: Invoked(*work.begun[name], state_of(inside)) for name, inside in work.inside.items()},
        sent=work.sent,
        running=work.running,
        result=work.result,
    )


def moved_of(work: Work, before: ChartState) -> Moved:
    """What the call did. What invoked charts did is theirs, but for their timers, logs and errors."""
    data = data_of(work)
    return Moved(
        exited=tuple(work.exited),
        entered=tuple(work.entered),
        taken=tuple(work.taken),
        changed={name: value for name, value in data.items() if name not in before.data or before.data[name] != value},
        timers_set=tuple(work.timers_set),
        timers_cancelled=tuple(work.cancelled),
        logs=tuple(work.logs),
        errors=tuple(work.errors),
        handled=work.handled,
    )


def data_of(work: Work) -> dict[str, Any]:
    """The chart's data: all it may assign to that has a value."""
    reads = work.tree.chart.reads
    return {name: value for name, value in work.scope.items() if name not in SYSTEM and name not in reads}


def in_order(nodes: set[Node]) -> list[Node]:
    """The nodes in the order of the document: parents first."""
    return sorted(nodes, key=lambda node: node.order)


def hear(work: Work, event: Happening | None) -> None:
    """Make `event` what `_event` reads."""
    work.event = event
    work.scope["_event"] = (
        None
        if event is None
        else {
            "name": event.name,
            "data": event.data,
            "type": event.type,
            "sendid": event.sendid,
            "origin": event.origin,
            "origintype": event.origintype,
            "invokeid": event.invokeid,
        }
    )


def queue(work: Work, event: Happening, internal: bool = False) -> None:
    """Put `event` at the end of a queue."""
    line = work.internal if internal else work.external
    if len(line) >= MAX_QUEUE:
        raise ChartOverrun(f"more than {MAX_QUEUE} events wait", rule="queue")
    line.append(event)


def complain(work: Work, error: Unusable, where: str, once: bool = False) -> None:
    """Make an error of execution an event of the chart. `once`: the same place is not heard twice in one call, or a
    guard that cannot be read would ask again for ever.
    """
    if once and where in work.complained:
        return
    work.complained.add(where)
    if len(work.errors) < MAX_ERRORS:
        work.errors.append(f"{where}: {error.why}"[:500])
    queue(work, Happening(error.name, type="platform", sendid=error.sendid), internal=True)


def value_of(work: Work, expression: str, what: str = "a value") -> Any:
    """What `expression` amounts to now. Raises Unusable."""
    try:
        work.budget.weigh(work, expression)
        return must_fit(guards.valued(expression, work.tree.names, work.scope, work.ids), what)
    except Invalid as error:
        raise Unusable(f"{expression!r:.200}: {error.detail}") from None


def text_of(work: Work, fixed: str, expression: str) -> str:
    """A text that is either written in the chart or the value of an expression. Raises Unusable."""
    if not expression:
        return fixed
    value = value_of(work, expression)
    if not isinstance(value, str) or len(value) > 1_000:
        raise Unusable(f"{expression!r:.200} is no short text")
    return value


def true_now(work: Work, question: str, where: str) -> bool:
    """Whether `question` is answered with yes; one that cannot be answered is a no, and an error of execution."""
    if not question:
        return True
    try:
        work.budget.weigh(work, question)
        return guards.answered(question, work.tree.names, work.scope, work.ids)
    except Invalid as error:
        complain(work, Unusable(f"{question!r:.200}: {error.detail}"), where, once=True)
        return False


def put(work: Work, name: str, value: Any) -> None:
    """Give a name of the data another value. Raises Unusable when all data would become too large."""
    must_fit({**data_of(work), name: value}, "the chart's data")
    work.scope[name] = value


def add_timer(work: Work, timer: Timer) -> None:
    """Raises Unusable when too many wait."""
    if len(work.timers) >= MAX_TIMERS:
        raise Unusable(f"more than {MAX_TIMERS} timers")
    work.timers.append(timer)
    outermost(work).timers_set.append(timer)


def outermost(work: Work) -> Work:
    """The chart that no other invoked."""
    return work if work.up is None else outermost(work.up)
