"""The task of a session: what it is for, how far it has come, and what it works on now. A view: nothing is stored."""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine.lifecycle import CALL_ENDED, CallStatus, SessionStatus
from agentstate.engine.state.session import Call, SessionState, pending

STEPS = 40  # steps that are named, newest last
_CURRENT = (CallStatus.RUNNING, CallStatus.READY, CallStatus.WAITING)
_STANDING = {
    SessionStatus.DONE: "done",
    SessionStatus.CANCELLED: "cancelled",
    SessionStatus.FAILED: "failed",
    SessionStatus.WAITING_FEEDBACK: "waiting",
}


class StepDone(msgspec.Struct, frozen=True):
    """A step and where it stands: a call of the agent."""

    call: str
    tool: str
    status: str


class TaskState(msgspec.Struct, frozen=True):
    """`goal` is what the session was opened for, or what its state says; `data` is the scratchpad."""

    task_id: str
    goal: str
    status: str
    steps_completed: int
    steps_remaining: int
    current_step: str
    steps: tuple[StepDone, ...]
    data: dict[str, Any]


def task_of(session: str, state: SessionState, data: dict[str, Any]) -> TaskState:
    """The task of `session`, with `data` as its scratchpad: what the reader may see of it."""
    open_calls = [call for call in state.calls.values() if call.status not in CALL_ENDED]
    return TaskState(
        task_id=session,
        goal=_goal(state),
        status=_status(state, open_calls),
        steps_completed=state.proposed - len(open_calls),
        steps_remaining=len(open_calls),
        current_step=_current(state, open_calls),
        steps=tuple(StepDone(call.id, call.tool, call.status.value) for call in list(state.calls.values())[-STEPS:]),
        data=data,
    )


def _goal(state: SessionState) -> str:
    said = state.pad.get("goal")
    if isinstance(said, str) and said:
        return said
    return state.opened.topic if state.opened is not None else ""


def _status(state: SessionState, open_calls: list[Call]) -> str:
    if pending(state):
        return "waiting"
    if state.status in _STANDING:
        return _STANDING[state.status]
    return "in_progress" if open_calls or state.owes or state.asking or state.run else "idle"


def _current(state: SessionState, open_calls: list[Call]) -> str:
    """The tool of the call that is furthest on; without one, what the agent does."""
    for status in _CURRENT:
        for call in open_calls:
            if call.status is status:
                return call.tool
    return "thinking" if state.asking or state.owes else ""
