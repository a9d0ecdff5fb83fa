"""The laws of the engine over random lives of a session: any command at any moment, from one who plays everybody."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_action
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import Call, digest_of, pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Refused
from sessions.agents import definition
from sessions.agents.registry import Agent
from tests.core import worlds
from tests.core.laws import judge, told_well
from tests.core.made import objects
from tests.core.worlds import AUTHORIZE, MAY, World, proposed, transfer
from tests.searching import drawn

AGENT = Agent("test", "Be kind.", (), "bank", {})
people = st.sampled_from(sorted(MAY))
amounts = st.sampled_from([0, 40_000, 60_000, 100_000, 300_000])
LETTER = proposed("post_letter", text="Dear customer")
calls = st.lists(
    st.one_of(
        amounts.map(transfer),
        st.just(AUTHORIZE),
        st.just(LETTER),
        st.just(proposed("load_customer", "state.customer")),
        st.just(proposed("load_customer", "not.a.path")),
        st.just(proposed("no_such_tool")),
    ),
    max_size=4,
)
ODD = [
    core.Open("C-2", "team", "bank", "phone"),
    core.Answer("", "model", "", ()),
    core.Answer("no such step", "model", "", ()),
    core.NoAnswer("no such step", "down", True),
    core.Begin("no such call"),
    core.Return("no such call", 1, {}),
    core.Decide("no such request", "approve", "ann", MAY["ann"]),
    core.Expire("no such request"),
    core.Rest("customer"),
]
NO_CALL = Call("no call", "no tool", {}, None, CallStatus.DONE)
results = objects | st.just({"allowed": True}) | st.just({"allowed": False})


class Life(RuleBasedStateMachine):
    """One session. Every rule tries a command; a refused one must leave no trace."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    def attempt(self, command: object) -> None:
        """`decide` never emits what `evolve` refuses (Broken would pass through), and a refusal changes nothing."""
        before, given = to_snapshot(self.world.state), self.world.given
        try:
            core.decide(command, self.world.state, given)
        except Refused:
            assert to_snapshot(self.world.state) == before
            return
        self.world = self.world.after(command)

    def some(self, data: st.DataObject, *statuses: CallStatus) -> Any:
        """One of the calls, of those in `statuses` if there are any."""
        every = list(self.world.state.calls.values()) or [NO_CALL]
        return data.draw(st.sampled_from([call for call in every if call.status in statuses] or every))

    @initialize(quorum=st.sampled_from([1, 2]))
    def a_transfer_waits(self, quorum: int) -> None:
        world = worlds.authorized().with_rules(*worlds.gated_by(quorum))
        self.world = world.asked(transfer(100_000), AUTHORIZE, LETTER)

    @rule(proposals=calls, text=st.sampled_from(["", "One moment."]), fails=st.sampled_from([None, None, True, False]))
    def the_model(self, proposals: list[ev.CallProposed], text: str, fails: bool | None) -> None:
        self.attempt(core.Ask(f"step-{len(self.world.history)}", "model", 0, 0, tuple(self.world.tools), "digest"))
        step = self.world.state.asking
        if fails is None:
            self.attempt(core.Answer(step, "model", text, tuple(proposals)))
        else:
            self.attempt(core.NoAnswer(step, "down", fails))

    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.attempt(core.Begin(self.some(data, CallStatus.READY).id))

    @rule(data=st.data(), result=results, how=st.sampled_from(["return", "return", "fail", "fail for now", "late"]))
    def finish(self, data: st.DataObject, result: Any, how: str) -> None:
        call = self.some(data, CallStatus.RUNNING)
        if how.startswith("fail"):
            self.attempt(core.Fail(call.id, call.attempt, "no", how != "fail"))
        else:
            self.attempt(core.Return(call.id, call.attempt - (how == "late"), result))

    @rule(data=st.data())
    def lose_a_result(self, data: st.DataObject) -> None:
        self.attempt(core.Begin(self.some(data, CallStatus.RUNNING).id))

    @rule(data=st.data(), kind=st.sampled_from(["approve", "approve", "edit", "reject", "respond"]), by=people)
    def decide(self, data: st.DataObject, kind: Any, by: str) -> None:
        requests = pending(self.world.state) or list(self.world.state.requests.values())
        if not requests:  # after a rollback to before any
            return
        request = data.draw(st.sampled_from(requests))
        shown = digest_of(self.world.state, request)
        changed = {**request.asked.arguments, "amount": {"minor": data.draw(amounts), "currency": "USD"}}
        seen = data.draw(st.sampled_from([shown, shown, "", "outdated"]))
        arguments = changed if kind == "edit" else None
        self.attempt(core.Decide(request.asked.request, kind, by, MAY[by], "why", arguments, "no", seen))

    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        self.attempt(core.Expire(data.draw(st.sampled_from(sorted(self.world.state.requests) or ["none"]))))

    @rule(role=st.sampled_from(["customer", "staff", "note"]), text=st.text(max_size=5))
    def say(self, role: Any, text: str) -> None:
        self.attempt(core.Say(role, text, "somebody"))

    @rule(odd=st.sampled_from(ODD))
    def what_nobody_should_do(self, odd: object) -> None:
        self.attempt(odd)

    @rule(command=st.sampled_from([core.Pause("a moment", "user:sue"), core.Resume("user:sue")]))
    def pause_or_resume(self, command: object) -> None:
        self.attempt(command)

    @precondition(lambda self: len(self.world.history) > 60)
    @rule()
    def cancel(self) -> None:
        self.attempt(core.Cancel("opened by mistake", "user:sue"))

    @precondition(lambda self: len(self.world.history) > 40)
    @rule()
    def end(self) -> None:
        self.attempt(core.End("hung up", "customer"))

    @invariant()
    def the_history_is_lawful(self) -> None:
        judge(self.world.history, MAY)

    @invariant()
    def the_state_is_the_fold_of_its_stored_events(self) -> None:
        stored = [(ev.decode(ev.encode(event)), at) for event, at in self.world.history]
        middle = len(stored) // 2
        assert fold(stored) == self.world.state
        assert fold(stored[middle:], fold(stored[:middle])) == self.world.state
        assert self.world.state.seq == len(stored)

    @invariant()
    def the_model_is_shown_every_result_with_its_call(self) -> None:
        told_well(definition.build(AGENT, "model", self.world.state).messages)

    @invariant()
    def a_snapshot_is_read_back_as_it_was_written(self) -> None:
        data = to_snapshot(self.world.state)
        assert from_snapshot(data) == self.world.state
        assert to_snapshot(from_snapshot(data)) == data

    @invariant()
    def what_is_next_is_always_something_that_decide_accepts(self) -> None:
        state, given = self.world.state, self.world.given
        match next_action(state, stamp(given.at)):
            case RunCall(call=call, again=again):
                assert (state.calls[call].status is CallStatus.RUNNING) == again
                assert core.decide(core.Begin(call), state, given)
            case AskModel(again=again):
                assert bool(state.asking) == again
                assert core.decide(core.Ask("next", "model", 0, 0, (), "d"), state, given)
            case Nothing(waiting_for=waiting_for, until=until):
                assert (waiting_for == "retry") == bool(until)
                core.decide(core.Rest(waiting_for), state, given)


Life.TestCase.settings = settings(max_examples=drawn(200), stateful_step_count=40)
TestLife = Life.TestCase
