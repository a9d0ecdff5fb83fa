"""What is wrong with a chart before it is used: each finding has a rule, a severity, a path and a sentence.

An error is something that cannot work or never happens; a warning is something that a person should look at. What can
be decided from the text alone (see `questions`) is decided; the rest is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from agentstate.engine.charts.chart import BadChart, Chart
from agentstate.engine.charts.check import expressions, overlaps, shape
from agentstate.engine.charts.check.finding import Finding
from agentstate.engine.charts.reading import with_invoked
from agentstate.engine.charts.tree import Tree, tree_of

__all__ = ["Finding", "check", "errors_in"]

MAX_FINDINGS = 200
_CHECKS: tuple[Callable[[Tree], Iterator[Finding]], ...] = (
    expressions.all_compile,
    expressions.can_hold,
    expressions.delays_read,
    expressions.assigned_are_declared,
    shape.reachable,
    shape.dead_ends,
    shape.handlers,
    shape.endless,
    overlaps.between_transitions,
)


def check(chart: Chart, heard: Iterable[str] = ()) -> tuple[Finding, ...]:
    """All findings, errors first, at most MAX_FINDINGS. `heard` are the events that come by themselves."""
    told = tuple(heard)
    found = [finding for inner in with_invoked(chart) for finding in _of(inner, told)]
    once = [next(same) for _, same in groupby(sorted(found, key=_order))]
    return tuple(once[:MAX_FINDINGS])


def errors_in(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those that keep a chart from being used."""
    return tuple(finding for finding in findings if finding.severity == "error")


def _of(chart: Chart, heard: tuple[str, ...]) -> Iterator[Finding]:
    try:
        tree = tree_of(chart)
    except BadChart as error:
        rule, where = str(error.facts.get("rule") or "bad_chart"), str(error.facts.get("field", ""))
        yield Finding(rule, "error", where, f"{error.detail[:1].upper()}{error.detail[1:]}.")
        return
    for one in _CHECKS:
        yield from one(tree)
    yield from shape.unknown_events(tree, heard)


def _order(finding: Finding) -> tuple[bool, str, str, str]:
    return (finding.severity != "error", finding.rule, finding.path, finding.sentence)
