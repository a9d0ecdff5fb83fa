"""Running a chart, purely: `start`, `step` with an event, `tick` when a timer may be due.

Each takes where the chart stands and gives where it stands then, with what happened on the way. Time is an argument;
the same arguments give the same answer. A call that does not come to rest within its bounds raises ChartOverrun and
has changed nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentstate.engine.charts.chart import Chart, ChartOverrun
from agentstate.engine.charts.content import assign, dispatch, do_block, payload
from agentstate.engine.charts.microstep import bind_data, enter, leave, microstep, report_done
from agentstate.engine.charts.selection import selected
from agentstate.engine.charts.state import MAX_INVOKED, ChartState, Happening, Moved, Timer
from agentstate.engine.charts.tree import Node, Tree, all_below, tree_of
from agentstate.engine.charts.values import Unusable, must_fit
from agentstate.engine.charts.work import (
    Budget,
    Work,
    complain,
    hear,
    in_order,
    moved_of,
    queue,
    state_of,
    text_of,
    work_on,
)
from agentstate.errors import Invalid

_EVENT_NAME = re.compile(r"\w[\w.\-:/#]{0,199}", re.ASCII)
_NOTHING: Mapping[str, Any] = {}
_CHARTS = ("", "scxml", "http://www.w3.org/TR/scxml", "http://www.w3.org/TR/scxml/")


class BadEvent(Invalid):
    """This is no event that a statechart can be given."""

    code = "bad_event"


def start(
    chart: Chart,
    values: Mapping[str, Any] = _NOTHING,
    at: str = "",
    name: str = "chart",
    *,
    budget: Budget | None = None,
) -> tuple[ChartState, Moved]:
    """The chart in its first configuration. `values` is what it `reads` from outside; `name` is its `_sessionid`.

    `budget` is what this call and others with it may spend; without one the call has its own.
    """
    tree = tree_of(chart)
    before = ChartState(chart.reference, name)
    work = work_on(tree, before, values, at, budget or Budget())
    _begin(work)
    return state_of(work), moved_of(work, before)


def step(
    chart: Chart,
    state: ChartState,
    event: Happening,
    values: Mapping[str, Any] = _NOTHING,
    at: str = "",
    *,
    budget: Budget | None = None,
) -> tuple[ChartState, Moved]:
    """The chart after `event`; timers that are due at `at` come before it. Raises BadEvent, ChartOverrun."""
    _must_be_event(event)
    return _run(chart, state, values, at, event, budget or Budget())


def tick(
    chart: Chart,
    state: ChartState,
    values: Mapping[str, Any] = _NOTHING,
    at: str = "",
    *,
    budget: Budget | None = None,
) -> tuple[ChartState, Moved]:
    """The chart after the timers that are due at `at`. Raises ChartOverrun."""
    return _run(chart, state, values, at, None, budget or Budget())


def _run(
    chart: Chart, state: ChartState, values: Mapping[str, Any], at: str, event: Happening | None, budget: Budget
) -> tuple[ChartState, Moved]:
    if not state.running:
        return state, Moved()
    work = work_on(_tree_for(chart, state), state, values, at, budget)
    while work.running and (waiting := _due(work)):
        _fire(work, *waiting)
    if event is not None and work.running:
        queue(work, event)
        _settle(work)
    work.handled = bool(work.taken)
    return state_of(work), moved_of(work, state)


def _tree_for(chart: Chart, state: ChartState) -> Tree:
    tree = tree_of(chart)
    held = (*state.configuration, *(name for names in state.history.values() for name in names))
    unknown = [name for name in held if name not in tree.nodes]
    if state.chart != chart.reference or unknown:
        raise BadEvent(f"the state is of {state.chart!r}, the chart is {chart.reference!r}", field="chart")
    return tree


def _must_be_event(event: Happening) -> None:
    if not _EVENT_NAME.fullmatch(event.name):
        raise BadEvent(f"{event.name!r:.100} is no name of an event, want words joined by dots", field="event")
    try:
        must_fit(event.data, "the event")
    except Unusable as error:
        raise BadEvent(error.why, field="data") from None


def _begin(work: Work) -> None:
    """Bind the data, enter the first states, and go on until nothing is left to do."""
    early = work.tree.chart.binding == "early"
    for node in all_below(work.tree.root) if early else (work.tree.root,):
        bind_data(work, node)
    initial = work.tree.root.initial
    assert initial is not None
    do_block(work, initial.do, initial.key)
    enter(work, [initial])
    _settle(work)


def _due(work: Work) -> tuple[Work, Timer] | None:
    """The first timer that is due, wherever it waits: of one instant, the one that was sent first."""
    due = [pair for pair in _waiting(work) if pair[1].due <= work.at]
    return min(due, key=lambda pair: (pair[1].due, pair[1].number), default=None)


def _fire(work: Work, owner: Work, timer: Timer) -> None:
    owner.timers.remove(timer)
    try:
        dispatch(owner, timer.target, timer.happening)
    except Unusable as error:
        complain(owner, error, "timer")
    _settle(owner)
    _settle(work)


def _waiting(work: Work) -> list[tuple[Work, Timer]]:
    inside = [pair for one in work.inside.values() for pair in _waiting(one)]
    return [*((work, timer) for timer in work.timers), *inside]


def _settle(work: Work) -> None:
    """The main event loop: until no event waits here or inside."""
    while work.running:
        _macrostep(work)
        if not work.running:
            break
        _invoke_all(work)
        if work.internal:
            continue
        for inside in list(work.inside.values()):
            if inside.running:
                _settle(inside)
        if not work.external:
            return
        _handle(work, work.external.popleft())
    _end(work)


def _macrostep(work: Work) -> None:
    """Transitions without events, then internal events, until neither is left."""
    while work.running:
        edges = selected(work, None)
        if not edges:
            if not work.internal:
                return
            hear(work, work.internal.popleft())
            work.budget.act()
            edges = selected(work, work.event)
        if edges:
            microstep(work, edges)


def _handle(work: Work, event: Happening) -> None:
    """One event from outside."""
    work.budget.act()
    hear(work, event)
    for name, (state, index) in list(work.begun.items()):
        invoke = work.tree.nodes[state].state.invoke[index]
        if event.invokeid == name:
            do_block(work, invoke.finalize, f"{state}.finalize")
        if invoke.forward and work.inside[name].running:
            queue(work.inside[name], event)
    edges = selected(work, event)
    if edges:
        microstep(work, edges)


def _end(work: Work) -> None:
    """exitInterpreter: everything is left, nothing waits any more, the chart around is told."""
    held = set(work.here)
    exited = list(work.exited)
    leave(work, held)
    # A final configuration stays to be seen; only the exit actions were due.
    work.here = held
    work.ids = {node.id for node in held}
    work.exited[:] = exited
    work.timers.clear()
    work.internal.clear()
    work.external.clear()
    report_done(work)


def _invoke_all(work: Work) -> None:
    for node in in_order(work.to_invoke & work.here):
        for index in range(len(node.state.invoke)):
            _invoke(work, node, index)
    work.to_invoke.clear()


def _invoke(work: Work, node: Node, index: int) -> None:
    """Begin a chart inside. What cannot be read is an error event, and it is not begun."""
    invoke = node.state.invoke[index]
    try:
        if text_of(work, invoke.type, invoke.type_expr) not in _CHARTS:
            raise Unusable("only charts can be invoked")
        if len(work.inside) >= MAX_INVOKED:
            raise Unusable(f"more than {MAX_INVOKED} charts inside")
        work.sent += 1
        name = invoke.id or f"{node.id}.invoke{work.sent}"
        if invoke.id_to:
            assign(work, invoke.id_to, name)
        given = payload(work, invoke.params, "") or {}
    except Unusable as error:
        complain(work, error, f"{node.id}.invoke#{index + 1}")
        return
    _start_inside(work, node, index, name, given)


def _start_inside(work: Work, node: Node, index: int, name: str, given: dict[str, Any]) -> None:
    if _depth(work) >= MAX_INVOKED:
        raise ChartOverrun(f"charts in charts deeper than {MAX_INVOKED}", rule="invoked")
    tree = tree_of(node.state.invoke[index].chart)
    state = ChartState(tree.chart.reference, f"{work.id}.{name}")
    inside = work_on(tree, state, work.outside, work.at, work.budget, work)
    top = {datum.name for datum in tree.root.state.data}
    inside.scope.update({key: value for key, value in given.items() if key in top})
    work.inside[name], work.begun[name] = inside, (node.id, index)
    _begin(inside)


def _depth(work: Work) -> int:
    return 0 if work.up is None else 1 + _depth(work.up)
