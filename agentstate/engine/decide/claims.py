"""Claims: who is on a request, so that two people do not work on the same one.

A claim is a courtesy with a record, not a lock: a colleague who is entitled may decide all the same, or take the claim,
and both are in the log. Whether a lease still lasts is found out by the database's clock and told to the command.
"""

from __future__ import annotations

from datetime import timedelta

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.approvals import Claim, Release
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.refusals import ClaimedByOther, NotYours
from agentstate.engine.decide.reviewing import must_be_entitled, open_request
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.state.session import SessionState

CLAIM_SECONDS = 120  # of a lease; the page renews it four times in that time


@command_handler(Claim)
def claimed(command: Claim, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The claim; nothing where it is theirs already. Raises ClaimedByOther, AlreadyDecided, DecisionNotAllowed."""
    request = open_request(state, command.request)
    must_be_entitled(command, request, request.asked.tier)
    held = request.claimed_by if command.lasts else ""
    if held == command.by:
        return []
    if held and not command.take:
        raise ClaimedByOther("take it from them if you must", by=held)
    until = stamp(context.at + timedelta(seconds=CLAIM_SECONDS))
    return [ev.RequestClaimed(command.request, command.by, until, taken_from=held)]


@command_handler(Release)
def released(command: Release, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The request is nobody's again. Raises NotYours, AlreadyDecided."""
    request = open_request(state, command.request)
    if request.claimed_by != command.by:
        raise NotYours(by=request.claimed_by)
    return [ev.RequestReleased(command.request, command.by)]
