"""What another model would have done: the customer's recorded words again, with a model asked for real.

Nothing is run: a tool is answered by the record where it was called with the same arguments, and where it was not, the
model is told that nobody knows. People decide as is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_action
from agentstate.engine.decide import decide
from agentstate.engine.decide.commands.approvals import Decide, HoldOver
from agentstate.engine.decide.commands.automation import Wind
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.calls import Begin, Fail, Return
from agentstate.engine.decide.commands.runs import Answer, Ask, NoAnswer, Rest
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.offers import tools_in
from agentstate.engine.decide.talk import read_one
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState, pending
from agentstate.engine.versions.replay import EVERYTHING, Assume, Gate, formal, noted_gates

MOST_STEPS = 400
UNKNOWN = "this is a replay: the record does not say what this would have returned"
Asked = Callable[[SessionState, str], Answer | NoAnswer]


class CallMade(msgspec.Struct, frozen=True):
    """A call that the other model made. `known`: the record answered it."""

    call: str
    tool: str
    arguments: dict[str, Any]
    gate: Gate
    status: str
    known: bool


class Rerun(msgspec.Struct, frozen=True):
    """What the other model said and called. `whole` is False when it was stopped after MOST_STEPS."""

    said: tuple[str, ...]
    calls: tuple[CallMade, ...]
    state: SessionState
    requests: int
    whole: bool


class _Run:
    """A session that exists only here."""

    def __init__(
        self, context: Callable[[str], CommandContext], results: dict[str, Any], ask: Asked, assume: Assume
    ) -> None:
        self.context, self.results, self.ask, self.assume = context, results, ask, assume
        self.state = SessionState()
        self.at = ""  # nothing takes time here: it stands still until somebody speaks
        self.gates: dict[str, Gate] = {}
        self.made: dict[str, bool] = {}
        self.said: list[str] = []
        self.steps = self.requests = 0

    def take(self, event: ev.AnyEvent, at: str) -> None:
        self.at, self.state = at, evolve(self.state, event, at)
        noted_gates(self.gates, event)
        if isinstance(event, ev.MessageAdded | ev.MessageDrafted) and getattr(event, "role", "agent") == "agent":
            self.said.append(event.text)

    def command(self, command: Command) -> None:
        for event in decide(command, self.state, self.context(self.at)):
            self.take(event, self.at)

    def go_on(self) -> None:
        """Until it rests, or until it has gone on for too long."""
        while self.steps < MOST_STEPS:
            self.steps += 1
            if self._people_decide():
                continue
            action = next_action(self.state, self.at)
            if isinstance(action, AskModel):
                self._ask()
            elif isinstance(action, RunCall):
                self._answer_for_the_tool(action.call)
            elif isinstance(action, Nothing):
                self.command(Rest(action.waiting_for))
                return
            else:
                self.command(Wind())

    def _people_decide(self) -> bool:
        waits = pending(self.state)
        if not waits or self.assume == "wait":
            return False
        asked = waits[0].asked
        kind: ev.DecisionKind = "approve" if self.assume == "approve" else "reject"
        for number in range(asked.quorum if kind == "approve" else 1):
            decision = Decide(asked.request, kind, f"assumed:{number}", EVERYTHING, "assumed in a replay")
            self.command(formal(decision, self.state.requests[asked.request]))
        if self.state.requests[asked.request].held_until:
            self.command(HoldOver(asked.request))
        return True

    def _ask(self) -> None:
        step = f"rerun-{self.requests}"
        self.requests += 1
        self.command(Ask(step, "rerun", 0, self.state.seq - 1, tools_in(self.context(self.at)), ""))
        if self.state.asking == step:
            self.command(self.ask(self.state, step))

    def _answer_for_the_tool(self, key: str) -> None:
        self.command(Begin(key))
        call = self.state.calls[key]
        if call.status is not CallStatus.RUNNING:
            return
        known = ev.digest(call.tool, call.arguments)
        self.made[key] = known in self.results
        if known in self.results:
            self.command(Return(key, call.attempt, self.results[known]))
        else:
            self.command(Fail(key, call.attempt, UNKNOWN, transient=False))


def rerun(
    history: Iterable[tuple[int, ev.AnyEvent, str]],
    context: Callable[[str], CommandContext],
    ask: Asked,
    assume: Assume = "approve",
) -> Rerun:
    """Say again what the customer and colleagues said, and let `ask` answer for the model."""
    recorded = list(history)
    run = _Run(context, _results(recorded), ask, assume)
    for _, event, at in recorded:
        if isinstance(event, ev.SessionOpened | ev.SessionForked):
            run.take(event, at)
        elif isinstance(event, ev.MessageAdded) and event.role != "agent" and not run.state.ended:
            run.take(read_one(event, run.state), at)  # beside what is known in this run
            run.go_on()
    calls = tuple(
        CallMade(
            call.id, call.tool, call.arguments, run.gates.get(call.id, Gate()), call.status.value, run.made[call.id]
        )
        for call in run.state.calls.values()
        if call.id in run.made
    )
    return Rerun(tuple(run.said), calls, run.state, run.requests, run.steps < MOST_STEPS)


def _results(recorded: list[tuple[int, ev.AnyEvent, str]]) -> dict[str, Any]:
    """What each tool returned for which arguments; the newest, where it was called twice."""
    begun: dict[str, ev.ToolIntended] = {}
    found: dict[str, Any] = {}
    for _, event, _ in recorded:
        if isinstance(event, ev.ToolIntended):
            begun[event.call] = event
        elif isinstance(event, ev.ToolReturned) and event.call in begun:
            found[ev.digest(begun[event.call].tool, begun[event.call].arguments)] = event.result
    return found
