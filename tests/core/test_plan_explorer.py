"""An approved plan in every order of what can happen to it: people change values, edit the plan, supply and answer in
the place of results, propose other plans; tools get other versions; approvers lose their right.

The real `decide` and `evolve` go through all interleavings up to a depth. Each call that begins under the plan's
request is judged from the events alone: its arguments are those that the approved plan gives, from values as they stood
when it was asked about and from results of its own calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import pytest
from msgspec import structs

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide import calls as rules_of_calls
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.conversation import AddData
from agentstate.engine.decide.commands.plans import EditPlan, InstanceGiven, ProposePlan
from agentstate.engine.decide.plans import calls as plan_calls
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state import approved_inputs, plans
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.rounds import place_of
from agentstate.engine.state.session import SessionState, pending
from agentstate.errors import Refused
from tests.core import worlds
from tests.core.laws import Unlawful, require
from tests.core.test_approval_covers import RULES, approved, changed
from tests.core.test_engine_explorer import essence
from tests.core.test_plans_in_sessions import key, step
from tests.core.test_versions import rollback
from tests.core.worlds import World, opened
from tests.searching import FULL

DEPTH = 5 if FULL else 4
CHECK = step("authorize", "state.first", _id="check", customer="†state.who")
MOVE = step("transfer", "state.receipt", _id="move", amount="†state.first.amount", note="†claim.note")
TELL = step("transfer", "state.receipt", _id="move", amount={"minor": 5}, who="†state.who", note="†claim.note")
NOTE = step("load_customer", "state.aside", _id="note", customer="C-1")
PAY = step("transfer", "state.receipt", _id="move", to="†input.to", amount={"minor": 5})
Move = Callable[[World], World]


def waiting() -> World:
    """A plan that reads values of the session; it waits for a person."""
    world = changed(opened(), "state.who", "Ann").after(AddData("claim", {"note": "as said"}, "user:pat"))
    return world.with_rules(*RULES).after(ProposePlan((TELL,), "user:pat"))


def under_way() -> World:
    """A plan that reads values of the session and the result of its own check, approved and committed."""
    world = changed(opened(), "state.who", "Ann").after(AddData("claim", {"note": "as said"}, "user:pat"))
    return approved(CHECK, MOVE, NOTE, world=world)


def instances() -> World:
    """A plan for one instance, which is given whom to pay; it waits for a person."""
    members = (InstanceGiven("x", {"to": "own account"}),)
    return opened().with_rules(*RULES).after(ProposePlan((PAY,), "user:pat", instances=members))


def decides(kind: str, **more: Any) -> Move:
    return lambda world: world.after(worlds.decision(world, kind, "sue", **more))


def commits(world: World) -> World:
    return world.after(core.Begin(world.state.plans.proposed))


def named(world: World, name: str) -> str:
    return key(world, name + ("@x" if world.state.plans.many else ""))


def begins(name: str, may: frozenset[str] = worlds.SENIOR) -> Move:
    standing = {"sue": (Authority(may, frozenset()),)}
    return lambda world: world.after(core.Begin(named(world, name), authorities=standing))


def returns(name: str) -> Move:
    """The call returns an amount that no other writer gives."""

    def move(world: World) -> World:
        call = world.state.calls[named(world, name)]
        return world.after(core.Return(call.id, call.attempt, {"amount": {"minor": 1_000}}))

    return move


def edits(name: str, **other: Any) -> Move:
    def move(world: World) -> World:
        committed = world.events(ev.PlanCommitted)[-1]
        calls = tuple({**call, **other} if call["_id"] == name else call for call in committed.calls)
        return world.after(EditPlan(calls, "user:maya", world.state.plans.version))

    return move


def beside(world: World) -> World:
    """The agent's own call, which writes where the plan reads, is let through and returns."""
    world = world.asked(worlds.proposed("load_customer", "state.first", customer="C-9"))
    if pending(world.state):
        world = world.after(worlds.decision(world, "approve", "sue"))
    return world.ran(world.call("load_customer"), {"amount": {"minor": 66_600}})


def proposes(*calls: dict[str, Any], **more: Any) -> Move:
    return lambda world: world.after(ProposePlan(calls, "user:eve", replace=True, **more))


def newer(world: World) -> World:
    return replace(world, tools={**world.tools, "transfer": worlds.facts("transfer", "idempotent", version=2)})


MOVES: dict[str, Move] = {
    "sue approves": decides("approve"),
    "sue answers in its place": decides("respond", response="The branch does it."),
    "the plan is committed": commits,
    "check begins": begins("check"),
    "check returns": returns("check"),
    "move begins": begins("move"),
    "move begins, and sue has lost the right": begins("move", frozenset()),
    "maya changes the result": lambda world: changed(world, "state.first", {"amount": {"minor": 66_600}}),
    "maya changes whom": lambda world: changed(world, "state.who", "Zed"),
    "maya changes the data": lambda world: world.after(AddData("claim", {"note": "another"}, "user:maya")),
    "maya edits check": edits("check", customer="C-666"),
    "maya edits note": edits("note", customer="C-2"),
    "a call beside the plan writes": beside,
    "eve proposes another plan": proposes(NOTE),
    "transfer has another version": newer,
    "put back": lambda world: world.after(rollback(world, 5)),
}
OF_INSTANCES: dict[str, Move] = {
    **{name: MOVES[name] for name in ("sue approves", "the plan is committed", "move begins", "put back")},
    "eve proposes for the same": proposes(PAY, instances=(InstanceGiven("x", {"to": "a stranger"}),)),
    "sue rejects": decides("reject"),
    "transfer has another version": newer,
}


class Reader:
    """Reads a history for what each call under a plan's request may have been given, without the engine's rules."""

    def __init__(self, world: World) -> None:
        self.stored = world.history
        self.history = [event for event, _ in world.history]

    @cached_property
    def states(self) -> list[SessionState]:
        """The state before each entry."""
        states = [SessionState()]
        for event, at in self.stored:
            states.append(evolve(states[-1], event, at))
        return states

    def judge(self, name: str, fresh: int) -> None:
        """Each intent from entry `fresh` on that rests on the approval of a whole plan."""
        for at in range(fresh, len(self.history)):
            event = self.history[at]
            asked = self._asked(event.request) if isinstance(event, ev.ToolIntended) else None
            if asked is not None and self.history[asked].tool == "plan" and event.tool != "plan":
                again = event.attempt > 1  # a lost result is settled by what was begun: nobody is asked anew
                require(again or name != "move begins, and sue has lost the right", "who approved it still may")
                self._as_approved(event, asked, at)

    def _asked(self, request: str) -> int | None:
        found = (n for n, e in enumerate(self.history) if isinstance(e, ev.ApprovalRequested) and e.request == request)
        return next(found, None)

    def _as_approved(self, intent: ev.ToolIntended, asked: int, at: int) -> None:
        plan = self.history[asked].arguments
        _, _, short = intent.call.partition(".")
        name, _, instance = short.partition("@")
        written = next(call for call in plan["calls"] if call["_id"] == name)
        require(plan["tools"][intent.tool] == intent.tool_version, "it runs in the version that was approved")
        inputs = {each.get("name", ""): each.get("inputs", {}) for each in plan["members"]}
        for argument, value in intent.arguments.items():
            wanted = written[argument]
            if isinstance(wanted, str) and wanted.startswith("†input."):
                wanted = inputs[instance][wanted.removeprefix("†input.")]
            elif isinstance(wanted, str) and wanted.startswith("†"):
                wanted = self._at(wanted[1:].split("."), asked, at)
            require(value == wanted, f"{argument} of {name} is as approved, or its plan's own result")

    def _at(self, path: list[str], asked: int, at: int) -> Any:
        """The value at a path: the result of the plan's check if that ran as approved, else as it stood when asked."""
        own = [n for n in range(asked, at) if path[:2] == ["state", "first"] and self._is_own(n, asked)]
        value: Any
        if own:
            value = {"state": {"first": self.history[own[-1]].result}}
        else:
            then = self.states[asked]
            value = {"state": then.pad, **{kind: held.value for kind, held in then.plans.own.data.items()}}
        for part in path:
            require(part in value, "what it reads stood there when it was asked about")
            value = value[part]
        return value

    def _is_own(self, n: int, asked: int) -> bool:
        event = self.history[n]
        if not isinstance(event, ev.ToolReturned) or place_of(self.states[n].plans, event.call) is None:
            return False
        then = self.states[asked].pad
        began = next(e for e in reversed(self.history[:n]) if isinstance(e, ev.ToolIntended) and e.call == event.call)
        return began.tool == "authorize" and began.arguments == {"customer": then["who"]}


def explored(world: World, moves: Mapping[str, Move], depth: int) -> Iterator[World]:
    """Every world that is reached by `depth` moves; each is judged. A refused move leads nowhere."""
    layer = {_known(world): world}
    for _ in range(depth):
        following: dict[Any, World] = {}
        for here in layer.values():
            for name, move in moves.items():
                try:
                    then = move(here)
                except (Refused, KeyError, IndexError, ValueError):
                    continue
                Reader(then).judge(name, len(here.history))
                following.setdefault(_known(then), then)
        yield from following.values()
        layer = following


def _known(world: World) -> tuple[bytes, int]:
    return essence(world.state), world.tools["transfer"].version


STARTS: dict[str, tuple[Callable[[], World], Mapping[str, Move]]] = {
    "waiting": (waiting, MOVES),
    "under way": (under_way, MOVES),
    "instances": (instances, OF_INSTANCES),
}


@pytest.mark.parametrize("start", STARTS)
def test_no_covered_call_begins_with_a_value_that_people_changed_after_its_approval(start):
    world, moves = STARTS[start]
    covered, by_itself = 0, 0
    for then in explored(world(), moves, DEPTH):
        covered += any(event.tool == "transfer" and event.request for event in then.events(ev.ToolIntended))
        by_itself += any(call.status is CallStatus.WAITING and call.round for call in then.state.calls.values())
    assert covered
    assert by_itself


def any_version(state: Any, call: Any, facts: Any, asked: Any) -> Any:
    """Whether the approval covers a call, whatever the version of its tool."""
    tools = {**state.plans.approved.tools, call.tool: facts.version} if state.plans.approved else {}
    held = structs.replace(state.plans.approved, tools=tools) if state.plans.approved else None
    return plan_calls.covering(
        structs.replace(state, plans=structs.replace(state.plans, approved=held)), call, facts, asked
    )


def inputs_at_once(state: SessionState, event: ev.InstanceProposed, at: str) -> SessionState:
    """What an instance is offered, in force from then on for the round that is under way."""
    then = instance_proposed(state, event, at)
    part = structs.replace(then.plans.instances[event.instance], inputs=event.inputs)
    return structs.replace(then, plans=structs.replace(then.plans, instances={event.instance: part}))


instance_proposed = plans.instance_proposed
MENDS: dict[str, tuple[str, Any, str, Any]] = {
    "values of calls": ("under way", approved_inputs, "_approved", lambda before, state, event, written: state),
    "values while it waits": ("waiting", approved_inputs, "_proposed", lambda before, state, event, written: state),
    "edits": ("under way", plans, "_approval", lambda before, event, plan: before.approved),
    "rights": ("waiting", rules_of_calls, "lost_right", lambda *_: False),
    "versions": ("instances", rules_of_calls.plans, "covering", any_version),
}


@pytest.mark.parametrize("mend", MENDS)
def test_without_any_one_mend_the_exploration_finds_it(mend, monkeypatch):
    start, module, name, without = MENDS[mend]
    world, moves = STARTS[start]
    monkeypatch.setattr(module, name, without)
    with pytest.raises(Unlawful):
        for _ in explored(world(), moves, DEPTH):
            pass


def test_an_instance_that_takes_over_what_is_only_offered_is_found(monkeypatch):
    monkeypatch.setitem(event_handler.by_type, ev.InstanceProposed, inputs_at_once)
    monkeypatch.setattr(approved_inputs, "watched", lambda before, state, event: state)
    members = (InstanceGiven("x", {"to": "own account"}),)
    with pytest.raises(Unlawful):
        for _ in explored(approved(PAY, instances=members), OF_INSTANCES, DEPTH):
            pass
