"""A conversation at the bank in memory, as long as wanted: the same turn again and again, by real commands.

A turn is: the customer asks; the request is made to fit, and the model calls a tool; the tool runs; the model is asked
again and answers. What is timed is all that the product does for it but storing: rules, fold, the request, the bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import model_request, policy
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.memory.scene import Frame
from agentstate.engine.memory.tokens import ESTIMATE
from agentstate.engine.model import ModelRequest
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState, calls_in
from sessions.agents import definition
from sessions.agents.registry import Agent

BANK = policy.load_superseded(
    (Path(__file__).resolve().parents[2] / "demo/bank_agent/library/policies/bank/1.json").read_bytes()
)
AGENT = Agent("bank", "You serve the customers of a bank.", (), "bank", {})
START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
LOOK = core.ToolFacts("load_customer", 1, "pure", 3, 1.0, lambda arguments: None, lambda arguments, state: "Look")
OPEN = core.Open("C-1001", "team", "bank", "phone")


class Talk:
    """A session in memory. `kept` holds what was appended since it was emptied: an event's bytes and its instant."""

    def __init__(self, state: SessionState | None = None) -> None:
        self.state = state or SessionState()
        self.kept: list[tuple[bytes, str]] = []

    def does(self, command: core.Command) -> None:
        """Decide, evolve, encode."""
        state, at = self.state, START + timedelta(seconds=self.state.seq)
        given = core.CommandContext(at, _ids(state.seq), {LOOK.name: LOOK}, BANK, AGENT.memory)
        for event in core.decide(command, state, given):
            state = evolve(state, event, stamp(at))
            self.kept.append((ev.encode(event), stamp(at)))
        self.state = state

    def turn(self) -> None:
        """One turn of the conversation."""
        for _, does in self.parts():
            does()

    def parts(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """The steps of one turn, by kind, each to be taken before the next is asked for."""
        number = self.state.seq
        call = ev.CallProposed("call_1", LOOK.name, {"customer": "C-1001"}, "state.customer")
        said = core.Say("customer", f"How much is there now, after ${number}.00 came in?", "customer")
        yield "message", lambda: self.does(said)
        yield "model", lambda: self._asks("One moment.", (call,))
        yield "tool", lambda: self._acts({"name": "Rosa Diaz", "balance": {"minor": number, "currency": "USD"}})
        yield "model", lambda: self._asks(f"There is ${number}.00 in your savings.", ())
        yield "rest", lambda: self.does(core.Rest("customer"))

    def _acts(self, result: dict[str, Any]) -> None:
        (ready,) = calls_in(self.state, CallStatus.READY)
        self.does(core.Begin(ready.id))
        self.does(core.Return(ready.id, 1, result))

    def _asks(self, text: str, calls: tuple[ev.CallProposed, ...]) -> None:
        request, frame = self._fitting()
        step = f"step-{self.state.seq}"
        shown = model_request.shown(request, "bank", self.state, ESTIMATE, AGENT.memory.budget, frame)
        self.does(core.Ask(step, "model", 0, 0, (LOOK.name,), model_request.digest(request), shown=shown))
        self.does(core.Answer(step, "model", text, calls))

    def request(self) -> ModelRequest:
        """What the model would be given now, made to fit."""
        return self._fitting()[0]

    def _fitting(self) -> tuple[ModelRequest, Frame]:
        """The request, and the tokens as they were counted before it was made to fit."""
        state = self.state
        request = definition.build(AGENT, "model", state)
        frame = model_request.frame(request, ESTIMATE, state.seq)
        self.does(core.Fit("model", frame))
        # As `sessions.runtime.model_requests` does: made anew where fitting changed something.
        return (request if self.state is state else definition.build(AGENT, "model", self.state)), frame


def _ids(seq: int) -> Callable[[], str]:
    numbers = count()
    return lambda: f"id-{seq}-{next(numbers)}"


def opened() -> Talk:
    """A session just opened."""
    talk = Talk()
    talk.does(OPEN)
    return talk


def grown(talk: Talk, events: int) -> Talk:
    """`talk` once it has that many events; its record of them is let go."""
    while talk.state.seq < events:
        talk.turn()
        talk.kept.clear()
    return talk


def seconds_a_turn(talk: Talk, turns: int) -> list[float]:
    """What each of so many more turns took."""
    taken = []
    for _ in range(turns):
        began = time.process_time()
        talk.turn()
        taken.append(time.process_time() - began)
    return taken


def seconds_by_kind(talk: Talk, turns: int) -> list[dict[str, float]]:
    """What the steps of each of so many more turns took: a message, a step of a model (of two, the mean), one of a
    tool, and the whole turn.
    """
    taken = []
    for _ in range(turns):
        spent = dict.fromkeys(("message", "model", "tool", "rest"), 0.0)
        for kind, does in talk.parts():
            began = time.process_time()
            does()
            spent[kind] += time.process_time() - began
        taken.append({**spent, "turn": sum(spent.values()), "model": spent["model"] / 2})
    return taken
