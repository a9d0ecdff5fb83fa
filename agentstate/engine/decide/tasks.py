"""Tasks: what a session does for a call of another, and what the other learns when it has ended."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide import calls
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.calls import Fail
from agentstate.engine.decide.commands.plans import AddTaskCustomers, Deliver
from agentstate.engine.decide.commands.session import Cancel, Pause, Resume
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.handlers import command_handler
from agentstate.engine.state.session import SessionState

Reaching = (
    ev.SessionEnded
    | ev.SessionCancelled
    | ev.SessionRolledBack
    | ev.SessionPaused
    | ev.SessionResumed
    | ev.SessionTakenOver
    | ev.SessionHandedBack
)


def because_of_parent(cause: Reaching, parent: SessionState, state: SessionState) -> Command | None:
    """Returns what a delegate does because of what happened to its parent; None: nothing. `parent` is the state of the
    parent after it, `state` the delegate's. While a person has the parent, or has paused it, its delegates are paused.
    """
    if state.ended:
        return None
    match cause:
        case ev.SessionEnded(reason=reason, by=by) | ev.SessionCancelled(reason=reason, by=by):
            return Cancel(f"the session that asked for it has ended: {reason}", by)
        case ev.SessionRolledBack(reason=reason, by=by):
            return Cancel(f"the session that asked for it was rolled back: {reason}", by)
        case ev.SessionPaused(reason=reason, by=by) | ev.SessionTakenOver(reason=reason, by=by):
            return None if state.paused_at else Pause(reason, by, with_parent=True)
        case ev.SessionResumed(by=by) | ev.SessionHandedBack(by=by):
            is_held = parent.paused_at or parent.taken_by
            return Resume(by) if state.paused_with_parent and not is_held else None


def new_customers(before: SessionState, after: SessionState) -> tuple[str, ...]:
    """Returns the people who spoke as the customer for the first time between two states of a session."""
    return tuple(each for each in after.involved.customer if each not in before.involved.customer)


def because_of_customers(spoke: tuple[str, ...], state: SessionState) -> Command | None:
    """Returns what a delegate does because these people spoke as the customer in its parent; None: nothing. `state` is
    the delegate's.
    """
    new = tuple(each for each in spoke if each not in state.involved.customer)
    return AddTaskCustomers(new) if new and not state.ended else None


@command_handler(AddTaskCustomers)
def customers_added(command: AddTaskCustomers, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The people as the entries of the session have them: they may not approve what it does."""
    return [ev.TaskCustomersAdded(command.customers)]


@command_handler(Deliver)
def delivered(command: Deliver, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The result or failure of the call. Raises what Return and Fail raise."""
    outcome = command.outcome
    return (
        calls.failed(outcome, state, context) if isinstance(outcome, Fail) else calls.returned(outcome, state, context)
    )
