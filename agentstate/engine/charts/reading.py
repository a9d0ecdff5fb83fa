"""A chart from its JSON and back: strict, bounded, each refusal with path and rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from agentstate.engine.charts.chart import (
    MAX_ACTIONS,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_STATES,
    MAX_TRANSITIONS,
    BadChart,
    Chart,
)
from agentstate.engine.charts.tree import all_actions, all_states, tree_of

MAX_NESTING = 4 * MAX_DEPTH  # brackets in brackets

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_decoder = msgspec.json.Decoder(Chart)
_encoder = msgspec.json.Encoder()


def load(data: bytes) -> Chart:
    """A chart from its JSON, ready to be run. Raises BadChart naming path and rule."""
    chart = bounded(data)
    for inner in with_invoked(chart):
        tree_of(inner)
    return chart


def bounded(data: bytes) -> Chart:
    """A chart from its JSON; whether its states fit together is not judged yet. Raises BadChart."""
    if len(data) > MAX_BYTES:
        raise BadChart(f"{len(data)} bytes, {MAX_BYTES} allowed", rule="size")
    if _nesting(data) > MAX_NESTING:
        raise BadChart(f"nested deeper than {MAX_NESTING}", rule="depth")
    try:
        chart = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadChart(str(error)[:500], rule="form") from None
    for inner in with_invoked(chart):
        _must_be_small(inner)
    return chart


def dump(chart: Chart) -> bytes:
    """The JSON of a chart, indented; `load` is the inverse."""
    return msgspec.json.format(_encoder.encode(chart), indent=2)


def with_invoked(chart: Chart) -> Iterator[Chart]:
    """The chart and all charts in it."""
    yield chart
    for state in all_states(chart.states):
        for invoke in state.invoke:
            yield from with_invoked(invoke.chart)


def _nesting(data: bytes) -> int:
    """How deep brackets stand in each other, those in text left out."""
    deepest = depth = 0
    for bracket in _BRACKETS.findall(_TEXTS.sub(b"", data)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _must_be_small(chart: Chart) -> None:
    states = list(all_states(chart.states))
    _at_most("states", states, MAX_STATES)
    _at_most("transitions", [one for state in states for one in state.transitions], MAX_TRANSITIONS)
    _at_most("actions", all_actions(chart), MAX_ACTIONS)


def _at_most(what: str, items: Iterable[object], limit: int) -> None:
    count = sum(1 for _ in items)
    if count > limit:
        raise BadChart(f"{count} {what}, {limit} allowed", rule="size")
