"""A session with marked private values, carried out in memory with the real tools: all that comes out of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import model_request
from agentstate.engine.advance import AskModel, RunCall, next_action
from agentstate.engine.decide import offers
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.memory.asking import summary_request
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.shown import request_bytes
from agentstate.engine.plan.facts import ANONYMOUS
from agentstate.engine.scratchpad.messages import Held
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState, pending
from agentstate.errors import Refused
from sessions.agents import definition, registry
from sessions.agents.chat_request import chat_messages
from sessions.agents.registry import Agent
from sessions.runtime import delegates, execution, model_tasks
from sessions.runtime.views import view_of
from sessions.tools import registry as tools
from sessions.tools.registry import Arguments, ToolContext, ToolFailed, answered_by_model, tool

ANY: dict[str, Any] = {"type": "object", "properties": {"text": True, "amount": {"type": "integer"}}}
MARK = "ZQ7PRIVATE"
SESSION = UUID(int=7)
PRIVATE = ("state.verification", "state.people.pin", "state.customer.secret", "state.codes", "state.deep.a.b")
NOTES = {"type": "object", "properties": {"pin": {"x-private": True}, "n": {"type": "integer"}}}
LETTERS = {"type": "object", "x-private": True, "properties": {"from": {"type": "string"}}}


def _tells_all(arguments: Arguments, state: dict[str, Any]) -> str:
    return f"Do it with {arguments.get('text')}: {arguments} in {state}"


@tool(name="flow_remember", version=1, description="Keeps a word.", effect="pure", arguments=ANY, preview=_tells_all)
def remember(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    return {"arguments": arguments, "view": context.view}


@tool(
    name="flow_look",
    version=1,
    description="Looks at all that it may see.",
    effect="pure",
    arguments=ANY,
    scopes=("state", "notes", "letters", "input"),
)
def look(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    return {"view": context.view}


@tool(name="flow_pay", version=1, description="Pays.", effect="idempotent", arguments=ANY, preview=_tells_all)
def pay(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    return {"arguments": arguments, "view": context.view}


@tool(name="flow_fail", version=1, description="Fails.", effect="pure", arguments=ANY, scopes=("state",))
def fail(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    raise ToolFailed(f"not with {arguments} and {context.view}")


@tool(
    name="flow_verify",
    version=1,
    description="Compares the answer with the one on file.",
    effect="pure",
    arguments=ANY,
    receives=("state.verification.answer", "state.people"),
)
def verify(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    held = context.view["state"]["verification"]["answer"]
    if arguments.get("text") == "fail":
        raise ToolFailed(f"{held} is wrong")
    return {"passed": arguments.get("text") == held, "held": held, held: [f"it is {held}."], "n": 12, "yes": True}


answered_by_model(
    name="flow_sort",
    version=1,
    description="Sorts.",
    arguments=ANY,
    result={"type": "object"},
    scopes=("state", "notes", "letters"),
)

TOOLS = ("flow_remember", "flow_look", "flow_pay", "flow_fail", "flow_sort")
PLACES = {"flow_pay": "state.paid", "flow_look": "state.seen"}
AGENT = Agent("flow", "Help.", TOOLS, "bank", PLACES, memory=Remembering(private=PRIVATE), offers=tuple(offers.ALL))
registry.register(AGENT)
BANK = msgspec.structs.replace(registry.find("bank"), name="flow_bank", offers=tuple(offers.ALL))
registry.register(BANK)


def pad(private: Any, agent: Agent) -> dict[str, Any]:
    """A state with that value in every private place, or without these places where it is None."""
    if agent is BANK:
        return {} if private is None else {"verification": {"answer": private}}
    if private is None:
        return {"customer": {"name": "Ada"}, "people": [{"name": "Bo"}, {}], "deep": {"a": {}}, "n": 7, "key": "pin"}
    return {
        "customer": {"name": "Ada", "secret": private},
        "people": [{"name": "Bo", "pin": private}, {"pin": [private, {"x": private}]}],
        "deep": {"a": {"b": {str(private): {"c": private}}}},
        "verification": {"answer": private, "asked": [{"at": private}]},
        "codes": {str(private): private, "4711": {"a": private}},
        "n": 7,
        "key": "pin",
    }


def data(private: Any) -> dict[str, Held]:
    pin = {} if private is None else {"pin": private}
    letter = {} if private is None else {"from": private, str(private): private}
    return {"notes": Held({"n": 7, **pin}, NOTES), "letters": Held(letter, LETTERS)}


BROUGHT = {"notes": (NOTES,), "letters": (LETTERS,)}  # by the data messages that made these


class Flow:
    """One session with its private values, and all that comes out of it."""

    def __init__(self, private: Any, agent: Agent = AGENT) -> None:
        self.agent, self.numbers, self.at = agent, count(), datetime(2026, 11, 22, tzinfo=UTC)
        self.state, self.out, self.private = SessionState(), list[bytes](), agent.memory.private
        self.events: list[ev.AnyEvent] = []
        self.tasks: list[Any] = []  # that delegates were given
        self.command(core.Open("C-1", "retail", agent.name, "phone", "rent"))
        self.command(core.Say("customer", "Hello", "customer"))
        own = msgspec.structs.replace(self.state.plans.own, data=data(private), private_schemas=BROUGHT)
        plans = msgspec.structs.replace(self.state.plans, own=own)
        self.state = msgspec.structs.replace(self.state, pad=pad(private, agent), plans=plans)

    def given(self) -> core.CommandContext:
        made = registry.context_for(self.agent.name, self.at)
        return msgspec.structs.replace(
            made,
            new_id=lambda: f"id-{next(self.numbers)}",
            memory=msgspec.structs.replace(made.memory, private=self.private),
        )

    def command(self, command: Any) -> None:
        self.at += timedelta(seconds=1)
        try:
            events = core.decide(command, self.state, self.given())
        except Refused as refused:
            self.out.append(f"{refused.code} {refused} {refused.facts}".encode())
            return
        for event in events:
            self.state = evolve(self.state, event, stamp(self.at))
            self.events.append(event)
            self.out.append(ev.encode(event))

    def ask(self) -> None:
        request = definition.build(self.agent, "m", self.state)
        self.shows(request)
        items = tuple(self.state.items)
        self.shows(summary_request("m", items, self.state.memory.summaries, self.agent.memory.private, 400))
        step = f"step-{next(self.numbers)}"
        self.command(core.Ask(step, "m", 0, 0, self.agent.tools, model_request.digest(request)))
        self.step = step

    def shows(self, request: Any) -> None:
        self.out += [request_bytes(request), json.dumps(chat_messages(request), default=str).encode()]

    def answer(self, calls: list[dict[str, Any]]) -> None:
        self.ask()
        proposed = tuple(
            ev.CallProposed(
                f"call-{number}", each.get("_tool", ""), {k: v for k, v in each.items() if k != "_tool"}, None
            )
            for number, each in enumerate(calls)
        )
        self.command(core.Answer(self.step, "m", "Yes.", proposed))
        self.run()

    def run(self) -> None:
        for _ in range(20):
            for request in pending(self.state):
                may = frozenset({"decide", "decide_tier3"})
                self.command(core.Decide(request.asked.request, "approve", "zoe", may, reason="Right."))
            action = next_action(self.state, stamp(self.at))
            if isinstance(action, RunCall):
                self.call(action.call)
            elif isinstance(action, AskModel):
                return self.ask()
            else:
                return None
        return None

    def call(self, call_id: str) -> None:
        self.command(core.Begin(call_id))
        call = self.state.calls.get(call_id)
        if call is None or call.status is not CallStatus.RUNNING:
            return None
        found = tools.find(call.tool)
        self.out.append(repr((call.arguments, view_of(self.state, call, found))).encode())
        if call.effect == "delegate":
            planned = delegates.rounds.planned(self.state.plans, call_id)
            if planned.delegate != ANONYMOUS:
                return self.command(core.Fail(call_id, call.attempt, "no part", transient=False))
            task = delegates._task(SESSION, self.state, call, planned.delegate, planned.scopes or ())
            self.tasks.append(task)
            self.out.append(repr(task).encode())
            result = delegates.output_of(SESSION, self.state)
            self.out.append(repr(result).encode())
            self.command(core.Return(call_id, call.attempt, result))
        elif found.run is None:
            self.shows(model_tasks.request_for(found, self.state, call, "m"))
            self.command(core.Return(call_id, call.attempt, {"sorted": True}))
        else:
            self.command(execution.run_call(str(SESSION), self.state, call))
        return None
