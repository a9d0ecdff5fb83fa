"""Holds: what executes by itself when its time is over, unless somebody objects first.

Policy holds a call instead of asking (gate "hold"), or asks people and then holds what they approved. Either way the
request stays pending and says until when; the database's clock judges that it is over, in the statement that appends.
"""

from __future__ import annotations

from datetime import timedelta

from agentstate.engine import events as ev
from agentstate.engine.decide.approvers import approvers_missing
from agentstate.engine.decide.commands.approvals import HoldOver, Undo
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.refusals import DecisionNotAllowed, NotHeld
from agentstate.engine.decide.reviewing import open_request
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import parse, stamp
from agentstate.engine.state.session import Request, SessionState


def held(request: Request, context: CommandContext) -> ev.RequestHeld | None:
    """That an approved request is held, where its terms say so. What policy held runs at once when approved."""
    if request.terms.gate != "approve" or not request.terms.hold:
        return None
    return ev.RequestHeld(request.asked.request, stamp(context.at + timedelta(seconds=request.terms.hold)))


@command_handler(Undo)
def undone(command: Undo, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """It waits for a decision again, for as long as it did at first. Raises NotHeld, AlreadyDecided,
    DecisionNotAllowed.
    """
    request = open_request(state, command.request)
    if not any("decide" in may for may in (command.may, *(authority.may for authority in command.lent))):
        raise DecisionNotAllowed("this needs the permission decide", permission="decide")
    if not request.held_until:
        raise NotHeld()
    patience = parse(request.asked.expires_at) - parse(request.at)
    return [waits_again(request, state, command.by, command.reason.strip(), stamp(context.at + patience), context)]


def waits_again(
    request: Request, state: SessionState, by: str, reason: str, until: str, context: CommandContext
) -> ev.RequestUndone:
    """That a request whose delay somebody ended waits for a decision, with how many people it lacks from now on."""
    missing = approvers_missing(request, state, context.approvers()) if context.approvers is not None else None
    return ev.RequestUndone(request.asked.request, by, reason, until, missing)


@command_handler(HoldOver)
def over(command: HoldOver, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What was held is let through: approved by those who approved it, or unopposed. Raises NotHeld."""
    request = open_request(state, command.request)
    if not request.held_until:
        raise NotHeld()
    because = f"nobody objected before {request.held_until}"
    return [ev.RequestEnded(command.request, _outcome(request), because)]


def _outcome(request: Request) -> ev.Outcome:
    if request.terms.gate == "hold":
        return "unopposed"
    return "approved" if request.approved_arguments is None else "edited"
