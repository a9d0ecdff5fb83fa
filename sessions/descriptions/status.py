"""Where a session or a request stands, and who speaks."""

from __future__ import annotations

from typing import NamedTuple

from agentstate.engine.lifecycle import SessionStatus
from sessions.descriptions.values import plain


class Doing(NamedTuple):
    """What a session does now, with the icon beside it."""

    icon: str
    text: str


DOING = {
    SessionStatus.IDLE: Doing("quote", "Waiting for customer"),
    SessionStatus.EXPIRED: Doing("clock", "Expired"),
    SessionStatus.PLANNING: Doing("live", "Thinking"),
    SessionStatus.EXECUTING: Doing("tool", "Working"),
    SessionStatus.WAITING_FEEDBACK: Doing("decide", "Needs a decision"),
    SessionStatus.PAUSED: Doing("pause", "Paused"),
    SessionStatus.DONE: Doing("check", "Ended"),
    SessionStatus.FAILED: Doing("warn", "Failed"),
    SessionStatus.CANCELLED: Doing("stop", "Stopped"),
}
ASKED_FOR = Doing("person", "Wants a human")
WITH_A_PERSON = Doing("hand", "With a colleague")
STANDS = {
    SessionStatus.IDLE: "The agent is waiting for the customer.",
    SessionStatus.EXPIRED: "Expired. The next message reopens the session.",
    SessionStatus.PLANNING: "The agent is planning the next step.",
    SessionStatus.EXECUTING: "The agent is running a step.",
    SessionStatus.WAITING_FEEDBACK: "A step needs approval.",
    SessionStatus.PAUSED: "Paused by a person. It can be resumed.",
    SessionStatus.DONE: "The conversation has ended.",
    SessionStatus.FAILED: "Stopped by an error.",
    SessionStatus.CANCELLED: "Ended by a person.",
}
OUTCOMES = {
    "pending": ("decide", "Needs a decision", ""),
    "approved": ("check", "Approved", ""),
    "edited": ("check", "Edited, approved", "people"),
    "rejected": ("x", "Rejected", ""),
    "responded": ("quote", "Sent back to revise", "people"),
    "ignored": ("x", "Dismissed", ""),
    "expired": ("clock", "Expired", "time"),
    "withdrawn": ("undo", "Withdrawn", ""),
    "superseded": ("undo", "Replaced", ""),
    "failed": ("warn", "Failed", "risk"),
    "unopposed": ("clock", "Done after delay", ""),
    "not_done": ("x", "Approved, not done", "risk"),
}
EXECUTIONS = {
    "waiting": "Approved, not started.",
    "begun": "Started.",
    "unknown": "Started. Outcome unknown.",
    "done": "Done.",
    "failed": "Failed.",
    "refused": "Approved, not done.",
    "withdrawn": "Approved, not done.",
    "asked_again": "Not done. A new approval is required.",
}
NOT_DONE = ("refused", "withdrawn")
_SHOWN = {"tool": "Result", "summary": "Summary", "customer": "Customer"}
_SPEAKERS = {"customer": "Caller", "agent": "Agent", "staff": "Colleague", "note": "Note"}


def stands(status: str) -> str:
    """Where a session stands, as a sentence."""
    return STANDS[SessionStatus(status)]


def speaker(role: str) -> str:
    """Who says something, in one word."""
    return _SPEAKERS.get(role, role)


def spoken_by(role: str) -> str:
    """Whose words a model was shown."""
    return _SHOWN.get(role) or speaker(role)


def happening(name: str) -> str:
    """What a chart waits for: call.returned.load_customer becomes "load customer returned"."""
    kind, _, rest = name.partition(".")
    what, _, tool = rest.partition(".")
    if kind == "after":
        return f"the time at {plain(rest.partition('#')[0]).lower()} is up"
    told = f"{plain(tool)} {what}" if tool and kind in ("call", "request") else name.replace(".", " ")
    return told.replace("_", " ").lower()
