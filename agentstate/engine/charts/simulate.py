"""A chart tried out without anything happening: fed with events and time, watched, and held against cases.

A case is data beside the chart: `given` what it reads from outside, `when` these steps, `then` it stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from agentstate.engine.charts.chart import MAX_BYTES, BadChart, Chart, ChartOverrun
from agentstate.engine.charts.run import start, step, tick
from agentstate.engine.charts.state import ChartState, Happening, Moved, due_next
from agentstate.engine.charts.tree import tree_of
from agentstate.engine.charts.values import Unusable, delay_of, later
from agentstate.engine.charts.work import Budget
from agentstate.errors import Refused

MAX_STEPS = 500  # events and waits in one simulation
MICROSTEPS, ACTIONS, EFFORT = 20_000, 50_000, 20_000_000  # that one simulation, or all cases of a chart, may spend
MAX_CASES = 200
MAX_FIRINGS = 200  # timers that one wait lets through
BEGIN = "2026-01-01T00:00:00.000000Z"  # when a simulation begins; only differences matter


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something that happens to the chart: time passes (`wait`: `30s`), then an event comes, if one is named.

    `given` replaces what the chart reads from outside, from here on.
    """

    event: Annotated[str, msgspec.Meta(max_length=200)] = ""
    data: Any = None
    wait: Annotated[str, msgspec.Meta(max_length=20)] = ""
    given: dict[str, Any] | None = None


class Stage(msgspec.Struct, frozen=True):
    """Where the chart stood after a step, and what it did; `refused` says why a step changed nothing."""

    step: Step
    at: str
    configuration: tuple[str, ...]
    data: dict[str, Any]
    moved: Moved
    refused: str = ""


class Coverage(msgspec.Struct, frozen=True):
    """Which states were entered and which transitions taken, and which never."""

    states: tuple[str, ...] = ()
    states_missed: tuple[str, ...] = ()
    transitions: tuple[str, ...] = ()
    transitions_missed: tuple[str, ...] = ()

    @property
    def share(self) -> int:
        """Whole per cent of states and transitions together."""
        seen = len(self.states) + len(self.transitions)
        every = seen + len(self.states_missed) + len(self.transitions_missed)
        return 100 * seen // every if every else 100


class Simulation(msgspec.Struct, frozen=True):
    """All stages, the first one before any step; where it ended; what was covered."""

    stages: tuple[Stage, ...]
    state: ChartState
    coverage: Coverage


class Then(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"within": "in"}):
    """What must be so at the end: states that are held, values of the data, whether it has ended."""

    within: tuple[str, ...] = ()
    data: dict[str, Any] = {}
    done: bool | None = None


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A named example of how a chart behaves."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    when: Annotated[tuple[Step, ...], msgspec.Meta(max_length=MAX_STEPS)]
    then: Then
    given: dict[str, Any] = {}


class Verdict(msgspec.Struct, frozen=True):
    """What became of a case: `wrong` is empty when it holds."""

    case: str
    wrong: Annotated[tuple[str, ...], Meta(description="empty: it holds")]
    configuration: tuple[str, ...]


class CasesRun(msgspec.Struct, frozen=True):
    """All verdicts, and what the cases cover together."""

    verdicts: tuple[Verdict, ...]
    coverage: Coverage

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.wrong)


_cases: msgspec.json.Decoder[tuple[Case, ...]] = msgspec.json.Decoder(
    Annotated[tuple[Case, ...], msgspec.Meta(max_length=MAX_CASES)]
)

_Steps = Annotated[tuple[Step, ...], msgspec.Meta(max_length=MAX_STEPS)]
_steps: msgspec.json.Decoder[tuple[Step, ...]] = msgspec.json.Decoder(_Steps)


def load_cases(data: bytes) -> tuple[Case, ...]:
    """Cases from their JSON. Raises BadChart."""
    if len(data) > MAX_BYTES:
        raise BadChart(f"{len(data)} bytes, {MAX_BYTES} allowed", rule="size")
    try:
        return _cases.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadChart(str(error)[:500], field="cases", rule="form") from None


def load_steps(data: bytes) -> tuple[Step, ...]:
    """Steps from their JSON. Raises BadChart."""
    try:
        return _steps.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadChart(str(error)[:500], field="steps", rule="form") from None


def simulate(
    chart: Chart, steps: Iterable[Step], given: Mapping[str, Any] | None = None, *, budget: Budget | None = None
) -> Simulation:
    """The chart, started and led through `steps`. A step that is refused is noted, and the next one goes on.

    Raises BadChart, ChartOverrun.
    """
    outside = dict(given or {})
    budget = budget or Budget(MICROSTEPS, ACTIONS, EFFORT)
    stages = [_first(chart, outside, budget)]
    state = stages[0][1]
    at = BEGIN
    for one in steps:
        if len(stages) > MAX_STEPS:
            raise BadChart(f"more than {MAX_STEPS} steps", field="when", rule="size")
        outside = outside if one.given is None else dict(one.given)
        stage, state, at = _after(chart, state, one, outside, at, budget)
        stages.append((stage, state))
    shown = tuple(stage for stage, _ in stages)
    return Simulation(shown, state, coverage_of(chart, (stage.moved for stage in shown)))


def _first(chart: Chart, outside: Mapping[str, Any], budget: Budget) -> tuple[Stage, ChartState]:
    state, moved = start(chart, outside, BEGIN, budget=budget)
    return Stage(Step(), BEGIN, state.configuration, state.data, moved), state


def _after(
    chart: Chart, state: ChartState, one: Step, outside: Mapping[str, Any], at: str, budget: Budget
) -> tuple[Stage, ChartState, str]:
    try:
        until = later(at, delay_of(one.wait))
        state, passed = _wait(chart, state, outside, until, budget)
        if one.event:
            state, came = step(chart, state, Happening(one.event, one.data), outside, until, budget=budget)
            passed.append(came)
        return Stage(one, until, state.configuration, state.data, _joined(passed)), state, until
    except (Refused, Unusable) as error:
        why = error.why if isinstance(error, Unusable) else str(error)
        return Stage(one, at, state.configuration, state.data, Moved(), why), state, at


def _wait(
    chart: Chart, state: ChartState, outside: Mapping[str, Any], until: str, budget: Budget
) -> tuple[ChartState, list[Moved]]:
    """Let timers come at their own instants, as the runtime does."""
    moves: list[Moved] = []
    while (due := due_next(state)) and due <= until:
        state, moved = tick(chart, state, outside, due, budget=budget)
        moves.append(moved)
        if len(moves) > MAX_FIRINGS:
            raise ChartOverrun(f"more than {MAX_FIRINGS} timers in one wait", rule="timers")
    return state, moves


def _joined(moves: list[Moved]) -> Moved:
    """Several moves as one."""
    return Moved(
        exited=tuple(name for moved in moves for name in moved.exited),
        entered=tuple(name for moved in moves for name in moved.entered),
        taken=tuple(key for moved in moves for key in moved.taken),
        changed={name: value for moved in moves for name, value in moved.changed.items()},
        timers_set=tuple(timer for moved in moves for timer in moved.timers_set),
        timers_cancelled=tuple(name for moved in moves for name in moved.timers_cancelled),
        logs=tuple(log for moved in moves for log in moved.logs),
        errors=tuple(error for moved in moves for error in moved.errors),
        handled=any(moved.handled for moved in moves),
    )


def coverage_of(chart: Chart, moves: Iterable[Moved]) -> Coverage:
    """What these moves cover of the chart, in the order of the document."""
    tree = tree_of(chart)
    entered: set[str] = set()
    taken: set[str] = set()
    for moved in moves:
        entered |= set(moved.entered)
        taken |= set(moved.taken)
    states = [node.id for node in tree.nodes.values() if not node.history]
    edges = [edge.key for node in tree.nodes.values() for edge in node.edges]
    return Coverage(
        tuple(name for name in states if name in entered),
        tuple(name for name in states if name not in entered),
        tuple(key for key in edges if key in taken),
        tuple(key for key in edges if key not in taken),
    )


def run_cases(chart: Chart, cases: Iterable[Case]) -> CasesRun:
    """Every case on its own, from the start."""
    verdicts: list[Verdict] = []
    moves: list[Moved] = []
    budget = Budget(MICROSTEPS, ACTIONS, EFFORT)
    for case in cases:
        done = simulate(chart, case.when, case.given, budget=budget)
        verdicts.append(Verdict(case.name, tuple(_wrong(chart, case.then, done)), done.state.configuration))
        moves.extend(stage.moved for stage in done.stages)
    return CasesRun(tuple(verdicts), coverage_of(chart, moves))


def _wrong(chart: Chart, then: Then, done: Simulation) -> list[str]:
    state = done.state
    known = tree_of(chart).nodes
    found = [f"step refused: {stage.refused}" for stage in done.stages if stage.refused]
    found += [f"there is no state {name!r}" for name in then.within if name not in known]
    found += [f"not in {name}" for name in then.within if name in known and name not in state.configuration]
    found += [
        f"{name} is {state.data.get(name)!r:.200}, want {value!r:.200}"
        for name, value in then.data.items()
        if name not in state.data or state.data[name] != value
    ]
    if then.done is not None and then.done is state.running:
        found.append("it has not ended" if then.done else "it has ended")
    return found
