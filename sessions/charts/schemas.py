"""Shapes of statecharts: where a session stands, signals, charts as data, checks and simulations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.charts.chart import MAX_BYTES
from agentstate.engine.charts.check.finding import Finding
from agentstate.engine.charts.simulate import MAX_CASES, MAX_STEPS, Verdict
from agentstate.engine.charts.standing import Awaited
from sessions.charts import queries
from sessions.core.person import MAX_REFERENCE
from sessions.http.bodies import About, Body, Chars, Command, Items, Object
from sessions.http.openapi import published


class SendSignal(Command, kw_only=True):
    """What is told to the session's chart."""

    name: Annotated[str, Chars(MAX_REFERENCE, "an event that the chart declares")]
    data: Annotated[Any, About("what it carries; numbers are integers")] | UnsetType = UNSET


class GivenChart(Body, kw_only=True):
    """A chart as JSON or as SCXML: one of the two."""

    chart: Annotated[Object, About("the chart as JSON")] | UnsetType = UNSET
    scxml: Annotated[str, Chars(MAX_BYTES, "the chart as SCXML, its data model CEL")] | UnsetType = UNSET


class CheckChart(GivenChart, kw_only=True):
    """A chart to be checked, with the cases beside it."""

    cases: Annotated[list[Object], Items(MAX_CASES)] | UnsetType = UNSET


class SimulateChart(GivenChart, kw_only=True):
    """A chart to be tried out: given here, or one that is installed by its name."""

    name: Annotated[str, Chars(MAX_REFERENCE, "an installed chart, `name` or `name@version`")] | UnsetType = UNSET
    given: Annotated[Object, About("what the chart reads from outside")] | UnsetType = UNSET
    steps: Annotated[list[Object], Items(MAX_STEPS)]


class ChartTimer(Struct, frozen=True):
    id: str
    due: str
    event: str


class ChartStanding(Struct, frozen=True):
    lifecycle: Annotated[str, About("its state in the lifecycle that all sessions have")]
    chart: Annotated[str, About("the agent's chart as `name@version`, or empty")]
    title: str
    begun: Annotated[bool, About("false before anything has happened in the session")]
    running: bool
    stopped: Annotated[str, About("why it runs no more although it has not ended, or empty")]
    at: Annotated[str, About("of its latest move, or empty")]
    configuration: Annotated[Sequence[str], About("all states held, outermost first")]
    data: Annotated[Any, About("the chart's own data")]
    timers: Sequence[ChartTimer]
    signals: Annotated[Sequence[str], About("what it can be told from outside")]
    instructions: Annotated[Sequence[str], About("what the agent is told here")]
    tools: Annotated[Sequence[str] | None, About("null: all of the agent's")]
    outline: Sequence[Awaited]


class ChartList(Struct, frozen=True):
    charts: Sequence[queries.ChartLine]


class ChartCoverage(Struct, frozen=True):
    percent: int
    states: Sequence[str]
    states_missed: Sequence[str]
    transitions: Sequence[str]
    transitions_missed: Sequence[str]


class ChartChecked(Struct, frozen=True):
    reference: str
    chart: Annotated[Any, About("the chart as JSON")]
    scxml: Annotated[str, About("the same chart as SCXML")]
    findings: Sequence[Finding]
    cases: Sequence[Verdict]
    coverage: Annotated[ChartCoverage, About("of the cases")]


class ChartStage(Struct, frozen=True):
    at: Annotated[str, About("a simulation begins at 2026-01-01T00:00:00Z")]
    event: str
    configuration: Sequence[str]
    data: Any
    handled: bool
    exited: Sequence[str]
    entered: Sequence[str]
    taken: Sequence[str]
    errors: Sequence[str]
    refused: Annotated[str, About("why the step changed nothing, or empty")]


class ChartSimulated(Struct, frozen=True):
    reference: str
    stages: Annotated[Sequence[ChartStage], About("the first one is the start")]
    running: bool
    coverage: ChartCoverage


published(
    AwaitedState=Awaited,
    ChartSummary=queries.ChartLine,
    ChartFinding=Finding,
    CaseVerdict=Verdict,
)
