"""What entries about timers and triggers say."""

from __future__ import annotations

from sessions.words.sentence import Data, Sentence, Tell
from sessions.words.values import clipped

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
