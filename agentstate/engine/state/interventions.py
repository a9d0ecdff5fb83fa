"""What events change where a person steps in: calls that are doubted and settled, sessions that are tried again.

A function an event, named like it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.conversation import Item, added
from agentstate.engine.lifecycle import CallMove, CallStatus
from agentstate.engine.state.calls import moved, told
from agentstate.engine.state.rounds import is_told_later
from agentstate.engine.state.session import SessionState

_json = msgspec.json.Encoder(decimal_format="number")


def call_doubted(state: SessionState, event: ev.CallDoubted, at: str) -> SessionState:
    return moved(state, event.call, CallMove.DOUBT, stuck="unknown")


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
        return told(state, event.call, answer)
    if is_told_later(state.plans, event.call):
        return state
    text = _json.encode({"later": {"call": event.call, **answer}}).decode()
    item = Item(seq=state.seq, role="note", text=text, by=state.calls[event.call].tool)
    return replace(state, items=added(state.items, item), owes=not state.ended)


def session_retried(state: SessionState, event: ev.SessionRetried, at: str) -> SessionState:
    again = bool(state.failure)
    return replace(
        state,
        failure="",
        model_attempt=0 if again else state.model_attempt,
        model_retry_at="" if again else state.model_retry_at,
        owes=state.owes or again,
    )
