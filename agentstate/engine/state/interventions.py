"""What people change in calls: interventions, calls handed to them, and calls that undo others."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.conversation import Item, added
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CALL_ENDED, CallMove, CallStatus
from agentstate.engine.speech import SAY
from agentstate.engine.state.calls import moved, open_speeches, told
from agentstate.engine.state.participants import people
from agentstate.engine.state.rounds import is_told_later
from agentstate.engine.state.session import Call, SessionState

_json = msgspec.json.Encoder(decimal_format="number")


@event_handler(ev.CallDoubted)
def call_doubted(state: SessionState, event: ev.CallDoubted, at: str) -> SessionState:
    return moved(state, event.call, CallMove.DOUBT, stuck="unknown")


@event_handler(ev.CallIntervened)
def call_intervened(state: SessionState, event: ev.CallIntervened, at: str) -> SessionState:
    before = state.calls[event.call]
    match event.how:
        case "supply" | "happened":
            state = moved(state, event.call, CallMove.RETURN, stuck="")
            if event.output_path is not None and not before.round:
                state = replace(state, pad=scratchpad.write(state.pad, event.output_path, event.result))
            return _told(state, event, {"status": "ok", "result": event.result})
        case "retry" | "not_happened" if not state.ended:
            return moved(state, event.call, CallMove.RETRY, stuck="", retry_at="", retry_until="")
        case "skip" if before.status is CallStatus.READY:
            state = moved(state, event.call, CallMove.WITHDRAW, stuck="")
            return _told(state, event, {"status": "withdrawn", "reason": event.reason})
        case "skip" if before.status is CallStatus.FAILED:
            return replace(state, calls={**state.calls, before.id: replace(before, stuck="")})
        case _:
            state = moved(state, event.call, CallMove.FAIL, stuck="")
            said = "it did not happen" if event.how == "not_happened" else event.reason
            return _told(state, event, {"status": "error", "error": said})


def _told(state: SessionState, event: ev.CallIntervened, answer: dict[str, Any]) -> SessionState:
    """The model learns what became of its call: as its answer, or in a note where it had one already."""
    if not any(item.role == "tool" and item.call == event.call for item in state.items):
        return told(state, event.call, answer, event.output_path)
    if is_told_later(state.plans, event.call):
        return state
    text = _json.encode({"later": {"call": event.call, **answer}}).decode()
    call = state.calls[event.call]
    place = event.output_path or call.output_path or ""
    item = Item(seq=state.seq, role="note", text=text, by=call.tool, place=place)
    return replace(state, items=added(state.items, item), owes=not state.ended)


@event_handler(ev.SessionRetried)
def session_retried(state: SessionState, event: ev.SessionRetried, at: str) -> SessionState:
    again = bool(state.failure)
    return replace(
        state,
        failure="",
        model_attempt=0 if again else state.model_attempt,
        model_retry_at="" if again else state.model_retry_at,
        owes=state.owes or again,
    )


KEPT_UNDONE = 200  # effects whose undoing was ordered, the latest


@event_handler(ev.CompensationOrdered)
def compensation_ordered(state: SessionState, event: ev.CompensationOrdered, at: str) -> SessionState:
    """The calls stand proposed, each behind the one before it."""
    behind, calls = "", dict(state.calls)
    for step in event.calls:
        calls[step.id] = Call(
            step.id,
            step.tool,
            step.arguments,
            None,
            CallStatus.PROPOSED,
            undoes=step.effect,
            behind=behind,
            authors=people((event.by,)),
        )
        behind = step.id
    undone = (*state.versions.undone_calls, *(step.call for step in event.calls))[-KEPT_UNDONE:]
    return replace(state, calls=calls, versions=replace(state.versions, undone_calls=undone))


def has_its_turn(state: SessionState, call: Call) -> bool:
    """Whether the call that this one is behind has ended: the one that it names, or what the agent was to say first."""
    if call.tool == SAY:
        return open_speeches(state)[0].id == call.id
    before = state.calls.get(call.behind) if call.behind else None
    return before is None or before.status in CALL_ENDED
