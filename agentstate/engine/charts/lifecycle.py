"""The chart of every session: idle, planning, executing, waiting_feedback, done, and what may go wrong.

`engine.lifecycle.SESSION` is the same in a table, because it is asked at every event; a test proves that the two agree.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from agentstate.engine.charts.chart import Chart
from agentstate.engine.charts.reading import load


@cache
def lifecycle_chart() -> Chart:
    """The default chart, from the data shipped with the engine."""
    return load(resources.files("agentstate.engine.charts").joinpath("lifecycle.json").read_bytes())
