"""A person stops a session: for a while, which another command ends, or for good.

While it is paused people may speak and decide, and what runs may return; nothing is begun until it is resumed. What
waits keeps its deadlines: whom a decision concerns is not told that time stood still.
"""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.session import Cancel, Pause, Resume
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.refusals import NotPaused, SessionPaused
from agentstate.engine.decide.withdrawals import withdrawn
from agentstate.engine.handlers import command_handler
from agentstate.engine.state.session import SessionState


@command_handler(Pause)
def paused(command: Pause, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """It stops where it is. Raises SessionOver, SessionPaused when it is paused already."""
    must_live(state)
    must_not_be_paused(state)
    return [ev.SessionPaused(command.reason, command.by, command.with_parent)]


@command_handler(Resume)
def resumed(command: Resume, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """It goes on where it was. Raises SessionOver, NotPaused."""
    must_live(state)
    if not state.paused_at:
        raise NotPaused()
    return [ev.SessionResumed(command.by)]


@command_handler(Cancel)
def cancelled(command: Cancel, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """It stops for good, and all that is open is withdrawn. Raises SessionOver."""
    must_live(state)
    because = f"the session was stopped: {command.reason}"
    return [*withdrawn(state, because, "cancelled", command.by), ev.SessionCancelled(command.reason, command.by)]


def must_not_be_paused(state: SessionState) -> None:
    """Raises SessionPaused where something is to be begun."""
    if state.paused_at:
        raise SessionPaused()
