"""The recorded airline runs as live sessions: an agent whose model says what was said then and whose tools give what
they gave then, a customer who says what they said, and a supervisor who knows what should have been written.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec

from agentstate.engine.looping.settings import Limits, Looping
from agentstate.engine.model import ModelAnswer, ModelRequest, ProposedCall
from sessions.agents import registry
from sessions.agents.registry import Agent
from sessions.tools import registry as tools
from sessions.tools.registry import Tool, ToolContext
from tests.shared_data import shared_data

AGENT = "recorded-airline"
WRITES = frozenset(
    {
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    }
)
Call = tuple[str, str]  # a tool, and its arguments as JSON with sorted keys


@cache
def runs() -> list[dict[str, Any]]:
    """All recordings. Skips the test where they are absent."""
    return json.loads(shared_data("tau-airline", "trajectories.json").read_bytes(), parse_float=Decimal)


def named(run: dict[str, Any]) -> str:
    """What the recording is called, as the customer of its session."""
    return f"task-{run['task_id']}-trial-{run['trial']}"


def key(tool: str, arguments: dict[str, Any]) -> Call:
    """A call as it is compared: the same name and the same arguments."""
    return tool, json.dumps(arguments, sort_keys=True, default=str)


def calls_of(run: dict[str, Any]) -> list[Call]:
    """The calls of a recording, in order."""
    return [key(*_call(call)) for step in run["traj"] for call in step.get("tool_calls") or ()]


def gold_of(run: dict[str, Any]) -> Counter[Call]:
    """The writing calls that a recording should have made, and how often."""
    actions = run["info"]["task"]["actions"]
    return Counter(key(each["name"], each["kwargs"]) for each in actions if each["name"] in WRITES)


def _call(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    function = call["function"]
    return function["name"], json.loads(function["arguments"], parse_float=Decimal)


class Recorded:
    """The model of all recordings: it says what comes next in the session's own, whatever it is told."""

    name = "recorded"

    def __init__(self) -> None:
        self.said: dict[str, Iterator[dict[str, Any]]] = {}
        self.results: dict[str, dict[Call, deque[Any]]] = {}

    def play(self, run: dict[str, Any]) -> None:
        """Be ready for a session of this recording."""
        self.said[named(run)] = iter([step for step in run["traj"] if step["role"] == "assistant"])
        found: dict[Call, deque[Any]] = defaultdict(deque)
        last: Call = ("", "")
        for step in run["traj"]:
            if step.get("tool_calls"):
                last = key(*_call(step["tool_calls"][0]))
            elif step["role"] == "tool":
                found[last].append(step["content"])
        self.results[named(run)] = found

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        """The next turn of the recording."""
        step = next(self.said[request.state["session"]["customer"]], None)
        if step is None:
            return ModelAnswer("The recording has ended.")
        proposed = [_call(call) for call in step.get("tool_calls") or ()]
        calls = tuple(ProposedCall(f"c{number}", *call) for number, call in enumerate(proposed))
        return ModelAnswer(step["content"] or "", calls)

    def run(self, tool: str) -> Callable[[dict[str, Any], ToolContext], Any]:
        """The function of a tool: what it gave then."""
        return lambda arguments, context: self.results[context.customer][key(tool, arguments)].popleft()


@contextmanager
def airline() -> Iterator[Recorded]:
    """The agent of the recordings; a writing call of it always needs a person, since no rule speaks of its tools."""
    model, schema = Recorded(), {"type": "object"}
    names = sorted({call[0] for run in runs() for call in calls_of(run)})
    for name in names:
        effect = "once" if name in WRITES else "pure"
        validator = tools.validator_of(name, schema)
        tools.add(Tool(name, 1, name, effect, schema, model.run(name), validator))
    bounds = Looping(run=Limits(), repeats=0, refusals=0)
    registry.register(Agent(AGENT, "Help with flights.", tuple(names), "bank", {}, script=model, loop=bounds))
    try:
        yield model
    finally:
        del registry._registry[AGENT]
        for name in names:
            del tools._registry[name]


def words(run: dict[str, Any]) -> list[str]:
    """What the customer says, in order."""
    return [step["content"] for step in run["traj"] if step["role"] == "user"]


class Figures(msgspec.Struct):
    """What came of the runs that were replayed."""

    runs: int = 0
    calls: int = 0
    approved: int = 0
    rejected: int = 0
    again: int = 0  # the same call once more, refused without asking anybody

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.calls} calls in the order recorded; writing calls: {self.approved} approved,"
            f" {self.rejected} rejected, {self.again} refused again unasked"
        )
