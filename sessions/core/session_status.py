"""What a session does now and why it does not go on, in words for its line in a list."""

from __future__ import annotations

from agentstate.engine.lifecycle import SessionStatus
from sessions.core.session_lines import SessionLine
from sessions.descriptions.status import ASKED_FOR, DOING, WITH_A_PERSON, Doing

_UNKNOWN = {
    "unknown_tool": "No worker here knows the tool",
    "unknown_agent": "No worker here knows the agent",
    "unknown_entry": "No worker here can read an entry",
}


def doing(line: SessionLine) -> Doing:
    """What a session does now. An open request comes first: it is what a person is needed for, but for a pause."""
    if line.waits_for_person:
        return ASKED_FOR
    if line.taken_by and line.ended_at is None:
        return WITH_A_PERSON
    status = SessionStatus(line.status)
    waits = line.open_requests and status is not SessionStatus.PAUSED
    return DOING[SessionStatus.WAITING_FEEDBACK if waits else status]


def stalled(line: SessionLine) -> str:
    """Why the runtime leaves a session alone, or what a person must settle in it; empty: nothing."""
    code, _, name = line.stalled.partition(" ")
    if code == "limit":
        return f"Waits for a free place: {name.partition(':')[2]}"
    if code in _UNKNOWN:
        return f"{_UNKNOWN[code]} {name}".strip()
    if code == "failing":
        return f"Could not be advanced: {name}"
    if line.status == "failed":
        return "The agent cannot go on"
    if line.stuck:
        return f"{line.stuck} call{'s' if line.stuck > 1 else ''} to settle"
    return ""
