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
    SessionStatus.IDLE: Doing("quote", "Listening"),
    SessionStatus.EXPIRED: Doing("clock", "Expired"),
    SessionStatus.PLANNING: Doing("live", "Thinking"),
    SessionStatus.EXECUTING: Doing("tool", "Working"),
    SessionStatus.WAITING_FEEDBACK: Doing("decide", "Needs a decision"),
    SessionStatus.PAUSED: Doing("pause", "Paused"),
    SessionStatus.DONE: Doing("check", "Ended"),
    SessionStatus.FAILED: Doing("warn", "Cannot go on"),
    SessionStatus.CANCELLED: Doing("stop", "Stopped"),
}
ASKED_FOR = Doing("person", "Asks for a person")
WITH_A_PERSON = Doing("hand", "With a colleague")
STANDS = {
    SessionStatus.IDLE: "The agent waits for the customer.",
    SessionStatus.EXPIRED: "Expired, reopens with the next message.",
    SessionStatus.PLANNING: "The agent works out what to say or do.",
    SessionStatus.EXECUTING: "The agent carries out a step.",
    SessionStatus.WAITING_FEEDBACK: "A step waits for a person to decide.",
    SessionStatus.PAUSED: "A person stopped it; it may go on.",
    SessionStatus.DONE: "The conversation is over.",
    SessionStatus.FAILED: "The agent cannot go on by itself.",
    SessionStatus.CANCELLED: "A person stopped it for good.",
}
OUTCOMES = {
    "pending": ("decide", "Needs a decision", ""),
    "approved": ("check", "Approved", ""),
    "edited": ("check", "Edited, approved", "people"),
    "rejected": ("x", "Rejected", ""),
    "responded": ("quote", "Asked again", "people"),
    "ignored": ("x", "Left alone", ""),
    "expired": ("clock", "Expired", "time"),
    "withdrawn": ("undo", "Withdrawn", ""),
    "superseded": ("undo", "Replaced", ""),
    "failed": ("warn", "Failed", "risk"),
    "unopposed": ("clock", "Held, then done", ""),
    "not_done": ("x", "Approved, not done", "risk"),
}
EXECUTIONS = {
    "waiting": "Approved, not begun yet.",
    "begun": "Begun.",
    "unknown": "Begun. It is not known whether it happened.",
    "done": "Done.",
    "failed": "Failed.",
    "refused": "Approved, not done.",
    "withdrawn": "Approved, not done.",
    "asked_again": "Not done under this approval: another approval is asked for.",
}
NOT_DONE = ("refused", "withdrawn")
_SHOWN = {"tool": "Result", "summary": "In short", "customer": "Customer"}
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
