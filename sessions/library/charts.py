"""The statecharts of this installation: `charts/<name>.<version>.json` of the library, their cases beside them.

A version is never changed: sessions stay with the one they began with, new sessions begin with the newest. The chart
`lifecycle` is every session's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentstate.engine import charts as core
from agentstate.engine.charts.lifecycle import lifecycle_chart
from agentstate.engine.decide.charts import HEARD
from agentstate.errors import NotFound
from sessions.library import folders
from sessions.library.folders import File

KIND = "charts"
_VERSION = re.compile(r"[^/.]+\.[0-9]+\.json")


class UnknownChart(NotFound):
    """There is no such chart."""

    code = "unknown_chart"


@folders.cached
def by_reference() -> Mapping[str, core.Chart]:
    """Every version of every chart. Raises BadChart; ValueError for one that is named or checked wrongly."""
    found = [chart for name in {file.name for file in folders.files(KIND).values()} for chart in versions(name)]
    return {chart.reference: chart for chart in (lifecycle_chart(), *found)}


@folders.cached
def versions(name: str) -> tuple[core.Chart, ...]:
    """Every version of the chart of that name, the oldest first. Raises as `by_reference` does."""
    held = (file for path, file in folders.files(KIND).items() if file.name == name and _VERSION.fullmatch(path))
    return tuple(sorted(map(_read, held), key=lambda chart: chart.version))


def _read(file: File) -> core.Chart:
    chart = core.load(file.data)
    if file.path != f"{chart.name}.{chart.version}.json":
        raise ValueError(f"{file.path} holds the chart {chart.reference}")
    wrong = core.errors_in(core.check(chart, HEARD))
    if wrong:
        raise ValueError(f"{chart.reference}, {wrong[0].path}: {wrong[0].sentence}")
    return chart


@folders.cached
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


@folders.cached
def cases_of(name: str) -> tuple[core.Case, ...]:
    """The cases beside the newest chart of that name; none where there are none."""
    file = folders.files(KIND).get(f"{name}.cases.json")
    return core.load_cases(file.data) if name in newest() and file is not None else ()


@folders.cached
def expressions_of(name: str) -> tuple[str, ...]:
    """Every expression of every version of the chart of that name: what sessions under it may read."""
    trees = [core.tree_of(chart) for chart in by_reference().values() if chart.name == name]
    return tuple(expression for tree in trees for _, expression, _ in core.expressions_in(tree))
