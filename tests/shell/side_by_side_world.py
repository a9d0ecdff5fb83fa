"""An agent for tests whose model proposes what the test says, with tools that tell when they ran.

Real ones, in the real registries: only what the model answers is the test's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine.decide import offers
from agentstate.engine.model import ModelAnswer, ModelRequest, ProposedCall
from sessions.agents.registry import Agent, register
from sessions.library import folders
from sessions.tools.registry import Arguments, Retry, ToolContext, ToolFailed, tool
from tests.shell.bank_world import opened

PATIENCE = 20.0  # seconds that a tool waits for another before it fails
NAMED = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "milliseconds": {"type": "integer"}},
    "additionalProperties": False,
}


class Ran:
    """The calls that ran: (name, key) in order of beginning, and how many at once at most. `pair` lets two calls of
    `meet` through at once; `gate` lets calls of `stay` through.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.begun: list[tuple[str, str]] = []
        self.now = self.most = 0
        self.lock = threading.Lock()
        self.pair = threading.Barrier(2, timeout=PATIENCE)
        self.gate = threading.Event()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.begun]

    def begin(self, name: str, key: str) -> None:
        with self.lock:
            self.begun.append((name, key))
            self.now += 1
            self.most = max(self.most, self.now)

    def end(self) -> None:
        with self.lock:
            self.now -= 1


ran = Ran()


GIVES_NAME = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}


@tool(name="wait", version=1, description="Takes its time.", effect="pure", arguments=NAMED, result=GIVES_NAME)
def wait(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """Sleep and say so."""
    ran.begin(arguments["name"], context.key)
    try:
        time.sleep(arguments.get("milliseconds", 0) / 1000)
    finally:
        ran.end()
    return {"name": arguments["name"]}


@tool(name="meet", version=1, description="Waits for another.", effect="pure", arguments=NAMED, retry=Retry(1))
def meet(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """Returns once a second call runs at the same time; fails where none does."""
    ran.begin(arguments["name"], context.key)
    try:
        ran.pair.wait()
    finally:
        ran.end()
    return {}


@tool(name="stay", version=1, description="Waits to be let go.", effect="pure", arguments=NAMED, retry=Retry(1))
def stay(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """Returns once the test opens the gate; fails where it stays closed."""
    ran.begin(arguments["name"], context.key)
    try:
        if not ran.gate.wait(PATIENCE):
            raise ToolFailed("the gate stayed closed")
    finally:
        ran.end()
    return {}


@tool(name="fail", version=1, description="Never works.", effect="pure", arguments=NAMED, retry=Retry(1))
def fail(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """Fail at once."""
    ran.begin(arguments["name"], context.key)
    ran.end()
    raise ToolFailed(f"{arguments['name']} does not work")


@tool(name="act", version=1, description="Changes something.", effect="idempotent", arguments=NAMED)
def act(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """No rule of policy speaks of it, so a person must let it through."""
    ran.begin(arguments["name"], context.key)
    ran.end()
    return {"done": arguments["name"]}


@tool(name="picky", version=1, description="Takes all but one.", effect="pure", arguments=NAMED, retry=Retry(1))
def picky(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """The poisoned one breaks it."""
    if arguments["name"] == "n666":
        raise RuntimeError("poison")
    return {"name": arguments["name"]}


@tool(name="look", version=1, description="Tells what it sees.", effect="pure", arguments=NAMED)
def look(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """What reached it of the session."""
    return {"view": context.view}


class Told:
    """A model that gives the answers it was told, one a turn, then a last word."""

    name = "told"

    def __init__(self) -> None:
        self.answers: list[tuple[ProposedCall, ...]] = []
        self.asked: list[ModelRequest] = []

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        self.asked.append(request)
        answer = self.answers.pop(0) if self.answers else ()
        calls = tuple(msgspec.structs.replace(call, id=f"call-{place}") for place, call in enumerate(answer))
        return ModelAnswer(text="" if calls else "That is all.", calls=calls, model=self.name)


model = Told()
folders.add(Path(__file__).parent / "library")
register(
    Agent(
        "told",
        "Do as you are told.",
        ("wait", "meet", "stay", "fail", "act", "picky", "look"),
        "told",
        {},
        script=model,
        offers=offers.PLANNING,
    )
)


def proposed(tool_name: str, name: str, output_path: str | None = None, **arguments: Any) -> ProposedCall:
    """A call as the model writes it."""
    return ProposedCall("call", tool_name, {"name": name, **arguments}, output_path)


def told(*answers: tuple[ProposedCall, ...], customer: str = "C-1001") -> UUID:
    """A session whose model will give these answers, one a turn. Nothing has run."""
    ran.clear()
    model.answers, model.asked = list(answers), []
    return opened(customer, agent="told")
