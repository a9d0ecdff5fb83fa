"""Statecharts: where a session stands and signals to it; the charts that are installed; checking and trying one out."""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine import charts as core
from agentstate.engine.charts.simulate import CasesRun, Simulation, Stage
from agentstate.engine.decide.charts import HEARD
from agentstate.errors import Invalid
from sessions.charts import commands, queries
from sessions.charts import schemas as forms
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.library import charts

NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description="`name`, or `name@version` for an older one")
_encoder = msgspec.json.Encoder(decimal_format="number")


class Signals(APIView):
    """Tell a session's chart something."""

    @extend_schema(
        operation_id="send_signal",
        description="An event that the session's chart declares. One that it does not wait for changes nothing: 409.",
        parameters=[SESSION],
        request=forms.SendSignal,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.SendSignal, request)
        return receipt(commands.signal(request.user, identifier(session, UnknownSession), **wanted))


class SessionChart(APIView):
    """Where a session stands."""

    @extend_schema(
        operation_id="read_session_chart",
        description="The states that are held, what each waits for, and what the agent is told and may call here.",
        parameters=[SESSION],
        responses=answers(200, forms.ChartStanding, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        found = queries.standing_of(request.user, identifier(session, UnknownSession))
        timers = [{"id": one.id, "due": one.due, "event": one.happening.name} for one in found.timers]
        outline = [shown(forms.AwaitedState, each) for each in found.outline]
        return Response({**shown(forms.ChartStanding, found), "timers": timers, "outline": outline})


class Charts(APIView):
    """The charts of this installation."""

    @extend_schema(
        operation_id="list_charts",
        description="The newest version of every chart, with what checking it and running its cases says.",
        responses=answers(200, forms.ChartList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"charts": [shown(forms.ChartSummary, line) for line in queries.chart_lines(request.user)]})


class OneChart(APIView):
    """One chart."""

    @extend_schema(
        operation_id="read_chart",
        description="A chart as JSON and as SCXML, its findings, its cases and what they cover.",
        parameters=[NAME],
        responses=answers(200, forms.ChartChecked, *READING),
    )
    def get(self, request: Request, name: str) -> Response:
        found = queries.chart_view(request.user, name)
        return Response(_checked(found.chart, found.findings, found.run))


class ChartCheck(APIView):
    """Check a chart of one's own."""

    @extend_schema(
        operation_id="check_chart",
        description="What is wrong with a chart, and what becomes of its cases. Nothing is kept.",
        request=forms.CheckChart,
        responses=answers(200, forms.ChartChecked, *READING, 409, 411, 413, 415),
    )
    def post(self, request: Request) -> Response:
        queries.must_see_charts(request.user)
        wanted = valid(forms.CheckChart, request)
        chart = _given(wanted)
        cases = core.load_cases(_encoder.encode(wanted.get("cases", [])))
        findings = core.check(chart, HEARD)
        run = core.run_cases(chart, cases) if not core.errors_in(findings) else None
        return Response(_checked(chart, findings, run))


class ChartSimulation(APIView):
    """Try a chart out."""

    @extend_schema(
        operation_id="simulate_chart",
        description="Feed events and time to a chart and see where it stands after each. Nothing happens, nothing is"
        " kept. A step is `{wait, event, data, given}`, all of them optional.",
        request=forms.SimulateChart,
        responses=answers(200, forms.ChartSimulated, *READING, 409, 411, 413, 415),
    )
    def post(self, request: Request) -> Response:
        queries.must_see_charts(request.user)
        wanted = valid(forms.SimulateChart, request)
        named = wanted.get("name")
        chart = charts.named(named) if named else _given(wanted)
        steps = core.load_steps(_encoder.encode(wanted["steps"]))
        return Response(_simulated(chart, core.simulate(chart, steps, wanted.get("given"))))


def _given(wanted: dict[str, Any]) -> core.Chart:
    """The chart of a body, as JSON or as SCXML. Its states need not fit together: checking says so."""
    if ("chart" in wanted) is ("scxml" in wanted):
        raise Invalid("want the chart as `chart` or as `scxml`, one of the two", field="chart")
    if "scxml" in wanted:
        return core.from_scxml(wanted["scxml"].encode())
    return core.bounded(_encoder.encode(wanted["chart"]))


def _checked(chart: core.Chart, findings: tuple[core.Finding, ...], run: CasesRun | None) -> dict[str, Any]:
    coverage = run.coverage if run is not None else core.Coverage()
    return {
        "reference": chart.reference,
        "chart": msgspec.to_builtins(chart),
        "scxml": core.to_scxml(chart).decode(),
        "findings": [shown(forms.ChartFinding, finding) for finding in findings],
        "cases": [shown(forms.CaseVerdict, verdict) for verdict in run.verdicts] if run is not None else [],
        "coverage": queries.covered(coverage),
    }


def _simulated(chart: core.Chart, done: Simulation) -> dict[str, Any]:
    return {
        "reference": chart.reference,
        "stages": [_stage(stage) for stage in done.stages],
        "running": done.state.running,
        "coverage": queries.covered(done.coverage),
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "at": stage.at,
        "event": stage.step.event,
        "configuration": list(stage.configuration),
        "data": stage.data,
        "handled": stage.moved.handled,
        "exited": list(stage.moved.exited),
        "entered": list(stage.moved.entered),
        "taken": list(stage.moved.taken),
        "errors": list(stage.moved.errors),
        "refused": stage.refused,
    }
