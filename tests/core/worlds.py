"""Sessions in memory for the tests of the engine: a world is a state, its history, and the rules in force.

A world never changes; a command gives the next one. No clock, no store: a command takes one second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide import offers
from agentstate.engine.instants import stamp
from agentstate.engine.looping.settings import Looping
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import Call, Request, SessionState, pending
from agentstate.errors import Invalid

ROOT = Path(__file__).resolve().parents[2]
START = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
DOWN = (pol.Editable("arguments.amount.minor", "down"),)  # an edit of a transfer that counts as an approval


def _editable(policy: pol.Policy) -> pol.Policy:
    """The policy, under which a person who lowers an amount has approved it."""
    rules = (msgspec.structs.replace(rule, edits=DOWN if rule.gate != "allow" else ()) for rule in policy.rules)
    return msgspec.structs.replace(policy, rules=tuple(rules))


BANK = _editable(pol.load_superseded((ROOT / "demo/bank_agent/library/policies/bank/1.json").read_bytes()))
SUPERVISOR = frozenset({"decide"})
SENIOR = frozenset({"decide", "decide_tier3"})
MAY: Mapping[str, frozenset[str]] = {"ann": SUPERVISOR, "bob": SUPERVISOR, "sue": SENIOR, "zoe": SENIOR}


def _any(arguments: object) -> None:
    """Takes everything."""


def _amount(arguments: object) -> None:
    assert isinstance(arguments, dict)
    amount = arguments.get("amount")
    if not isinstance(amount, dict) or not isinstance(amount.get("minor"), int) or amount["minor"] < 1:
        raise Invalid("an amount has whole cents above 0", field="arguments.amount")


def _plain(arguments: dict[str, Any], state: dict[str, Any]) -> str:
    return f"Do it with {len(arguments)} arguments"


def _move(arguments: dict[str, Any], state: dict[str, Any]) -> str:
    return f"Move {arguments['amount']['minor']} cents"


def facts(
    name: str,
    effect: str,
    check: Any = _any,
    preview: Any = _plain,
    version: int = 1,
    amounts: tuple[str, ...] | None = None,
) -> core.ToolFacts:
    """What rules know of a tool."""
    return core.ToolFacts(name, version, effect, 3, 1.0, check, preview, amounts=amounts)


TOOLS = {
    tool.name: tool
    for tool in (
        facts("load_customer", "pure"),
        facts("authorize", "idempotent"),
        facts("transfer", "idempotent", _amount, _move, amounts=("amount",)),
        facts("post_letter", "once"),
    )
}


@dataclass(frozen=True)
class World:
    """A session as of one moment."""

    state: SessionState = field(default_factory=SessionState)
    history: tuple[tuple[ev.AnyEvent, str], ...] = ()
    policy: pol.Policy = BANK
    memory: Remembering = field(default_factory=Remembering)
    tools: Mapping[str, core.ToolFacts] = field(default_factory=lambda: TOOLS)
    seconds: int = 0
    approvers: tuple[core.Approver, ...] | None = None  # who may decide in the team; None: nobody counts them
    offers: tuple[str, ...] = ()  # what the model may use beside its tools
    loop: Looping = Looping()  # noqa: RUF009 (frozen)

    @property
    def given(self) -> core.CommandContext:
        """What the outside hands to `decide` now. Ids are fresh, and the same for the same history."""
        numbers = count()
        at = START + timedelta(seconds=self.seconds)
        people = self.approvers
        return core.CommandContext(
            at,
            lambda: f"id-{len(self.history)}-{next(numbers)}",
            self.tools,
            self.policy,
            self.memory,
            offers=frozenset(self.offers),
            loop=self.loop,
            approvers=None if people is None else lambda: people,
        )

    def after(self, *commands: object) -> World:
        """The world after `commands`. Raises what the first refused one raises."""
        world = self
        for command in commands:
            world = world._one(command)
        return world

    def _one(self, command: object) -> World:
        given = self.given
        state, at = self.state, stamp(given.at)
        events = core.decide(command, state, given)
        for event in events:
            state = evolve(state, event, at)
        told = tuple((event, at) for event in events)
        return replace(self, state=state, history=self.history + told, seconds=self.seconds + 1)

    def asked(self, *calls: ev.CallProposed, text: str = "") -> World:
        """The world after the model was asked and answered with `calls`."""
        step = f"step-{len(self.history)}"
        numbered = tuple(msgspec.structs.replace(call, id=f"call_{place}") for place, call in enumerate(calls, 1))
        ask = core.Ask(step, "model", 0, 0, offers.tools_in(self.given), "digest")
        return self.after(ask, core.Answer(step, "model", text, numbered))

    def ran(self, call: Call, result: Any) -> World:
        """The world after `call` was begun and returned `result`."""
        return self.after(core.Begin(call.id), core.Return(call.id, call.attempt + 1, result))

    def ran_last(self, result: Any) -> World:
        """The world after the call that was proposed last was begun and returned `result`."""
        return self.ran(list(self.state.calls.values())[-1], result)

    def offering(self, *names: str) -> World:
        """The same session with an agent that offers its model so much beside its tools."""
        return replace(self, offers=names)

    def with_rules(self, *rules: pol.Rule) -> World:
        """The same session under another policy."""
        return replace(self, policy=pol.Policy("other", 2, rules))

    def events(self, kind: type) -> list[Any]:
        """The events of that kind so far."""
        return [event for event, _ in self.history if isinstance(event, kind)]

    def call(self, tool: str) -> Call:
        """The latest call of that tool."""
        return [call for call in self.state.calls.values() if call.tool == tool][-1]

    @property
    def request(self) -> Request:
        """The only pending request."""
        (request,) = pending(self.state)
        return request


def proposed(tool: str, output_path: str | None = None, **arguments: Any) -> ev.CallProposed:
    """A call as a model proposes it; the id is the model's, and every model counts from one."""
    return ev.CallProposed("call_1", tool, arguments, output_path)


def transfer(minor: int, **more: Any) -> ev.CallProposed:
    """A transfer of so many cents."""
    return proposed("transfer", "state.transfer", amount={"minor": minor, "currency": "USD"}, **more)


AUTHORIZE = proposed("authorize", "state.authorization", customer="C-1")


def opened() -> World:
    """A session whose customer has said what they want."""
    return World().after(
        core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Move money, please.", "customer")
    )


def authorized() -> World:
    """... and for whom the authorization service has said yes."""
    world = opened().asked(AUTHORIZE)
    return world.ran(world.call("authorize"), {"allowed": True})


def waiting(minor: int = 100_000) -> World:
    """... and whose transfer waits for a person. $1,000.00: tier 2; above $2,500.00: tier 3."""
    return authorized().asked(transfer(minor))


def approved() -> World:
    """A transfer of $1,000.00 that a person approved and that has not begun."""
    world = waiting()
    return world.after(decision(world, "approve", "ann"))


def decision(world: World, kind: str, by: str, **more: Any) -> core.Decide:
    """`by` decides the pending request, on exactly what it shows."""
    request = world.request
    shown = world.state.calls[request.asked.call].approved or request.asked.digest
    defaults = {"reason": "because"} if kind in ("edit", "reject") else {}
    if kind == "respond":
        defaults = {"response": "The branch does it."}
    return core.Decide(request.asked.request, kind, by, MAY[by], seen=shown, **{**defaults, **more})  # type: ignore[arg-type]


def edit(world: World, by: str, minor: int) -> core.Decide:
    """`by` puts another amount into the pending transfer."""
    arguments = {**world.request.asked.arguments, "amount": {"minor": minor, "currency": "USD"}}
    return decision(world, "edit", by, arguments=arguments)


def gated_by(quorum: int) -> tuple[pol.Rule, ...]:
    """The bank's rules with so many people wherever one is needed."""
    return tuple(
        msgspec.structs.replace(rule, quorum=quorum) if rule.gate == "approve" else rule for rule in BANK.rules
    )
