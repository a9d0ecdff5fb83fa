"""The laws of the engine with rollbacks, checkpoints and changes by others in between: any of them at any moment.

The machine is that of `test_engine_laws` with more rules: all of its laws hold here as well, among them that the state
is the fold of any prefix and the rest, that snapshots are read back, and that a refused command changes nothing.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.commands.scratchpad import Arbitrate, ChangeState, Propose, Vote
from agentstate.engine.decide.versions import consequences
from agentstate.engine.merge.kept import MOST_OPEN
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import pending
from agentstate.engine.versions.effects import since
from agentstate.engine.versions.kept import KEPT_AUTOMATIC, KEPT_LATE, KEPT_NAMED, KEPT_ROLLBACKS
from agentstate.errors import Refused
from tests.core.made import values
from tests.core.test_changes import STAFF
from tests.core.test_engine_laws import Life
from tests.core.test_versions import TOOLS
from tests.core.worlds import World
from tests.searching import drawn

paths = st.sampled_from(["state.goal", "state.authorization", "state.authorization.allowed", "state.customer", "state"])
people = st.sampled_from(["user:ann", "user:bob", "user:sue"])


class LifeWithVersions(Life):
    """One session that is put back, named, changed by others and forked."""

    @rule(data=st.data(), fresh=st.sampled_from([True, True, False]))
    def go_back(self, data: st.DataObject, fresh: bool) -> None:
        world = self.world
        to = data.draw(st.integers(0, world.state.seq))
        older = fold(world.history[:to])
        stored = [(seq, event) for seq, (event, _) in enumerate(world.history)][to:]
        effects = since(older, stored, TOOLS)
        try:
            seen = consequences(world.state, older, effects).digest if fresh else "something else"
        except Refused:
            seen = ""
        before = world.state
        self.attempt(core.Rollback(to, "user:sue", "back", seen, older, effects))
        if self.world.state.epoch > before.epoch:
            assert self.world.state.pad == older.pad
            assert not pending(self.world.state)
            assert self.world.state.refusals == before.refusals

    @rule(name=st.sampled_from(["a", "b", " "]))
    def name_a_point(self, name: str) -> None:
        self.attempt(core.Name(name, "user:sue"))

    @precondition(lambda self: self.world.state.versions.late)
    @rule(data=st.data(), how=st.sampled_from(["return", "fail", "other attempt"]))
    def a_late_result(self, data: st.DataObject, how: str) -> None:
        call = data.draw(st.sampled_from(sorted(self.world.state.versions.late)))
        late, before = self.world.state.versions.late[call], self.world.state
        if how == "fail":
            self.attempt(core.Fail(call, late.attempt, "no", transient=True))
        else:
            self.attempt(core.Return(call, late.attempt + (how != "return"), {"receipt": "late"}))
        after = self.world.state
        assert (after.pad, after.calls, after.items, after.owes) == (
            before.pad,
            before.calls,
            before.items,
            before.owes,
        )

    @rule(data=st.data(), path=paths, value=values, by=people)
    def somebody_changes_the_state(self, data: st.DataObject, path: str, value: Any, by: str) -> None:
        seen = data.draw(st.integers(0, self.world.state.seq))
        change = PathChange(path, value, remove=data.draw(st.booleans()))
        base = fold(self.world.history[:seen]).pad
        self.attempt(ChangeState(seen, (change,), by, STAFF, f"c{len(self.world.history)}", base))

    @rule(data=st.data(), by=people, value=values)
    def somebody_settles(self, data: st.DataObject, by: str, value: Any) -> None:
        conflict = data.draw(st.sampled_from([*sorted(self.world.state.changes.conflicts), "none"]))
        commands = [Vote(conflict, "", by), Propose(conflict, by, STAFF, value), Arbitrate(conflict, "", by, "so")]
        self.attempt(data.draw(st.sampled_from(commands)))

    @rule(data=st.data())
    def a_fork_keeps_quiet(self, data: st.DataObject) -> None:
        seq = data.draw(st.integers(1, self.world.state.seq))
        older = fold(self.world.history[:seq])
        child = World(policy=self.world.policy, seconds=10_000)
        child = child.after(core.Fork("parent", seq, "user:sue", "what if", older))
        assert fold(child.history) == child.state
        assert not child.state.requests
        assert child.state.pad == older.pad
        child = child.asked(text="Hm.")
        assert not child.events(ev.MessageAdded)

    @invariant()
    def what_is_remembered_of_versions_is_bounded(self) -> None:
        versions, changes = self.world.state.versions, self.world.state.changes
        assert len(versions.checkpoints) <= KEPT_AUTOMATIC + KEPT_NAMED
        assert len(versions.rollbacks) <= KEPT_ROLLBACKS
        assert len(versions.late) <= KEPT_LATE
        assert len(changes.open) <= MOST_OPEN
        seqs = [point.seq for point in versions.checkpoints]
        assert seqs == sorted(seqs)
        assert all(seq <= self.world.state.seq for seq in seqs)


LifeWithVersions.TestCase.settings = settings(max_examples=drawn(30), stateful_step_count=30)
TestLifeWithVersions = LifeWithVersions.TestCase
del Life  # its own file runs it
