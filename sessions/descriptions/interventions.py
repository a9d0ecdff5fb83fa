"""Where the runtime cannot go on by itself and a person steps in, in words."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import unwritten, value

SETTLED = {
    "retry": "will be retried",
    "skip": "skipped",
    "supply": "result entered",
    "happened": "confirmed",
    "not_happened": "did not happen",
}


def _intervened(data: Data, tool: str) -> Sentence:
    about = value(data["result"]) if data.get("result") is not None else data["reason"]
    return Sentence(f"{tool}: {SETTLED[data['how']]} by a person", f"{about}{unwritten(data)}", "p")


def _ordered(data: Data, tool: str) -> Sentence:
    number = len(data["calls"])
    return Sentence(f"{number} effect{'s' if number != 1 else ''} to be reversed, newest first", data["reason"], "p")


TELL: dict[str, Tell] = {
    "compensation.ordered": _ordered,
    "call.doubted": lambda data, tool: Sentence(f"{tool}: outcome unknown", data["reason"], "r"),
    "call.intervened": _intervened,
    "session.retried": lambda data, tool: Sentence("Retried by a person", data["reason"], "p"),
}
