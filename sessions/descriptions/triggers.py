"""What entries about timers and triggers say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import clipped

TIMERS = {"remind": "Reminder set", "follow_up": "Follow-up set", "expire": "Set to expire"}
FIRED = {
    "told": ("Time is up", "the agent is reminded"),
    "expired": ("Time is up", "the session expires"),
    "passed": ("A timer passed", "what it was for did not apply any more"),
}
SOURCES = {
    "entry": "something happened in a session",
    "row": "a row changed elsewhere",
    "schedule": "it was time",
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
    "fired": ("check", "Acted"),
    "passed": ("right", "Had no reason to"),
    "refused": ("x", "Did not act"),
    "failed": ("warn", "Failed"),
}
WHY = {
    "condition_false": "its condition was not true",
    "unreadable": "an expression could not be read on this",
    "bad_value": "an expression gave no text where text was needed",
    "too_deep": "its chain of triggers was as long as it may be",
    "fires_on_itself": "it was the cause of its own cause",
    "too_often": "it has acted as often in a day as it may",
    "rate_limited": "it has acted as often lately as it may",
    "switched_off": "it was off by then",
    "trigger_queue_full": "as much was waiting for it as may",
    "too_late": "it had waited for a week",
    "no_session": "there is no open session like that",
    "session_over": "the session was over",
    "erased": "its words were erased",
    "by_hand": "by hand",
}
ON = {
    "entry": "An entry of a session",
    "row": "A changed row",
    "schedule": "The clock",
    "hook": "A webhook",
}


def why(code: str) -> str:
    """Why a trigger did not act, or is off, in words; a code of ours that has none, as it is."""
    return WHY.get(code, code.replace("_", " "))
