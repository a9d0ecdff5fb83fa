"""A session, the sessions that do its calls, and what is around them, in memory: the real `decide`, `evolve`, agents,
context, parser of answers and hand-over, with a hostile model and tools over plain dictionaries. No database, no clock.

After each commit the oracles of the family's world are asked (`worlds`); what they find is raised as `Unlawful`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import UUID, uuid5

from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import (
    AskModel,
    LetExpire,
    MoveChart,
    Nothing,
    RingTimer,
    RunCall,
    is_task_done,
    next_action,
)
from agentstate.engine.decide import families as counting
from agentstate.engine.decide import tasks
from agentstate.engine.decide.commands.plans import TakeTask
from agentstate.engine.instants import stamp
from agentstate.engine.memory.budget import ContextTooSmall
from agentstate.engine.model import ModelAnswer, ModelFailed, ModelRequest, Usage
from agentstate.engine.remembered import Remembered
from agentstate.engine.state.evolution import evolve, fold
from agentstate.engine.state.session import SessionState, pending
from agentstate.errors import NotFound, Refused
from sessions.agents import registry
from sessions.agents.chat_answer import Assembly
from sessions.agents.providers import Unusable
from sessions.core import families
from sessions.core.projections import Place
from sessions.core.states import Loaded
from sessions.runtime import delegates, execution, model_requests
from tests.adversary import grammar

START = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
IDS = UUID("6b0f6f7e-5a52-4d0e-9b64-0f8f3f0f6d11")  # namespace of the ids of these sessions
TEAM = UUID(int=7)
ACTIONS = 400  # that follow from one thing that happened outside, over all sessions of a family
TOKENS = Usage(100, 50)  # of each answer


class Unlawful(AssertionError):
    """An oracle found what must not be. `oracle` is its name."""

    def __init__(self, oracle: str, detail: str, where: str = "") -> None:
        super().__init__(f"{oracle}: {detail} [{where}]")
        self.oracle = oracle


class Hostile:
    """The model of one family. What it answers depends on its seed, the number of the answer and the request alone."""

    name = "hostile"

    def __init__(self, seed: str, answer: Callable[[str, int, grammar.Seen], grammar.Said] = grammar.answer) -> None:
        self.seed, self.made, self.step = seed, answer, 0
        self.asked: list[ModelRequest] = []
        self.hears: Callable[[ModelRequest], None] = lambda request: None
        self.broke: Exception | None = None  # a fault of the fixture, which the runtime takes for one of a model

    def answer(self, request: ModelRequest, *, on_text: object = None) -> ModelAnswer:
        """The next answer, read as that of an endpoint is. Raises ModelFailed."""
        self.step += 1
        self.asked.append(request)
        self.hears(request)
        try:
            said = self.made(self.seed, self.step, grammar.request_seen(request))
        except Exception as error:
            self.broke = error
            raise
        assembly = Assembly(self.name)
        try:
            assembly.add_text(said.text)
            for place, call in enumerate(said.calls):
                assembly.add_call(place, f"c{place}", call.tool, call.arguments)
            assembly.finish, assembly.usage = "tool_calls" if said.calls else "stop", TOKENS
            return assembly.answer(())
        except Unusable as refused:
            raise ModelFailed(str(refused), transient=False) from None


@dataclass
class Session:
    """One session: its state, and its events with their instants."""

    id: UUID
    agent: str
    state: SessionState = field(default_factory=SessionState)
    log: list[tuple[ev.AnyEvent, str]] = field(default_factory=list)
    told: bool = False  # its end was delivered to its parent
    paid_by: str = ""  # of a delegate: the run of the first session in which it was opened

    @property
    def parent(self) -> str:
        return self.state.plans.parent


class Family:
    """A session of a customer with all that came of it. `world` has the tools, the people and the oracles."""

    def __init__(self, world: Any, seed: str, model: Hostile, agent: str) -> None:
        self.world, self.seed, self.model, self.agent = world, seed, model, agent
        self.at, self.numbers = START, 0
        self.dice = Random(f"{seed} outside")
        self.sessions: dict[UUID, Session] = {}
        self.requests: Counter[str] = Counter()  # model requests by the run of the first session that pays for them
        self.found: Unlawful | None = None  # also where the runtime takes any error for one of the model
        self.id = uuid5(IDS, seed)

    @property
    def root(self) -> Session:
        return self.sessions[self.id]

    # Commands

    def opened(self, session: UUID, command: core.Command) -> Session:
        held = self.sessions[session] = Session(session, getattr(command, "agent", self.agent))
        if session != self.id:
            held.paid_by = self.root.state.run or str(session)
        self.command(session, command)
        return self.sessions[session]

    def given(self, session: Session, parent: str = "") -> core.CommandContext:
        """What `decide` is handed. Ids are counted."""
        numbers = iter(range(10_000))
        base = f"{session.id}/{len(session.log)}"
        bound = families.family_of(session.state, parent or session.parent)
        given = self.world.given(session.agent)
        return replace(given, at=self.at, new_id=lambda: str(uuid5(IDS, f"{base}/{next(numbers)}")), family=bound)

    def command(self, session: UUID, command: core.Command) -> list[ev.AnyEvent]:
        """The events of a command that is decided and folded, with what follows for the sessions that do its calls.
        Raises Refused.
        """
        held = self.sessions[session]
        self.at += timedelta(seconds=1)
        before, at = held.state, stamp(self.at)
        parent = command.parent if isinstance(command, TakeTask) else ""
        try:
            events = core.decide(command, before, self.given(held, parent))
            if self.dice.random() < 0.05 and core.decide(command, before, self.given(held, parent)) != events:
                raise Unlawful("determinism", type(command).__name__, self.seed)
        except (Refused, Unlawful):
            raise
        except Exception as error:
            raise Unlawful("exception", f"{type(command).__name__}: {error!r}", self.seed) from error
        for event in events:
            held.state = evolve(held.state, event, at)
            held.log.append((event, at))
            self.world.heard(self, held, event)
        self.world.judged(self, held, events)
        news, root = counting.news(before, held.state), families.root_of(held.state)
        if root is not None and news != Remembered():
            self.command(root, core.CountDelegate(str(session), news))
        for child, following in self._following(session, before, events):
            self.tried(child, following)
        return events

    def tried(self, session: UUID, command: core.Command) -> list[ev.AnyEvent]:
        """The events of a command; none where it is refused, by name."""
        try:
            return self.command(session, command)
        except Refused:
            return []

    def _following(self, session: UUID, before: SessionState, events: list[ev.AnyEvent]) -> list[tuple[UUID, Any]]:
        """What an end, a pause or a new voice of the customer leads to in the sessions that do calls of this one."""
        cause = next((event for event in events if isinstance(event, tasks.Reaching)), None)
        spoke = tasks.new_customers(before, self.sessions[session].state)
        found = []
        for child in [each for each in self.sessions.values() if each.parent == str(session) and not each.state.ended]:
            wish = (
                tasks.because_of_parent(cause, self.sessions[session].state, child.state)
                if cause
                else tasks.because_of_customers(spoke, child.state)
            )
            if wish is not None:
                found.append((child.id, wish))
        return found

    # What the runtime does

    def work(self) -> None:
        """Advances all sessions side by side until each rests."""
        for _ in range(ACTIONS):
            for session in list(self.sessions.values()):
                if self._advanced(session):
                    if self.dice.random() < 0.04:  # people do not wait until all is done
                        self.world.happens(self)
                    break
            else:
                return
            order = list(self.sessions.items())
            self.dice.shuffle(order)
            self.sessions = dict(order)
        raise Unlawful("rest", f"{ACTIONS} actions, and the family does not come to rest", self.seed)

    def _advanced(self, session: Session) -> bool:
        """Does the next thing that the session needs. Gives whether there was one."""
        if is_task_done(session.state):
            self.command(session.id, core.End(delegates.DONE, "system"))
        if session.state.ended and session.parent and not session.told:
            session.told = True
            delegates.deliver(session.id)
            return True
        match next_action(session.state, stamp(self.at)):
            case RunCall(call=call):
                self._run(session, call)
            case AskModel():
                self._ask(session)
            case MoveChart():
                self.command(session.id, core.Wind())
            case RingTimer():
                self.command(session.id, core.Ring(stamp(self.at)))
            case LetExpire():
                self.command(session.id, core.ExpireSession())
            case Nothing(waiting_for=waiting_for, until=until):
                if session.state.run:
                    self.command(session.id, core.Rest(waiting_for))
                elif waiting_for == "retry" and until:
                    self.at += timedelta(seconds=5)
                else:
                    return False
        return True

    def _run(self, session: Session, call: str) -> None:
        try:
            events = self.command(session.id, core.Begin(call))
        except Refused as refused:
            raise Unlawful("stuck", f"a call that is to begin is refused: {refused}", self.seed) from refused
        for event in events:
            if isinstance(event, ev.ToolIntended):
                self._carry_out(session, session.state.calls[event.call])

    def _carry_out(self, session: Session, call: Any) -> None:
        if call.effect == "delegate":
            left_over = delegates.hand_over(session.id, session.state, call)
            if left_over is not None:
                self.tried(session.id, left_over)
            return
        outcome = execution.run_call(str(session.id), session.state, call)
        if self.found is not None:
            raise self.found
        self.command(session.id, outcome)

    def _ask(self, session: Session) -> None:
        """Asks the model as the runtime does, in its three commands."""
        request = model_requests.Asking()
        seq = session.state.seq
        for wanted in (request.noticing, request.fitting, request.asking):
            command = wanted(session.state)
            if command is None:
                continue
            try:
                self.command(session.id, command)
            except ContextTooSmall as refused:
                self.command(session.id, core.GiveUp(str(refused)))
        if not session.state.asking:
            if session.state.seq == seq:
                raise Unlawful("stuck", "the model is to be asked, and is not", self.seed)
            return
        self.requests[session.paid_by or self.root.state.run] += 1
        self.world.paid(self)
        answer = execution.ask_model(registry.find(session.agent), session.state, session.state.asking)
        if fault := self.found or self.model.broke:
            raise fault
        self.command(session.id, answer)

    # What the runtime's hand-over finds instead of a database

    def loaded(self, session: UUID, **_: object) -> Loaded:
        if session not in self.sessions:
            raise NotFound("there is no such session")
        place = Place(session, UUID(int=1), TEAM, UUID(int=2))
        return Loaded(place, None, self.sessions[session].state)  # type: ignore[arg-type]

    def open_session(self, place: Place, command: core.Command, author: object) -> None:
        if place.id not in self.sessions:
            self.opened(place.id, command)

    def together(self, main: UUID, wishes: Mapping[UUID, Callable[[Any], core.Command]], author: object) -> None:
        """All commands or none, as in one transaction."""
        loaded = {session: self.loaded(session) for session in wishes}
        before = {session: (self.sessions[session].state, len(self.sessions[session].log)) for session in wishes}
        try:
            for session, wish in wishes.items():
                self.command(session, wish(loaded))
        except Refused:
            for session, (state, size) in before.items():
                self.sessions[session].state = state
                del self.sessions[session].log[size:]
            raise

    def person_command(self, session: UUID, wish: Any, author: object) -> None:
        self.command(session, wish if isinstance(wish, core.Command) else wish(self.loaded(session)))

    @contextmanager
    def in_memory(self) -> Any:
        """While inside, the runtime's hand-over and delivery are about this family."""
        nothing = SimpleNamespace(objects=SimpleNamespace(filter=lambda **_: SimpleNamespace(update=lambda **_: 0)))
        states = SimpleNamespace(load=self.loaded, UnknownSession=delegates.states.UnknownSession)
        instead = {
            "states": states,
            "open_session": self.open_session,
            "together": self.together,
            "person_command": self.person_command,
            "AgentSession": nothing,
        }
        with ExitStack() as stack:
            for name, value in instead.items():
                stack.enter_context(mock.patch.object(delegates, name, value))
            stack.enter_context(mock.patch.object(families, "states", states))
            stack.enter_context(mock.patch.object(execution.model_choice, "model_for", return_value=self.model))
            stack.enter_context(mock.patch.object(model_requests.versions, "keep", return_value="definition"))
            stack.enter_context(mock.patch.object(self.model, "hears", lambda request: self.world.asked(self, request)))
            stack.enter_context(self.world.tools(self))
            yield

    # What happens outside

    def live(self, answers: int) -> int:
        """Lets things happen outside until the model has given so many answers. Gives how many it gave."""
        with self.in_memory():
            self.opened(self.id, core.Open(self.world.customer, str(TEAM), self.agent, self.world.channel(self), ""))
            self.world.begun(self)
            self.work()
            for _ in range(answers):
                if self.model.step >= answers or self.root.state.ended:
                    break
                self.world.happens(self)
                self.work()
        for session in self.sessions.values():
            if fold(session.log) != session.state:
                raise Unlawful("fold", str(session.id), self.seed)
        return self.model.step

    def of_line(self, session: Session) -> list[Session]:
        """The session, the one whose call it does, and so on to the root."""
        line = [session]
        while line[-1].parent:
            line.append(self.sessions[UUID(line[-1].parent)])
        return line

    def waiting(self) -> list[tuple[Session, Any]]:
        """All requests that wait for a person."""
        return [(each, request) for each in self.sessions.values() for request in pending(each.state)]
