"""What concerns another data subject than the session's: what folds without it, and what a snapshot keeps apart."""

from __future__ import annotations

import random

from agentstate.engine import events as ev
from agentstate.engine.state.evolution import evolve, evolve_erased
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_parts, to_parts, to_snapshot
from agentstate.engine.state.subjects import kid_of, own

AT = "2026-07-01T10:00:00.000000Z"
KIDS = ("", "k-1", "k-2")
PLAN = ({"_tool": "look", "_id": "a"}, {"_tool": "look", "_id": "b", "name": "†state.x"})


def life(seed: int) -> list[ev.AnyEvent]:
    """A session whose plan is carried out for six instances of three data subjects, their calls in any order."""
    order = random.Random(seed)
    opened = ev.SessionOpened("C-1", "team", "told", "chat")
    members = [(f"i{number}", KIDS[number % 3]) for number in range(6)]
    plan = ev.PlanCommitted(1, "r", ({**PLAN[0], "_outputPath": "state.x"}, PLAN[1]), "p", "person", False, instances=6)
    first: list[ev.AnyEvent] = [
        ev.InstanceOpened("r", name, {"who": name}, kid and "S" + kid, kid) for name, kid in members
    ]
    left = {name: [step for call in "ab" for step in steps(f"r.{call}@{name}")] for name, _ in members}
    played: list[ev.AnyEvent] = []
    while any(left.values()):
        played.append(left[order.choice([name for name, steps in left.items() if steps])].pop(0))
    return [opened, *first, plan, *played]


def steps(call: str) -> list[ev.AnyEvent]:
    intended = ev.ToolIntended(call, "look", 1, {"of": call}, "", "pure", f"key {call}", 1, 0, "rule", "policy")
    return [intended, ev.ToolReturned(call, 1, {"seen": call}, "state.x" if ".a@" in call else None)]


def folded(events: list[ev.AnyEvent]) -> tuple[SessionState, list[str]]:
    state, kids = SessionState(), []
    for event in events:
        kids.append(kid_of(state, event))
        state = evolve(state, event, AT)
    return state, kids


def without(events: list[ev.AnyEvent], kids: list[str], gone: str) -> SessionState:
    state = SessionState()
    for event, kid in zip(events, kids, strict=True):
        state = evolve_erased(state, kid, AT) if kid == gone else evolve(state, event, AT)
    return state


def test_a_session_folds_on_from_any_point_without_what_was_erased():
    for seed in range(20):
        events = life(seed)
        for size in (len(events), seed + 8):
            state, kids = folded(events[:size])
            bare = without(events[:size], kids, "k-1")
            assert (bare.seq, bare.plans.erased) == (state.seq, ("k-1",))
            assert "i1" not in repr(bare)
            assert {name: part.pad for name, part in bare.plans.instances.items()} == {
                name: part.pad for name, part in state.plans.instances.items() if part.kid != "k-1"
            }


def test_an_erasure_that_is_recorded_and_one_that_is_passed_over_come_to_the_same():
    for seed in range(20):
        events = [*life(seed)[: seed + 8], ev.SubjectErased("k-1")]
        state, kids = folded(events)
        bare = without(events, kids, "k-1")
        assert (state.plans.left, state.plans.ready, state.calls.keys()) == (
            bare.plans.left,
            bare.plans.ready,
            bare.calls.keys(),
        )
        assert (state.status, state.plans.instances) == (bare.status, bare.plans.instances)


def test_a_snapshot_in_parts_gives_the_state_back_and_its_rest_knows_no_other_subject():
    for seed in range(20):
        state, _ = folded(life(seed)[: seed + 8])
        parts = to_parts(state, 0)
        assert to_snapshot(from_parts(parts.rest, parts.bodies)) == to_snapshot(state)
        assert all(f"@{name}" not in parts.rest.decode() for name in ("i1", "i2", "i4", "i5"))
        for number, body in parts.bodies.items():
            other = {"k-1": "k-2", "k-2": "k-1", "": "k-1"}[parts.kids.get(number, "")]
            assert other not in body.decode()


def test_a_state_without_other_subjects_is_itself():
    state, _ = folded(life(1)[:1])
    assert own(state) is state
