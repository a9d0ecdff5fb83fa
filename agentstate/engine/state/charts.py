"""What an event changes in a session's chart. The event says where the chart stands; nothing is run here."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.charts.standing import Standing
from agentstate.engine.state.session import SessionState


def chart_moved(state: SessionState, event: ev.ChartMoved, at: str) -> SessionState:
    """The chart stands where the event says; a state that prompts makes the agent owe an answer."""
    before = state.chart.inside
    same = before is not None and before.chart == event.after.chart and bool(event.event)
    data = {**before.data, **event.changed} if before is not None and same else event.changed
    standing = Standing(
        inside=replace(event.after, data=data),
        instructions=event.instructions,
        tools=event.tools,
        stopped=event.stopped,
        at=at,
    )
    return replace(state, chart=standing, owes=state.owes or (event.prompt and not state.ended))
