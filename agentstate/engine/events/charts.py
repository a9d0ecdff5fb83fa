"""What happens to a session's statechart: it moves.

The entry holds where the chart stands afterwards, so folding runs no interpreter: a later one, or a newer chart, does
not rewrite what has happened.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine.charts.state import ChartState, Logged, Timer
from agentstate.engine.events.base import Event


class Shift(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a move did, in order: states left and entered, transitions taken (`ask#2`: the second one of state ask),
    timers, values noted, errors of execution.
    """

    exited: tuple[str, ...] = ()
    entered: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    timers_set: tuple[Timer, ...] = ()
    timers_cancelled: tuple[str, ...] = ()
    logs: tuple[Logged, ...] = ()
    errors: tuple[str, ...] = ()


class ChartMoved(Event, frozen=True, tag="chart.moved"):
    """The chart was begun (no `event`), or it moved on an event. `after` is where it stands then, without its data;
    `changed` the data that has another value.

    `event` is what it was told: the name of a signal, of something that happened in the session, or `timer`. `by` says
    who signalled. `instructions` and `tools` are in force from here on (tools None: all of the agent's); `prompt`: the
    agent is to speak. `stopped` says why the chart does not run any more.
    """

    chart: str
    event: str
    shift: Shift
    after: ChartState
    changed: dict[str, Any] = {}
    instructions: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    prompt: bool = False
    by: str = ""
    data: Any = None  # what a signal carried
    stopped: str = ""
    v: int = 1
