"""Alerts of a session: one open alert for each rule and what it is about; few at a time; nobody's twice.

They are of the people, not of the conversation: they may be raised and closed in a session that has ended or is paused,
until it is sealed. A fork has none: nothing happens there.
"""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.alerts import MAX_OPEN, SEVERITIES, Alert, open_alerts, standing_for
from agentstate.engine.decide.commands.automation import AcknowledgeAlert, CloseAlert, EscalateAlert, RaiseAlert
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.refusals import HasChanged, Outdated
from agentstate.engine.handlers import command_handler
from agentstate.engine.state.session import SessionState
from agentstate.errors import Invalid, NotFound, Refused

LONGEST_REASON = 1_000  # characters
PERSON = "person"  # the cause of an end that a person gave


class UnknownAlert(NotFound):
    """There is no such alert here."""

    code = "unknown_alert"


class AlertOver(Refused):
    """The alert is closed."""

    code = "alert_over"


class TooManyAlerts(Refused):
    """So many alerts are open in this session that another would tell nobody anything."""

    code = "too_many_alerts"


class ForkHasNoAlerts(Refused):
    """Nothing happens in a fork before it is promoted."""

    code = "fork_has_no_alerts"


@command_handler(RaiseAlert)
def raised(command: RaiseAlert, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Nothing when there is one already. Raises TooManyAlerts, ForkHasNoAlerts, Invalid."""
    if state.versions.is_draft:
        raise ForkHasNoAlerts()
    if command.severity not in SEVERITIES:
        raise Invalid(f"want one of {', '.join(SEVERITIES)}", field="severity")
    if command.alert in state.alerts or standing_for(state.alerts, command.rule, command.about):
        return []
    if len(open_alerts(state.alerts)) >= MAX_OPEN:
        raise TooManyAlerts(f"{MAX_OPEN} are open")
    return [
        ev.AlertRaised(
            command.alert,
            command.rule,
            command.name,
            command.version,
            command.severity,
            command.why,
            command.to,
            command.about,
            command.seq,
            command.chain,
        )
    ]


@command_handler(AcknowledgeAlert)
def acknowledged(command: AcknowledgeAlert, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Nothing when they have it. Raises UnknownAlert, AlertOver, HasChanged when it is another's by now."""
    alert = _open(command.alert, state)
    if alert.held_by == command.by:
        return []
    if alert.held_by != command.holder:
        raise HasChanged(by=alert.held_by)
    return [ev.AlertAcknowledged(command.alert, command.by, alert.held_by)]


@command_handler(EscalateAlert)
def escalated(command: EscalateAlert, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The next step of its chain, once. Raises UnknownAlert, AlertOver, Outdated."""
    alert = _open(command.alert, state)
    if alert.held_by or command.step != alert.step + 1 or command.step > len(alert.chain):
        raise Outdated("somebody has it, or it has gone on already")
    return [ev.AlertEscalated(command.alert, command.step, alert.chain[alert.step].to, "system")]


@command_handler(CloseAlert)
def closed(command: CloseAlert, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """It is over. Raises UnknownAlert, AlertOver, Invalid."""
    _open(command.alert, state)
    reason = command.reason.strip()
    if command.cause == PERSON and not reason:
        raise Invalid("say why it is over", field="reason")
    if len(reason) > LONGEST_REASON:
        raise Invalid(f"got {len(reason)} characters, at most {LONGEST_REASON}", field="reason")
    return [ev.AlertClosed(command.alert, command.by, command.cause, reason)]


def _open(alert: str, state: SessionState) -> Alert:
    found = state.alerts.get(alert)
    if found is None:
        raise UnknownAlert()
    if found.closed_at:
        raise AlertOver()
    return found
