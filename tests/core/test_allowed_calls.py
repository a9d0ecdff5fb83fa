"""A property over the commands of a session: an allowed call has begun, waits to begin and is woken for, or ended by a
name; a session that has ended has no pending request.

Judged from the events alone, on random walks over the real `decide` and `evolve`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentstate.engine import advance
from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import Nothing, next_action
from agentstate.engine.decide import withdrawals
from agentstate.engine.decide.commands.plans import ProposePlan
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import Call, calls_in, pending
from agentstate.errors import Refused
from tests.core import worlds
from tests.core.laws import Unlawful, require
from tests.core.worlds import AUTHORIZE, MAY, World, transfer
from tests.searching import FULL

WALKS = 20_000 if FULL else 1_500
STEPS = 45
Rule = worlds.pol.Rule
RULES: tuple[tuple[Any, ...], ...] = (
    (
        Rule("free", ("authorize", "load_customer"), "true", 0, "allow", "Reads."),
        Rule("seen", ("transfer", "post_letter"), "true", 2, "approve", "Looked at."),
        Rule("plans", ("plan",), "true", 1, "allow", "Plans go on."),
    ),
    (
        Rule("free", ("authorize", "load_customer", "post_letter"), "true", 0, "allow", "Reads."),
        Rule("two", ("transfer",), "true", 2, "approve", "Looked at by two, and held.", quorum=2, hold=20),
        Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at."),
    ),
)
READ = {"_tool": "load_customer", "_outputPath": "state.customer", "customer": "C-1"}
PAY = {"_tool": "transfer", "_outputPath": "state.paid", "amount": {"minor": 100, "currency": "USD"}}
LETTER = worlds.proposed("post_letter", to="Ada")


def judge(world: World) -> None:
    """Raises Unlawful for an allowed call without an end or a wake-up."""
    state, open_calls = world.state, allowed(world)
    require(not (state.ended and pending(state)), "no request outlives its session")
    for call in open_calls:
        held = state.calls.get(call)
        require(held is not None and held.status is CallStatus.READY, f"{call} has begun or ended by a name")
        require(not state.ended, f"{call} ended with its session by a name")
        assert held is not None
        require(is_woken_for(world, held), f"{call} is woken for")
    ready = {call.id for call in calls_in(state, CallStatus.READY)}
    require(ready <= open_calls, "what is about to begin was allowed")


def is_woken_for(world: World, call: Call) -> bool:
    """Whether the runtime looks at the call by itself, or a person has what keeps it back in hand."""
    state = world.state
    action = next_action(state, stamp(world.given.at))
    if state.paused_at or (state.taken_by and not call.approved):
        return True  # a person holds it back, and lets it go on
    return not isinstance(action, Nothing) or bool(action.until)


def allowed(world: World) -> set[str]:
    """The calls that were allowed and that no later event began or ended."""
    found: set[str] = set()
    asked: dict[str, str] = {}
    over = False  # then what did not happen has failed, and does not begin again
    for event, _ in world.history:
        match event:
            case ev.ApprovalRequested():
                asked[event.request] = event.call
                found.discard(event.call)
            case ev.CallAllowed():
                found.add(event.call)
            case ev.RequestEnded(outcome="approved" | "edited" | "unopposed"):
                found.add(asked[event.request])
            case ev.ToolFailed() if event.retry_at:
                found.add(event.call)
            case ev.CallIntervened(how="retry" | "not_happened") if not over:
                found.add(event.call)
            case ev.SessionEnded() | ev.SessionCancelled():
                over = True
            case ev.ToolIntended() | ev.ToolFailed() | ev.CallWithdrawn() | ev.CallRefused():
                found.discard(event.call)
            case ev.PlanCommitted():
                found.discard(event.round)
            case ev.RunInterrupted():
                found -= set(event.calls)
    return found


def _some(world: World, *statuses: CallStatus) -> Call:
    """A call that stands so, the last one; a stranger where there is none."""
    return [*calls_in(world.state, *statuses), Call("none", "none", {}, None, CallStatus.DONE)][
        -1 if world.seconds % 2 else 0
    ]


def _decided(kind: str, by: str) -> Callable[[World], object]:
    def command(world: World) -> object:
        waits = pending(world.state)
        if not waits:
            raise Refused("nothing waits")
        asked = waits[-1].asked
        shown = world.state.calls[asked.call].approved or asked.digest
        return core.Decide(asked.request, kind, by, MAY[by], seen=shown, reason="because")  # type: ignore[arg-type]

    return command


def _begun(world: World) -> object:
    action = next_action(world.state, stamp(world.given.at))
    return core.Begin(getattr(action, "call", "none"))


def _of_request(make: Callable[[str], object]) -> Callable[[World], object]:
    def command(world: World) -> object:
        waits = pending(world.state)
        if not waits:
            raise Refused("nothing waits")
        return make(waits[-1].asked.request)

    return command


def _returned(world: World) -> object:
    call = _some(world, CallStatus.RUNNING)
    return core.Return(call.id, call.attempt, {"allowed": True, "receipt": "r", "name": "Ada"})


def _failed(transient: bool) -> Callable[[World], object]:
    def command(world: World) -> object:
        call = _some(world, CallStatus.RUNNING)
        return core.Fail(call.id, call.attempt, "away", transient, 5.0, "" if transient else "broke")

    return command


def _intervened(how: str) -> Callable[[World], object]:
    def command(world: World) -> object:
        call = _some(world, CallStatus.FAILED, CallStatus.DOUBTED, CallStatus.READY)
        return core.Intervene(call.id, how, "user:sue", "looked at")  # type: ignore[arg-type]

    return command


MOVES: dict[str, Callable[[World], object]] = {
    "approve": _decided("approve", "ann"),
    "approve too": _decided("approve", "sue"),
    "reject": _decided("reject", "bob"),
    "ignore": _decided("ignore", "bob"),
    "expire": _of_request(core.Expire),
    "hold over": _of_request(core.HoldOver),
    "undo": _of_request(lambda request: core.Undo(request, "ann", MAY["ann"], "no")),
    "begin": _begun,
    "return": _returned,
    "fail": _failed(False),
    "fail for now": _failed(True),
    "retry": _intervened("retry"),
    "skip": _intervened("skip"),
    "not happened": _intervened("not_happened"),
    "withdraw": lambda world: core.Withdraw("user:p", "not wanted", call=_some(world, CallStatus.READY).id),
    "withdraw what waits": _of_request(lambda request: core.Withdraw("user:p", "not wanted", request=request)),
    "say": lambda world: core.Say("customer", "And my balance?", "customer"),
    "plan": lambda world: ProposePlan((READ, PAY), "user:p"),
    "plan instead": lambda world: ProposePlan((PAY,), "user:p", replace=True),
    "pause": lambda world: core.Pause("wait", "user:sue"),
    "resume": lambda world: core.Resume("user:sue"),
    "take over": lambda world: core.TakeOver("user:sue", "she asks"),
    "hand back": lambda world: core.HandBack("Go on.", "user:sue"),
    "set a timer": lambda world: core.SetTimer("remind", stamp(world.given.at), "user:sue", "again"),
    "expire the session": lambda world: core.ExpireSession(),
    "end": lambda world: core.End("hung up", "customer"),
    "cancel": lambda world: core.Cancel("fraud", "user:sue"),
    "supersede": lambda world: core.Supersede("fork", "user:sue", "goes on there"),
    "erase": lambda world: core.EraseCustomer("kid", "user:sue"),
}
RARE = ("end", "cancel", "supersede", "erase")  # what nothing follows


def _asked(world: World, chance: random.Random) -> World:
    """The model is asked and answers with calls, or with words."""
    calls = chance.sample([AUTHORIZE, transfer(chance.randint(1, 9) * 100), LETTER], chance.randint(0, 2))
    numbered = [ev.CallProposed(f"{n}", each.tool, each.arguments, each.output_path) for n, each in enumerate(calls)]
    return world.asked(*numbered, text="" if calls else "Well.")


def walk(seed: int) -> World:
    """One life of a session, judged after each command. Raises Unlawful."""
    chance = random.Random(seed)
    world = worlds.opened().with_rules(*RULES[seed % len(RULES)])
    for number in range(STEPS):
        name = chance.choice([*MOVES, "ask", "ask", "begin", "begin", "approve", "approve too"])
        if name in RARE and number < STEPS // 2:
            continue
        try:
            then = _asked(world, chance) if name == "ask" else world.after(MOVES[name](world))
        except Refused:
            world = replace(world, seconds=world.seconds + 1)
            continue
        judge(then)
        world = then
    return world


def walked() -> set[type]:
    """The kinds of events of all walks. Raises Unlawful."""
    return {type(event) for seed in range(WALKS) for event, _ in walk(seed).history}


def test_every_allowed_call_has_begun_waits_with_a_wake_up_or_ended_by_a_name():
    seen = walked()
    assert seen >= {ev.CallWithdrawn, ev.RoundEnded, ev.ToolReturned, ev.RequestUndone, ev.CallDoubted, ev.SessionEnded}


GUARDS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "the withdrawal of allowed calls": (withdrawals, "calls_withdrawn", lambda *_, **more: []),
    "the withdrawal of requests": (withdrawals, "requests_withdrawn", lambda *_, **more: []),
    "the wake-up of what is tried again": (advance, "_to_come", lambda *_: []),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_without_any_one_guard_a_walk_fails(guard, monkeypatch):
    where, name, without = GUARDS[guard]
    monkeypatch.setattr(where, name, without)
    with pytest.raises(Unlawful):
        walked()
