"""Charts: those that are installed, with what their check and cases say, and where a session stands in its own.

Where a session stands needs `read`; charts are no secret among those who may see sessions.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.engine import charts as core
from agentstate.engine.charts.lifecycle import lifecycle_chart
from agentstate.engine.charts.simulate import CasesRun, Coverage
from agentstate.engine.charts.standing import Awaited, Standing, instructions_in, outline, tools_in
from agentstate.engine.charts.state import Timer
from agentstate.engine.decide.charts import HEARD, OWN
from agentstate.engine.state.session import SessionState
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from sessions.agents import registry
from sessions.core.entry_lines import state_of
from sessions.core.session_lines import Person
from sessions.http.bodies import About
from sessions.library import charts


class ChartLine(msgspec.Struct, frozen=True):
    """A chart in a list: what it is, what is to be said against it, and how much its cases cover."""

    reference: str
    name: str
    version: int
    title: str
    about: str
    states: int
    agents: Annotated[tuple[str, ...], About("whose sessions have it")]
    errors: Annotated[int, About("findings of the check that keep it from being used")]
    warnings: int
    cases: Annotated[int, About("test cases beside it")]
    failed: Annotated[int, About("of them")]
    covered: Annotated[int, About("per cent of states and transitions that the cases reach")]


class ChartView(msgspec.Struct, frozen=True):
    """A chart in full."""

    line: ChartLine
    chart: core.Chart
    findings: tuple[core.Finding, ...]
    run: CasesRun
    outline: tuple[Awaited, ...]


class StandingView(msgspec.Struct, frozen=True):
    """Where a session stands: its status in the lifecycle that all have, and in its agent's chart, if it has one.

    `begun` is false before anything has happened: then it is where the chart will begin.
    """

    lifecycle: str
    lifecycle_outline: tuple[Awaited, ...]
    chart: str
    title: str
    begun: bool
    running: bool
    stopped: str
    at: str
    configuration: tuple[str, ...]
    data: dict[str, Any]
    timers: tuple[Timer, ...]
    signals: tuple[str, ...]
    instructions: tuple[str, ...]
    tools: tuple[str, ...] | None
    outline: tuple[Awaited, ...]


def must_see_charts(user: Person) -> None:
    """Raises PermissionDenied to those who see sessions nowhere."""
    if not teams_with(user, Permission.SEE):
        needed = Permission.SEE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)


def chart_lines(user: Person) -> list[ChartLine]:
    """The newest version of every chart, by name. Raises PermissionDenied."""
    must_see_charts(user)
    return [_line(chart, *_judged(chart)) for _, chart in sorted(charts.newest().items())]


def chart_view(user: Person, name: str) -> ChartView:
    """One chart, by name or as `name@version`. Raises UnknownChart, PermissionDenied."""
    must_see_charts(user)
    chart = charts.named(name)
    findings, run = _judged(chart)
    return ChartView(_line(chart, findings, run), chart, findings, run, outline(chart, ()))


def _judged(chart: core.Chart) -> tuple[tuple[core.Finding, ...], CasesRun]:
    is_newest = charts.newest()[chart.name] is chart
    heard = () if chart is lifecycle_chart() else HEARD
    return core.check(chart, heard), core.run_cases(chart, charts.cases_of(chart.name) if is_newest else ())


def _line(chart: core.Chart, findings: tuple[core.Finding, ...], run: CasesRun) -> ChartLine:
    errors = len(core.errors_in(findings))
    everyones = chart is lifecycle_chart()
    return ChartLine(
        reference=chart.reference,
        name=chart.name,
        version=chart.version,
        title=chart.title or chart.name,
        about=chart.about,
        states=len(core.tree_of(chart).nodes),
        agents=tuple(name for name in registry.names() if everyones or registry.find(name).chart == chart.name),
        errors=errors,
        warnings=len(findings) - errors,
        cases=len(run.verdicts),
        failed=len(run.failed),
        covered=run.coverage.share if run.verdicts else 0,
    )


def standing_of(user: Person, session: UUID) -> StandingView:
    """Where the session stands. Raises UnknownSession, PermissionDenied."""
    return standing_view(state_of(user, session))


def standing_view(state: SessionState) -> StandingView:
    """The same of a state that was read already."""
    chart, standing, begun = _of(state)
    inside = standing.inside
    held = inside.configuration if inside is not None else ()
    return StandingView(
        lifecycle=state.status.value,
        lifecycle_outline=outline(lifecycle_chart(), _lifecycle(state)),
        chart=inside.chart if inside is not None else "",
        title=(chart.title or chart.name) if chart is not None else "",
        begun=begun,
        running=inside is not None and inside.running and not standing.stopped,
        stopped=standing.stopped,
        at=standing.at,
        configuration=held,
        data=inside.data if inside is not None else {},
        timers=inside.timers if inside is not None else (),
        signals=tuple(name for name in chart.events if name.split(".")[0] not in OWN) if chart is not None else (),
        instructions=standing.instructions,
        tools=standing.tools,
        outline=outline(chart, held) if chart is not None else (),
    )


def _lifecycle(state: SessionState) -> tuple[str, ...]:
    """The configuration of the lifecycle's chart that the status is."""
    tree = core.tree_of(lifecycle_chart())
    node = tree.nodes[state.status.value]
    return (*(around.id for around in node.ancestors if around.id in tree.nodes), node.id)


def _of(state: SessionState) -> tuple[core.Chart | None, Standing, bool]:
    if state.chart.inside is not None:
        return charts.by_reference().get(state.chart.inside.chart), state.chart, True
    name = registry.find(state.opened.agent).chart if state.opened is not None else ""
    if not name:
        return None, Standing(), False
    chart = charts.named(name)
    inside, _ = core.start(chart, {}, state.opened_at)
    held = inside.configuration
    inside = msgspec.structs.replace(inside, timers=())
    return chart, Standing(inside, instructions_in(chart, held), tools_in(chart, held)), False


def covered(coverage: Coverage) -> dict[str, Any]:
    """A coverage as the API gives it."""
    return {
        "percent": coverage.share,
        "states": list(coverage.states),
        "states_missed": list(coverage.states_missed),
        "transitions": list(coverage.transitions),
        "transitions_missed": list(coverage.transitions_missed),
    }
