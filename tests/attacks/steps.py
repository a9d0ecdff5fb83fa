"""Steps that attacks of several files share."""

from __future__ import annotations

from tests.attacks.client import Json, Person, Request, Talk, eventually
from tests.attacks.stack import Stack


def approved_and_paused(talk: Talk, sue: Person, dollars: int = 900) -> Request:
    """A transfer that sue approved and that has not begun."""
    request = talk.asks_for(dollars)
    talk.pause(sue)
    request.approve(sue).must()
    return request


def is_named(talk: Talk, request: Request) -> None:
    """The request says that the approved call was not done, and the bank has booked nothing."""
    eventually(request.says_not_done, lambda: f"the request says what became of it: {request.view}", 10)
    talk.rests()
    assert talk.moved() == []


def failed_for_good(stack: Stack, tool: str = "act") -> tuple[Talk, Person]:
    """An approved call that failed and is left to a person; the agent has said that it is sorry."""
    sue, talk = stack.supervisor(), stack.talk()
    stack.trouble(talk.id, 9_999)
    talk.wants({"_tool": tool, "subject": talk.id})
    talk.one_pending().approve(sue).must()
    eventually(talk.get_stuck, "a person must settle it", 90)
    eventually(lambda: has_spoken_since(talk, "tool.failed"), "the agent says that it failed", 30)
    talk.rests()
    stack.trouble(talk.id, 0)
    return talk, sue


def has_spoken_since(talk: Talk, kind: str) -> bool:
    """Returns whether the agent has said something after the last entry of that kind."""
    entries = talk.entries()
    last = max(each["seq"] for each in entries if each["kind"] == kind)
    said = [each for each in entries if each["kind"] == "message.added" and each["seq"] > last]
    return any(each["data"]["role"] == "agent" for each in said)


def approved_at_the_gate(talk: Talk, ann: Person, sue: Person, *calls: Json, **more: object) -> None:
    """A plan that ann proposed by chat and sue approved; its first call has begun, and the others wait for that."""
    gate = {"_id": "gate", "_tool": "wait", "subject": talk.id, "_outputPath": "state.gate"}
    talk.propose(ann, gate, *(behind_the_gate(call) for call in calls), **more).must()
    talk.one_pending("plan").approve(sue).must()
    eventually(lambda: talk.entries("tool.intended"), "its first call has begun")


def behind_the_gate(call: Json) -> Json:
    """A call that waits until the gate is open."""
    return {**call, "_when": "state.gate.open == true"}


def open_gate(talk: Talk) -> None:
    """Opens the gate of the session and waits until the session rests."""
    talk.stack.open_gate(talk.id)
    talk.rests()
