"""What events change in approval requests: who approved what, and what each named outcome does to the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.handlers import event_handler
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import CallMove, RequestStatus
from agentstate.engine.remembered import KEPT_REFUSALS, Settled
from agentstate.engine.speech import SAY
from agentstate.engine.state.calls import moved, told
from agentstate.engine.state.participants import people, took_part
from agentstate.engine.state.session import Request, SessionState, digest_of

T = TypeVar("T")
NO_APPROVALS: dict[str, Any] = {"approvals": (), "behalf": (), "codes": (), "steps": ()}  # of a request
EXPIRED = "Nobody decided in time, so it was not done. Do not propose it again before the customer asks for it again."
ANY_WORDS = ev.digest(SAY, {})  # settled: no person decided in time on words for the customer, whichever they were


@event_handler(ev.ApprovalRequested)
def approval_requested(state: SessionState, event: ev.ApprovalRequested, at: str) -> SessionState:
    state = moved(
        state,
        event.call,
        CallMove.GATE,
        tier=event.tier,
        rule=event.rule,
        policy=event.policy,
        request=event.request,
        approved="",
        arguments=event.arguments,
        retry_until="",
    )
    terms = event.terms
    asked = Request(event, state.seq, at, kid=state.calls[event.call].kid)
    if terms is not None and terms.gate == "hold":
        asked = replace(asked, held_until=stamp(parse(at) + timedelta(seconds=terms.hold)))
    return replace(state, requests={**state.requests, event.request: asked})


@event_handler(ev.DecisionMade)
def decision_made(state: SessionState, event: ev.DecisionMade, at: str) -> SessionState:
    request = state.requests[event.request]
    decided = replace(
        request,
        decided_by=event.by,
        decision=event.decision,
        reason=event.reason,
        response=event.response,
        approvals=_of_each(request.approvals, event, event.by),
        behalf=_of_each(request.behalf, event, event.under),
        codes=_of_each(request.codes, event, event.code),
        steps=_of_each(request.steps, event, request.step),
        held_until="" if event.decision == "edit" else request.held_until,  # what was edited does not run by itself
        approved_arguments=request.approved_arguments if event.arguments is None else event.arguments,
    )
    state = replace(state, requests={**state.requests, event.request: decided})
    call = state.calls[request.asked.call]
    if event.decision == "edit":
        call = replace(call, authors=people((*call.authors, event.by)))
        if call.tool == SAY:  # they speak to the customer in the agent's place
            state = replace(state, involved=took_part(state.involved, "agent", event.by))
    if event.digest:
        call = replace(call, approved=event.digest, tier=event.tier)
    return replace(state, calls={**state.calls, call.id: call})


def _of_each(before: tuple[T, ...], event: ev.DecisionMade, own: T) -> tuple[T, ...]:
    """Returns one value for each approval of the arguments that may execute. An edit starts the count at one, or at
    none if another person must approve it.
    """
    kept = () if event.decision == "edit" else before
    return (*kept, own) if event.digest else kept


@event_handler(ev.RequestEscalated)
def request_escalated(state: SessionState, event: ev.RequestEscalated, at: str) -> SessionState:
    return _with(state, event.request, step=event.step, claimed_by="", claimed_from="")


@event_handler(ev.RequestHeld)
def request_held(state: SessionState, event: ev.RequestHeld, at: str) -> SessionState:
    return _with(state, event.request, held_until=event.until)


@event_handler(ev.RequestUndone)
def request_undone(state: SessionState, event: ev.RequestUndone, at: str) -> SessionState:
    state = _with(state, event.request, held_until="", until=event.until, approved_arguments=None, **NO_APPROVALS)
    if event.approvers_missing is not None:
        asked = replace(state.requests[event.request].asked, approvers_missing=event.approvers_missing)
        state = _with(state, event.request, asked=asked)
    call = replace(state.calls[state.requests[event.request].asked.call], approved="")
    return replace(state, calls={**state.calls, call.id: call})


@event_handler(ev.RequestClaimed)
def request_claimed(state: SessionState, event: ev.RequestClaimed, at: str) -> SessionState:
    return _with(state, event.request, claimed_by=event.by, claimed_from=event.taken_from)


@event_handler(ev.RequestReleased)
def request_released(state: SessionState, event: ev.RequestReleased, at: str) -> SessionState:
    return _with(state, event.request, claimed_by="", claimed_from="")


def _with(state: SessionState, key: str, **changes: Any) -> SessionState:
    return replace(state, requests={**state.requests, key: replace(state.requests[key], **changes)})


@event_handler(ev.RequestEnded)
def request_ended(state: SessionState, event: ev.RequestEnded, at: str) -> SessionState:
    ended = replace(
        state.requests[event.request],
        status=RequestStatus(event.outcome),
        ended_at=at,
        because=event.because,
        claimed_by="",
        claimed_from="",
        held_until="",
    )
    state = replace(state, requests={**state.requests, event.request: ended})
    return _OUTCOMES[ended.status](state, ended)


def _let_through(state: SessionState, request: Request) -> SessionState:
    return moved(state, request.asked.call, CallMove.ALLOW, arguments=request.arguments)


def _unopposed(state: SessionState, request: Request) -> SessionState:
    """It was held, and nobody objected: what was shown all the while is what may run."""
    bound = digest_of(state, request)
    return moved(state, request.asked.call, CallMove.ALLOW, arguments=request.arguments, approved=bound)


def _rejected(state: SessionState, request: Request) -> SessionState:
    state = moved(state, request.asked.call, CallMove.REJECT)
    if not request.kid:  # what the agent learns from a refusal is learned of its own customer
        marks = _marks(state, request)
        refused = tuple(each for each in state.refused if each not in marks)
        state = replace(state, refusals=state.refusals + 1, refused=(*refused, *marks)[-KEPT_REFUSALS:])
    answer = {
        "status": "rejected",
        "reason": request.reason,
        "final": "A person decided; do not propose it again.",
    }
    return told(state, request.asked.call, answer)


def _responded(state: SessionState, request: Request) -> SessionState:
    state = moved(state, request.asked.call, CallMove.RESPOND)
    state = _settled(state, request, "responded", request.response)
    return told(state, request.asked.call, {"status": "responded", "result": request.response})


def _settled(
    state: SessionState, request: Request, how: Literal["responded", "expired"], answer: str = ""
) -> SessionState:
    """Nobody is asked about the same call again; the oldest beyond KEPT_REFUSALS are forgotten."""
    if request.kid:  # of another data subject, as `refused` is
        return state
    is_speech = request.asked.tool == SAY and how == "expired"
    marks = (ANY_WORDS,) if is_speech else _marks(state, request)
    others = (each for each in state.settled if each.mark not in marks)
    return replace(state, settled=(*others, *(Settled(mark, how, answer) for mark in marks))[-KEPT_REFUSALS:])


def _marks(state: SessionState, request: Request) -> tuple[str, ...]:
    """Returns the digests of the call: as the agent proposed it, and as people edited it."""
    asked = (each.asked for each in state.requests.values() if each.asked.call == request.asked.call)
    return tuple(dict.fromkeys(ev.digest(each.tool, each.arguments) for each in asked))


def _expired(state: SessionState, request: Request) -> SessionState:
    state = moved(state, request.asked.call, CallMove.EXPIRE)
    state = _settled(state, request, "expired")
    return told(state, request.asked.call, {"status": "expired", "reason": EXPIRED})


def _withdrawn(state: SessionState, request: Request) -> SessionState:
    state = moved(state, request.asked.call, CallMove.WITHDRAW)
    return told(state, request.asked.call, {"status": "withdrawn", "reason": request.because})


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
    RequestStatus.UNOPPOSED: _unopposed,
}
