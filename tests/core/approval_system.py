"""Several sessions of one customer, as the approval model check sees them.

A system never changes; a move gives the next one. Sessions are decided by the real `decide` and folded by the real
`evolve`. What the runtime does around them (a call handed to a session of its own, a task that is done, a parent that
ends) is done here with the same engine functions, without a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from itertools import count

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import is_task_done
from agentstate.engine.charts import Chart
from agentstate.engine.decide import families, tasks
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.plans import CountDelegate, Deliver
from agentstate.engine.halting import Halt
from agentstate.engine.instants import stamp
from agentstate.engine.migrating import Catalogue
from agentstate.engine.remembered import Remembered
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.errors import Refused
from tests.core.approval_policy import IDLE, OLDER, POLICY, START, TOOLS
from tests.core.test_engine_explorer import essence

BOTH = frozenset({"decide", "decide_tier3"})
RIGHTS: Mapping[str, frozenset[str]] = {
    "user:ann": frozenset({"decide"}),
    "user:bob": frozenset({"decide"}),
    "user:sue": BOTH,
    "user:zoe": BOTH,
    "user:dan": frozenset(),  # decides on what others delegate to him alone
}


@dataclass(frozen=True)
class Session:
    """One session: its state, and its history with instants."""

    state: SessionState = field(default_factory=SessionState)
    history: tuple[tuple[ev.AnyEvent, str], ...] = ()

    @cached_property
    def essence(self) -> str:
        """What deciding can depend on. Most moves change one session of several."""
        return essence(self.state).decode()


@dataclass(frozen=True)
class Delegation:
    """A person delegates what they may decide to another, from second `since` to second `until`."""

    giver: str
    receiver: str
    since: int = 0
    until: int | None = None

    def runs_at(self, second: int) -> bool:
        return self.since <= second and (self.until is None or second < self.until)


@dataclass(frozen=True)
class System:
    """All sessions by name, and what holds around them. `parents`: of sessions that do a call, the session and the
    call; `charts`: the deployed versions, the newest last; `trail`: all events in the order in which they happened,
    each with the name of its session and its second.
    """

    sessions: Mapping[str, Session] = field(default_factory=dict)
    parents: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    rights: Mapping[str, frozenset[str]] = field(default_factory=lambda: dict(RIGHTS))
    tools: Mapping[str, core.ToolFacts] = field(default_factory=lambda: TOOLS)
    delegations: tuple[Delegation, ...] = (
        Delegation("user:sue", "user:bob"),
        Delegation("user:bob", "user:dan"),
    )
    charts: tuple[Chart, ...] = ()
    schemas: Catalogue = OLDER
    halt: Halt = field(default_factory=Halt)
    seconds: int = 0
    trail: tuple[tuple[str, ev.AnyEvent, int], ...] = ()

    @property
    def at(self) -> str:
        return stamp(START + timedelta(seconds=self.seconds))

    def state(self, name: str) -> SessionState:
        return self.sessions[name].state

    def given(self, name: str) -> core.CommandContext:
        numbers, held = count(), self.sessions.get(name, Session())
        return core.CommandContext(
            START + timedelta(seconds=self.seconds),
            lambda: f"{name}-{len(held.history)}-{next(numbers)}",
            self.tools,
            POLICY,
            chart=self.charts[-1] if self.charts else None,
            charts={each.reference: each for each in self.charts},
            schemas=self.schemas,
            idle=IDLE,
            halt=self.halt,
            saved=frozenset({"saved"}),
            family=families.family_of(tuple(map(self.state, above)), ()) if (above := self.above(name)) else None,
        )

    def above(self, name: str) -> tuple[str, ...]:
        """The sessions that a session does a call for, the nearest first."""
        parent, _ = self.parents.get(name, ("", ""))
        return (parent, *self.above(parent)) if parent else ()

    def standing(self) -> dict[str, tuple[Authority, ...]]:
        """What everybody may now, on their own and on lent authority."""
        return {by: (self.authority(by), *self.lent(by)) for by in self.rights}

    def authority(self, by: str, of: str = "") -> Authority:
        shares = self.sharing(of, self.seconds) if of else frozenset[str]()
        return Authority(self.rights[by], frozenset({by, "role:supervisor"}), of, shares)

    def delegated(self, second: int) -> list[Delegation]:
        """The delegations that run at a second."""
        return [each for each in self.delegations if each.runs_at(second)]

    def sharing(self, by: str, second: int) -> frozenset[str]:
        """With whom somebody shares a right at a second."""
        pairs = [{each.giver, each.receiver} for each in self.delegated(second)]
        return frozenset().union(*(pair - {by} for pair in pairs if by in pair))

    def lent(self, by: str) -> tuple[Authority, ...]:
        """What others have delegated to somebody, as far as they may it themselves."""
        givers = [each.giver for each in self.delegated(self.seconds) if each.receiver == by]
        return tuple(self.authority(giver, giver) for giver in givers if "decide" in self.rights[giver])

    def after(self, name: str, *commands: core.Command) -> System:
        """The system after commands to one session, and what follows from them in others. Raises Refused."""
        system = self
        for command in commands:
            held = system.sessions.get(name, Session())
            events = core.decide(command, held.state, system.given(name))
            system = system._took(name, held, events)
            news = families.news(held.state, system.state(name))
            if news != Remembered() and name in system.parents:
                system = system.after(system.above(name)[-1], CountDelegate(name, news))
            system = system._answered(name, held.state, events)
        return system

    def _took(self, name: str, held: Session, events: list[ev.AnyEvent]) -> System:
        state, at = held.state, self.at
        for event in events:
            state = evolve(state, event, at)
        told = Session(state, held.history + tuple((event, at) for event in events))
        trail = self.trail + tuple((name, event, self.seconds) for event in events)
        return replace(self, sessions={**self.sessions, name: told}, seconds=self.seconds + 1, trail=trail)

    def _answered(self, name: str, before: SessionState, events: list[ev.AnyEvent]) -> System:
        """What sessions do because of their parent, and the result of a task that has ended."""
        system = self
        causes = [event for event in events if isinstance(event, tasks.Reaching)]
        spoke = tasks.new_customers(before, self.state(name))
        for child in [child for child, (parent, _) in self.parents.items() if parent == name]:
            held = system.state(child)
            command = (
                tasks.because_of_parent(causes[0], self.state(name), held)
                if causes
                else tasks.because_of_customers(spoke, held)
            )
            system = system.after(child, command) if command is not None else system
        if is_task_done(system.state(name)):
            return system.after(name, core.End("its task is done", "system"))
        return system._delivered(name) if system.state(name).ended and name in system.parents else system

    def _delivered(self, child: str) -> System:
        """The end of a task as the call that asked hears of it; nobody may wait for it any more."""
        parent, call = self.parents[child]
        done, waits = self.state(child), self.state(parent).calls.get(call)
        late = self.state(parent).versions.late.get(call)
        attempt = late.attempt if late else waits.attempt if waits else 0
        outcome = (
            core.Return(call, attempt, {"session": child})
            if done.ended_reason == "its task is done"
            else (core.Fail(call, attempt, done.ended_reason, transient=False))
        )
        system = replace(self, parents={key: each for key, each in self.parents.items() if key != child})
        try:
            return system.after(parent, Deliver(outcome, child))
        except Refused:
            return system
