"""The clocks of service levels: they run while it is our turn, by the hours of the target, and know how they ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import events as ev
from agentstate.engine.instants import stamp
from sessions.automation.alerts.view import Told
from sessions.automation.service_levels import clocks, definition
from sessions.automation.service_levels.clocks import Clock, Measure, Session
from sessions.automation.service_levels.definition import BadTarget
from sessions.text import calendars
from tests.searching import drawn

START = datetime(2026, 11, 20, 16, 0, tzinfo=UTC)  # a Friday
SESSION = Session(UUID(int=7), "bank", "phone", START)
OFFICE = calendars.daily((1, 2, 3, 4, 5), "09:00", "17:00", "UTC")


def measure(what: str, seconds: int = 60, *, number: int = 1, calendar: Any = None, **more: Any) -> Measure:
    target = definition.load({"what": what, "seconds": seconds, **more})
    return Measure(UUID(int=number), what, 1, START - timedelta(days=1), target, calendar)


def at(seconds: float, event: ev.AnyEvent, seq: int) -> Told:
    return Told(seq, stamp(START + timedelta(seconds=seconds)), ev.kind_of(event), "x", event)


def said(role: str) -> ev.MessageAdded:
    return ev.MessageAdded(role, "words")


def talk(*turns: tuple[float, ev.AnyEvent]) -> list[Told]:
    return [at(seconds, event, seq) for seq, (seconds, event) in enumerate(turns)]


def run(measures: list[Measure], *turns: tuple[float, ev.AnyEvent]) -> list[tuple[str, str, float]]:
    found = clocks.moved([], talk(*turns), measures, SESSION)
    return [(each.measure.name, each.outcome, each.used.total_seconds()) for each in found]


CUSTOMER, AGENT, STAFF = said("customer"), said("agent"), said("staff")
FIRST, NEXT = measure("first_response"), measure("next_response", number=2)


def test_the_first_answer_ends_the_first_clock_and_each_later_wait_has_one_of_its_own():
    found = run([NEXT, FIRST], (0, CUSTOMER), (10, CUSTOMER), (30, AGENT), (40, AGENT), (50, CUSTOMER), (150, STAFF))
    assert found == [("first_response", "met", 30), ("next_response", "missed", 100)]


def test_a_wait_that_nobody_ended_runs_and_says_when_it_is_at_risk_and_missed():
    (clock,) = clocks.moved([], talk((0, CUSTOMER)), [FIRST], SESSION)
    assert (clock.risk_at, clock.missed_at) == (START + timedelta(seconds=45), START + timedelta(seconds=60))


def test_an_answer_at_the_very_limit_is_in_time():
    assert run([FIRST], (0, CUSTOMER), (60, AGENT)) == [("first_response", "met", 60)]
    assert run([FIRST], (0, CUSTOMER), (60.000001, AGENT))[0][1] == "missed"


def test_a_customer_who_hangs_up_before_our_answer_missed_nothing_of_ours():
    assert run([FIRST], (0, CUSTOMER), (5, ev.SessionEnded("bye", "customer"))) == [("first_response", "void", 5)]


def test_what_waited_for_a_run_counts_from_when_it_was_said():
    queued = ev.MessageQueued("words", "customer", "r")
    turns = [(0, queued), (20, ev.MessageAdded("customer", "words", queued=0)), (50, AGENT)]
    assert run([FIRST], *turns) == [("first_response", "met", 50)]


def test_settling_is_measured_without_the_time_in_which_it_is_the_customers_turn():
    settle = measure("resolution", 100)
    turns = [(0, CUSTOMER), (30, AGENT), (500, CUSTOMER), (540, AGENT), (900, ev.SessionEnded("done", "agent"))]
    assert run([settle], *turns) == [("resolution", "met", 70)]
    assert run([settle], *turns[:-1], (900, ev.SessionCancelled("x", "user:sue")))[0][1] == "void"


def asked(request: str, tier: int) -> ev.ApprovalRequested:
    return ev.ApprovalRequested(
        request, "c", "transfer", 1, {}, "", tier, "r", "p@1", "", 1, (), (), {}, stamp(START), "d"
    )


def test_time_to_decide_is_by_tier_and_a_withdrawn_request_is_no_measure():
    decide = measure("decide", 300, tiers=[2, 3])
    turns = [(0, asked("a", 2)), (1, asked("b", 1)), (2, asked("c", 3)), (3, asked("d", 2))]
    ends = [(100, ev.RequestEnded("a", "approved")), (200, ev.RequestEnded("c", "withdrawn"))]
    ends += [(600, ev.RequestEnded("d", "expired")), (700, ev.RequestEnded("b", "approved"))]
    assert run([decide], *turns, *ends) == [("decide", "met", 100), ("decide", "void", 198), ("decide", "missed", 597)]


def test_what_is_held_is_decided_and_what_is_undone_waits_anew():
    turns = [(0, asked("a", 2)), (10, ev.RequestHeld("a", stamp(START))), (20, ev.RequestUndone("a", "user:x"))]
    assert run([measure("decide", 300)], *turns) == [("decide", "met", 10), ("decide", "running", 0)]


def test_only_open_hours_count():
    first = measure("first_response", 2 * 3600, calendar=OFFICE)
    weekend = 64 * 3600  # Friday 16:00 to Monday 08:00
    assert run([first], (0, CUSTOMER), (weekend + 2 * 3600, AGENT)) == [("first_response", "met", 7200)]
    assert run([first], (0, CUSTOMER), (weekend + 2 * 3600 + 1, AGENT))[0][1] == "missed"


def test_a_target_of_others_and_one_that_came_later_measure_nothing():
    late = Measure(UUID(int=3), "late", 1, START + timedelta(hours=1), FIRST.target, None)
    for other in (measure("first_response", agents=["other"]), measure("first_response", channels=["fax"]), late):
        assert run([other], (0, CUSTOMER), (5, AGENT)) == []


ROLES = st.sampled_from([CUSTOMER, AGENT, STAFF])
TALKS = st.lists(st.tuples(st.integers(0, 90), ROLES), max_size=25)
ALL = [FIRST, NEXT, measure("resolution", 200, number=3), measure("first_response", 40, number=4, calendar=OFFICE)]


def told(turns: list[tuple[int, ev.AnyEvent]]) -> list[Told]:
    passed, found = 0.0, []
    for seq, (pause, event) in enumerate(turns):
        passed += pause
        found.append(at(passed, event, seq))
    return found


def by_id(found: list[Clock]) -> dict[UUID, Clock]:
    return {each.id: each for each in found}


@settings(max_examples=drawn(150))
@given(turns=TALKS, cut=st.integers(0, 25), again=st.integers(0, 25))
def test_entries_in_parts_and_gone_through_twice_move_the_clocks_as_once(turns, cut, again):
    entries = told(turns)
    whole = clocks.moved([], entries, ALL, SESSION)
    first = clocks.moved([], entries[:cut], ALL, SESSION)
    replayed = clocks.moved(first, entries[min(cut, again) :], ALL, SESSION)
    assert by_id(replayed) == by_id(whole)


@settings(max_examples=drawn(150))
@given(turns=TALKS)
def test_at_most_one_clock_of_a_target_runs_and_a_missed_one_used_more_than_allowed(turns):
    found = clocks.moved([], told(turns), ALL, SESSION)
    for each in ALL:
        assert sum(clock.measure.id == each.id and clock.ended_at is None for clock in found) <= 1
    for clock in found:
        if clock.outcome in ("met", "missed"):
            assert (clock.used > clock.allowed) == (clock.outcome == "missed")


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"what": "answer", "seconds": 5},
        {"what": "decide", "seconds": 0},
        {"what": "decide", "seconds": 10**9},
        {"what": "decide", "seconds": 5, "risk": 100},
        {"what": "decide", "seconds": 5, "tiers": [4]},
        {"what": "resolution", "seconds": 5, "tiers": [2]},
        {"what": "decide", "seconds": 5, "agents": [""]},
        {"what": "decide", "seconds": 5, "more": 1},
        {"what": "decide", "seconds": "5"},
        7,
    ],
)
def test_a_target_that_cannot_be_met_or_measured_is_refused(bad):
    with pytest.raises(BadTarget):
        definition.load(bad)
