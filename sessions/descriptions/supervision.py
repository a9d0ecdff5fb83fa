"""What entries about people of the house in a session say: it is taken over, guided, handed back, asked for."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import clipped

_ASKED = {"phrase": "in the customer's words", "tool": "reported by the agent", "api": "requested over the API"}
_DROPPED = {
    "taken_over": "a person took over",
    "stopped": "the agent was stopped",
    "spoken_over": "a colleague replied",
}


def _taken(data: Data, tool: str) -> Sentence:
    taken = "Taken over from a colleague" if data.get("from_whom") else "Taken over"
    return Sentence(taken, data.get("reason", ""), "p")


def _passed(data: Data, tool: str) -> Sentence:
    told = "Transferred to a colleague" if data["to"] else "Transferred to the queue"
    return Sentence(told, data["reason"], "p")


def _guided(data: Data, tool: str) -> Sentence:
    return Sentence("Whispered to the agent", f"“{clipped(data['text'])}”", "p")


def _dropped(data: Data, tool: str) -> Sentence:
    return Sentence("Reply discarded, not sent", _DROPPED[data["because"]])


def _wanted(data: Data, tool: str) -> Sentence:
    about = _ASKED[data["source"]]
    return Sentence("Human requested", f"{about}: {data['why']}" if data.get("why") else about, "r")


def _assigned(data: Data, tool: str) -> Sentence:
    what = "A request" if data["request"] else "The session"
    whom = f"team {data['to'].removeprefix('team:')}" if data["to"].startswith("team:") else "a colleague"
    told = f"{what} assigned to {whom}" if data["to"] else f"{what} returned to the queue"
    return Sentence(told, ", ".join(data.get("why", ())), "p")


TELL: dict[str, Tell] = {
    "session.taken_over": _taken,
    "session.passed_on": _passed,
    "session.handed_back": lambda data, tool: Sentence("Handed back to the agent", clipped(data["summary"]), "p"),
    "guidance.given": _guided,
    "model.dropped": _dropped,
    "session.human_requested": _wanted,
    "session.human_withdrawn": lambda data, tool: Sentence("Human request withdrawn", data["why"]),
    "work.assigned": _assigned,
}
