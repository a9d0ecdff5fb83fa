"""The user's part of the state: what a session knows of its customer, brought up to date before the model is asked."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.conversation import Adapt
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.handlers import command_handler
from agentstate.engine.state.session import SessionState


@command_handler(Adapt)
def adapted(command: Adapt, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Nothing when no step would change by it: what else the profile learned is not this session's business."""
    if state.ended or command.adaptation.digest == state.user.digest:
        return []
    must_live(state)
    return [ev.UserAdapted(command.adaptation)]
