"""Several sessions of one customer and everything that can happen to them: the alphabet of the approval model check.

A system never changes; a move gives the next one. Sessions are decided by the real `decide` and folded by the real
`evolve`. What the runtime does around them (a call handed to a session of its own, a task that is done, a parent that
ends) is done here with the same engine functions, without a server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import count
from typing import Any

from msgspec import structs

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.advance import LetExpire, MoveChart, RingTimer, RunCall, is_task_done, next_actions
from agentstate.engine.charts import Chart
from agentstate.engine.decide import tasks
from agentstate.engine.decide.commands import Authority, EditPlan, InstanceGiven, ProposePlan
from agentstate.engine.decide.commands.plans import Delegated, Deliver
from agentstate.engine.decide.commands.versions import Promote, Supersede
from agentstate.engine.decide.reviewing import authors_of
from agentstate.engine.decide.versions import consequences
from agentstate.engine.halting import Halt, left
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.migrating import Catalogue, catalogue
from agentstate.engine.policy.edits import Editable
from agentstate.engine.policy.tally import without
from agentstate.engine.schemas import Actor, declare
from agentstate.engine.state import Request, SessionState, calls_in, evolve, fold, pending
from agentstate.engine.state.rounds import planned
from agentstate.engine.state.session import remembered_by
from agentstate.engine.timers import TimerKind
from agentstate.engine.versions.effects import Declared, Since, handed_over, since
from agentstate.errors import Invalid, Refused
from tests.core.chart_world import chart, go, state
from tests.core.migrating_world import migration
from tests.core.test_engine_explorer import essence

START = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
AMOUNT = "arguments.amount.minor"
SMALL, LARGE, TOP, DAILY = 10_000, 100_000, 400_000, 200_000
OWN, SAVINGS, STRANGER = "own", "savings", "stranger"
BOTH = frozenset({"decide", "decide_tier3"})
RIGHTS: Mapping[str, frozenset[str]] = {
    "user:ann": frozenset({"decide"}),
    "user:bob": frozenset({"decide"}),
    "user:sue": BOTH,
    "user:zoe": BOTH,
    "user:dan": frozenset(),  # decides on what others delegate to him alone
}
DECLARED = {name: Declared("idempotent", lambda arguments, pad: "Do it") for name in ("transfer", "post_letter")}
DECLARED["look"] = Declared("pure", lambda arguments, pad: "Look")
WINDOW = 300  # seconds after the customer spoke in which the chart allows transfers
IDLE = 500  # seconds that a session waits for its customer before it expires
OTHER = "key-of-another"  # of another data subject than the customer


def money(minor: int) -> dict[str, Any]:
    return {"minor": minor, "currency": "USD"}


def _transfer(arguments: object) -> None:
    assert isinstance(arguments, dict)
    amount = arguments.get("amount")
    if not isinstance(amount, dict) or not isinstance(amount.get("minor"), int) or amount["minor"] < 1:
        raise Invalid("an amount has whole cents above 0", field="arguments.amount")
    if arguments.get("to") not in (OWN, SAVINGS, STRANGER):
        raise Invalid("to whom?", field="arguments.to")


def _any(arguments: object) -> None:
    """Takes everything."""


def _said(arguments: dict[str, Any], pad: dict[str, Any]) -> str:
    return f"Do it with {arguments}"


TOOLS = {
    "look": core.ToolFacts("look", 1, "pure", 2, 1.0, _any, _said),
    "transfer": core.ToolFacts("transfer", 1, "idempotent", 2, 1.0, _transfer, _said),
    "post_letter": core.ToolFacts("post_letter", 1, "once", 2, 1.0, _any, _said),
}
MOVED = "(has(history.today.moved.transfer) ? history.today.moved.transfer.USD : 0)"
TOPS = f"arguments.amount.minor > 250000 || arguments.to == 'stranger' || {MOVED} + arguments.amount.minor > {DAILY}"


def rule(name: str, tool: str, when: str, tier: int, gate: pol.Gate, **terms: Any) -> pol.Rule:
    return pol.Rule(name, (tool,), when, tier, gate, f"Rule {name}.", **terms)


RULES = (
    rule("look", "look", "true", 0, "allow"),
    rule("letter", "post_letter", "true", 2, "approve"),
    rule("plan", "plan", "true", 2, "approve"),
    rule("top", "transfer", TOPS, 3, "approve", retype=(AMOUNT,), evidence=("state.check",)),
    rule(
        "large",
        "transfer",
        f"!({TOPS}) && arguments.amount.minor > {SMALL}",
        2,
        "approve",
        evidence=("state.check",),
        edits=(Editable(AMOUNT, "down"),),
    ),
    rule("small", "transfer", f"!({TOPS}) && arguments.amount.minor <= {SMALL}", 1, "allow"),
)
POLICY = pol.Policy("model", 1, RULES)
WINDOWED = chart(
    state("wait", go("customer.said", "open"), tools=["look"]),
    state("open", {"after": "5m", "to": ["closed"]}, go("customer.said", "open"), tools=["look", "transfer"]),
    state("closed", go("customer.said", "open"), tools=["look"]),
)
FORBIDDING = chart(state("closed", tools=["look"]), version=2)
WRITERS = {"type": "object", "x-writers": ["tool", "staff"]}
SCHEMAS = (
    declare("model", 1, {**WRITERS, "properties": {"check": {"type": "object"}}}),
    declare("model", 2, {**WRITERS, "properties": {"checked": {"type": "object"}}}),
)
RENAMED = {"schema": "model", "before": 1, "steps": [{"op": "rename", "path": "state.check", "to": "checked"}]}
OLDER: Catalogue = catalogue(SCHEMAS[:1])
NEWER: Catalogue = catalogue(SCHEMAS, (migration(RENAMED),))


def asks(tool: str, arguments: Mapping[str, Any], moved: int) -> int:
    """The tier at which the rules above ask a person for a call; 0: they let it through. Read apart from the engine."""
    if tool == "look":
        return 0
    if tool != "transfer":
        return 2
    minor = arguments["amount"]["minor"]
    if minor > 250_000 or arguments["to"] == STRANGER or moved + minor > DAILY:
        return 3
    return 2 if minor > SMALL else 0


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

    def given(self, name: str) -> core.Given:
        numbers, held = count(), self.sessions.get(name, Session())
        return core.Given(
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
        )

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
            system = system._answered(name, events)
        return system

    def _took(self, name: str, held: Session, events: list[ev.AnyEvent]) -> System:
        state, at = held.state, self.at
        for event in events:
            state = evolve(state, event, at)
        told = Session(state, held.history + tuple((event, at) for event in events))
        trail = self.trail + tuple((name, event, self.seconds) for event in events)
        return replace(self, sessions={**self.sessions, name: told}, seconds=self.seconds + 1, trail=trail)

    def _answered(self, name: str, events: list[ev.AnyEvent]) -> System:
        """What sessions do because of their parent, and the result of a task that has ended."""
        system = self
        causes = [event for event in events if isinstance(event, tasks.Reaching)]
        for child in [child for child, (parent, _) in self.parents.items() if parent == name] if causes else []:
            command = tasks.because_of_parent(causes[0], system.state(child))
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
        learned = structs.replace(remembered_by(done), tally=without(done.tally, done.plans.inherited))
        system = replace(self, parents={key: each for key, each in self.parents.items() if key != child})
        try:
            return system.after(parent, Deliver(outcome, child, learned))
        except Refused:
            return system


Move = Callable[[System], System]


class Nowhere(Refused):
    """The move has nothing to act on."""

    code = "nowhere"


def named(system: System, slot: str) -> str:
    """The name of the newest session of a kind: `main`, `child`, `fork`. Raises Nowhere."""
    names = [name for name in system.sessions if name.partition("#")[0] == slot]
    if not names:
        raise Nowhere(slot)
    return names[-1]


def to(slot: str, make: Callable[[System, SessionState], core.Command]) -> Move:
    """A command to the newest session of a kind."""

    def move(system: System) -> System:
        name = named(system, slot)
        return system.after(name, make(system, system.state(name)))

    return move


def waiting(system: System) -> tuple[str, Request]:
    """The latest request that waits, and its session. Raises Nowhere."""
    found = [(name, request) for name, held in system.sessions.items() for request in pending(held.state)]
    if not found:
        raise Nowhere("nothing waits")
    return found[-1]


def decides(kind: str, by: str, **changes: Any) -> Move:
    """`by` decides the latest request on what it shows. `changes` are put into the arguments of an edit."""

    def move(system: System) -> System:
        name, request = waiting(system)
        arguments = {**request.arguments, **changes} if kind == "edit" else None
        if arguments is not None and arguments == request.arguments:
            raise Nowhere("nothing would be changed")
        shown = system.state(name).calls[request.asked.call].approved or request.asked.digest
        return system.after(name, core.Decide(
            request.asked.request, kind, by, system.rights[by], "because", arguments=arguments, seen=shown,  # type: ignore[arg-type]
            retyped=typed(request, arguments or request.arguments), names=system.authority(by).names,
            lent=system.lent(by), sharing=system.sharing(by, system.seconds),
        ))  # fmt: skip

    return move


def typed(request: Request, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a careful reviewer types: the values as they stand."""
    found: dict[str, Any] = {}
    for path in request.terms.retype:
        value: Any = arguments
        try:
            for part in path.split(".")[1:]:
                value = value[int(part)] if isinstance(value, list) else value[part]
        except (LookupError, TypeError, ValueError):
            continue
        found[path] = value
    return found


def proposes(*calls: ev.CallProposed, slot: str = "main") -> Move:
    """The agent answers with these calls."""

    def move(system: System) -> System:
        step = f"step-{len(system.trail)}"
        return system.after(
            named(system, slot),
            core.Ask(step, "model", 0, 0, (), "digest"),
            core.Answer(step, "model", "", tuple(calls)),
        )

    return move


def transfer(minor: int, payee: str = OWN) -> ev.CallProposed:
    return ev.CallProposed("1", "transfer", {"amount": money(minor), "to": payee}, None)


def step(name: str, tool: str, **more: Any) -> dict[str, Any]:
    return {"_id": name, "_tool": tool, **more}


CHECK = step("check", "look", _outputPath="state.check")
PAY = step("pay", "transfer", amount="†state.check.amount", to=OWN)
PAY_LARGE = step("pay", "transfer", amount=money(LARGE), to=OWN)
FOR_EACH = step("pay", "transfer", amount=money(LARGE), to="†input.to")
HANDED = step("task", "look", _outputPath="state.task || state.problem", _delegate="saved", _scopes=["input"])
SAVED = (step("act", "transfer", amount=money(LARGE), to=OWN),)  # what the delegate does


def answers(system: System) -> System:
    """The agent answers in words, and rests."""
    step = f"step-{len(system.trail)}"
    return system.after(
        "main",
        core.Ask(step, "model", 0, 0, (), "digest"),
        core.Answer(step, "model", "What else can I do?", ()),
        core.Rest("customer"),
    )


def plan(
    by: str,
    *calls: dict[str, Any],
    source: ev.PlanSource = "person",
    payee: str = "",
    others_payee: str = "",
    replaces: bool = False,
) -> Move:
    """Somebody hands over a plan; with `payee` for an instance that is given whom to pay, with `others_payee` for one
    of another data subject too.
    """
    instances = (InstanceGiven("x", {"to": payee}),) if payee else ()
    if others_payee:
        instances += (InstanceGiven("y", {"to": others_payee}, "C-2", OTHER),)
    return to(
        "main", lambda system, _: ProposePlan(tuple(calls), by, instances=instances, source=source, replace=replaces)
    )


def begins(slot: str, again: bool = False) -> Move:
    """The worker begins what is next in a session, or lets what is due happen; `again`: after a crash, in which it
    forgot what it was at.
    """

    def move(system: System) -> System:
        name = named(system, slot)
        held = system.state(name)
        flying = frozenset() if again else frozenset(call.id for call in calls_in(held, CallStatus.RUNNING))
        stopped = system.halt.held_calls(held)
        ready = left(next_actions(held, system.at, flying, 8, stopped), system.halt, flying)
        for action in ready:
            if isinstance(action, RunCall) and action.again == again:
                begun = handing_over(system.after(name, core.Begin(action.call, standing=system.standing())), name)
                return _first_of(move, begun) if isinstance(begun.trail[-1][1], ev.PlanCommitted) else begun
            if isinstance(action, MoveChart | RingTimer | LetExpire):
                return system.after(name, _due(action, system.at))
        raise Nowhere("nothing is to begin")

    return move


def _due(action: MoveChart | RingTimer | LetExpire, at: str) -> core.Command:
    match action:
        case MoveChart():
            return core.Wind()
        case RingTimer():
            return core.Ring(at)
        case LetExpire():
            return core.ExpireSession()


def _first_of(move: Move, system: System) -> System:
    """A plan that has just been committed, and the first of its calls."""
    try:
        return move(system)
    except Refused:
        return system


def handing_over(system: System, name: str) -> System:
    """The running calls that sessions of their own are to do get these, as the runtime opens them."""
    held = system.state(name)
    for call in calls_in(held, CallStatus.RUNNING):
        planned_as = planned(held.plans, call.id)
        if planned_as is None or not planned_as.delegate or call.delegate or held.ended:
            continue
        child = f"child#{len(system.sessions)}"
        opened = held.opened
        assert opened is not None
        system = system.after(child, core.Open(opened.customer, opened.team, opened.agent, opened.channel))
        system = replace(system, parents={**system.parents, child: (name, call.id)})
        system = system.after(name, Delegated(call.id, child))
        system = system.after(child, core.TakeTask(
            name, call.id, "agent:bank", plan=ProposePlan(SAVED, "agent:bank", True, source="delegate"),
            remembered=remembered_by(system.state(name)), authors=authors_of(held, call),
        ))  # fmt: skip
    return system


def returns(system: System) -> System:
    """The oldest call that runs anywhere returns."""
    return _settles(system, lambda call: core.Return(call.id, call.attempt, {"amount": money(SMALL), "receipt": "r"}))


def fails(system: System) -> System:
    """It fails for reasons that are not its own."""
    return _settles(system, lambda call: core.Fail(call.id, call.attempt, "no answer", transient=True))


def _settles(system: System, make: Callable[[Any], core.Command]) -> System:
    for name, held in system.sessions.items():
        for call in calls_in(held.state, CallStatus.RUNNING):
            if not call.delegate:
                return system.after(name, make(call))
        for key, late in held.state.versions.late.items():
            if not key.startswith(tuple(call for _, call in system.parents.values()) or ("\0",)):
                return system.after(name, core.Return(key, late.attempt, {}))
    raise Nowhere("nothing runs")


def intervenes(how: str) -> Move:
    """A person settles the newest call that failed or of which nobody knows."""

    def move(system: System) -> System:
        for name, held in system.sessions.items():
            for call in reversed(calls_in(held.state, CallStatus.FAILED, CallStatus.DOUBTED)):
                result = {"receipt": "by hand"} if how in ("supply", "happened") else None
                return system.after(name, core.Intervene(call.id, how, "user:ann", "looked at it", result))  # type: ignore[arg-type]
        raise Nowhere("nothing is stuck")

    return move


def effects(system: System, name: str, seq: int) -> Since:
    """What a session and those that did its calls have done since, as `sessions.versions.since` gathers it."""
    older = fold(system.sessions[name].history[:seq])
    stored = [(at, event) for at, (event, _) in enumerate(system.sessions[name].history)][seq:]
    found = list(since(older, stored, DECLARED).lasting)
    for each in handed_over(older, stored):
        theirs = effects(system, each.session, 0).lasting
        found += [structs.replace(effect, session=each.session) for effect in theirs]
    return Since(tuple(found))


def rolls_back(slot: str, to_what: str) -> Move:
    """To just before the newest event of a kind, or by its number."""

    def move(system: System) -> System:
        name = named(system, slot)
        events = [ev.kind_of(event) for event, _ in system.sessions[name].history]
        seq = max((at for at, kind in enumerate(events) if kind == to_what), default=0)
        if not 0 < seq < len(events):
            raise Nowhere(to_what)
        older, found = fold(system.sessions[name].history[:seq]), effects(system, name, seq)
        seen = consequences(system.state(name), older, found).digest
        return system.after(name, core.Rollback(seq, "user:sue", "it misheard", seen, older, found))

    return move


def forks(system: System) -> System:
    """Somebody forks the conversation from where it stood before the newest request."""
    main = system.sessions["main"]
    gates = [at for at, (event, _) in enumerate(main.history) if isinstance(event, ev.ApprovalRequested)]
    seq = gates[-1] if gates else len(main.history)
    older = fold(main.history[:seq])
    return system.after(f"fork#{len(system.sessions)}", core.Fork("main", seq, "user:sue", "what if", older))


def promotes(system: System) -> System:
    """The newest fork takes the place of the session, in one step."""
    name, main = named(system, "fork"), system.sessions["main"]
    origin = system.state(name).versions.origin
    assert origin is not None
    done, older = effects(system, "main", origin.seq), fold(main.history[: origin.seq])
    moved = main.state.chart if main.state.chart.at != older.chart.at else None
    promote = Promote("user:sue", "the better way", len(main.history), (), done, remembered_by(main.state), moved)
    return system.after("main", Supersede(name, "user:sue", "the better way")).after(name, promote)


def changes_state(by: str, amount: int) -> Move:
    """A person writes what plans read."""

    def make(system: System, held: SessionState) -> core.Command:
        change = PathChange("state.check", {"amount": money(amount)})
        return core.ChangeState(held.seq, (change,), by, Actor("staff"), f"c-{held.seq}", held.pad, "it was wrong")

    return to("main", make)


def edits_plan(by: str, *calls: dict[str, Any]) -> Move:
    return to("main", lambda system, held: EditPlan(tuple(calls), by, held.plans.version))


def waits(seconds: int) -> Move:
    return lambda system: replace(system, seconds=system.seconds + seconds)


def newer(tool: str, **changes: Any) -> Move:
    """A newer version of a tool is deployed."""

    def move(system: System) -> System:
        facts = structs.replace(system.tools[tool], version=system.tools[tool].version + 1, **changes)
        return replace(system, tools={**system.tools, tool: facts})

    return move


def stops(tool: str) -> Move:
    def move(system: System) -> System:
        halt = Halt(tools=frozenset()) if tool in system.halt.tools else Halt(tools=frozenset({tool}))
        return replace(system, halt=halt)

    return move


def loses(by: str) -> Move:
    """Somebody may decide nothing any more."""
    return lambda system: replace(system, rights={**system.rights, by: frozenset()})


def lends(giver: str, receiver: str) -> Move:
    """Somebody delegates their right to another, or ends that."""

    def move(system: System) -> System:
        told, now = system.delegations, system.seconds
        runs = [each for each in system.delegated(now) if (each.giver, each.receiver) == (giver, receiver)]
        ended = tuple(replace(each, until=now) if each in runs else each for each in told)
        return replace(system, delegations=ended if runs else (*told, Delegation(giver, receiver, now)))

    return move


def sets_timer(what: TimerKind, seconds: int) -> Move:
    def make(system: System, _: SessionState) -> core.Command:
        return core.SetTimer(what, stamp(START + timedelta(seconds=system.seconds + seconds)), "user:sue", "look")

    return to("main", make)


def newer_schema(system: System) -> System:
    """A newer version of the schema is deployed: sessions take it with their next step."""
    return replace(system, schemas=NEWER)


def newer_chart(system: System, keeps: bool) -> System:
    """A newer version of the chart is deployed; `keeps`: beside the older one."""
    if not system.charts or FORBIDDING in system.charts:
        raise Nowhere("there is no older chart")
    return replace(system, charts=(*system.charts, FORBIDDING) if keeps else (FORBIDDING,))


def of_request(make: Callable[[str, System], core.Command]) -> Move:
    def move(system: System) -> System:
        name, request = waiting(system)
        return system.after(name, make(request.asked.request, system))

    return move


MOVES: dict[str, Move] = {
    "the agent proposes a small transfer": proposes(transfer(SMALL)),
    "in the fork the agent proposes a small transfer": proposes(transfer(SMALL), slot="fork"),
    "the agent proposes a large transfer": proposes(transfer(LARGE)),
    "the agent proposes a transfer to a stranger": proposes(transfer(SMALL, STRANGER)),
    "the agent proposes a letter": proposes(ev.CallProposed("1", "post_letter", {"to": "C-1"}, None)),
    "the agent proposes check, then pay": plan("agent:bank", CHECK, PAY, source="model"),
    "zoe proposes a transfer": plan("user:zoe", PAY_LARGE),
    "sue proposes check, then pay": plan("user:sue", CHECK, PAY),
    "sue proposes it for x, own account": plan("user:sue", CHECK, FOR_EACH, payee=OWN),
    "sue proposes it for x, another account, instead": plan("user:sue", CHECK, FOR_EACH, payee=SAVINGS, replaces=True),
    "ann hands over another plan instead": plan("user:ann", CHECK, replaces=True),
    "sue proposes it for x and for another customer": plan(
        "user:sue", CHECK, FOR_EACH, payee=OWN, others_payee=SAVINGS
    ),
    "the other customer is erased": to("main", lambda *_: core.EraseSubject(OTHER)),
    "ann withdraws what waits or is ready": lambda system: _withdraws(system),
    "sue proposes it for x, a stranger": plan("user:sue", CHECK, FOR_EACH, payee=STRANGER),
    "the agent hands a task over": plan("agent:bank", HANDED, source="model"),
    "ann approves": decides("approve", "user:ann"),
    "bob approves": decides("approve", "user:bob"),
    "sue approves": decides("approve", "user:sue"),
    "zoe approves": decides("approve", "user:zoe"),
    "dan approves": decides("approve", "user:dan"),
    "ann edits the amount down": decides("edit", "user:ann", amount=money(SMALL + 1)),
    "ann edits the payee": decides("edit", "user:ann", to=STRANGER),
    "sue edits the amount up": decides("edit", "user:sue", amount=money(TOP)),
    "ann rejects": decides("reject", "user:ann"),
    "zoe answers in its place": lambda system: _responds(system),
    "the deadline passes": of_request(lambda key, _: core.Expire(key)),
    "the worker begins": begins("main"),
    "the worker begins in the delegate": begins("child"),
    "the worker begins in the fork": begins("fork"),
    "a worker died, another begins": begins("main", again=True),
    "a call returns": returns,
    "a call fails": fails,
    "ann retries": intervenes("retry"),
    "ann supplies a result": intervenes("supply"),
    "ann says it happened": intervenes("happened"),
    "ann says it did not happen": intervenes("not_happened"),
    "the agent answers": answers,
    "the customer speaks": to("main", lambda *_: core.Say("customer", "Hello?", "customer")),
    "zoe speaks as the customer": to("main", lambda *_: core.Say("customer", "Yes, do it.", "user:zoe")),
    "zoe takes over": to("main", lambda *_: core.TakeOver("user:zoe")),
    "zoe hands back": to("main", lambda *_: core.HandBack("as it was", "user:zoe", speaks=False)),
    "sue whispers": to("main", lambda *_: core.Whisper("be brief", "user:sue")),
    "sue changes what the plan reads": changes_state("user:sue", LARGE),
    "sue edits the plan's check": edits_plan("user:sue", {**CHECK, "hint": "more"}, PAY),
    "ann pauses": to("main", lambda *_: core.Pause("wait", "user:ann")),
    "ann resumes": to("main", lambda *_: core.Resume("user:ann")),
    "the session is cancelled": to("main", lambda *_: core.Cancel("fraud", "user:ann")),
    "the customer hangs up": to("main", lambda *_: core.End("hung up", "customer")),
    "rolled back to before the plan": rolls_back("main", "plan.committed"),
    "rolled back to before the request": rolls_back("main", "approval.requested"),
    "rolled back to before the retry": rolls_back("main", "call.intervened"),
    "forked": forks,
    "in the fork a task is handed over": to(
        "fork", lambda system, _: ProposePlan((HANDED,), "agent:bank", source="model")
    ),
    "the fork is promoted": promotes,
    "transfers are stopped, or not any more": stops("transfer"),
    "ann loses her rights": loses("user:ann"),
    "sue loses her rights": loses("user:sue"),
    "zoe delegates to dan, or not any more": lends("user:zoe", "user:dan"),
    "sue delegates to bob no more, or again": lends("user:sue", "user:bob"),
    "sue sets a reminder": sets_timer("remind", 100),
    "sue lets the session expire": sets_timer("expire", 100),
    "a newer schema is deployed": newer_schema,
    "a newer chart is deployed": lambda system: newer_chart(system, keeps=True),
    "a newer chart takes the place of the older": lambda system: newer_chart(system, keeps=False),
    "a newer transfer is deployed": newer("transfer", retry_seconds=60.0),
    "a newer letter may run twice": newer("post_letter", effect="idempotent"),
    "ten minutes pass": waits(600),
}


def _withdraws(system: System) -> System:
    for name, held in system.sessions.items():
        for call in calls_in(held.state, CallStatus.READY, CallStatus.WAITING):
            return system.after(name, core.Withdraw("user:ann", "not wanted any more", call=call.id))
    raise Nowhere("nothing waits")


def _responds(system: System) -> System:
    name, request = waiting(system)
    return system.after(name, core.Decide(
        request.asked.request, "respond", "user:zoe", system.rights["user:zoe"], response="The branch does it.",
        seen=system.state(name).calls[request.asked.call].approved or request.asked.digest,
        names=system.authority("user:zoe").names,
    ))  # fmt: skip


def opened(made: Chart | None = None) -> System:
    """A session whose customer has asked for something."""
    return replace(System(), charts=(made,) if made else ()).after(
        "main", core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Move money, please.", "customer")
    )


def path(*moves: str, made: Chart | None = None) -> System:
    """What these moves lead to. Raises Refused where one is not possible."""
    system = opened(made)
    for name in moves:
        system = MOVES[name](system)
    return system
