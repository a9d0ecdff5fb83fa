"""Random conversations under small and large budgets: the laws of memory hold after every step, each request fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.memory.budget import ContextTooSmall
from agentstate.engine.memory.scene import Frame
from agentstate.engine.memory.shown import request_bytes
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import calls_in, pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Refused
from sessions.agents import definition
from tests.core import memory_world, worlds
from tests.core.memory_cost import cost_at
from tests.core.memory_world import LAWS, about_to_ask, agent, least_tokens, remembering, tokens
from tests.core.worlds import MAY, World, proposed, transfer
from tests.searching import drawn

words = st.sampled_from(["Yes.", "Move $4,300.00 to checking, please.", "Never call me before ten.", "x " * 400])
WISHES = (
    proposed("authorize", "state.authorization", customer="C-1"),
    proposed("load_customer", "state.customer"),
    transfer(100_000),
    proposed("post_letter", text="Dear Ada"),
)

A_SUMMARY = 100  # tokens that a summary takes at least, with what says that it is one


class Conversation(RuleBasedStateMachine):
    """A session that is talked in, asked, decided, pinned and rated at random."""

    @initialize(budget=st.sampled_from([400, 1_000, 8_000]), private=st.sampled_from([(), ("state.customer.pin",)]))
    def open(self, budget: int, private: tuple[str, ...]) -> None:
        self.agent = agent(budget, private=private)
        self.world = remembering(World(), self.agent).after(core.Open("C-1", "team", "bank", "phone"))

    def attempt(self, command: object) -> None:
        before = self.world
        try:
            self.world = self.world.after(command)
        except Refused:
            assert self.world is before

    @rule(role=st.sampled_from(["customer", "customer", "agent", "staff", "note"]), text=words, times=st.integers(1, 9))
    def say(self, role: Any, text: str, times: int) -> None:
        for _ in range(times):
            self.attempt(core.Say(role, text, role))

    @rule(calls=st.lists(st.sampled_from(WISHES), max_size=3), text=words)
    def ask(self, calls: list[ev.CallProposed], text: str) -> None:
        try:
            self.world, request = about_to_ask(self.world, self.agent)
        except ContextTooSmall:
            assert least_tokens(self.world, self.agent) > self.agent.memory.budget - A_SUMMARY
            return
        assert tokens(request, self.world.state) <= self.agent.memory.budget
        self.world = memory_world.asked(self.world, self.agent, *calls, text=text)

    @precondition(lambda self: calls_in(self.world.state, CallStatus.READY))
    @rule(data=st.data(), size=st.sampled_from([1, 1, 3_000]))
    def run(self, data: st.DataObject, size: int) -> None:
        call = data.draw(st.sampled_from(calls_in(self.world.state, CallStatus.READY)))
        result = {"pin": "1234", "entries": [{"amount": {"minor": 430_000, "currency": "USD"}}] * (size // 30)}
        self.attempt(core.Begin(call.id))
        if self.world.state.calls[call.id].status is CallStatus.RUNNING:  # else it waits for a person now
            self.attempt(core.Return(call.id, call.attempt + 1, result))

    @precondition(lambda self: pending(self.world.state))
    @rule(data=st.data(), kind=st.sampled_from(["approve", "reject", "respond"]))
    def decide(self, data: st.DataObject, kind: Any) -> None:
        request = data.draw(st.sampled_from(pending(self.world.state)))
        shown = self.world.state.calls[request.asked.call].approved or request.asked.digest
        self.attempt(core.Decide(request.asked.request, kind, "sue", MAY["sue"], "why", None, "no", shown))

    @precondition(lambda self: self.world.state.items)
    @rule(data=st.data(), what=st.sampled_from(["pin", "pin", "unpin", "rate"]))
    def mind(self, data: st.DataObject, what: str) -> None:
        seq = data.draw(st.sampled_from(self.world.state.items)).seq
        command = {"pin": core.Pin(seq, "sue"), "unpin": core.Unpin(seq, "sue"), "rate": core.Rate(seq, 2, "sue")}[what]
        self.attempt(command)

    @invariant()
    def the_laws_hold(self) -> None:
        if hasattr(self, "world"):
            for law in LAWS:
                law(self.world)

    @invariant()
    def what_is_kept_with_the_items_is_what_they_say(self) -> None:
        if hasattr(self, "world"):
            request = definition.build(self.agent, "model", self.world.state)
            afresh = definition.build(self.agent, "model", from_snapshot(to_snapshot(self.world.state)))
            assert request_bytes(request) == request_bytes(afresh)
            assert tokens(request, self.world.state) == tokens(afresh, self.world.state)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            stored = [(ev.decode(ev.encode(event)), at) for event, at in self.world.history]
            assert fold(stored) == self.world.state == fold(stored[9:], fold(stored[:9]))
            assert from_snapshot(to_snapshot(self.world.state)) == self.world.state


Conversation.TestCase.settings = settings(max_examples=drawn(25), stateful_step_count=40)
TestConversation = Conversation.TestCase


def long_talk(turns: int, budget: int = 1_000) -> World:
    """A conversation of so many turns, asked after each."""
    of = agent(budget)
    world = remembering(worlds.opened(), of)
    for turn in range(turns):
        world = world.after(core.Say("customer", f"Turn {turn}: is ${turn}.00 there?", "customer"))
        world = memory_world.asked(world, of, text=f"Yes, ${turn}.00 is there.")
    return world


def test_the_same_history_makes_the_same_summaries():
    assert long_talk(40).history == long_talk(40).history


def test_what_a_summary_covers_is_bound_by_its_digest():
    world = long_talk(40)
    made = world.events(ev.SummaryMade)
    assert made
    assert len({event.covers for event in made}) == len(made)


def test_a_session_of_a_smaller_budget_shortens_what_it_has():
    world = long_talk(120, budget=8_000)
    small = agent(400)
    world, request = about_to_ask(remembering(world, small), small)
    assert tokens(request, world.state) <= 400
    for law in LAWS:
        law(world)


def test_nobody_is_asked_when_what_must_be_shown_does_not_fit():
    of = agent(400)
    world = remembering(worlds.opened(), of).after(core.Say("customer", "word " * 2_000, "customer"))
    world = world.after(core.Pin(world.state.items[-1].seq, "sue"))
    with pytest.raises(ContextTooSmall, match=rf"entry {world.state.items[-1].seq} \(pinned\)"):
        world.after(core.Fit("model", Frame(10, 10, 10)))


def test_what_a_request_costs_does_not_grow_with_the_conversation():
    costs = cost_at(600, 100, budget=2_000)[1:]  # the first hundred turns fill the window
    assert max(cost.snapshot for cost in costs) < 1.15 * min(cost.snapshot for cost in costs)
    assert max(cost.tokens for cost in costs) <= 2_000
    assert costs[-1].seconds < 3 * costs[0].seconds  # flat: 0.39 ms at turn 1,000 and at turn 10,000
