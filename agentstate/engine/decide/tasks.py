"""Tasks: what a session does for a call of another, and what the other learns when it has ended."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide import calls
from agentstate.engine.decide.commands import Fail
from agentstate.engine.decide.commands.plans import Deliver
from agentstate.engine.decide.given import Given
from agentstate.engine.remembered import Remembered
from agentstate.engine.state import SessionState


def delivered(command: Deliver, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The result or failure of the call, and what was refused and set going meanwhile. Raises what Return and Fail
    raise.
    """
    outcome = command.outcome
    ruled = calls.failed(outcome, state, given) if isinstance(outcome, Fail) else calls.returned(outcome, state, given)
    if command.remembered is None or command.remembered == Remembered():
        return ruled
    return [*ruled, ev.TaskDelivered(command.session, command.remembered)]
