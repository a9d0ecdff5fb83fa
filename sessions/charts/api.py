"""Statecharts: where a session stands and signals to it; the charts that are installed; checking and trying one out."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET

from agentstate.engine import charts as core
from agentstate.engine.charts.simulate import CasesRun, Simulation, Stage
from agentstate.engine.decide.charts import HEARD
from agentstate.errors import Invalid
from agentstate.people.models import User
from sessions.charts import commands, queries
from sessions.charts import schemas as forms
from sessions.http.answers import filled
from sessions.http.operations import command, get, post
from sessions.http.parameters import LAST, SessionId, Text
from sessions.library import charts

_encoder = msgspec.json.Encoder(decimal_format="number")

send_signal = command(
    "send_signal",
    commands.signal,
    forms.SendSignal,
    "An event that the session's chart declares. One that it does not wait for changes nothing: 409.",
)


@get()
def read_session_chart(user: User, session: SessionId) -> forms.ChartStanding:
    """The states that are held, what each waits for, and what the agent is told and may call here."""
    found = queries.standing_of(user, session)
    timers = [forms.ChartTimer(one.id, one.due, one.happening.name) for one in found.timers]
    return filled(forms.ChartStanding, found, timers=timers)


@get()
def list_charts(user: User) -> forms.ChartList:
    """The newest version of every chart, with what checking it and running its cases says."""
    return forms.ChartList(queries.chart_lines(user))


@get()
def read_chart(
    user: User, name: Annotated[str, Text("`name`, or `name@version` for an older one", LAST)]
) -> forms.ChartChecked:
    """A chart as JSON and as SCXML, its findings, its cases and what they cover."""
    found = queries.chart_view(user, name)
    return _checked(found.chart, found.findings, found.run)


@post(200)
def check_chart(user: User, body: forms.CheckChart) -> forms.ChartChecked:
    """What is wrong with a chart, and what becomes of its cases. Nothing is kept."""
    queries.must_see_charts(user)
    chart = _given(body)
    cases = core.load_cases(_encoder.encode(body.cases or []))
    findings = core.check(chart, HEARD)
    run = core.run_cases(chart, cases) if not core.errors_in(findings) else None
    return _checked(chart, findings, run)


@post(200)
def simulate_chart(user: User, body: forms.SimulateChart) -> forms.ChartSimulated:
    """Feed events and time to a chart and see where it stands after each. Nothing happens, nothing is kept. A step is
    `{wait, event, data, given}`, all of them optional.
    """
    queries.must_see_charts(user)
    chart = charts.named(body.name) if body.name else _given(body)
    steps = core.load_steps(_encoder.encode(body.steps))
    return _simulated(chart, core.simulate(chart, steps, body.given or None))


def _given(body: forms.GivenChart) -> core.Chart:
    """The chart of a body, as JSON or as SCXML. Its states need not fit together: checking says so."""
    if (body.chart is UNSET) is (body.scxml is UNSET):
        raise Invalid("want the chart as `chart` or as `scxml`, one of the two", field="chart")
    if isinstance(body.scxml, str):
        return core.from_scxml(body.scxml.encode())
    return core.bounded(_encoder.encode(body.chart))


def _checked(chart: core.Chart, findings: tuple[core.Finding, ...], run: CasesRun | None) -> forms.ChartChecked:
    return forms.ChartChecked(
        reference=chart.reference,
        chart=msgspec.to_builtins(chart),
        scxml=core.to_scxml(chart).decode(),
        findings=findings,
        cases=run.verdicts if run is not None else (),
        coverage=_covered(run.coverage if run is not None else core.Coverage()),
    )


def _simulated(chart: core.Chart, done: Simulation) -> forms.ChartSimulated:
    stages = [_stage(stage) for stage in done.stages]
    return forms.ChartSimulated(chart.reference, stages, done.state.running, _covered(done.coverage))


def _stage(stage: Stage) -> forms.ChartStage:
    told = {"at": stage.at, "configuration": stage.configuration, "data": stage.data, "refused": stage.refused}
    return filled(forms.ChartStage, stage.moved, event=stage.step.event, **told)


def _covered(coverage: core.Coverage) -> forms.ChartCoverage:
    return filled(forms.ChartCoverage, queries.covered(coverage))
