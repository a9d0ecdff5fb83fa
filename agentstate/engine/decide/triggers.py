"""What a trigger may do in a session: what anybody outside may, under its own name and with its chain on record."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide import charts, conversation
from agentstate.engine.decide.commands.charts import Signal
from agentstate.engine.decide.commands.session import Open, Say
from agentstate.engine.decide.commands.triggers import Triggered
from agentstate.engine.decide.given import Given
from agentstate.engine.state import SessionState
from agentstate.errors import Refused


class ForkHearsNoTrigger(Refused):
    """A trigger does nothing in a fork: what it would do belongs to the parent."""

    code = "fork_hears_no_trigger"


def triggered(command: Triggered, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The entry that says which trigger acts, with what it acts. Raises SessionOver, ForkHearsNoTrigger and what its
    act raises.
    """
    by = f"trigger:{command.trigger}"
    fired = ev.TriggerFired(
        command.trigger,
        command.name,
        command.version,
        command.firing,
        command.source,
        command.chain,
        command.run and not command.note,
    )
    if isinstance(command.then, Open):
        told: list[ev.AnyEvent] = [ev.MessageAdded("note", command.note, by)] if command.note else []
        return [*conversation.opened(command.then, state, given), fired, *told]
    conversation.must_live(state)
    if state.versions.is_draft:
        raise ForkHearsNoTrigger()
    if isinstance(command.then, Signal):
        return [fired, *charts.signalled(command.then, state, given)]
    reopened: list[ev.AnyEvent] = [ev.SessionReopened(by)] if state.expired_at else []
    if not command.note:
        return [*reopened, fired]
    said = [each for each in conversation.said(Say("note", command.note, by), state, given) if each not in reopened]
    return [*reopened, fired, *said]
