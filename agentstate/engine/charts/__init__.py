"""Statecharts as data: read, checked, run purely, simulated, written as SCXML.

Read in this order: `chart` (what one is made of), `state` (where one stands), `run` (start, step, tick), then `tree`,
`selection`, `microstep` and `content` (the algorithm of SCXML's appendix D), `check`, `simulate`, `scxml`.
"""

from __future__ import annotations

from agentstate.engine.charts.chart import BadChart, Chart, ChartOverrun
from agentstate.engine.charts.check import Finding, check, errors_in
from agentstate.engine.charts.check.expressions import expressions_in
from agentstate.engine.charts.reading import bounded, dump, load
from agentstate.engine.charts.run import BadEvent, start, step, tick
from agentstate.engine.charts.scxml import from_scxml, to_scxml
from agentstate.engine.charts.simulate import (
    Case,
    Coverage,
    Step,
    coverage_of,
    load_cases,
    load_steps,
    run_cases,
    simulate,
)
from agentstate.engine.charts.state import ChartState, Happening, Moved, due_next
from agentstate.engine.charts.tree import tree_of
from agentstate.engine.charts.values import delay_of, later

__all__ = [
    "BadChart",
    "BadEvent",
    "Case",
    "Chart",
    "ChartOverrun",
    "ChartState",
    "Coverage",
    "Finding",
    "Happening",
    "Moved",
    "Step",
    "bounded",
    "check",
    "coverage_of",
    "delay_of",
    "due_next",
    "dump",
    "errors_in",
    "expressions_in",
    "from_scxml",
    "later",
    "load",
    "load_cases",
    "load_steps",
    "run_cases",
    "simulate",
    "start",
    "step",
    "tick",
    "to_scxml",
    "tree_of",
]
