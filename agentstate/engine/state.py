"""`SessionState` and `evolve(state, event)`: a session's state is the fold of its events, nothing else.

The state is immutable and bounded: it holds the recent window of messages and the calls and requests that are open or
ended lately, so that opening a session costs the same at event 100,000 as at event 100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.conversation import Item, ItemCall, added
from agentstate.engine.lifecycle import (
    CALL,
    CALL_ENDED,
    SESSION,
    CallMove,
    CallStatus,
    IllegalMove,
    RequestStatus,
    SessionMove,
    SessionStatus,
    move,
)
from agentstate.errors import Broken

KEPT_CALLS = 40  # ended calls, with their requests, that stay in the state
KEPT_REFUSALS = 50  # digests of calls that a person refused


class Call(msgspec.Struct, frozen=True):
    """A call and where it stands. `approved` is the digest of what a person let through, if one had to."""

    id: str
    tool: str
    arguments: dict[str, Any]
    output_path: str | None
    status: CallStatus
    tier: int = 0
    rule: str = ""
    policy: str = ""
    request: str = ""
    approved: str = ""
    attempt: int = 0
    intent: int = -1  # seq of the latest tool.intended
    retry_at: str = ""


class Request(msgspec.Struct, frozen=True):
    """An approval request: the event that asked, what was decided so far, and its outcome."""

    asked: ev.ApprovalRequested
    seq: int
    at: str
    status: RequestStatus = RequestStatus.PENDING
    approvals: tuple[str, ...] = ()  # who stands behind the arguments as they are now
    approved_arguments: dict[str, Any] | None = None
    decided_by: str = ""
    decision: str = ""
    reason: str = ""
    response: str = ""
    ended_at: str = ""
    because: str = ""


class SessionState(msgspec.Struct, frozen=True):
    """Everything about a session that deciding, running and showing it needs. `seq` counts its events."""

    seq: int = 0
    epoch: int = 0
    status: SessionStatus = SessionStatus.IDLE
    opened: ev.SessionOpened | None = None
    opened_at: str = ""
    last_at: str = ""
    ended_reason: str = ""
    items: tuple[Item, ...] = ()
    messages: int = 0
    proposed: int = 0  # calls so far, those no longer held included
    calls: dict[str, Call] = {}
    requests: dict[str, Request] = {}
    pad: dict[str, Any] = {}
    run: str = ""
    runs: int = 0
    steps_in_run: int = 0
    owes: bool = False  # the agent owes an answer to what was said or returned
    asking: str = ""  # the open model request
    model_attempt: int = 0
    model_retry_at: str = ""
    refused: tuple[str, ...] = ()
    refusals: int = 0
    failure: str = ""

    @property
    def ended(self) -> bool:
        """Whether the conversation is over."""
        return self.status in (SessionStatus.DONE, SessionStatus.CANCELLED)


def calls_in(state: SessionState, *statuses: CallStatus) -> list[Call]:
    """The calls that stand in one of `statuses`, oldest first."""
    return [call for call in state.calls.values() if call.status in statuses]


def pending(state: SessionState) -> list[Request]:
    """The requests that wait for a person, oldest first."""
    return [request for request in state.requests.values() if request.status == RequestStatus.PENDING]


def fold(stored: Iterable[tuple[ev.AnyEvent, str]], state: SessionState | None = None) -> SessionState:
    """The state after `stored`: pairs of an event and its envelope's time."""
    state = state or SessionState()
    for event, at in stored:
        state = evolve(state, event, at)
    return state


def evolve(state: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """The state after `event`, which happened at `at`. Total over what `decide` emits; raises Broken otherwise."""
    handler = _HANDLERS.get(type(event))
    if handler is None:
        raise Broken(f"no one knows how {ev.kind_of(event)} changes a session")
    try:
        changed = handler(state, event, at)
        return _with(changed, seq=state.seq + 1, last_at=at, status=_status(changed, event))
    except (IllegalMove, KeyError) as error:
        raise Broken(f"{ev.kind_of(event)} at seq {state.seq} cannot have happened: {error}") from error


_with = msgspec.structs.replace


def _status(state: SessionState, event: ev.AnyEvent) -> SessionStatus:
    """The lifecycle status that the state amounts to, reached by a legal move."""
    if isinstance(event, ev.SessionEnded):
        return move(SESSION, state.status, SessionMove.END)
    if state.ended:
        return state.status  # a result that comes after the end is recorded and moves nothing
    return move(SESSION, state.status, _moved(state))


def _moved(state: SessionState) -> SessionMove:
    if state.failure:
        return SessionMove.FAIL
    if calls_in(state, CallStatus.RUNNING, CallStatus.READY):
        return SessionMove.ACT
    if pending(state):
        return SessionMove.WAIT
    if state.asking or state.owes:
        return SessionMove.ASK
    return SessionMove.REST


def _opened(state: SessionState, event: ev.SessionOpened, at: str) -> SessionState:
    return _with(state, opened=event, opened_at=at)


def _message_added(state: SessionState, event: ev.MessageAdded, at: str) -> SessionState:
    said = Item(seq=state.seq, role=event.role, text=event.text, by=event.by)
    asks = event.role in ("customer", "note")
    return _with(
        state,
        items=added(state.items, said),
        messages=state.messages + 1,
        owes=state.owes or asks,
        failure="" if asks else state.failure,
        model_attempt=0 if asks else state.model_attempt,
        model_retry_at="" if asks else state.model_retry_at,
    )


def _run_started(state: SessionState, event: ev.RunStarted, at: str) -> SessionState:
    return _with(state, run=event.run, runs=state.runs + 1, steps_in_run=0)


def _run_rested(state: SessionState, event: ev.RunRested, at: str) -> SessionState:
    return _with(state, run="")


def _model_requested(state: SessionState, event: ev.ModelRequested, at: str) -> SessionState:
    return _with(
        state,
        asking=event.step,
        owes=False,
        steps_in_run=state.steps_in_run + 1,
        model_attempt=event.attempt,
        model_retry_at="",
        failure="",
    )


def _model_answered(state: SessionState, event: ev.ModelAnswered, at: str) -> SessionState:
    proposed = {
        call.id: Call(call.id, call.tool, call.arguments, call.output_path, CallStatus.PROPOSED) for call in event.calls
    }
    state = _with(state, asking="", model_attempt=0)
    if not event.calls:
        return state
    calls = tuple(ItemCall(c.id, c.tool, c.arguments, c.output_path) for c in event.calls)
    item = Item(seq=state.seq, role="agent", text="", by=event.model, calls=calls)
    return _trimmed(
        _with(
            state,
            items=added(state.items, item),
            calls={**state.calls, **proposed},
            proposed=state.proposed + len(proposed),
        )
    )


def _model_failed(state: SessionState, event: ev.ModelFailed, at: str) -> SessionState:
    if event.retry_at:
        return _with(state, asking="", owes=True, model_retry_at=event.retry_at)
    return _with(state, asking="", owes=False, failure=event.reason)


def _call_allowed(state: SessionState, event: ev.CallAllowed, at: str) -> SessionState:
    return _moved_call(state, event.call, CallMove.ALLOW, tier=event.tier, rule=event.rule, policy=event.policy)


def _call_refused(state: SessionState, event: ev.CallRefused, at: str) -> SessionState:
    state = _moved_call(state, event.call, CallMove.REFUSE)
    return _told(state, event.call, {"status": "error", "error": event.reason, "code": event.code})


def _approval_requested(state: SessionState, event: ev.ApprovalRequested, at: str) -> SessionState:
    state = _moved_call(
        state,
        event.call,
        CallMove.GATE,
        tier=event.tier,
        rule=event.rule,
        policy=event.policy,
        request=event.request,
        approved="",
    )
    return _with(state, requests={**state.requests, event.request: Request(event, state.seq, at)})


def _decision_made(state: SessionState, event: ev.DecisionMade, at: str) -> SessionState:
    request = state.requests[event.request]
    decided = _with(
        request,
        decided_by=event.by,
        decision=event.decision,
        reason=event.reason,
        response=event.response,
        approvals=_behind(request, event),
        approved_arguments=request.approved_arguments if event.arguments is None else event.arguments,
    )
    state = _with(state, requests={**state.requests, event.request: decided})
    if not event.digest:
        return state
    call = _with(state.calls[request.asked.call], approved=event.digest, tier=event.tier)
    return _with(state, calls={**state.calls, call.id: call})


def _behind(request: Request, event: ev.DecisionMade) -> tuple[str, ...]:
    """Who stands behind what may now execute: an edit starts the count anew."""
    if not event.digest:
        return request.approvals
    return (event.by,) if event.decision == "edit" else (*request.approvals, event.by)


def _request_ended(state: SessionState, event: ev.RequestEnded, at: str) -> SessionState:
    ended = _with(
        state.requests[event.request],
        status=RequestStatus(event.outcome),
        ended_at=at,
        because=event.because,
    )
    state = _with(state, requests={**state.requests, event.request: ended})
    return _OUTCOMES[ended.status](state, ended)


def _let_through(state: SessionState, request: Request) -> SessionState:
    edited = request.approved_arguments
    arguments = request.asked.arguments if edited is None else edited
    return _moved_call(state, request.asked.call, CallMove.ALLOW, arguments=arguments)


def _rejected(state: SessionState, request: Request) -> SessionState:
    state = _moved_call(state, request.asked.call, CallMove.REJECT)
    mark = ev.digest(request.asked.tool, request.asked.arguments)
    state = _with(state, refusals=state.refusals + 1, refused=(*state.refused[-KEPT_REFUSALS + 1 :], mark))
    answer = {
        "status": "rejected",
        "reason": request.reason,
        "final": "A person decided; do not propose it again.",
    }
    return _told(state, request.asked.call, answer)


def _responded(state: SessionState, request: Request) -> SessionState:
    state = _moved_call(state, request.asked.call, CallMove.RESPOND)
    return _told(state, request.asked.call, {"status": "responded", "result": request.response})


def _expired(state: SessionState, request: Request) -> SessionState:
    state = _moved_call(state, request.asked.call, CallMove.EXPIRE)
    return _told(state, request.asked.call, {"status": "expired", "reason": "Nobody decided in time."})


def _withdrawn(state: SessionState, request: Request) -> SessionState:
    state = _moved_call(state, request.asked.call, CallMove.WITHDRAW)
    return _told(state, request.asked.call, {"status": "withdrawn", "reason": request.because})


def _unchanged(state: SessionState, request: Request) -> SessionState:
    return state  # superseded or failed: the call has a status of its own already


_OUTCOMES: Mapping[RequestStatus, Callable[[SessionState, Request], SessionState]] = {
    RequestStatus.APPROVED: _let_through,
    RequestStatus.EDITED: _let_through,
    RequestStatus.REJECTED: _rejected,
    RequestStatus.RESPONDED: _responded,
    RequestStatus.IGNORED: _withdrawn,
    RequestStatus.EXPIRED: _expired,
    RequestStatus.WITHDRAWN: _withdrawn,
    RequestStatus.SUPERSEDED: _unchanged,
    RequestStatus.FAILED: _unchanged,
}


def _tool_intended(state: SessionState, event: ev.ToolIntended, at: str) -> SessionState:
    return _moved_call(
        state,
        event.call,
        CallMove.INTEND,
        attempt=event.attempt,
        intent=state.seq,
        retry_at="",
        tier=event.tier,
    )


def _tool_returned(state: SessionState, event: ev.ToolReturned, at: str) -> SessionState:
    edited = _was_edited(state, event.call)
    state = _moved_call(state, event.call, CallMove.RETURN)
    if event.output_path is not None:
        state = _with(state, pad=scratchpad.write(state.pad, event.output_path, event.result))
    answer: dict[str, Any] = {"status": "ok", "result": event.result}
    if edited is not None:
        answer = {"status": "edited", "arguments": edited, "result": event.result}
    return _told(state, event.call, answer)


def _was_edited(state: SessionState, call_id: str) -> dict[str, Any] | None:
    """The arguments that a person put in place of the model's, if one did: the model must know."""
    requests = (request for request in state.requests.values() if request.asked.call == call_id)
    edited = any(request.status is RequestStatus.EDITED for request in requests)
    return state.calls[call_id].arguments if edited else None


def _tool_failed(state: SessionState, event: ev.ToolFailed, at: str) -> SessionState:
    if event.retry_at:
        return _moved_call(state, event.call, CallMove.RETRY, retry_at=event.retry_at)
    state = _moved_call(state, event.call, CallMove.FAIL)
    return _told(state, event.call, {"status": "error", "error": event.reason})


def _session_ended(state: SessionState, event: ev.SessionEnded, at: str) -> SessionState:
    for call in calls_in(state, CallStatus.READY):
        state = _moved_call(state, call.id, CallMove.WITHDRAW)
    return _with(state, ended_reason=event.reason, owes=False, asking="", run="", failure="")


def _session_failed(state: SessionState, event: ev.SessionFailed, at: str) -> SessionState:
    # The run is over with it: the next one has a budget of its own.
    return _with(state, failure=event.reason, owes=False, asking="", run="")


def _moved_call(state: SessionState, call_id: str, trigger: CallMove, **changes: Any) -> SessionState:
    call = state.calls[call_id]
    changed = _with(call, status=move(CALL, call.status, trigger), **changes)
    return _with(state, calls={**state.calls, call_id: changed})


def _told(state: SessionState, call_id: str, answer: dict[str, Any]) -> SessionState:
    """The model learns what became of its call, and owes an answer."""
    text = _json.encode(answer).decode()
    item = Item(seq=state.seq, role="tool", text=text, by=state.calls[call_id].tool, call=call_id)
    return _with(state, items=added(state.items, item), owes=not state.ended)


def _trimmed(state: SessionState) -> SessionState:
    """The state without its oldest ended calls beyond KEPT_CALLS, and without their requests."""
    ended = [call.id for call in state.calls.values() if call.status in CALL_ENDED]
    gone = set(ended[: max(0, len(ended) - KEPT_CALLS)])
    if not gone:
        return state
    calls = {key: call for key, call in state.calls.items() if key not in gone}
    requests = {key: request for key, request in state.requests.items() if request.asked.call not in gone}
    return _with(state, calls=calls, requests=requests)


_json = msgspec.json.Encoder(decimal_format="number")

_HANDLERS: Mapping[type, Callable[[SessionState, Any, str], SessionState]] = {
    ev.SessionOpened: _opened,
    ev.MessageAdded: _message_added,
    ev.RunStarted: _run_started,
    ev.RunRested: _run_rested,
    ev.ModelRequested: _model_requested,
    ev.ModelAnswered: _model_answered,
    ev.ModelFailed: _model_failed,
    ev.CallAllowed: _call_allowed,
    ev.CallRefused: _call_refused,
    ev.ApprovalRequested: _approval_requested,
    ev.DecisionMade: _decision_made,
    ev.RequestEnded: _request_ended,
    ev.ToolIntended: _tool_intended,
    ev.ToolReturned: _tool_returned,
    ev.ToolFailed: _tool_failed,
    ev.SessionEnded: _session_ended,
    ev.SessionFailed: _session_failed,
}

_snapshot_decoder = msgspec.json.Decoder(SessionState, float_hook=Decimal)


def to_snapshot(state: SessionState) -> bytes:
    """The state as bytes; `from_snapshot` is the inverse."""
    return _json.encode(state)


def from_snapshot(data: bytes) -> SessionState:
    """A state read back, validated. Raises msgspec.ValidationError."""
    return _snapshot_decoder.decode(data)
