"""Makes the moves of the approval model check: what people, the agent, the worker and the installation do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from msgspec import structs

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import LetExpire, MoveChart, RingTimer, RunCall, next_actions
from agentstate.engine.decide.commands.plans import Delegated, EditPlan, InstanceGiven, ProposePlan
from agentstate.engine.decide.commands.versions import Promote, Supersede
from agentstate.engine.decide.reviewing import authors_of
from agentstate.engine.decide.versions import consequences
from agentstate.engine.halting import Halt, left
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.schemas import Actor
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.rounds import planned
from agentstate.engine.state.session import Request, SessionState, calls_in, pending, remembered_by
from agentstate.engine.timers import TimerKind
from agentstate.engine.versions.effects import Since, handed_over, since
from agentstate.errors import Refused
from tests.core.approval_policy import (
    DECLARED,
    FORBIDDING,
    LARGE,
    NEWER,
    OTHER,
    OWN,
    SMALL,
    START,
    money,
)
from tests.core.approval_system import Delegation, System

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
        numbered = tuple(structs.replace(call, id=str(place)) for place, call in enumerate(calls, 1))
        return system.after(
            named(system, slot),
            core.Ask(step, "model", 0, 0, tuple(system.tools), "digest"),
            core.Answer(step, "model", "", numbered),
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
                begun = handing_over(system.after(name, core.Begin(action.call, authorities=system.standing())), name)
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
            authors=authors_of(held, call),
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
    """What a session and those that did its calls have done since, as `sessions.core.history.since` gathers it."""
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


def withdraws(system: System) -> System:
    """A person withdraws the first call that waits or is ready."""
    for name, held in system.sessions.items():
        for call in calls_in(held.state, CallStatus.READY, CallStatus.WAITING):
            return system.after(name, core.Withdraw("user:ann", "not wanted any more", call=call.id))
    raise Nowhere("nothing waits")


def responds(system: System) -> System:
    """A person answers in place of the latest request's call."""
    name, request = waiting(system)
    return system.after(name, core.Decide(
        request.asked.request, "respond", "user:zoe", system.rights["user:zoe"], response="The branch does it.",
        seen=system.state(name).calls[request.asked.call].approved or request.asked.digest,
        names=system.authority("user:zoe").names,
    ))  # fmt: skip
