"""What events change in a session's timers, triggers and alerts."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.alerts import KEPT_CLOSED, Alert
from agentstate.engine.handlers import event_handler
from agentstate.engine.state.session import SessionState
from agentstate.engine.timers import Timer


@event_handler(ev.AlertRaised)
def alert_raised(state: SessionState, event: ev.AlertRaised, at: str) -> SessionState:
    alert = Alert(
        event.alert,
        event.rule,
        event.name,
        event.version,
        event.severity,
        event.about,
        event.seq,
        event.why,
        event.to,
        event.chain,
        state.seq,
        at,
    )
    return replace(state, alerts={**state.alerts, alert.id: alert})


@event_handler(ev.AlertAcknowledged)
def alert_acknowledged(state: SessionState, event: ev.AlertAcknowledged, at: str) -> SessionState:
    alert = state.alerts[event.alert]
    return _with(state, replace(alert, held_by=event.by, acknowledged_at=alert.acknowledged_at or at))


@event_handler(ev.AlertEscalated)
def alert_escalated(state: SessionState, event: ev.AlertEscalated, at: str) -> SessionState:
    return _with(state, replace(state.alerts[event.alert], step=event.step))


@event_handler(ev.AlertClosed)
def alert_closed(state: SessionState, event: ev.AlertClosed, at: str) -> SessionState:
    closed = replace(state.alerts[event.alert], closed_at=at, closed_by=event.by, cause=event.cause)
    alerts = {**state.alerts, closed.id: closed}
    surplus = [each.id for each in sorted(alerts.values(), key=lambda each: each.closed_at) if each.closed_at]
    for old in surplus[: max(0, len(surplus) - KEPT_CLOSED)]:
        del alerts[old]
    return replace(state, alerts=alerts)


def all_closed(state: SessionState, at: str) -> SessionState:
    """The state once nothing follows in the session any more: nobody could close them later."""
    alerts = {
        alert.id: alert if alert.closed_at else replace(alert, closed_at=at, closed_by="system", cause="sealed")
        for alert in state.alerts.values()
    }
    return replace(state, alerts=alerts)


def _with(state: SessionState, alert: Alert) -> SessionState:
    return replace(state, alerts={**state.alerts, alert.id: alert})


@event_handler(ev.TimerSet)
def timer_set(state: SessionState, event: ev.TimerSet, at: str) -> SessionState:
    timer = Timer(event.timer, event.what, event.due, event.by, state.seq, event.text)
    return replace(state, timers={**state.timers, event.timer: timer})


@event_handler(ev.TimerCancelled, ev.TimerFired)
def timer_gone(state: SessionState, event: ev.TimerCancelled | ev.TimerFired, at: str) -> SessionState:
    return replace(state, timers={key: timer for key, timer in state.timers.items() if key != event.timer})


@event_handler(ev.TriggerFired)
def trigger_fired(state: SessionState, event: ev.TriggerFired, at: str) -> SessionState:
    return replace(
        state,
        cause=event.chain,
        owes=state.owes or event.run,
        failure="" if event.run else state.failure,
        model_attempt=0 if event.run else state.model_attempt,
        model_retry_at="" if event.run else state.model_retry_at,
    )
