"""A round: outputs are written once, nothing stale is taken, what ended stays ended, instances keep to themselves."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine.plan import model, ready, rounds
from agentstate.engine.plan.rounds import BadOutcome, CallEnded, Round
from agentstate.errors import NotFound
from tests.core import plan_world as world


def begin(*calls) -> Round:
    return Round(model.read([{"_tool": "t", **call} for call in calls]))


def statuses(now: Round, pad, others=ready.NO_OTHERS):
    found = ready.standings(now, {"state": pad, "input": {}}, others)
    return {call: (each.status, each.reason) if each.reason else each.status for call, each in found.items()}


def arguments(now: Round, pad, call: str):
    return ready.standing(now, {"state": pad}, call).arguments


def test_the_first_result_at_a_path_stands_and_the_others_are_skipped():
    now = begin({"_id": "a", "_outputPath": "state.x"}, {"_id": "b", "_outputPath": "state.x"})
    now, pad, wrote = rounds.done(now, {}, "b", {"by": "b"})
    assert [str(path) for path in wrote] == ["state.x"]
    now, pad, wrote = rounds.done(now, pad, "a", {"by": "a", "more": 1})
    assert (pad, wrote) == ({"x": {"by": "b"}}, ())
    assert statuses(now, pad) == {"a": ("skipped", "path already written"), "b": "done"}


def test_a_new_round_may_write_what_an_older_one_wrote():
    now = begin({"_id": "a", "_outputPath": "state.x"})
    now, pad, _ = rounds.done(now, {}, "a", 1)
    _, pad, wrote = rounds.done(Round(now.plan, number=2), pad, "a", 2)
    assert (pad, len(wrote)) == ({"x": 2}, 1)


def test_a_result_goes_to_all_places_of_its_outcome():
    now = begin({"_id": "a", "_outputPath": "state.x && state.y || state.z"})
    assert rounds.done(now, {}, "a", 1)[1] == {"x": 1, "y": 1}
    assert rounds.done(now, {}, "a", 1, outcome=1)[1] == {"z": 1}
    assert rounds.failed(now, {}, "a", "no")[1] == {"z": "no"}


def test_an_error_is_written_nowhere_where_no_path_is_for_it():
    now, pad, wrote = rounds.failed(begin({"_id": "a", "_outputPath": "state.x"}), {}, "a", "no", reason="broken")
    assert (pad, wrote) == ({}, ())
    assert statuses(now, pad) == {"a": ("failed", "broken")}


def test_of_several_failures_the_first_is_written_and_the_others_are_no_less_handled():
    fails = [{"_id": name, "_outputPath": f"state.{name} || state.error"} for name in "ab"]
    now = begin(*fails, {"_id": "c", "x": "†state.b"}, {"_id": "d", "x": "†state.error"})
    now, pad, _ = rounds.failed(now, {}, "a", "first")
    now, pad, _ = rounds.failed(now, pad, "b", "second")
    assert pad == {"error": "first"}
    assert statuses(now, pad)["b"] == ("failed", "path already written")
    assert statuses(now, pad)["c"] == ("skipped", "b did not write state.b")
    assert statuses(now, pad)["d"] == "ready"


def test_what_stood_there_before_is_not_taken_for_what_was_refused():
    now = begin({"_id": "ask", "_outputPath": "state.allowed"}, {"_id": "pay", "x": "†state.allowed"})
    assert statuses(rounds.rejected(now, "ask"), {"allowed": True})["pay"] == ("blocked", "ask rejected")
    assert statuses(rounds.failed(now, {}, "ask", "no")[0], {"allowed": True})["pay"] == ("blocked", "ask failed")


def test_nor_for_what_came_to_another_outcome():
    now = begin({"_id": "ask", "_outputPath": "state.yes || state.no"}, {"_id": "pay", "x": "†state.yes"})
    now, pad, _ = rounds.done(now, {"yes": "of an older round"}, "ask", 1, outcome=1)
    assert statuses(now, pad)["pay"][0] == "skipped"


def test_a_guard_that_says_no_keeps_what_stood_there():
    load = {"_id": "load", "_outputPath": "state.customer", "_when": "!has(state.customer)"}
    now = begin(load, {"_id": "use", "x": "†state.customer"})
    assert statuses(now, {"customer": 1}) == {"load": ("skipped", "its guard says no"), "use": "ready"}
    assert arguments(rounds.skipped(now, "load", "its guard says no", kept=True), {"customer": 1}, "use") == {"x": 1}
    assert statuses(now, {}) == {"load": "ready", "use": "waiting"}
    assert arguments(*rounds.done(now, {}, "load", 2)[:2], "use") == {"x": 2}


def test_a_part_that_the_result_lacks_blocks_who_needs_it():
    now = begin({"_id": "load", "_outputPath": "state.c"}, {"_id": "use", "x": "†state.c.limit"})
    now, pad, _ = rounds.done(now, {"c": {"limit": 5}}, "load", {"name": "Ada"})
    assert statuses(now, pad)["use"] == ("blocked", "load wrote no state.c.limit")


def test_whoever_reads_a_whole_waits_for_all_its_parts():
    parts = [{"_id": name, "_outputPath": f"state.c.{name}"} for name in "ab"]
    now = begin(*parts, {"_id": "use", "x": "†state.c"})
    now, pad, _ = rounds.done(now, {"c": {"old": 0}}, "a", 1)
    assert statuses(now, pad)["use"] == "waiting"
    assert arguments(*rounds.done(now, pad, "b", 2)[:2], "use") == {"x": {"old": 0, "a": 1, "b": 2}}
    assert statuses(rounds.rejected(now, "b"), pad)["use"] == ("blocked", "b rejected")


def test_an_alternative_is_taken_once_no_earlier_one_can_come():
    now = begin(
        {"_id": "a", "_outputPath": "state.a"},
        {"_id": "b", "_outputPath": "state.b"},
        {"_id": "c", "x": "†state.a || †state.b"},
    )
    now, pad, _ = rounds.done(now, {}, "b", "B")
    assert statuses(now, pad)["c"] == "waiting"
    assert arguments(rounds.rejected(now, "a"), pad, "c") == {"x": "B"}
    assert arguments(*rounds.done(now, pad, "a", "A")[:2], "c") == {"x": "A"}


def test_a_join_waits_for_all_and_takes_the_last():
    now = begin(
        {"_id": "a", "_outputPath": "state.a"},
        {"_id": "b", "_outputPath": "state.b"},
        {"_id": "c", "x": "†state.a && †state.b"},
    )
    now, pad, _ = rounds.done(now, {}, "b", "B")
    assert statuses(now, pad)["c"] == "waiting"
    assert arguments(*rounds.done(now, pad, "a", "A")[:2], "c") == {"x": "B"}


def test_a_guard_may_ask_about_the_arguments_and_one_that_cannot_be_read_blocks():
    now = begin({"_id": "a", "n": "†state.n", "_when": "arguments.n > 5"}, {"_id": "b", "_when": "state.n > 'x'"})
    assert statuses(now, {"n": 7})["a"] == "ready"
    assert statuses(now, {"n": 3})["a"] == ("skipped", "its guard says no")
    assert statuses(now, {"n": 3})["b"][0] == "blocked"


def test_what_has_ended_or_is_not_there_cannot_end():
    now = rounds.rejected(begin({"_id": "a"}), "a")
    for change in (rounds.began, rounds.asked, rounds.rejected):
        with pytest.raises(CallEnded):
            change(now, "a")
        with pytest.raises(NotFound):
            change(now, "b")
    with pytest.raises(CallEnded):
        rounds.done(now, {}, "a", 1)


@pytest.mark.parametrize("outcome", [-1, 2])
def test_a_tool_cannot_name_an_outcome_that_the_call_does_not_have(outcome):
    with pytest.raises(BadOutcome):
        rounds.done(begin({"_id": "a", "_outputPath": "state.a || state.b"}), {}, "a", 1, outcome=outcome)


def test_a_call_of_an_instance_reads_and_writes_there_and_nowhere_else():
    now = begin(
        {"_id": "a", "_instance": "ann", "_outputPath": "state.x"},
        {"_id": "b", "_instance": "bob", "_outputPath": "state.x"},
        {"_id": "c", "_instance": "ann", "x": "†state.x", "who": "†state.name"},
        {"_id": "d", "x": "†state.x"},
    )
    others = {name: {"state": {"name": name}} for name in ("ann", "bob")}
    now, ann, _ = rounds.done(now, {"name": "ann"}, "a", 1)
    now, bob, wrote = rounds.done(now, {"name": "bob"}, "b", 2)
    assert (ann["x"], bob["x"], len(wrote)) == (1, 2, 1)
    others = {"ann": {"state": ann}, "bob": {"state": bob}}
    assert ready.standing(now, {"state": {}}, "c", others).arguments == {"x": 1, "who": "ann"}
    assert statuses(now, {}, others)["d"] == ("blocked", "there is no state.x, and nothing writes it")


def test_of_a_thousand_instances_a_poisoned_one_stops_no_other():
    plan = model.read(
        [
            {"_tool": "t", "_id": "a", "x": "†state.id", "_outputPath": "state.a"},
            {"_tool": "t", "_id": "b", "x": "†state.a"},
        ]
    )
    ended = {}
    begun = time.process_time()
    for number in range(1_000):
        pad = {"id": number} if number != 500 else {}
        now = Round(plan, instance=str(number))
        if ready.standing(now, {"state": pad}, "a").status == "ready":
            now, pad, _ = rounds.done(now, pad, "a", number)
        ended[number] = statuses(now, pad)["b"]
    assert [number for number, status in ended.items() if status != "ready"] == [500]
    assert ended[500] == ("blocked", "there is no state.id, and nothing writes it")
    assert time.process_time() - begun < 6


@given(st.data(), st.randoms(use_true_random=False))
def test_how_a_round_ends_does_not_hang_on_when_its_ends_were_recorded(data, random):
    plan = data.draw(world.plans())
    fate = data.draw(world.fates(plan))
    derived, pad = world.worked(plan, fate, lambda able: able[0])
    now, at = Round(plan), dict(world.GIVEN["state"])
    while True:
        found = ready.standings(now, world.views(at))
        for each in found.values():
            if each.status in ("skipped", "blocked") and each.call not in now.outcomes and random.random() < 0.7:
                end = rounds.skipped if each.status == "skipped" else rounds.blocked
                now = end(now, each.call, each.reason, **({"kept": True} if each.kept else {}))
        able = [each.call for each in found.values() if each.status == "ready"]
        if not able:
            break
        call = random.choice(able)
        now, at = world.end(now, at, call, fate[call], found[call].arguments)
    assert at == pad
    assert ready.standings(now, world.views(at)) == ready.standings(derived, world.views(pad))
