"""What entries about a session as a whole say: it is opened, spoken in, paused, ended."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.status import speaker
from sessions.descriptions.values import clipped, long

SEALED = {
    "asked": "nothing follows any more",
    "erased": "its customer was erased",
    "pruned": "its words were deleted",
}


def _message(data: Data, tool: str) -> Sentence:
    role = str(data.get("role", ""))
    return Sentence(f"{speaker(role)} said", f"“{clipped(data['text'])}”", "p" if role == "staff" else "")


def _opened(data: Data, tool: str) -> Sentence:
    return Sentence("Call answered" if data.get("channel") == "phone" else "Chat opened", data.get("topic", ""))


TELL: dict[str, Tell] = {
    "session.opened": _opened,
    "message.added": _message,
    "message.queued": lambda data, tool: Sentence("The customer wrote meanwhile", f"“{clipped(data['text'])}”, waits"),
    "message.refused": lambda data, tool: Sentence("The customer was told to wait", f"“{clipped(data['text'])}”"),
    "subject.erased": lambda data, tool: Sentence("Data subject erased", "what concerns them cannot be read any more"),
    "session.expired": lambda data, tool: Sentence("Expired", f"nothing happened for {long(data['idle'])}"),
    "session.reopened": lambda data, tool: Sentence("Reopened", "somebody spoke again"),
    "session.paused": lambda data, tool: Sentence("Paused", data["reason"], "p"),
    "session.resumed": lambda data, tool: Sentence("Goes on", "", "p"),
    "session.cancelled": lambda data, tool: Sentence("Stopped for good", data["reason"], "p"),
    "snapshot.recorded": lambda data, tool: Sentence(
        "State recorded", f"it stands for the first {data['upto']} entries"
    ),
    "payload.pruned": lambda data, tool: Sentence("Words deleted", f"the term of {data['retention']} was over"),
    "session.sealed": lambda data, tool: Sentence("Sealed", SEALED[data["why"]], "p" if data["by"] else ""),
    "session.ended": lambda data, tool: Sentence("Ended", data["reason"]),
    "session.failed": lambda data, tool: Sentence("The agent cannot go on", data["reason"], "r"),
}
