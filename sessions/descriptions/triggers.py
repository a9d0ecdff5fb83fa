"""What entries about timers and triggers say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import clipped

TIMERS = {"remind": "Reminder set", "follow_up": "Follow-up set", "expire": "Set to expire"}
FIRED = {
    "told": ("Timer ended", "the agent is reminded"),
    "expired": ("Timer ended", "the session expires"),
    "passed": ("Timer skipped", "its reason no longer applied"),
}
SOURCES = {
    "entry": "something happened in a session",
    "row": "a row changed in another application",
    "schedule": "scheduled",
    "hook": "a webhook arrived",
}


def _set(data: Data, tool: str) -> Sentence:
    about = f"for {data['due'][:16].replace('T', ' ')} UTC"
    return Sentence(TIMERS[data["what"]], f"{about}: {clipped(data['text'])}" if data.get("text") else about)


TELL: dict[str, Tell] = {
    "timer.set": _set,
    "timer.cancelled": lambda data, tool: Sentence("Timer cancelled", "", "p"),
    "timer.fired": lambda data, tool: Sentence(*FIRED[data["outcome"]]),
    "trigger.fired": lambda data, tool: Sentence(
        f"Trigger {data['name']}", f"version {data['version']}: {SOURCES[data['source']]}"
    ),
}

ENDS = {
    "due": ("clock", "Waits"),
    "fired": ("check", "Fired"),
    "passed": ("right", "Skipped"),
    "refused": ("x", "Refused"),
    "failed": ("warn", "Failed"),
}
WHY = {
    "condition_false": "the condition was false",
    "unreadable": "an expression failed on this event",
    "bad_value": "an expression returned no text",
    "too_deep": "the chain of triggers was too long",
    "fires_on_itself": "the trigger caused itself",
    "too_often": "the daily limit was reached",
    "rate_limited": "the rate limit was reached",
    "switched_off": "the trigger was off",
    "trigger_queue_full": "the trigger's queue was full",
    "too_late": "the event was older than a week",
    "no_session": "no matching open session",
    "session_over": "the session had ended",
    "erased": "the text was erased",
    "by_hand": "by hand",
}
ON = {
    "entry": "An entry of a session",
    "row": "A changed row",
    "schedule": "Schedule",
    "hook": "A webhook",
}


def why(code: str) -> str:
    """Why a trigger did not act, or is off, in words; a code of ours that has none, as it is."""
    return WHY.get(code, code.replace("_", " "))
