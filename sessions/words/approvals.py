"""What entries about requests and decisions say."""

from __future__ import annotations

from sessions.words.sentence import Data, Sentence, Tell
from sessions.words.standing import OUTCOMES
from sessions.words.values import plain


def _requested(data: Data, tool: str) -> Sentence:
    return Sentence("Needs a decision", f"{data['preview'] or plain(data['tool'])}. Rule {data['rule']}", "r")


_DECIDED = {"approve": "Approved", "edit": "Edited and approved", "reject": "Rejected", "respond": "Asked again"}


def _decided(data: Data, tool: str) -> Sentence:
    decision = str(data["decision"])
    return Sentence(_DECIDED.get(decision, decision), data.get("reason") or data.get("response", ""), "p")


def _claimed(data: Data, tool: str) -> Sentence:
    return Sentence("Taken from a colleague" if data.get("taken_from") else "Somebody is on it", "", "p")


def _released(data: Data, tool: str) -> Sentence:
    return Sentence("Given back to the queue", "", "p")


def _ended_request(data: Data, tool: str) -> Sentence:
    word = OUTCOMES.get(data["outcome"], ("", data["outcome"], ""))[1]
    return Sentence(f"Request closed: {word.lower()}", data.get("because", ""))


def _granted(data: Data, tool: str) -> Sentence:
    times = "once" if data["uses"] == 1 else f"{data['uses']} times at most"
    return Sentence(
        f"Let through from now on: {plain(data['tool']).lower()}", f"{times}. {data.get('reason', '')}".strip(), "p"
    )


def _taken_back(data: Data, tool: str) -> Sentence:
    return Sentence("Asked about again from now on", data.get("reason", ""), "p")


TELL: dict[str, Tell] = {
    "grant.given": _granted,
    "grant.revoked": _taken_back,
    "approval.requested": _requested,
    "decision.made": _decided,
    "request.claimed": _claimed,
    "request.released": _released,
    "request.ended": _ended_request,
}
