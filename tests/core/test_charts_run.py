"""How a chart moves: states in states, regions, histories, guards, timers, errors; each state stored and read back."""

from __future__ import annotations

import time

import pytest

from agentstate.engine import charts
from agentstate.engine.charts import BadEvent, ChartOverrun, Happening
from tests.core.chart_world import AT, Hand, chart, go, put, state

DOOR = chart(
    state("closed", go("open", "opened", "n < 2", do=[put("n", "n + 1")]), go("open", "broken")),
    state("opened", go("close", "closed"), {"after": "30s", "to": ["closed"]}),
    {"id": "broken", "kind": "final", "done_params": [{"name": "times", "value": "n"}]},
    data=[{"name": "n", "value": "0"}],
)
PHONE = chart(
    state("call", go("hang_up", "over"), kind="parallel", states=[
        state("talk", states=[state("greet", go("said", "ask")), state("ask", go("said", "told")), state("told")]),
        state("line", states=[state("clear", go("noise", "noisy")), state("noisy", go("quiet", "clear"))]),
    ]),
    {"id": "over", "kind": "final"},
)  # fmt: skip


def test_a_guard_decides_and_the_next_transition_is_otherwise():
    hand = Hand(DOOR)
    for event in ("open", "close", "open", "close"):
        hand.tell(event)
    assert (hand.here, hand.state.data) == (("closed",), {"n": 2})
    assert hand.tell("open").taken == ("closed#2",)
    assert (hand.here, hand.state.running, hand.state.result) == (("broken",), False, {"times": 2})


def test_what_a_move_did_is_told_in_order():
    moved = Hand(DOOR).tell("open")
    assert (moved.exited, moved.entered, moved.taken) == (("closed",), ("opened",), ("closed#1",))
    assert (moved.changed, moved.handled) == ({"n": 1}, True)
    assert [timer.due for timer in moved.timers_set] == ["2026-11-21T03:00:30.000000Z"]


def test_an_event_that_nobody_waits_for_changes_nothing():
    hand = Hand(DOOR)
    before = hand.state
    assert not hand.tell("close").anything
    assert hand.state == before


def test_a_timer_of_a_state_comes_at_its_instant_and_not_before():
    hand = Hand(DOOR)
    hand.tell("open")
    assert not hand.wait("29s").anything
    assert hand.wait("1s").taken == ("opened#2",)
    assert charts.due_next(hand.state) == ""


def test_leaving_a_state_takes_its_timer_back():
    hand = Hand(DOOR)
    hand.tell("open")
    assert hand.tell("close").timers_cancelled == ("after.opened#2",)
    assert not hand.wait("1h").anything


def test_timers_that_are_due_come_before_a_later_event():
    hand = Hand(DOOR)
    hand.tell("open")
    hand.at = "2026-11-21T03:05:00.000000Z"
    assert hand.tell("open").taken == ("opened#2", "closed#1")


def test_a_parallel_state_is_in_all_its_regions():
    hand = Hand(PHONE)
    assert hand.here == ("call", "talk", "greet", "line", "clear")
    hand.tell("noise")
    hand.tell("said")
    assert hand.here == ("call", "talk", "ask", "line", "noisy")
    hand.tell("hang_up")
    assert hand.here == ("over",)


HISTORY = chart(
    state("work", go("pause", "paused"), states=[
        state("one", go("next", "two")),
        state("two", states=[state("early", go("next", "late")), state("late")]),
        {"id": "deep", "kind": "history", "deep": True, "initial": ["one"]},
        {"id": "shallow", "kind": "history", "initial": ["two"]},
    ]),
    state("paused", go("deep", "deep"), go("shallow", "shallow")),
)  # fmt: skip


def test_a_deep_history_remembers_the_innermost_state_and_a_shallow_one_the_child():
    hand = Hand(HISTORY)
    for event in ("next", "next", "pause", "deep"):
        hand.tell(event)
    assert hand.here == ("work", "two", "late")
    hand.tell("pause")
    hand.tell("shallow")
    assert hand.here == ("work", "two", "early")


def test_an_error_ends_its_block_only_and_is_an_event():
    made = chart(
        state("a", go("error.execution", "b"), entry=[[put("n", "n / 0"), put("n", "7")], [put("m", "1")]]),
        state("b"),
        data=[{"name": "n", "value": "0"}, {"name": "m", "value": "0"}],
    )
    hand = Hand(made)
    assert (hand.here, hand.state.data) == (("b",), {"n": 0, "m": 1})
    assert hand.moved.errors == ("a.entry#1: 'n / 0': got 'INVALID_ARGUMENT: divide by zero'",)


def test_a_guard_that_cannot_be_read_is_a_no_and_is_not_asked_for_ever():
    hand = Hand(chart(state("a", go("", "b", "state.missing.more > 1")), state("b"), reads=["state"]), state={})
    assert hand.here == ("a",)
    assert len(hand.moved.errors) == 1


def test_a_chart_reads_of_the_session_only_what_it_declares():
    made = chart(state("a", go("x", "b", "state.amount > 100")), state("b"), reads=["state"])
    assert Hand(made, state={"amount": 101}, history={}).tell("x").taken == ("a#1",)
    assert not Hand(made, state={"amount": 100}).tell("x").handled


@pytest.mark.parametrize(
    ("path", "why"),
    [("_event", "only read"), ("state.amount", "only read"), ("nowhere", "not declared"), ("n.deep", "no object")],
)
def test_only_declared_data_can_be_set(path, why):
    made = chart(state("a", entry=[[put(path, "1")]]), data=[{"name": "n", "value": "0"}], reads=["state"])
    assert why in Hand(made, state={"amount": 1}).moved.errors[0]


def test_the_same_arguments_give_the_same_answer():
    first, second = (charts.start(PHONE, {}, AT) for _ in range(2))
    assert first == second
    told = [charts.step(PHONE, first[0], Happening("said"), {}, AT) for _ in range(2)]
    assert told[0] == told[1]
    assert first[0].configuration == ("call", "talk", "greet", "line", "clear")


def test_a_chart_inside_is_begun_with_its_state_speaks_to_it_and_ends_with_it():
    inner = {
        "name": "inner", "version": 1, "data": [{"name": "n", "value": "0"}],
        "states": [{"id": "i", "transitions": [
            {"event": "ping", "do": [{"act": "send", "event": "pong", "target": "#_parent",
                                      "params": [{"name": "n", "value": "n"}]}]}]}],
    }  # fmt: skip
    made = chart(
        state("a", go("poke", do=[{"act": "send", "event": "ping", "target": "#_child"}]),
              go("pong", do=[put("heard", "_event.data.n")]), go("leave", "b"),
              invoke=[{"id": "child", "chart": inner, "params": [{"name": "n", "value": "41 + 1"}]}]),
        state("b"), data=[{"name": "heard", "value": "0"}],
    )  # fmt: skip
    hand = Hand(made)
    assert hand.state.invoked["child"].inside.configuration == ("i",)
    hand.tell("poke")
    assert hand.state.data == {"heard": 42}
    hand.tell("leave")
    assert hand.state.invoked == {}


@pytest.mark.parametrize(
    ("transitions", "rule"),
    [
        ([go("", "b")], "microsteps"),
        ([go("x", do=[{"act": "raise", "event": "x"}, {"act": "raise", "event": "x"}])], "queue"),
        ([go("x", do=[{"act": "send", "event": "x"}])], "microsteps"),
        ([go("x", do=[{"act": "foreach", "items": "l", "item": "i", "do": [
            {"act": "foreach", "items": "l", "item": "j", "do": [put("n", "i + j")]}]}])], "actions"),
    ],
)  # fmt: skip
def test_what_does_not_come_to_rest_is_refused_in_bounded_time_and_changes_nothing(transitions, rule):
    many = {"name": "l", "value": f"[{', '.join('0' for _ in range(400))}]"}
    made = chart(state("a", *transitions), state("b", go("", "a")), data=[{"name": "n", "value": "0"}, many])
    begun = time.process_time()
    with pytest.raises(ChartOverrun) as refusal:
        Hand(made).tell("x")
    assert refusal.value.facts["rule"] == rule
    assert time.process_time() - begun < 9


def test_data_that_grow_are_stopped_at_their_bound():
    hand = Hand(chart(state("a", go("x", do=[put("s", "s + s")])), data=[{"name": "s", "value": "'0123456789abcdef'"}]))
    for _ in range(30):
        hand.tell("x")
    assert "larger than" in hand.moved.errors[0]
    assert len(hand.state.data["s"]) <= 16_384


def test_timers_are_few():
    later = {"act": "send", "event": "y", "after": "1h"}
    hand = Hand(chart(state("a", go("x", do=[later]))))
    for _ in range(40):
        hand.tell("x")
    assert len(hand.state.timers) == 32
    assert "timers" in hand.moved.errors[0]


@pytest.mark.parametrize(
    ("name", "data"),
    [("", None), ("no spaces", None), ("x" * 300, None), ("x", 0.5), ("x", "y" * 20_000), ("x", {"n": 2**70})],
)
def test_what_is_no_event_is_refused_by_name(name, data):
    state, _ = charts.start(DOOR, {}, AT)
    with pytest.raises(BadEvent):
        charts.step(DOOR, state, Happening(name, data), {}, AT)


def test_a_state_of_another_chart_is_refused():
    state, _ = charts.start(DOOR, {}, AT)
    with pytest.raises(BadEvent, match="tried@1"):
        charts.step(chart(state_named("other"), version=2), state, Happening("x"), {}, AT)


def state_named(name: str) -> dict[str, str]:
    return {"id": name}
