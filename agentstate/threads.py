"""Threads of an agent in this process: memory, approvals and forks without Django, a database or a server.

The rules are the engine's, so a thread in a notebook decides as a session in production does. Nothing is durable.

    agent = Agent(model, tools=[transfer])
    thread = agent.thread("C-1001")
    thread.say("Move 50 to savings")
    thread.decide("approve")
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, get_type_hints
from uuid import uuid4

import msgspec

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, LetExpire, MoveChart, Nothing, RingTimer, RunCall, next_action
from agentstate.engine.instants import stamp
from agentstate.engine.memory.allowance import allowance
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.shown import ModelRequest, ToolSpec
from agentstate.engine.memory.tokens import ESTIMATE
from agentstate.engine.model import ModelAnswer, ModelFailed
from agentstate.engine.model_request import Definition, build, digest, frame, shown
from agentstate.engine.policy import Policy
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import Request, SessionState, pending
from agentstate.errors import Invalid

PERSON = "user:you"
AUTHORITY = frozenset({"decide", "decide_tier3"})
PAUSE = 0.1  # seconds before a model that failed for a moment is asked again
MAX_ACTIONS = 1_000  # of one `run`; a loop that goes on longer is a fault of the model or a tool
NO_RULES = Policy("none", 1, ())
TEAM = "notebook"

Answering = Callable[[ModelRequest], ModelAnswer | str]


class Tool(msgspec.Struct, frozen=True):
    """A Python function that a model may call. `arguments` is the JSON schema of its parameters."""

    name: str
    description: str
    effect: str
    run: Callable[..., Any]
    form: type[msgspec.Struct]
    arguments: dict[str, Any]

    def check(self, arguments: object) -> None:
        """Raises Invalid where the arguments do not fit the function's annotations."""
        try:
            msgspec.convert(arguments, self.form)
        except msgspec.ValidationError as error:
            raise Invalid(str(error), field="arguments") from None

    def preview(self, arguments: dict[str, Any], _state: dict[str, Any]) -> str:
        """Returns the call as a person reads it: `transfer(amount=50)`."""
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def tool(effect: str = "once") -> Callable[[Callable[..., Any]], Tool]:
    """Returns a decorator that makes a tool of an annotated function.

    `effect` is `pure` (only reads), `idempotent` or `once`. A call that is not `pure` waits for a person unless a rule
    of the policy allows it.
    """

    def made(run: Callable[..., Any]) -> Tool:
        form = _form_of(run)
        _, parts = msgspec.json.schema_components([form], ref_template="#/$defs/{name}")
        arguments = parts.pop(form.__name__)
        arguments.pop("title", None)
        if parts:
            arguments["$defs"] = parts
        return Tool(run.__name__, inspect.getdoc(run) or "", effect, run, form, arguments)

    return made


def _form_of(run: Callable[..., Any]) -> type[msgspec.Struct]:
    hints = get_type_hints(run)
    fields: list[Any] = []
    for name, parameter in inspect.signature(run).parameters.items():
        kind = hints.get(name, Any)
        fields.append((name, kind) if parameter.default is parameter.empty else (name, kind, parameter.default))
    return msgspec.defstruct(run.__name__, fields, kw_only=True, forbid_unknown_fields=True)


class Agent:
    """A model with its instructions, tools, policy and bounds of memory. Raises BudgetTooSmall."""

    def __init__(
        self,
        model: Answering,
        *,
        instructions: str = "",
        tools: Iterable[Tool] = (),
        policy: Policy = NO_RULES,
        memory: Remembering | None = None,
        name: str = "agent",
    ) -> None:
        self.model, self.name, self.policy = model, name, policy
        self.memory = memory or Remembering()
        self.tools = {each.name: each for each in tools}
        specs = tuple(ToolSpec(each.name, each.description, each.arguments) for each in self.tools.values())
        allowed = allowance(self.memory.budget, ESTIMATE, instructions, specs)
        allowed.must_suffice(name)
        self.definition = Definition(instructions, specs, data=allowed.state // 2, room=allowed.state)
        self.facts = {
            each.name: core.ToolFacts(
                each.name, 1, each.effect, 1, 0.0, each.check, each.preview, schema=each.arguments
            )
            for each in self.tools.values()
        }

    def thread(self, customer: str = "customer") -> Thread:
        """Returns a new thread."""
        thread = Thread(self, str(uuid4()))
        thread.do(core.Open(customer, TEAM, self.name, "notebook"))
        return thread


class Thread:
    """One conversation: `history` holds its events and their instants, `state` is their fold."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name = agent, name
        self.history: list[tuple[ev.AnyEvent, str]] = []
        self.state = SessionState()

    @property
    def messages(self) -> list[str]:
        """What customer and agent said, oldest first, as `role: text`."""
        return [f"{item.role}: {item.text}" for item in self.state.items if item.text]

    @property
    def pending(self) -> tuple[Request, ...]:
        """The calls that wait for a person."""
        return tuple(pending(self.state))

    def say(self, text: str) -> str:
        """Adds a message of the customer and runs the agent. Returns what the agent said then."""
        self.do(core.Say("customer", text, "customer"))
        return self.run()

    def decide(self, decision: ev.DecisionKind, request: Request | None = None, **more: Any) -> str:
        """Decides a request, the oldest where none is given, and runs the agent. Returns what the agent said then.

        `more` are further fields of the command: `reason`, `arguments` of an edit, `response`. Raises what the engine
        refuses by; Invalid where nothing waits.
        """
        waiting = request or next(iter(self.pending), None)
        if waiting is None:
            raise Invalid("no call waits for a decision", field="request")
        self.do(core.Decide(waiting.asked.request, decision, PERSON, AUTHORITY, **more))
        return self.run()

    def at(self, seq: int) -> SessionState:
        """Returns the state after the first `seq` events."""
        state = SessionState()
        for event, instant in self.history[:seq]:
            state = evolve(state, event, instant)
        return state

    def fork(self, seq: int | None = None) -> Thread:
        """Returns a thread that begins as this one stood after `seq` events; None: as it stands."""
        older = self.state if seq is None else self.at(seq)
        child = Thread(self.agent, str(uuid4()))
        child.do(core.Fork(self.name, older.seq, PERSON, "forked", older))
        return child

    def do(self, command: core.Command) -> None:
        """Decides a command of the engine and folds its events. Raises what `decide` refuses by."""
        context = self._context()
        at = stamp(context.at)
        for event in core.decide(command, self.state, context):
            self.state = evolve(self.state, event, at)
            self.history.append((event, at))

    def run(self) -> str:
        """Runs calls and asks the model until the customer or a person has to act. Returns what the agent said."""
        before = self.state.seq
        for _ in range(MAX_ACTIONS):
            action = next_action(self.state, stamp(datetime.now(UTC)))
            if isinstance(action, Nothing) and action.waiting_for == "retry" and action.until:
                time.sleep(max(0.0, (datetime.fromisoformat(action.until) - datetime.now(UTC)).total_seconds()))
                continue
            if isinstance(action, Nothing):
                if self.state.run:
                    self.do(core.Rest(action.waiting_for))
                return self._said(before)
            self._act(action)
        raise RuntimeError(f"the thread took {MAX_ACTIONS} actions without coming to rest")

    def _said(self, since: int) -> str:
        said = (item.text for item in self.state.items if item.role == "agent" and item.seq >= since)
        return "\n".join(filter(None, said))

    def _act(self, action: RunCall | AskModel | MoveChart | RingTimer | LetExpire) -> None:
        match action:
            case RunCall(call=call):
                self._call(call, begun=action.again)
            case AskModel():
                self._ask()
            case MoveChart():
                self.do(core.Wind())
            case RingTimer():
                self.do(core.Ring(stamp(datetime.now(UTC))))
            case LetExpire():
                self.do(core.ExpireSession())

    def _call(self, name: str, *, begun: bool) -> None:
        if not begun:
            self.do(core.Begin(name))
        call = self.state.calls[name]
        if call.status.value != "running":  # the policy judged it again and asks for more
            return
        found = self.agent.tools[call.tool]
        try:
            form = msgspec.convert(deepcopy(call.arguments), found.form)
            result = found.run(**{field: getattr(form, field) for field in form.__struct_fields__})
            self.do(core.Return(call.id, call.attempt, msgspec.to_builtins(result), 0))
        except Exception as error:  # a tool that fails is a fact of the thread, as in production
            self.do(core.Fail(call.id, call.attempt, f"{type(error).__name__}: {error}"[:500], transient=False))

    def _ask(self) -> None:
        agent, state = self.agent, self.state
        self.do(core.Fit(agent.name, frame(build(agent.definition, agent.name, state), ESTIMATE, state.seq)))
        if not (self.state.owes or self.state.asking):
            return
        request = build(agent.definition, agent.name, self.state)
        step = str(uuid4())
        self.do(self._asking(request, step))
        if self.state.asking != step:  # the run has used up its bounds
            return
        try:
            answer = agent.model(request)
        except ModelFailed as error:
            self.do(core.NoAnswer(step, str(error)[:500], error.transient, PAUSE))
            return
        given = ModelAnswer(answer) if isinstance(answer, str) else answer
        calls = tuple(ev.CallProposed(each.id, each.tool, each.arguments, each.output_path) for each in given.calls)
        self.do(core.Answer(step, given.model or agent.name, given.text, calls, given.finish))

    def _asking(self, request: ModelRequest, step: str) -> core.Ask:
        state = self.state
        return core.Ask(
            step=step,
            model=request.model,
            first=state.items[0].seq if state.items else state.seq,
            last=state.seq - 1,
            tools=tuple(each.name for each in request.tools),
            digest=digest(request),
            trigger=state.items[-1].role if state.items else "opened",
            shown=shown(request, "", state, ESTIMATE, self.agent.memory.budget),
        )

    def _context(self) -> core.CommandContext:
        agent = self.agent
        return core.CommandContext(
            datetime.now(UTC), lambda: str(uuid4()), agent.facts, agent.policy, memory=agent.memory
        )
