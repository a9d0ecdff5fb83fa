"""Where the runtime cannot go on by itself and a person steps in, in words."""

from __future__ import annotations

from sessions.words.sentence import Data, Sentence, Tell
from sessions.words.values import value

SETTLED = {
    "retry": "may run again",
    "skip": "is skipped",
    "supply": "was given its result",
    "happened": "did happen",
    "not_happened": "did not happen",
}


def _intervened(data: Data, tool: str) -> Sentence:
    about = value(data["result"]) if data.get("result") is not None else data["reason"]
    return Sentence(f"{tool} {SETTLED[data['how']]}, a person says", about, "p")


TELL: dict[str, Tell] = {
    "call.doubted": lambda data, tool: Sentence(f"{tool}: nobody knows whether it happened", data["reason"], "r"),
    "call.intervened": _intervened,
    "session.retried": lambda data, tool: Sentence("A person had it tried again", data["reason"], "p"),
}
