"""A chart in a session, without a server: it follows what happens, keeps its version, and never stops the session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy
from agentstate.engine.advance import AskModel, MoveChart, Nothing, next_action
from agentstate.engine.charts import Chart
from agentstate.engine.decide.charts import HEARD, happening
from agentstate.engine.instants import stamp
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from tests.core.chart_world import chart, go, put, state

FREE = policy.load(b'{"name":"free","version":1,"rules":[]}')
LOOK = core.ToolFacts("look", 1, "pure", 2, 1.0, lambda arguments: None, lambda arguments, pad: "Look")
MOVE = core.ToolFacts("move", 1, "pure", 2, 1.0, lambda arguments: None, lambda arguments, pad: "Move")
DESK = chart(
    state("open", go("call.returned.look", "seen"), go("alarm", "shut"), tools=["look"], instructions="Look first."),
    state(
        "seen", go("agent.said", "quiet", do=[put("said", "said + 1")]), go("alarm", "shut"), instructions="Tell them."
    ),
    state("quiet", {"after": "2m", "to": ["ask"]}, go("customer.said", "open"), go("alarm", "shut"), tools=["move"]),
    state(
        "ask", go("customer.said", "open"), go("alarm", "shut"), prompt=True, instructions="Ask whether they are there."
    ),
    state("shut", go("calm", "open"), tools=[]),
    data=[{"name": "said", "value": "0"}],
    events=["alarm", "calm"],
)


class Desk:
    """One session under DESK, or under a newer chart from some moment on."""

    def __init__(self, made: Chart = DESK) -> None:
        self.at, self.ids = datetime(2026, 11, 21, 3, 0, tzinfo=UTC), count(1)
        self.state, self.log, self.begins, self.all = SessionState(), [], made, {made.reference: made}
        self.do(core.Open("C-1", "team", "desk", "phone"))

    def do(self, command: core.Command) -> list[str]:
        given = core.CommandContext(
            self.at,
            lambda: f"id-{next(self.ids)}",
            {"look": LOOK, "move": MOVE},
            FREE,
            chart=self.begins,
            charts=self.all,
        )
        decided = core.decide(command, self.state, given)
        for event in decided:
            self.state = evolve(self.state, event, stamp(self.at))
        self.log += decided
        return [ev.kind_of(event) for event in decided]

    def answers(self, text: str, *tools: str) -> list[str]:
        step = f"step-{next(self.ids)}"
        self.do(core.Ask(step, "m", 0, 1, ("look", "move"), "digest"))
        calls = tuple(ev.CallProposed(str(place), tool, {}) for place, tool in enumerate(tools))
        return self.do(core.Answer(step, "m", text, calls))

    def runs(self) -> list[str]:
        (call,) = [call.id for call in self.state.calls.values() if call.status == "ready"]
        self.do(core.Begin(call))
        return self.do(core.Return(call, 1, {}))

    @property
    def here(self) -> str:
        assert self.state.chart.inside is not None
        return self.state.chart.inside.configuration[-1]


def seen() -> Desk:
    """A desk whose customer has spoken and whose agent has looked."""
    desk = Desk()
    desk.do(core.Say("customer", "Hello", "customer"))
    desk.answers("", "look")
    desk.runs()
    return desk


def test_the_chart_begins_with_what_comes_after_the_opening():
    desk = Desk()
    assert desk.state.chart.inside is None
    assert desk.do(core.Say("customer", "Hello", "customer")) == ["message.added", "chart.moved"]
    assert (desk.here, desk.state.chart.instructions, desk.state.chart.tools) == ("open", ("Look first.",), ("look",))


def test_what_happens_moves_it_and_the_move_stands_at_the_end_of_the_commit():
    desk = seen()
    assert desk.here == "seen"
    assert desk.answers("There you are.") == ["message.added", "model.answered", "chart.moved"]
    assert (desk.here, desk.state.chart.inside.data) == ("quiet", {"said": 1})


def test_a_tool_that_is_not_allowed_here_is_refused_by_rule():
    desk = Desk()
    desk.do(core.Say("customer", "Hello", "customer"))
    desk.answers("", "move")
    refused = next(event for event in desk.log if isinstance(event, ev.CallRefused))
    assert (refused.code, refused.reason) == ("not_in_this_state", "move may not be called in: open")


def test_what_was_allowed_is_refused_when_it_is_to_begin_elsewhere():
    desk = Desk()
    desk.do(core.Say("customer", "Hello", "customer"))
    desk.answers("", "look")
    desk.do(core.Signal("alarm", "user:ann"))
    (call,) = desk.state.calls
    assert desk.do(core.Begin(call))[0] == "call.refused"


def test_a_timer_is_the_next_action_when_it_is_due_and_lets_the_agent_speak():
    desk = seen()
    desk.answers("There you are.")
    desk.do(core.Rest("customer"))
    due = "2026-11-21T03:02:00.000000Z"
    assert next_action(desk.state, stamp(desk.at)) == Nothing("customer", due)
    with pytest.raises(core.Outdated):
        desk.do(core.Wind())
    desk.at += timedelta(minutes=2)
    assert next_action(desk.state, stamp(desk.at)) == MoveChart()
    assert desk.do(core.Wind()) == ["chart.moved"]
    assert (desk.here, next_action(desk.state, stamp(desk.at))) == ("ask", AskModel(again=False))


def test_a_signal_is_recorded_with_who_sent_it():
    desk = seen()
    desk.do(core.Signal("alarm", "user:ann", {"case": 7}))
    moved = desk.log[-1]
    assert (moved.event, moved.by, moved.data, moved.tools) == ("alarm", "user:ann", {"case": 7}, ())


@pytest.mark.parametrize(
    ("name", "error"),
    [("calm", core.NotAwaited), ("customer.said", core.UnknownSignal), ("call.returned.look", core.UnknownSignal)],
)
def test_a_signal_that_is_not_awaited_or_not_declared_changes_nothing(name, error):
    desk = seen()
    before = desk.state
    with pytest.raises(error):
        desk.do(core.Signal(name, "user:ann"))
    assert desk.state == before


def test_a_session_keeps_the_version_it_began_with_and_new_ones_begin_with_the_newest():
    desk = seen()
    newer = chart(state("other", go("alarm", "end")), {"id": "end", "kind": "final"}, version=2, events=["alarm"])
    desk.begins, desk.all = newer, {**desk.all, newer.reference: newer}
    desk.do(core.Signal("alarm", "user:ann"))
    assert (desk.here, desk.state.chart.inside.chart) == ("shut", "tried@1")


def test_a_chart_whose_version_is_gone_is_stopped_and_the_session_goes_on():
    desk = seen()
    desk.begins, desk.all = None, {}
    assert desk.answers("Still here.") == ["message.added", "model.answered", "chart.moved"]
    assert desk.state.chart.stopped == "its version is not here any more"
    desk.do(core.Say("customer", "Good.", "customer"))
    assert desk.answers("", "move")[-1] != "call.refused"


@pytest.mark.parametrize("heard", [core.Say("customer", "Hello?", "customer"), core.Wind()])
def test_what_a_stopped_chart_allowed_until_a_timer_it_allows_no_longer(heard: core.Command):
    desk = Desk(chart(state("open", {"after": "5m", "to": ["shut"]}, tools=["move"]), state("shut", tools=[])))
    desk.do(core.Say("customer", "Hello", "customer"))
    desk.answers("", "move")
    (call,) = desk.state.calls
    desk.at += timedelta(minutes=5)
    desk.begins, desk.all = None, {}
    desk.do(heard)
    assert desk.do(core.Begin(call))[-1] == "call.refused"


def test_a_chart_that_never_rests_is_stopped_and_the_session_goes_on():
    spin = chart(state("a", go("agent.said", "b")), state("b", go("", "c")), state("c", go("", "b")))
    desk = Desk(spin)
    desk.do(core.Say("customer", "Hello", "customer"))
    desk.answers("Hello.")
    assert "microsteps" in desk.state.chart.stopped
    assert desk.do(core.Say("customer", "Hello?", "customer")) == ["message.added"]


def test_folding_runs_no_interpreter_and_a_snapshot_holds_where_it_stands():
    desk = seen()
    folded = SessionState()
    for event in desk.log:
        folded = evolve(folded, ev.decode(ev.encode(event)), stamp(desk.at))
    assert folded == desk.state
    assert from_snapshot(to_snapshot(folded)) == folded


def test_the_end_of_the_session_is_the_last_thing_it_hears():
    desk = seen()
    desk.do(core.End("done", "customer"))
    assert next_action(desk.state, "2030-01-01T00:00:00.000000Z") == Nothing("nobody")
    assert desk.state.chart.inside.configuration == ("seen",)
    with pytest.raises(core.SessionOver):
        desk.do(core.Signal("alarm", "user:ann"))


def test_every_happening_that_is_promised_is_told_and_no_other():
    desk = seen()
    told = [happening(event, desk.state) for event in desk.log]
    names = {one.name for one in told if one is not None}
    patterns = [name.removesuffix("*") for name in HEARD]
    assert all(any(name.startswith(pattern) for pattern in patterns) for name in names)
    assert {"customer.said", "call.allowed.look", "call.begun.look", "call.returned.look"} <= names
