"""The laws of a round: any order ends alike, nothing hangs, what was derived stays, and a step costs no whole plan."""

from __future__ import annotations

from graphlib import TopologicalSorter

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine.plan import ready, rounds
from agentstate.engine.plan.order import graph
from agentstate.engine.plan.rounds import Round
from tests.core import plan_world as world


@given(world.plans(most=20))
def test_a_plan_has_the_order_that_the_standard_library_gives_it(plan):
    wiring = graph(plan)
    sorter = TopologicalSorter()
    for call, places in wiring.reads.items():
        sorter.add(call, *places)
    for place in dict.fromkeys(place for places in wiring.reads.values() for place in places):
        sorter.add(place, *wiring.at[place], *wiring.below[place])
    assert wiring.order == tuple(node for node in sorter.static_order() if isinstance(node, str))


@given(st.data(), st.randoms(use_true_random=False))
def test_any_order_of_ready_calls_ends_in_the_same_state(data, random):
    plan = data.draw(world.plans())
    fate = data.draw(world.fates(plan))
    first, first_pad = world.worked(plan, fate, lambda able: able[0])
    other, other_pad = world.worked(plan, fate, random.choice)
    assert first_pad == other_pad
    assert first.marks == other.marks
    views = world.views(first_pad)
    assert ready.standings(first, views) == ready.standings(other, views)


@given(st.data(), st.randoms(use_true_random=False))
def test_something_is_ready_running_or_with_a_person_or_the_round_has_ended(data, random):
    plan = data.draw(world.plans())
    fate = data.draw(world.fates(plan))
    now, pad, held = Round(plan), dict(world.GIVEN["state"]), []
    while True:
        found = ready.standings(now, world.views(pad))
        able = [each.call for each in found.values() if each.status == "ready"]
        stuck = [each for each in found.values() if each.status == "waiting"]
        assert able or held or not stuck
        if not able and not held:
            break
        call = random.choice(able + held)
        if call in held:
            held.remove(call)
            now, pad = world.end(now, pad, call, fate[call])
        else:
            held.append(call)
            now = random.choice([rounds.began, rounds.asked])(now, call)
    live = {"ready", "running", "asked"}
    assert not live & {each.status for each in ready.standings(now, world.views(pad)).values()}


@given(st.data(), st.randoms(use_true_random=False))
def test_what_follows_from_a_call_is_what_looking_at_the_whole_plan_finds(data, random):
    plan = data.draw(world.plans())
    fate = data.draw(world.fates(plan))
    now, pad = Round(plan), dict(world.GIVEN["state"])
    whole = ready.standings(now, world.views(pad))
    known = {call: each for call, each in whole.items() if each.status != "waiting"}
    now = _recorded(now, known.values())
    while able := [call for call, each in known.items() if each.status == "ready" and call not in now.outcomes]:
        call = random.choice(able)
        now, pad = world.end(rounds.began(now, call), pad, call, fate[call], known[call].arguments)
        found = ready.following(now, world.views(pad), [call])
        now = _recorded(now, found)
        known |= {each.call: each for each in found}
    whole = ready.standings(now, world.views(pad))
    assert not [each for each in whole.values() if each.status in ("waiting", "ready")]


def _recorded(now, found):
    for each in found:
        if each.status in ("skipped", "blocked") and each.call not in now.outcomes:
            how = rounds.blocked if each.status == "blocked" else rounds.skipped
            now = how(now, each.call, each.reason, **({"kept": each.kept} if each.status == "skipped" else {}))
    return now


@given(st.data())
def test_what_was_found_to_be_skipped_or_blocked_stays_so(data):
    plan = data.draw(world.plans())
    fate = data.draw(world.fates(plan))
    now, pad, ends = Round(plan), dict(world.GIVEN["state"]), {}
    while True:
        found = ready.standings(now, world.views(pad))
        assert all(found[call].status == status for call, status in ends.items())
        ends = {call: each.status for call, each in found.items() if each.status in ("skipped", "blocked")}
        able = [each.call for each in found.values() if each.status == "ready"]
        if not able:
            return
        now, pad = world.end(rounds.began(now, able[-1]), pad, able[-1], fate[able[-1]], found[able[-1]].arguments)


@given(world.plans(most=12))
def test_the_order_puts_every_call_after_what_it_waits_for(plan):
    wiring = graph(plan)
    place = {call: number for number, call in enumerate(wiring.order)}
    wave = {call: number for number, calls in enumerate(wiring.waves) for call in calls}
    assert sorted(place) == sorted(wave) == sorted(plan.by_id)
    for call in plan.by_id:
        assert all(place[source] < place[call] and wave[source] < wave[call] for source in wiring.sources(call))
        assert all(call in wiring.dependents(source) for source in wiring.sources(call))


@given(st.data())
def test_a_round_is_read_back_equal_from_its_bytes(data):
    plan = data.draw(world.plans())
    now, _ = world.worked(plan, data.draw(world.fates(plan)), lambda able: able[0])
    assert msgspec.json.decode(msgspec.json.encode(now), type=Round) == now
