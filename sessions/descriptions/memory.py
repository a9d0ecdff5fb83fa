"""What entries about the conversation's memory, its topics and its customer say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import clipped, plain


def _adapted(data: Data, tool: str) -> Sentence:
    known = data["adaptation"].get("mappings", [])
    applied = ", ".join(plain(name.replace(".", " ")).lower() for name in known)
    return Sentence("Learned what the profile says", applied or "nothing that changes a step")


def _put_right(data: Data, tool: str) -> Sentence:
    meant = ", ".join(data["entities"]) or "nothing that is known"
    return Sentence("A reference was put right", clipped(f"“{data['mention']}” means {meant}"), "p")


RATINGS = {-2: "of no use", -1: "of little use", 0: "neither", 1: "of use", 2: "of much use"}


def _range(data: Data) -> str:
    return f"entries {data['first']} to {data['last']}"


TELL: dict[str, Tell] = {
    "item.pinned": lambda data, tool: Sentence("Pinned", f"entry {data['seq']} stays in its own words", "p"),
    "item.unpinned": lambda data, tool: Sentence("Unpinned", f"entry {data['seq']}", "p"),
    "item.rated": lambda data, tool: Sentence("Rated", f"entry {data['seq']}: {RATINGS.get(data['rating'], '')}", "p"),
    "summary.requested": lambda data, tool: Sentence("Asked the model for a summary", _range(data)),
    "summary.made": lambda data, tool: Sentence("Summarised", f"{_range(data)}, {data['count']} in all"),
    "user.adapted": _adapted,
    "talk.declared": lambda data, tool: Sentence("What the talk is about was declared anew"),
    "topic.opened": lambda data, tool: Sentence("New topic", data["label"] or plain(data["topic"]), "p"),
    "topic.switched": lambda data, tool: Sentence("The topic is", data["label"] or plain(data["topic"]), "p"),
    "topic.resumed": lambda data, tool: Sentence("Back to the topic", plain(data["topic"]), "p"),
    "topic.closed": lambda data, tool: Sentence("Topic closed", plain(data["topic"]), "p"),
    "reference.corrected": _put_right,
}
