"""What entries about a session as a whole say: it is opened, spoken in, paused, ended."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.status import speaker
from sessions.descriptions.values import clipped, long

SEALED = {
    "asked": "no more entries",
    "erased": "its customer was erased",
    "pruned": "its text was deleted",
}


def _message(data: Data, tool: str) -> Sentence:
    role = str(data.get("role", ""))
    return Sentence(f"{speaker(role)} said", f"“{clipped(data['text'])}”", "p" if role == "staff" else "")


def _opened(data: Data, tool: str) -> Sentence:
    return Sentence("Call answered" if data.get("channel") == "phone" else "Chat opened", data.get("topic", ""))


TELL: dict[str, Tell] = {
    "session.opened": _opened,
    "message.added": _message,
    "message.queued": lambda data, tool: Sentence("Message queued", f"“{clipped(data['text'])}”, waits"),
    "message.refused": lambda data, tool: Sentence("Message refused", f"“{clipped(data['text'])}”"),
    "subject.erased": lambda data, tool: Sentence("Data subject erased", "their data is unreadable"),
    "session.expired": lambda data, tool: Sentence("Expired", f"no activity for {long(data['idle'])}"),
    "session.reopened": lambda data, tool: Sentence("Reopened", "a new message arrived"),
    "session.paused": lambda data, tool: Sentence("Paused", data["reason"], "p"),
    "session.resumed": lambda data, tool: Sentence("Resumed", "", "p"),
    "session.cancelled": lambda data, tool: Sentence("Ended by staff", data["reason"], "p"),
    "snapshot.recorded": lambda data, tool: Sentence("State recorded", f"replaces the first {data['upto']} entries"),
    "payload.pruned": lambda data, tool: Sentence("Text deleted", f"the retention of {data['retention']} ended"),
    "session.sealed": lambda data, tool: Sentence("Sealed", SEALED[data["why"]], "p" if data["by"] else ""),
    "session.ended": lambda data, tool: Sentence("Ended", data["reason"]),
    "session.failed": lambda data, tool: Sentence("The agent stopped with an error", data["reason"], "r"),
}
