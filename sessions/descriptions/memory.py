"""What entries about the conversation's memory, its topics and its customer say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import clipped, plain


def _adapted(data: Data, tool: str) -> Sentence:
    known = data["adaptation"].get("mappings", [])
    applied = ", ".join(plain(name.replace(".", " ")).lower() for name in known)
    return Sentence("Profile applied", applied or "no changes")


def _put_right(data: Data, tool: str) -> Sentence:
    meant = ", ".join(data["entities"]) or "nothing known"
    return Sentence("Reference corrected", clipped(f"“{data['mention']}” means {meant}"), "p")


def _resolved(data: Data, tool: str) -> Sentence:
    meant = "; ".join(f"“{each['mention']}” means {', '.join(each['entities'])}" for each in data["references"])
    return Sentence("References resolved by the model", clipped(meant or "none"), "p")


RATINGS = {-2: "not useful", -1: "slightly useful", 0: "neither", 1: "useful", 2: "very useful"}


def _range(data: Data) -> str:
    return f"entries {data['first']} to {data['last']}"


TELL: dict[str, Tell] = {
    "item.pinned": lambda data, tool: Sentence("Pinned", f"entry {data['seq']} stays in full", "p"),
    "item.unpinned": lambda data, tool: Sentence("Unpinned", f"entry {data['seq']}", "p"),
    "item.rated": lambda data, tool: Sentence("Rated", f"entry {data['seq']}: {RATINGS.get(data['rating'], '')}", "p"),
    "summary.requested": lambda data, tool: Sentence("Summary requested", _range(data)),
    "summary.made": lambda data, tool: Sentence("Summarized", f"{_range(data)}, {data['count']} in all"),
    "user.adapted": _adapted,
    "talk.declared": lambda data, tool: Sentence("Topics declared"),
    "topic.opened": lambda data, tool: Sentence("New topic", data["label"] or plain(data["topic"]), "p"),
    "topic.switched": lambda data, tool: Sentence("Topic changed", data["label"] or plain(data["topic"]), "p"),
    "topic.resumed": lambda data, tool: Sentence("Topic resumed", plain(data["topic"]), "p"),
    "topic.closed": lambda data, tool: Sentence("Topic closed", plain(data["topic"]), "p"),
    "reference.corrected": _put_right,
    "references.resolved": _resolved,
}
