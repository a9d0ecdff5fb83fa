"""What must hold of sessions that carry out plans, whatever happens and in whatever order."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import AskModel, Nothing, RunCall, next_actions
from agentstate.engine.decide import offers
from agentstate.engine.decide.commands.plans import EditPlan, InstanceGiven, ProposePlan
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CALL_ENDED, CallStatus
from agentstate.engine.plan import model
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import calls_in, pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Refused
from tests.core import made, worlds
from tests.core.laws import judge
from tests.core.test_plans_in_sessions import FREE, LARGE, SMALL, WHOLE, opened, step
from tests.core.worlds import MAY, World
from tests.searching import drawn

PATHS = ("a", "b", "c", "d")
TOOLS = ("load_customer", "authorize", "post_letter")
RESULTS = st.sampled_from([{"name": "Ann"}, {"name": "Bob", "more": [1]}, {}, 7, None, "text"])
WHEN = st.sampled_from(["", "", "", "state.a.name == 'Ann'", "arguments.x == 1"])


@st.composite
def plans(draw: st.DrawFn, writers: int = 2) -> list[dict[str, Any]]:
    """Plans that mostly pass the check: every call reads what earlier ones may write."""
    calls: list[dict[str, Any]] = []
    written: list[str] = []
    for number in range(draw(st.integers(1, 5))):
        call = step(draw(st.sampled_from(TOOLS)), x=draw(st.integers(0, 2)), when_not=number)
        if written and draw(st.booleans()):
            names = draw(st.lists(st.sampled_from(written), min_size=1, max_size=2, unique=True))
            call["ref"] = draw(st.sampled_from([" || ", " && "])).join(f"†state.{name}" for name in names)
        free = [path for path in PATHS if written.count(path) < writers]
        if free and draw(st.booleans()):
            path = draw(st.sampled_from(free))
            written.append(path)
            call["_outputPath"] = f"state.{path}"
            if path + "_error" not in written and draw(st.booleans()):
                call["_outputPath"] += f" || state.{path}_error"
                written.append(path + "_error")
        if when := draw(WHEN):
            call["_when"] = when
        calls.append(call)
    return calls


class PlannedLife(RuleBasedStateMachine):
    """A session whose agent plans, with people and a runtime who do what they may, and what they may not."""

    def attempt(self, command: object) -> None:
        before = to_snapshot(self.world.state)
        try:
            core.decide(command, self.world.state, self.world.given)
        except Refused:
            assert to_snapshot(self.world.state) == before
            return
        self.world = self.world.after(command)

    @initialize(whole=st.booleans())
    def a_session_is_open(self, whole: bool) -> None:
        self.world = opened().with_rules(FREE, LARGE, SMALL, *([WHOLE] if whole else [])).offering(*offers.ALL)

    def _is_busy(self, nerve: int) -> bool:
        """A plan is mostly let finish before the next one comes."""
        return (self.world.state.plans.is_open or bool(self.world.state.plans.proposed)) and nerve > 0

    @rule(nerve=st.integers(0, 9), calls=plans(), how=st.sampled_from(["each", "each", "whole", "goal", "plain"]))
    def the_model_answers(self, nerve: int, calls: list[dict[str, Any]], how: str) -> None:
        if self._is_busy(nerve):
            return
        tools = offers.tools_in(self.world.given)
        self.attempt(core.Ask(f"step-{len(self.world.history)}", "model", 0, 0, tools, "digest"))
        if how == "whole":
            proposals = (ev.CallProposed("1", "plan", {"calls": calls}),)
        elif how == "goal":
            proposals = (ev.CallProposed("1", "goals", {"id": "g", "title": "Goal"}), ev.CallProposed("2", "plan", {}))
        elif how == "plain":
            proposals = (ev.CallProposed("1", "authorize", {"x": 1}, "state.a"),)
        else:
            proposals = tuple(
                ev.CallProposed(str(place), call["_tool"], _without_tool(call)) for place, call in enumerate(calls)
            )
        self.attempt(core.Answer(self.world.state.asking, "model", "", proposals))

    @rule(nerve=st.integers(0, 9), calls=plans(), follow=st.booleans(), members=st.integers(0, 3))
    def a_person_proposes(self, nerve: int, calls: list[dict[str, Any]], follow: bool, members: int) -> None:
        if self._is_busy(nerve):
            return
        instances = tuple(InstanceGiven(f"i{number}", {"n": number}) for number in range(members))
        self.attempt(ProposePlan(tuple(calls), "user:sue", follow, {"n": 9}, instances))

    @rule(nerve=st.integers(0, 3), calls=plans(), data=st.data())
    def a_person_edits(self, nerve: int, calls: list[dict[str, Any]], data: st.DataObject) -> None:
        if nerve:
            return
        old = model.write(self.world.state.plans.plan)
        kept = [call for call in old if data.draw(st.booleans())] if data.draw(st.booleans()) else old
        added = [{**call, "_id": f"new-{number}"} for number, call in enumerate(calls)]
        self.attempt(EditPlan((*kept, *added), "user:sue", self.world.state.plans.version))

    def _some(self, data: st.DataObject, *statuses: CallStatus) -> Any:
        every = list(self.world.state.calls.values())
        return data.draw(st.sampled_from([call for call in every if call.status in statuses] or every))

    @precondition(lambda self: self.world.state.plans.ready or calls_in(self.world.state, CallStatus.READY))
    @rule(data=st.data(), times=st.integers(1, 3))
    def the_runtime_begins(self, data: st.DataObject, times: int) -> None:
        for _ in range(times):
            self._begin_one(data)

    def _begin_one(self, data: st.DataObject) -> None:
        actions = next_actions(self.world.state, stamp(self.world.given.at), _running(self.world), 20)
        calls = [action.call for action in actions if isinstance(action, RunCall)]
        self.attempt(core.Begin(data.draw(st.sampled_from(calls or ["nothing"]))))

    @precondition(lambda self: self.world.state.calls)
    @rule(data=st.data(), result=RESULTS, how=st.sampled_from(["return", "return", "fail", "again", "outcome", "lost"]))
    def a_call_ends(self, data: st.DataObject, result: Any, how: str) -> None:
        call = self._some(data, CallStatus.RUNNING)
        if how in ("fail", "again"):
            self.attempt(core.Fail(call.id, call.attempt, "no", how == "again"))
        elif how == "lost":
            self.attempt(core.Begin(call.id))
        else:
            self.attempt(core.Return(call.id, call.attempt, result, int(how == "outcome")))

    @precondition(lambda self: self.world.state.plans.is_open)
    @rule(data=st.data(), result=RESULTS)
    def the_runtime_works_a_while(self, data: st.DataObject, result: Any) -> None:
        for _ in range(4):
            self._begin_one(data)
            for call in calls_in(self.world.state, CallStatus.RUNNING):
                if data.draw(st.integers(0, 3)):
                    self.attempt(core.Return(call.id, call.attempt, result))

    @precondition(lambda self: self.world.state.requests)
    @rule(data=st.data(), kind=st.sampled_from(["approve", "approve", "edit", "reject", "respond", "expire"]))
    def a_person_decides(self, data: st.DataObject, kind: Any) -> None:
        requests = pending(self.world.state) or list(self.world.state.requests.values())
        request = data.draw(st.sampled_from(requests)).asked
        if kind == "expire":
            self.attempt(core.Expire(request.request))
        elif kind == "edit":
            changed = {**request.arguments, **({"calls": data.draw(plans())} if request.tool == "plan" else {"x": 5})}
            self.attempt(core.Decide(request.request, kind, "sue", MAY["sue"], "why", changed, "", request.digest))
        else:
            self.attempt(core.Decide(request.request, kind, "sue", MAY["sue"], "why", None, "no", request.digest))

    @rule(nerve=st.integers(0, 4))
    def the_customer_speaks(self, nerve: int) -> None:
        if not nerve:
            self.attempt(core.Say("customer", "Hello?", "customer"))

    @precondition(lambda self: len(self.world.history) > 60)
    @rule()
    def the_end(self) -> None:
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
        assert from_snapshot(to_snapshot(self.world.state)) == self.world.state

    @invariant()
    def what_is_next_is_always_something_that_decide_accepts(self) -> None:
        state, told = self.world.state, self.world.given
        for action in next_actions(state, stamp(told.at), _running(self.world), 20):
            match action:
                case RunCall(call=call):
                    assert core.decide(core.Begin(call), state, told)
                case AskModel():
                    assert core.decide(core.Ask("next", "model", 0, 0, (), "d"), state, told)
                case Nothing(waiting_for=waiting_for):
                    core.decide(core.Rest(waiting_for), state, told)

    @invariant()
    def a_plan_never_hangs(self) -> None:
        """While its round is open something of it is ready, running or before a person."""
        state = self.world.state
        plans = state.plans
        if plans.is_open and not state.ended:
            live = [
                call for call in state.calls.values() if call.round == plans.round and call.status not in CALL_ENDED
            ]
            assert plans.ready or live, plans
            assert plans.left > 0


def _without_tool(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in call.items() if key != "_tool"}


def _running(world: World) -> frozenset[str]:
    return frozenset(call.id for call in calls_in(world.state, CallStatus.RUNNING))


PlannedLife.TestCase.settings = settings(max_examples=drawn(50), stateful_step_count=40)
TestPlannedLife = PlannedLife.TestCase


def finished(calls: list[dict[str, Any]], order: st.DataObject) -> World:
    """The plan carried out, its ready calls begun and its results returned in the order that `order` draws."""
    world = opened().with_rules(FREE, worlds.pol.Rule("letters", ("post_letter",), "true", 0, "allow", "Free."))
    world = world.after(ProposePlan(tuple(calls), "user:sue"))
    while world.state.plans.is_open:
        running = calls_in(world.state, CallStatus.RUNNING)
        begin = [core.Begin(key) for key in world.state.plans.ready]
        end = [core.Return(call.id, call.attempt, {"name": call.id.rpartition(".")[2]}) for call in running]
        world = world.after(order.draw(st.sampled_from([*begin, *end])))
    return world


@settings(max_examples=drawn(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(calls=plans(writers=1), one=st.data(), other=st.data())
def test_any_order_of_ready_calls_ends_in_the_same_state(calls: list[dict[str, Any]], one: Any, other: Any):
    try:
        first = finished(calls, one)
    except Refused:
        return
    second = finished(calls, other)
    assert first.state.pad == second.state.pad
    ended = [{name: each.status for name, each in world.state.plans.own.outcomes.items()} for world in (first, second)]
    assert ended[0] == ended[1]


@settings(max_examples=drawn(150))
@given(
    calls=st.lists(
        st.one_of(
            made.values, st.fixed_dictionaries({"_tool": made.values, "_outputPath": made.values, "_when": made.values})
        ),
        max_size=4,
    ).map(tuple),
    inputs=made.objects,
)
def test_whatever_is_proposed_is_a_plan_or_a_typed_refusal(calls: Any, inputs: Any):
    world = opened().with_rules(FREE)
    for command in (ProposePlan(calls, "user:sue", False, inputs), EditPlan(calls, "user:sue", 0)):
        try:
            world.after(command)
        except Refused:
            continue
