"""The statecharts of this installation: `sessions/shipped/charts/<name>.<version>.json`, their cases beside them.

A version is never changed: sessions stay with the one they began with, new sessions begin with the newest. The chart
`lifecycle` is every session's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from agentstate.engine import charts as core
from agentstate.engine.charts.lifecycle import lifecycle_chart
from agentstate.engine.decide.charts import HEARD
from agentstate.errors import NotFound

CHARTS = Path(__file__).resolve().parent.parent / "shipped" / "charts"


class UnknownChart(NotFound):
    """There is no such chart."""

    code = "unknown_chart"


@cache
def by_reference() -> Mapping[str, core.Chart]:
    """Every version of every chart. Raises BadChart; ValueError for one that is named or checked wrongly."""
    found = [_read(path) for path in sorted(CHARTS.glob("*.[0-9]*.json"))]
    return {chart.reference: chart for chart in (lifecycle_chart(), *found)}


def _read(path: Path) -> core.Chart:
    chart = core.load(path.read_bytes())
    if path.name != f"{chart.name}.{chart.version}.json":
        raise ValueError(f"{path.name} holds the chart {chart.reference}")
    wrong = core.errors_in(core.check(chart, HEARD))
    if wrong:
        raise ValueError(f"{chart.reference}, {wrong[0].path}: {wrong[0].sentence}")
    return chart


@cache
def newest() -> Mapping[str, core.Chart]:
    """The newest version of every chart, by name."""
    ordered = sorted(by_reference().values(), key=lambda chart: chart.version)
    return {chart.name: chart for chart in ordered}


def named(name: str) -> core.Chart:
    """The newest chart of that name, or the version that `name@version` says. Raises UnknownChart."""
    found = by_reference().get(name) or newest().get(name)
    if found is None:
        raise UnknownChart(f"got {name!r:.200}, want one of {sorted(newest())}", field="chart")
    return found


@cache
def cases_of(name: str) -> tuple[core.Case, ...]:
    """The cases beside the newest chart of that name; none where there are none."""
    path = CHARTS / f"{name}.cases.json"
    return core.load_cases(path.read_bytes()) if name in newest() and path.is_file() else ()


@cache
def expressions_of(name: str) -> tuple[str, ...]:
    """Every expression of every version of the chart of that name: what sessions under it may read."""
    trees = [core.tree_of(chart) for chart in by_reference().values() if chart.name == name]
    return tuple(expression for tree in trees for _, expression, _ in core.expressions_in(tree))
