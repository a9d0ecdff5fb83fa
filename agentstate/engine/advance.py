"""What a session needs next, as a function of its state: the runtime only does what this says."""

from __future__ import annotations

from typing import Literal

import msgspec

from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state import SessionState, calls_in, pending


class RunCall(msgspec.Struct, frozen=True):
    """Commit an intent for this call and run it. `again`: an intent is open already, its result was lost."""

    call: str
    again: bool


class AskModel(msgspec.Struct, frozen=True):
    """Ask the model. `again`: a request is open already, its answer was lost."""

    again: bool


class Nothing(msgspec.Struct, frozen=True):
    """Rest. `until` is the instant at which to look again, or empty: then somebody has to act first."""

    waiting_for: Literal["customer", "decision", "retry", "nobody"]
    until: str = ""


Action = RunCall | AskModel | Nothing


def next_action(state: SessionState, at: str) -> Action:
    """What to do at instant `at`. Open intents come first: an effect that may have happened is settled before
    anything.
    """
    for call in calls_in(state, CallStatus.RUNNING):
        return RunCall(call.id, again=True)
    if state.ended:
        return Nothing("nobody")
    ready = calls_in(state, CallStatus.READY)
    for call in ready:
        if call.retry_at <= at:
            return RunCall(call.id, again=False)
    if ready:
        return Nothing("retry", min(call.retry_at for call in ready))
    if state.asking:
        return AskModel(again=True)
    if state.owes:
        if state.model_retry_at > at:
            return Nothing("retry", state.model_retry_at)
        return AskModel(again=False)
    return Nothing("decision" if pending(state) else "customer")
