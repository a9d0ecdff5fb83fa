"""Changes of a session's state side by side: merged, refused, voted on, or settled by a person."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.changes import (
    ChangedMeanwhile,
    ConflictOver,
    NoSuchConflict,
    NoSuchProposal,
    OwnCause,
    TooManyConflicts,
)
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.scratchpad import Arbitrate, ChangeState, Propose, Vote
from agentstate.engine.decide.commands.session import EraseCustomer
from agentstate.engine.merge.kept import MOST_OPEN
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.migrating.catalogue import Catalogue
from agentstate.engine.schemas import Actor, BreaksSchema, NotAWriter
from agentstate.engine.schemas.declared import declare
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Invalid, Refused
from tests.core import worlds
from tests.core.test_versions import at, rollback
from tests.core.worlds import World

STAFF = Actor("staff", ("supervisor",))
SCHEMA: dict[str, Any] = {
    "type": "object",
    "x-writers": ["staff:supervisor", "tool"],
    "properties": {
        "used": {"type": "integer", "x-merge": "counter"},
        "notes": {"type": "array", "items": {"type": "string"}, "x-merge": "list"},
        "goal": {"type": "string", "x-merge": {"clash": "arbiter"}},
        "limit": {"type": "integer", "x-merge": {"clash": "vote", "quorum": 2}},
        "secret": {"type": "string", "x-writers": ["tool:load_customer"]},
        "plain": {},
        "authorization": {},
    },
}


class Declaring(World):
    """A world whose session has a declared state."""

    @property
    def given(self) -> core.CommandContext:
        return msgspec.structs.replace(
            super().given, schemas=Catalogue("tests", {1: declare("tests", 1, SCHEMA)}, {}, {})
        )


def session() -> World:
    world = Declaring().after(core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Hello", "customer"))
    return world.after(change(world, "start", used=5, goal="move money", limit=100, notes=["called"], plain=1))


def change(world: World, name: str, by: str = "user:ann", seen: int = -1, **values: Any) -> ChangeState:
    seen = world.state.seq if seen == -1 else seen
    base = at_pad(world, seen)
    wanted = tuple(PathChange(f"state.{path}", value) for path, value in values.items())
    return ChangeState(seen, wanted, by, STAFF, name, base)


def at_pad(world: World, seen: int) -> dict[str, Any]:
    return fold(world.history[:seen]).pad


def contested(path: str = "limit", theirs: Any = 200, ours: Any = 300) -> World:
    """Ann changed a path; Bob, who had not seen it, wants something else."""
    world = session()
    seen = world.state.seq
    world = world.after(change(world, "a", **{path: theirs}))
    return world.after(change(world, "b", "user:bob", seen, **{path: ours}))


def conflict(world: World) -> Any:
    (found,) = world.state.changes.open
    return found


def test_two_changes_that_do_not_touch_both_hold():
    world = session()
    seen = world.state.seq
    world = world.after(change(world, "a", plain=2)).after(change(world, "b", "user:bob", seen, goal="ask"))
    assert (world.state.pad["plain"], world.state.pad["goal"]) == (2, "ask")


def test_what_merges_by_type_merges_and_says_how():
    world = session()
    seen = world.state.seq
    world = world.after(change(world, "a", used=6, notes=["called", "verified"]))
    world = world.after(change(world, "b", "user:bob", seen, used=15, notes=["called", "sent form"]))
    assert world.state.pad["used"] == 16
    assert world.state.pad["notes"] == ["called", "verified", "sent form"]
    assert {write.path: write.how for write in world.history[-1][0].writes} == {  # type: ignore[union-attr]
        "state.used": "counter",
        "state.notes": "list",
    }


def test_a_clash_without_a_rule_refuses_the_whole_change_and_names_the_path():
    world = session()
    seen = world.state.seq
    world = world.after(change(world, "a", plain=2))
    with pytest.raises(ChangedMeanwhile, match=r"state\.plain") as refused:
        world.after(change(world, "b", "user:bob", seen, plain=3, used=6))
    assert refused.value.facts["paths"] == ["state.plain"]


def test_a_change_that_arrives_twice_counts_once():
    world = session()
    once = change(world, "a", used=6)
    world = world.after(once)
    assert core.decide(once, world.state, world.given) == []


def test_a_vote_settles_what_the_rule_leaves_to_a_vote():
    world = contested()
    assert world.state.pad["limit"] == 200  # until it is settled, what stands holds
    found = conflict(world)
    (wanted,) = found.proposals
    assert (found.rule, found.quorum, wanted.value, found.standing) == ("vote", 2, (300,), (200,))
    settled = world.after(Vote(found.id, wanted.id, "user:cid"))
    assert settled.state.pad["limit"] == 300
    ended = settled.history[-1][0]
    assert isinstance(ended, ev.ConflictEnded)
    assert (ended.outcome, [each.value for each in ended.lost]) == ("voted", [(200,)])
    assert not settled.state.changes.open


def test_a_vote_may_be_for_what_stands_or_for_something_else():
    world = contested()
    found = conflict(world)
    kept = world.after(Vote(found.id, "", "user:ann"), Vote(found.id, "", "user:cid"))
    assert kept.state.pad["limit"] == 200
    third = world.after(Propose(found.id, "user:ann", STAFF, 250), Propose(found.id, "user:cid", STAFF, 250))
    assert third.state.pad["limit"] == 250
    assert len(third.events(ev.ValueProposed)) == 1  # the same value is one proposal with two votes


def test_a_person_has_one_vote():
    world = contested()
    found = conflict(world)
    world = world.after(Vote(found.id, found.proposals[0].id, "user:bob"))
    assert world.state.changes.open
    moved = world.after(Vote(found.id, "", "user:bob"), Vote(found.id, "", "user:bob"))
    assert conflict(moved).votes == {"user:bob": ""}


def test_an_arbiter_settles_what_is_theirs_and_a_vote_that_does_not_end():
    for path, theirs, ours in (("goal", "close", "order card"), ("limit", 200, 300)):
        world = contested(path, theirs, ours)
        found = conflict(world)
        settled = world.after(Arbitrate(found.id, found.proposals[0].id, "user:sue", "as the customer asked"))
        assert settled.state.pad[path] == ours
        assert settled.history[-1][0].by == "user:sue"  # type: ignore[union-attr]


def test_votes_do_not_settle_what_a_person_must():
    world = contested("goal", "close", "order card")
    found = conflict(world)
    for voter in ("user:ann", "user:cid", "user:dan"):
        world = world.after(Vote(found.id, found.proposals[0].id, voter))
    assert conflict(world).votes_for(found.proposals[0].id) == 4


def test_nobody_settles_their_own_cause():
    world = contested("goal", "close", "order card")
    with pytest.raises(OwnCause):
        world.after(Arbitrate(conflict(world).id, "", "user:bob", "mine"))
    with pytest.raises(Invalid, match="must not be empty"):
        world.after(Arbitrate(conflict(world).id, "", "user:sue", " "))


def test_a_settled_conflict_is_over():
    world = contested()
    found = conflict(world)
    world = world.after(Arbitrate(found.id, "", "user:sue", "as it is"))
    assert world.state.pad["limit"] == 200
    for command in (Vote(found.id, "", "user:x"), Propose(found.id, "user:x", STAFF, 1)):
        with pytest.raises(ConflictOver):
            world.after(command)
    with pytest.raises(NoSuchConflict):
        world.after(Vote("nothing", "", "user:x"))
    with pytest.raises(NoSuchProposal):
        contested().after(Vote(conflict(contested()).id, "nothing", "user:x"))


def test_who_may_not_write_a_path_may_not_change_or_propose_it():
    world = session()
    with pytest.raises(NotAWriter, match=r"state\.secret"):
        world.after(change(world, "a", secret="x"))
    with pytest.raises(BreaksSchema, match=r"state\.limit"):
        world.after(change(world, "a", limit="many"))
    contest = contested()
    with pytest.raises(BreaksSchema):
        contest.after(Propose(conflict(contest).id, "user:ann", STAFF, "a lot"))
    with pytest.raises(NotAWriter):
        contest.after(Propose(conflict(contest).id, "agent", Actor("agent"), 5))


def test_conflicts_are_few():
    world, clash = session(), None
    for number in range(MOST_OPEN + 1):
        if clash is not None:
            world = world.after(clash)
        seen = world.state.seq
        world = world.after(change(world, f"a{number}", limit=number))
        clash = change(world, f"b{number}", "user:bob", seen, limit=number + 1000)
    with pytest.raises(TooManyConflicts):
        world.after(clash)


def test_a_version_that_nobody_can_have_seen_is_refused():
    world = session()
    for seen in (0, world.state.seq + 1):
        with pytest.raises(Invalid, match="want 1 to 3"):
            world.after(replace_seen(change(world, "a", plain=2), seen))


def replace_seen(command: ChangeState, seen: int) -> ChangeState:
    return msgspec.structs.replace(command, seen=seen)


def test_a_rollback_withdraws_conflicts_and_brings_back_the_marks():
    world = contested()
    back = world.after(rollback(world, 3))
    assert not back.state.changes.open
    assert back.state.changes.marks == at(world, 3).changes.marks
    assert back.state.changes.applied == world.state.changes.applied
    assert [event.outcome for event in back.events(ev.ConflictEnded)] == ["withdrawn"]


@pytest.mark.parametrize(
    "last",
    [
        core.End("solved", "user:ann"),
        core.Cancel("a mistake", "user:ann"),
        EraseCustomer("0" * 32, "request"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_the_end_of_a_session_withdraws_what_is_contested_with_all_that_was_proposed(last: Command):
    world = contested()
    found = conflict(world)
    over = world.after(last)
    assert not over.state.changes.open
    (ended,) = over.events(ev.ConflictEnded)
    assert (ended.conflict, ended.outcome, ended.lost) == (found.id, "withdrawn", found.proposals)
    assert over.state.pad["limit"] == world.state.pad["limit"]
    with pytest.raises(Refused):
        over.after(Vote(found.id, found.proposals[0].id, "user:sue"))


def test_a_change_voids_a_permit_that_rested_on_the_value():
    world = worlds.waiting()
    approved = world.after(worlds.decision(world, "approve", "sue"))
    free = ChangeState(
        approved.state.seq,
        (PathChange("state.authorization", {"allowed": False}),),
        "user:ann",
        STAFF,
        "c",
        approved.state.pad,
    )
    changed = approved.after(free)
    events = core.decide(core.Begin(changed.call("transfer").id), changed.state, changed.given)
    assert [ev.kind_of(event) for event in events] == ["approval.requested"]


def test_a_state_with_conflicts_is_the_fold_of_its_events_and_has_a_snapshot():
    world = contested()
    stored = [(ev.decode(ev.encode(event)), when) for event, when in world.history]
    assert fold(stored) == world.state
    assert from_snapshot(to_snapshot(world.state)) == world.state
