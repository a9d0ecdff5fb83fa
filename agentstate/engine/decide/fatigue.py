"""How often the agent may ask people: how many requests wait at once, and after how many rejections it rests.

Rejections count in the session and its delegates until a person lets the agent go on. What the customer says ends no
count, because the customer may be the one who wants the rejected call. Calls that people proposed are exempt.
"""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.reviewing import authors_of
from agentstate.engine.events.calls import TOO_MANY_REFUSALS
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.state.session import Call, Request, SessionState, pending

MAX_LISTED = 10  # rejected calls that a reason lists
MAX_TEXT = 160  # characters of each


def asked_too_often(state: SessionState, call: Call, context: CommandContext) -> ev.CallRefused | None:
    """Returns the refusal of a call that would ask people once more than the agent may; None: they are asked."""
    if authors_of(state, call):
        return None
    if is_tired(state, context):
        reason = f"people have rejected {refusals(state, context)} calls: ask for no more until a person lets you go on"
        return ev.CallRefused(call.id, TOO_MANY_REFUSALS, reason)
    waiting = [each for each in pending(state) if state.calls[each.asked.call].instance == call.instance]
    if context.loop.pending and len(waiting) >= context.loop.pending:
        reason = (
            f"{len(waiting)} requests wait for people already, {context.loop.pending} allowed: wait for their answers"
        )
        return ev.CallRefused(call.id, "too_many_pending", reason)
    if refusals(state, context) and not call.round and any(each.asked.tool == call.tool for each in waiting):
        reason = f"a person has rejected a call, and another call of {call.tool} waits for an answer: wait for it"
        return ev.CallRefused(call.id, "asked_already", reason)
    return None


def refusals(state: SessionState, context: CommandContext) -> int:
    """Returns how many calls people rejected since a person let the agent go on."""
    return rejections(state, context) - state.loop.pardoned


def rejections(state: SessionState, context: CommandContext) -> int:
    """Returns how many calls people rejected, in the session and its family."""
    return state.refusals if context.family is None else context.family.remembered.refusals


def is_tired(state: SessionState, context: CommandContext) -> bool:
    """Whether people have rejected so many calls that the agent asks them for no more."""
    return 0 < context.loop.refusals <= refusals(state, context)


def rejected(state: SessionState) -> str:
    """Returns the rejected calls of the session, the latest last, each with the reason that was given."""
    ended = [each for each in state.requests.values() if each.status is RequestStatus.REJECTED]
    return "; ".join(_described(each) for each in ended[-MAX_LISTED:])


def _described(request: Request) -> str:
    why = f" ({request.reason[:MAX_TEXT]})" if request.reason else ""
    return f"{(request.asked.preview or request.asked.tool)[:MAX_TEXT]}{why}"
