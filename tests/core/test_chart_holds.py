"""A chart forbids until it allows: before a call begins, when it was stopped or ended, after a rollback, in forks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.advance import MoveChart, next_action
from agentstate.engine.decide.commands.plans import ProposePlan
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import pending
from tests.core import worlds
from tests.core.chart_world import chart, go, state
from tests.core.test_forks import fork
from tests.core.test_versions import rollback
from tests.core.worlds import World, transfer

MONEY = pol.Rule("money", ("transfer",), "true", 2, "approve", "Money moves.")
FREE = pol.Rule("free", ("transfer", "post_letter"), "true", 1, "allow", "Free.")
WINDOW = chart(
    state(
        "open",
        {"after": "5m", "to": ["shut"]},
        go("fraud", "held"),
        go("over", "end"),
        tools=["transfer", "post_letter"],
    ),
    state("shut", go("again", "open"), tools=[]),
    state("held", go("calm", "open"), go("closed", "end"), tools=[]),
    {"id": "end", "kind": "final"},
    events=["fraud", "calm", "again", "over", "closed"],
)


@dataclass(frozen=True)
class Charted(World):
    """A session that is under WINDOW."""

    charts: Any = field(default_factory=lambda: {WINDOW.reference: WINDOW})

    @property
    def given(self) -> core.CommandContext:
        begins = self.charts.get(WINDOW.reference)
        return msgspec.structs.replace(super().given, chart=begins, charts=self.charts)

    @property
    def here(self) -> str:
        assert self.state.chart.inside is not None
        return self.state.chart.inside.configuration[-1]

    def later(self, seconds: int) -> Charted:
        return replace(self, seconds=self.seconds + seconds)


def spoken() -> Charted:
    world: Any = Charted().with_rules(MONEY)
    return world.after(core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Go.", "customer"))  # type: ignore[no-any-return]


def approved() -> Any:
    """A transfer that somebody has let through, in a state that allows it for five minutes."""
    world = spoken().asked(transfer(100_000))
    return world.after(worlds.decision(world, "approve", "sue"))


def begins(world: Any, tool: str = "transfer") -> Any:
    return world.after(core.Begin(world.call(tool).id))


def refused(world: Any) -> bool:
    """Whether the transfer was refused where the chart stands, and nothing of it begun."""
    codes = [event.code for event in world.events(ev.CallRefused)]
    return codes == ["not_in_this_state"] and not world.events(ev.ToolIntended)


def test_a_chart_whose_time_is_over_moves_before_a_call_begins():
    world = approved()
    assert begins(world).events(ev.ToolIntended)
    late = begins(world.later(3_600))
    assert (refused(late), late.here) == (True, "shut")
    moved = [ev.kind_of(event) for event, _ in late.history[len(world.history) :]]
    assert moved[:2] == ["chart.moved", "call.refused"]


def test_it_moves_first_while_a_colleague_has_the_session_and_after_a_pause():
    taken = approved().after(core.TakeOver("user:ann"))
    taken = taken.after(worlds.decision(taken, "approve", "zoe"))  # the take-over asked again
    assert refused(begins(taken.later(3_600)))
    paused = approved().after(core.Pause("wait", "user:ann"))
    assert refused(begins(paused.later(3_600).after(core.Resume("user:ann"))))


def test_a_call_of_an_approved_plan_does_not_begin_where_the_chart_forbids_it_by_now():
    whole = pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")
    world = spoken().with_rules(MONEY, whole)
    world = world.after(ProposePlan(({"_tool": "transfer", "amount": {"minor": 5}},), "user:pat"))
    world = world.after(worlds.decision(world, "approve", "sue"), core.Begin(world.state.plans.proposed))
    world = world.later(3_600)
    assert refused(world.after(core.Begin(world.state.plans.ready[0])))


@pytest.mark.parametrize("how", ["its version is gone", "it has ended"])
def test_what_a_chart_holds_stays_held_when_it_is_stopped_or_has_ended(how):
    world = spoken().asked(transfer(100_000)).after(core.Signal("fraud", "user:ann"))
    if how == "it has ended":
        world = world.after(core.Signal("closed", "user:ann"))
        assert not world.state.chart.inside.running
    else:
        world = replace(world, charts={})
    world = world.after(worlds.decision(world, "approve", "sue"))
    assert world.state.chart.moves is False
    assert refused(begins(world))


def test_an_end_whose_state_names_tools_allows_them():
    last = {"id": "end", "kind": "final", "tools": ["transfer"]}
    ends = chart(state("open", go("over", "end"), tools=[]), last, name=WINDOW.name, events=["over"])
    world: Any = replace(Charted(), charts={WINDOW.reference: ends}).with_rules(MONEY)
    world = world.after(core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Go.", "customer"))
    world = world.after(core.Signal("over", "user:ann")).asked(transfer(100_000))
    assert begins(world.after(worlds.decision(world, "approve", "sue"))).events(ev.ToolIntended)


def lost(effect: str) -> Any:
    """A letter that began and whose result was lost, in a session that is held by now."""
    tools = {**worlds.TOOLS, "post_letter": worlds.facts("post_letter", effect)}
    world = replace(spoken().with_rules(FREE), tools=tools).asked(worlds.proposed("post_letter", None, to="C-1"))
    return begins(world, "post_letter").after(core.Signal("fraud", "user:ann"))


def test_a_lost_result_is_not_begun_again_where_the_chart_forbids_it_by_now():
    again = begins(lost("idempotent"), "post_letter")
    assert (again.call("post_letter").status, len(again.events(ev.ToolIntended))) == (CallStatus.DOUBTED, 1)
    assert "may not be called in: held" in again.events(ev.CallDoubted)[0].reason
    read = begins(lost("pure"), "post_letter")
    assert (read.call("post_letter").status, len(read.events(ev.ToolIntended))) == (CallStatus.FAILED, 1)
    calm = lost("idempotent").after(core.Signal("calm", "user:ann"))
    assert begins(calm, "post_letter").events(ev.ToolIntended)[-1].attempt == 2


def between(then: str, at: str) -> float:
    """Seconds from one instant to the other."""
    return (parse(at) - parse(then)).total_seconds()


def test_after_a_rollback_and_in_a_fork_a_timer_has_the_time_left_that_it_had():
    world = spoken().later(60)
    world = world.after(core.Say("customer", "Still there?", "customer"))
    to, due = world.state.seq, world.state.chart.due
    left = between(world.state.last_at, due)
    back: Any = world.later(7_200).after(core.Say("customer", "Hello?", "customer"))
    back = back.after(rollback(back, to))
    assert between(back.state.last_at, back.state.chart.due) == left
    later = back.later(int(left) + 1)
    assert next_action(later.state, stamp(later.given.at)) == MoveChart()
    assert later.after(core.Wind()).here == "shut"
    child = fork(world)
    assert between(child.state.last_at, child.state.chart.due) == left


def test_a_hold_of_the_parent_reaches_the_fork_that_takes_its_place():
    parent = spoken()
    child = fork(parent)
    held = parent.after(core.Signal("fraud", "user:ann")).state.chart
    promoted = child.after(core.Promote("user:sue", "the better way", 20, chart=held))
    assert (promoted.state.chart, promoted.events(ev.ForkPromoted)[0].chart) == (held, held)
    free = child.after(core.Promote("user:sue", "the better way", 20, chart=parent.state.chart))
    assert free.state.chart == child.state.chart
    assert not pending(free.state)
