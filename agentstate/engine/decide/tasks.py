"""Tasks: what a session does for a call of another, and what the other learns when it has ended."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide import calls
from agentstate.engine.decide.commands import Cancel, Command, Fail, Pause, Resume
from agentstate.engine.decide.commands.plans import Deliver
from agentstate.engine.decide.given import Given
from agentstate.engine.remembered import Remembered
from agentstate.engine.state import SessionState

Reaching = ev.SessionEnded | ev.SessionCancelled | ev.SessionRolledBack | ev.SessionPaused | ev.SessionResumed


def because_of_parent(cause: Reaching, state: SessionState) -> Command | None:
    """Returns what a delegate does because of what happened to its parent; None: nothing. `state` is the delegate's."""
    if state.ended:
        return None
    match cause:
        case ev.SessionEnded(reason=reason, by=by) | ev.SessionCancelled(reason=reason, by=by):
            return Cancel(f"the session that asked for it has ended: {reason}", by)
        case ev.SessionRolledBack(reason=reason, by=by):
            return Cancel(f"the session that asked for it was rolled back: {reason}", by)
        case ev.SessionPaused(reason=reason, by=by):
            return None if state.paused_at else Pause(reason, by, with_parent=True)
        case ev.SessionResumed(by=by):
            return Resume(by) if state.paused_with_parent else None


def delivered(command: Deliver, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The result or failure of the call, and what was refused and set going meanwhile. Raises what Return and Fail
    raise.
    """
    outcome = command.outcome
    ruled = calls.failed(outcome, state, given) if isinstance(outcome, Fail) else calls.returned(outcome, state, given)
    if command.remembered is None or command.remembered == Remembered():
        return ruled
    return [*ruled, ev.TaskDelivered(command.session, command.remembered)]
