"""What events change in calls: allowed, refused, begun, ended; and what the agent has still to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.conversation import Item, added
from agentstate.engine.events.calls import TOO_MANY_REFUSALS
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CALL, CALL_ENDED, LET_THROUGH, CallMove, CallStatus, RequestStatus, move
from agentstate.engine.looping.circles import mark_of
from agentstate.engine.looping.held import KEPT_WANTED, marked, used
from agentstate.engine.looping.settings import ANSWER
from agentstate.engine.speech import SAY
from agentstate.engine.state import standing_approvals
from agentstate.engine.state.rounds import is_told_later, place_of
from agentstate.engine.state.session import Call, Execution, SessionState
from agentstate.engine.state.subjects import kid_of_instance
from agentstate.engine.state.value_authors import authors_of_inputs
from agentstate.engine.state.versions import late_result

BROKEN = ("broke", "lost")  # codes of failures that say nothing about the call itself
KEPT_CALLS = 40  # ended calls, with their requests, that stay in the state
NO_INTENT: dict[str, Any] = {"effect": "", "tool_version": 0}  # of a call that does not run
_json = msgspec.json.Encoder(decimal_format="number")


@event_handler(ev.CallAllowed)
def call_allowed(state: SessionState, event: ev.CallAllowed, at: str) -> SessionState:
    state = standing_approvals.used(state, event.call, event.rule)
    return moved(state, event.call, CallMove.ALLOW, tier=event.tier, rule=event.rule, policy=event.policy)


@event_handler(ev.CallRefused)
def call_refused(state: SessionState, event: ev.CallRefused, at: str) -> SessionState:
    state = moved(state, event.call, CallMove.REFUSE)
    if (call := state.calls[event.call]).approved:
        state = _explained(state, call.request, event.reason)
    if state.calls[event.call].tool == ANSWER:
        state = replace(state, loop=replace(state.loop, misfits=state.loop.misfits + 1))
    if event.code == TOO_MANY_REFUSALS:
        wanted = (*state.loop.wanted, event.call)[-KEPT_WANTED:]
        state = replace(state, loop=replace(state.loop, wanted=wanted))
    return told(state, event.call, {"status": "error", "error": event.reason, "code": event.code})


@event_handler(ev.CallWithdrawn)
def call_withdrawn(state: SessionState, event: ev.CallWithdrawn, at: str) -> SessionState:
    state = _explained(moved(state, event.call, CallMove.WITHDRAW, stuck="", retry_at=""), event.request, event.because)
    return told(state, event.call, {"status": "withdrawn", "reason": event.because})


def _explained(state: SessionState, request: str, because: str) -> SessionState:
    """Why what was approved under `request` is not done, kept on it."""
    if request not in state.requests:
        return state
    explained = replace(state.requests[request], because=because)
    return replace(state, requests={**state.requests, request: explained})


@event_handler(ev.ToolIntended)
def tool_intended(state: SessionState, event: ev.ToolIntended, at: str) -> SessionState:
    state = standing_approvals.used(state, event.call, event.rule)
    if event.call not in state.calls:
        state = _taken_up(state, event)
    state = standing_approvals.set_going(state, event, at)
    return moved(
        state,
        event.call,
        CallMove.INTEND,
        attempt=event.attempt,
        intent=state.seq,
        retry_at="",
        retry_until=event.retry_until or state.calls[event.call].retry_until,  # older entries name none
        tier=event.tier,
        effect=event.effect,
        tool_version=event.tool_version,
    )


def _taken_up(state: SessionState, event: ev.ToolIntended) -> SessionState:
    """A call of the plan, ready until now and let through by policy, takes its place among the calls."""
    if event.call not in state.plans.ready:
        raise KeyError(event.call)
    _, instance = place_of(state.plans, event.call) or ("", "")
    call = Call(
        event.call,
        event.tool,
        event.arguments,
        None,
        CallStatus.READY,
        instance=instance,
        round=state.plans.round,
        rule=event.rule,
        policy=event.policy,
        request=event.request,
        kid=kid_of_instance(state.plans, instance),
        activity=event.activity,
        authors=state.plans.authors,
        inputs_by=authors_of_inputs(state.plans, event.call),
    )
    return replace(state, calls={**state.calls, call.id: call})


@event_handler(ev.ToolReturned)
def tool_returned(state: SessionState, event: ev.ToolReturned, at: str) -> SessionState:
    if event.call in state.versions.late:
        return late_result(state, event)
    edited = _was_edited(state, event.call)
    if (how := event.answered) is not None:
        state = replace(state, loop=used(state.loop, how.input_tokens + how.output_tokens, how.micros))
    state = moved(state, event.call, CallMove.RETURN)
    if event.output_path is not None and not state.calls[event.call].round:  # a plan's outputs are the round's
        state = replace(state, pad=scratchpad.write(state.pad, event.output_path, event.result))
    answer: dict[str, Any] = {"status": "ok", "result": event.result}
    if edited is not None:
        answer = {"status": "edited", "arguments": edited, "result": event.result}
    after = told(state, event.call, answer, event.output_path)
    # Words that were said ask for no further words: the customer has the turn.
    return replace(after, owes=state.owes) if state.calls[event.call].tool == SAY else after


def _was_edited(state: SessionState, call_id: str) -> dict[str, Any] | None:
    """The arguments that a person put in place of the model's, if one did: the model must know."""
    requests = (request for request in state.requests.values() if request.asked.call == call_id)
    edited = any(
        request.status is RequestStatus.EDITED
        or (request.status is RequestStatus.SUPERSEDED and request.approved_arguments is not None)
        for request in requests
    )
    return state.calls[call_id].arguments if edited else None


@event_handler(ev.ToolFailed)
def tool_failed(state: SessionState, event: ev.ToolFailed, at: str) -> SessionState:
    if event.call in state.versions.late:
        return late_result(state, event)
    if event.retry_at:
        return moved(state, event.call, CallMove.RETRY, retry_at=event.retry_at, retry_until=event.retry_until)
    stuck = "failed" if event.transient or event.code in BROKEN else ""
    state = moved(state, event.call, CallMove.FAIL, stuck=stuck, retry_at="")
    named = {"code": event.code} if event.code else {}
    return told(state, event.call, {"status": "error", "error": event.reason, **named})


def moved(state: SessionState, call_id: str, trigger: CallMove, **changes: Any) -> SessionState:
    """The call moved by its table, with `changes`. Raises IllegalMove."""
    call = state.calls[call_id]
    changed = replace(call, status=move(CALL, call.status, trigger), **{**NO_INTENT, **changes})
    others = (
        {key: each for key, each in state.calls.items() if key != call_id} if changed.status in CALL_ENDED else None
    )
    # What has just ended goes last: the bounded state lets go of what ended longest ago.
    state = replace(state, calls={**(state.calls if others is None else others), call_id: changed})
    return _executed(state, call.request, changed)


# What came of the call of an approved request, by where the call stands.
EXECUTIONS: Mapping[CallStatus, Execution] = {
    CallStatus.READY: "waiting",
    CallStatus.RUNNING: "begun",
    CallStatus.DOUBTED: "unknown",
    CallStatus.DONE: "done",
    CallStatus.FAILED: "failed",
    CallStatus.REFUSED: "refused",
    CallStatus.WITHDRAWN: "withdrawn",
    CallStatus.WAITING: "asked_again",
}


def _executed(state: SessionState, request: str, call: Call) -> SessionState:
    """The state whose request, if it was approved, says what came of its call."""
    held = state.requests.get(request)
    if held is None or held.status not in LET_THROUGH or held.execution == EXECUTIONS[call.status]:
        return state
    return replace(state, requests={**state.requests, request: replace(held, execution=EXECUTIONS[call.status])})


def told(state: SessionState, call_id: str, answer: dict[str, Any], written: str | None = None) -> SessionState:
    """The model learns what became of its call, and owes an answer. `written` is where its result went; None: where
    the call says.
    """
    if is_told_later(state.plans, call_id):
        return state
    call = state.calls[call_id]
    place = written or call.output_path or ""
    if call.undoes >= 0:  # no model proposed it
        text = _json.encode({"undone" if answer["status"] == "ok" else "not_undone": call.tool, **answer}).decode()
        item = Item(seq=state.seq, role="note", text=text, by=call.tool, place=place)
        return replace(state, items=added(state.items, item), owes=not state.ended)
    if call.round and call.round != state.plans.round and not _is_of_the_model(state, call_id):
        text = _json.encode({"plan": "an earlier one", "call": call.tool, **answer}).decode()
        item = Item(seq=state.seq, role="note", text=text, by=call.tool, place=place)
        return replace(state, items=added(state.items, item), owes=not state.ended)
    text = _json.encode(answer).decode()
    item = Item(seq=state.seq, role="tool", text=text, by=call.tool, call=call_id, place=place)
    # Other words to the same refusal are the same circle.
    loop = marked(state.loop, mark_of(call.tool, {} if call.tool == SAY else call.arguments, text), call.tool)
    return replace(state, items=added(state.items, item), owes=not state.ended, loop=loop)


def _is_of_the_model(state: SessionState, call_id: str) -> bool:
    """Whether the model has written the call itself, under this id, and waits for its answer."""
    return any(call.id == call_id for item in state.items for call in item.calls)


def trimmed(state: SessionState) -> SessionState:
    """The state without its oldest ended calls beyond KEPT_CALLS, and without their requests. The request of an
    approved plan stays as long as the approval covers calls: they rest on it.
    """
    if len(state.calls) <= KEPT_CALLS:
        return state
    approved = state.plans.round if state.plans.approved is not None else ""
    ended = [key for key, call in state.calls.items() if call.status in CALL_ENDED and key != approved]
    gone = ended[: max(0, len(ended) - KEPT_CALLS)]
    if not gone:
        return state
    calls = dict(state.calls)
    for key in gone:
        del calls[key]
    requests = {key: request for key, request in state.requests.items() if request.asked.call not in gone}
    return replace(state, calls=calls, requests=requests)


def open_speeches(state: SessionState) -> list[Call]:
    """Returns the calls of `say` that have not ended, the oldest first."""
    return [call for call in state.calls.values() if call.tool == SAY and call.status not in CALL_ENDED]
