"""Shapes of statecharts: where a session stands, signals, charts as data, checks and simulations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.engine.charts.chart import MAX_BYTES
from agentstate.engine.charts.simulate import MAX_CASES, MAX_STEPS
from sessions.core.person import MAX_REFERENCE
from sessions.http.fields import ExactText, Key, ShortList, Strict
from sessions.http.values import AnyValue


class SendSignal(Strict):
    """What is told to the session's chart."""

    name = ExactText(max_length=MAX_REFERENCE, help_text="an event that the chart declares")
    data = AnyValue(required=False, help_text="what it carries; numbers are integers")  # type: ignore[assignment]  # a name that DRF has too
    idempotency_key = Key()


class GivenChart(Strict):
    """A chart as JSON or as SCXML: one of the two."""

    chart = serializers.DictField(required=False, help_text="the chart as JSON")
    scxml = ExactText(max_length=MAX_BYTES, required=False, help_text="the chart as SCXML, its data model CEL")


class CheckChart(GivenChart):
    """A chart to be checked, with the cases beside it."""

    cases = ShortList(child=serializers.DictField(), max_length=MAX_CASES, required=False)


class SimulateChart(GivenChart):
    """A chart to be tried out: given here, or one that is installed by its name."""

    name = ExactText(max_length=MAX_REFERENCE, required=False, help_text="an installed chart, `name` or `name@version`")
    given = serializers.DictField(required=False, help_text="what the chart reads from outside")
    steps = ShortList(child=serializers.DictField(), max_length=MAX_STEPS)


class AwaitedState(serializers.Serializer[Any]):
    state = serializers.CharField()
    about = serializers.CharField()
    depth = serializers.IntegerField(help_text="how many states stand around it")
    held = serializers.BooleanField(help_text="whether the session is in it")
    waits_for = serializers.ListField(child=serializers.CharField(), help_text="events and times that lead on")


class ChartTimer(serializers.Serializer[Any]):
    id = serializers.CharField()
    due = serializers.CharField()
    event = serializers.CharField()


class ChartStanding(serializers.Serializer[Any]):
    lifecycle = serializers.CharField(help_text="its state in the lifecycle that all sessions have")
    chart = serializers.CharField(help_text="the agent's chart as `name@version`, or empty")
    title = serializers.CharField()
    begun = serializers.BooleanField(help_text="false before anything has happened in the session")
    running = serializers.BooleanField()
    stopped = serializers.CharField(help_text="why it runs no more although it has not ended, or empty")
    at = serializers.CharField(help_text="of its latest move, or empty")
    configuration = serializers.ListField(child=serializers.CharField(), help_text="all states held, outermost first")
    data = AnyValue(help_text="the chart's own data")  # type: ignore[assignment]  # a name that DRF has too
    timers = ChartTimer(many=True)
    signals = serializers.ListField(child=serializers.CharField(), help_text="what it can be told from outside")
    instructions = serializers.ListField(child=serializers.CharField(), help_text="what the agent is told here")
    tools = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="null: all of the agent's")
    outline = AwaitedState(many=True)


class ChartSummary(serializers.Serializer[Any]):
    reference = serializers.CharField()
    name = serializers.CharField()
    version = serializers.IntegerField()
    title = serializers.CharField()
    about = serializers.CharField()
    states = serializers.IntegerField()
    agents = serializers.ListField(child=serializers.CharField(), help_text="whose sessions have it")
    errors = serializers.IntegerField(help_text="findings of the check that keep it from being used")  # type: ignore[assignment]  # a name that DRF has too
    warnings = serializers.IntegerField()
    cases = serializers.IntegerField(help_text="test cases beside it")
    failed = serializers.IntegerField(help_text="of them")
    covered = serializers.IntegerField(help_text="per cent of states and transitions that the cases reach")


class ChartList(serializers.Serializer[Any]):
    charts = ChartSummary(many=True)


class ChartFinding(serializers.Serializer[Any]):
    rule = serializers.CharField()
    severity = serializers.ChoiceField(choices=[("error", "error"), ("warning", "warning")])
    path = serializers.CharField(help_text="the state, or the transition as `state#number`")
    sentence = serializers.CharField()


class ChartCoverage(serializers.Serializer[Any]):
    percent = serializers.IntegerField()
    states = serializers.ListField(child=serializers.CharField())
    states_missed = serializers.ListField(child=serializers.CharField())
    transitions = serializers.ListField(child=serializers.CharField())
    transitions_missed = serializers.ListField(child=serializers.CharField())


class CaseVerdict(serializers.Serializer[Any]):
    case = serializers.CharField()
    wrong = serializers.ListField(child=serializers.CharField(), help_text="empty: it holds")
    configuration = serializers.ListField(child=serializers.CharField())


class ChartChecked(serializers.Serializer[Any]):
    reference = serializers.CharField()
    chart = AnyValue(help_text="the chart as JSON")
    scxml = serializers.CharField(help_text="the same chart as SCXML")
    findings = ChartFinding(many=True)
    cases = CaseVerdict(many=True)
    coverage = ChartCoverage(help_text="of the cases")


class ChartStage(serializers.Serializer[Any]):
    at = serializers.CharField(help_text="a simulation begins at 2026-01-01T00:00:00Z")
    event = serializers.CharField()
    configuration = serializers.ListField(child=serializers.CharField())
    data = AnyValue()  # type: ignore[assignment]
    handled = serializers.BooleanField()
    exited = serializers.ListField(child=serializers.CharField())
    entered = serializers.ListField(child=serializers.CharField())
    taken = serializers.ListField(child=serializers.CharField())
    errors = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]
    refused = serializers.CharField(help_text="why the step changed nothing, or empty")


class ChartSimulated(serializers.Serializer[Any]):
    reference = serializers.CharField()
    stages = ChartStage(many=True, help_text="the first one is the start")
    running = serializers.BooleanField()
    coverage = ChartCoverage()
