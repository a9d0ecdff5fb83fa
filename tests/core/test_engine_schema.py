"""Sessions and the schema of their state: it is named at the opening, enforced on what is written and read, carried to
the next version with the next step, and nothing that a session did is lost by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.charts import Chart
from agentstate.engine.charts.lifecycle import lifecycle_chart
from agentstate.engine.decide import schema as rules
from agentstate.engine.decide.commands.plans import ProposePlan
from agentstate.engine.events.base import Event
from agentstate.engine.events.upcast import Vocabulary
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.merge.kept import Changes, Conflict
from agentstate.engine.migrating import CannotMigrate, Catalogue, catalogue
from agentstate.engine.migrating.pruning import Reads, prunable, read_by, read_by_policy
from agentstate.engine.migrating.steps import STEPWISE, path_of
from agentstate.engine.plan import model
from agentstate.engine.schemas.examples import examples
from agentstate.engine.scratchpad import write
from agentstate.engine.state import runs
from agentstate.engine.state.evolution import evolve, fold
from agentstate.engine.state.rounds import Instance
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.migrating_world import CALLER, FUNCTIONS, ONE_TO_TWO, V1, V2, bank, migration
from tests.searching import drawn

BANK_V1 = catalogue((V1,))
BANK_V2 = catalogue((V1, V2), (migration(ONE_TO_TWO),))
AUTHORIZE = worlds.proposed("authorize", "state.authorization", customer="C-1")
LOAD = worlds.proposed("load_customer", "state.customer")
CUSTOMER = dict(CALLER["customer"])


@dataclass(frozen=True)
class World(worlds.World):
    """A session whose state has a declared schema."""

    schemas: Catalogue | None = BANK_V1
    reads: Reads = field(default_factory=Reads)
    chart: Chart | None = None
    charts: Mapping[str, Chart] = field(default_factory=dict)

    @property
    def given(self) -> core.CommandContext:
        return changed(super().given, schemas=self.schemas, reads=self.reads, chart=self.chart, charts=self.charts)

    def under(self, schemas: Catalogue | None) -> World:
        """The same session after a deployment."""
        return replace(self, schemas=schemas)


def opened(schemas: Catalogue | None = BANK_V1) -> World:
    world = World(schemas=schemas)
    return world.after(core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Hello.", "customer"))


def loaded() -> World:
    """... and whose customer record stands in the state."""
    world = opened().asked(LOAD)
    return world.ran(world.call("load_customer"), CUSTOMER)


def test_a_session_is_opened_under_the_newest_schema():
    assert opened().state.schema.reference == "bank@1"
    assert opened(None).state.schema.reference == ""


def test_a_result_that_breaks_the_schema_fails_the_call_and_tells_the_model_path_and_rule():
    world = opened().asked(LOAD)
    world = world.ran(world.call("load_customer"), {"name": 7})
    (failed,) = world.events(ev.ToolFailed)
    assert (failed.code, failed.result) == ("breaks_schema", {"name": 7})
    assert "state.customer.name: type: want string" in failed.reason
    assert "state.customer.name: type" in world.state.items[-1].text
    assert world.call("load_customer").status is CallStatus.FAILED
    assert world.state.pad == {}


@pytest.mark.parametrize(
    ("path", "code"), [("state.mood", "breaks_schema"), ("state.customer.shoe", "breaks_schema"), ("mood", "bad_path")]
)
def test_a_call_whose_result_has_no_place_is_refused_before_it_runs(path, code):
    world = opened().asked(worlds.proposed("load_customer", path))
    (refused,) = world.events(ev.CallRefused)
    assert refused.code == code


def test_a_call_whose_tool_may_not_write_there_is_refused_before_it_runs():
    narrow = catalogue((changed_writers(V1, "agent"),))
    (refused,) = opened(narrow).asked(LOAD).events(ev.CallRefused)
    assert refused.code == "not_a_writer"
    assert "state.customer: x-writers: got tool:load_customer, want one of agent" in refused.reason


def changed_writers(declared: Any, writer: str) -> Any:
    return changed(declared, source=declared.source.replace(b'["agent","tool","staff"]', f'["{writer}"]'.encode()))


def test_a_session_in_flight_takes_the_new_version_with_its_next_step():
    world = loaded().under(BANK_V2).after(core.Say("customer", "Go on.", "customer"))
    (event,) = world.events(ev.StateMigrated)
    assert (event.schema, event.before, event.after, event.by) == ("bank", 1, 2, "")
    assert world.state.schema.reference == "bank@2"
    assert world.state.pad["contact"] == {"phone": "555 0100", "fax": "555 0199"}
    assert event.digest == ev.digest(world.state.pad)
    assert world.after(core.Say("customer", "And on.", "customer")).events(ev.StateMigrated) == [event]


def test_the_result_of_a_call_that_was_open_goes_where_its_place_is_now():
    world = opened().asked(AUTHORIZE)
    call = world.call("authorize")
    world = world.after(core.Begin(call.id)).under(BANK_V2)
    world = world.after(core.Return(call.id, 1, {"allowed": True}))
    assert world.state.pad == {"check": {"allowed": True}}


def test_an_approval_that_rested_on_what_moved_is_asked_for_again():
    """The reviewer saw state.authorization; it is called otherwise now, so what they saw no longer stands."""
    world = opened().asked(AUTHORIZE)
    world = world.ran(world.call("authorize"), {"allowed": True}).asked(
        worlds.proposed("transfer", amount={"minor": 90_000})
    )
    world = world.after(worlds.decision(world, "approve", "ann")).under(BANK_V2)
    world = world.after(core.Begin(world.call("transfer").id))
    assert [type(event) for event, _ in world.history[-2:]] == [ev.StateMigrated, ev.ApprovalRequested]


def test_a_state_that_cannot_be_carried_goes_on_under_the_version_it_has():
    world = opened(None).asked(worlds.proposed("load_customer", "state.mood"))
    world = world.ran(world.call("load_customer"), {"good": True}).under(BANK_V2)
    world = world.after(core.Say("customer", "Go on.", "customer"))
    assert world.state.schema.reference == ""
    with pytest.raises(CannotMigrate) as refusal:
        world.after(core.Migrate(2, "op"))
    assert refusal.value.path == "state.mood"


def test_a_session_of_before_anything_was_declared_is_carried_when_it_fits():
    world = opened(None).under(BANK_V2).after(core.Say("customer", "Go on.", "customer"))
    assert world.state.schema.reference == "bank@2"


def test_what_is_taken_back_stays_back_until_somebody_says_otherwise():
    world = loaded().under(BANK_V2).after(core.Say("customer", "Go on.", "customer"))
    world = world.after(core.Migrate(1, "op", hold=True), core.Say("customer", "Go on.", "customer"))
    assert (world.state.schema.reference, world.state.schema.held) == ("bank@1", True)
    assert world.state.pad == {"customer": CUSTOMER}
    assert world.after(core.Migrate(2, "op")).state.schema.reference == "bank@2"


def test_values_that_break_the_schema_are_not_acted_on():
    """A state as a broken deployment might leave it: policy would read it, so the call is refused by path and rule."""
    world = opened().asked(AUTHORIZE)
    world = world.ran(world.call("authorize"), {"allowed": True}).asked(
        worlds.proposed("transfer", amount={"minor": 40_000})
    )
    broken = replace(world, state=changed(world.state, pad={"authorization": {"allowed": True, "reason": 7}}))
    (refused,) = broken.after(core.Begin(world.call("transfer").id)).events(ev.CallRefused)
    assert (refused.code, refused.reason) == ("breaks_schema", "state.authorization.reason: type: want string")


def test_what_nothing_reads_is_pruned_and_nothing_else():
    pad = {"authorization": {"allowed": True, "mood": 1}, "old": {"kept": 1, "gone": 2}, "tool": 3, "junk": [1]}
    world = replace(opened(), reads=read_by(["state.old.kept", "f(state.tool)"]))
    world = replace(world, state=changed(world.state, pad=pad))
    world = world.after(core.Prune("op"))
    (event,) = world.events(ev.StatePruned)
    assert set(event.paths) == {"state.authorization.mood", "state.old.gone", "state.junk"}
    assert world.state.pad == {"authorization": {"allowed": True}, "old": {"kept": 1}, "tool": 3}
    assert event.digest == ev.digest(world.state.pad)
    assert world.after(core.Prune("op")).events(ev.StatePruned) == [event]


def test_what_a_plan_under_way_refers_to_is_kept():
    plan = model.read(
        [{"_tool": "authorize", "customer": "†state.draft.customer", "_outputPath": "†state.authorization"}]
    )
    state = changed(opened().state, pad={"draft": {"customer": "C-1", "old": 1}})
    given = opened().given
    assert rules.unread(state, given) == ["state.draft"]
    under_way = changed(state, plans=changed(state.plans, plan=plan, is_open=True))
    assert rules.unread(under_way, given) == ["state.draft.old"]


def test_nothing_is_pruned_where_an_expression_takes_the_whole_state():
    assert prunable(V1, {"junk": 1}, read_by(["size(state) > 3"])) == []
    assert prunable(None, {"junk": 1}, Reads()) == []


def test_what_a_policy_asks_about_is_read():
    assert ("authorization", "allowed") in read_by_policy(worlds.BANK).paths
    assert ("customer", "accounts") in read_by_policy(worlds.BANK).paths


pads = st.sampled_from([pad for pad in examples(V1) if isinstance(pad, dict)])
writes = st.lists(
    st.one_of(
        pads.flatmap(lambda pad: st.sampled_from(sorted(pad.items()) or [("limit", 1)])).map(
            lambda pair: ((pair[0],), pair[1])
        ),
        st.tuples(st.just(("customer", "phone")), st.text("0123456789", max_size=4)),
        st.tuples(st.just(("customer", "name")), st.text(max_size=4)),
        st.tuples(st.just(("authorization", "allowed")), st.booleans()),
        st.tuples(
            st.just(("customer",)), st.fixed_dictionaries({}, optional={"fax": st.just("1"), "phone": st.just("2")})
        ),
    ),
    max_size=6,
)


@settings(max_examples=drawn(200))
@given(writes)
def test_migrating_what_was_folded_is_folding_what_was_migrated(written):
    """For what looks at nothing but what it moves, each write may as well be migrated before it is folded."""
    there = migration(ONE_TO_TWO)
    assert all(isinstance(step, STEPWISE) for step in there.steps)
    folded: dict[str, Any] = {}
    stepwise: dict[str, Any] = {}
    for names, value in written:
        folded = write(folded, path_of(names), value)
        delta = there.up(write({}, path_of(names), value), FUNCTIONS)
        for name, item in delta.items():
            stepwise = write(stepwise, path_of((name,)), item)
    assert there.up(folded, FUNCTIONS) == stepwise


@settings(max_examples=drawn(100))
@given(writes, st.integers(0, 6))
def test_a_migration_at_any_moment_is_what_its_event_says(written, when):
    """fold(before, the event, after) = the events after it, folded over the migrated fold of those before it."""
    world = opened()
    for number, (names, value) in enumerate(written):
        if number == when:
            world = world.under(BANK_V2)
        world = world.asked(worlds.proposed("load_customer", path_of(names)))
        call = list(world.state.calls.values())[-1]
        if call.status is CallStatus.READY:
            world = world.ran(call, value)
    world = world.under(BANK_V2).after(core.Say("customer", "Go on.", "customer"))
    moment = next(index for index, (event, _) in enumerate(world.history) if isinstance(event, ev.StateMigrated))
    before, rest = fold(world.history[:moment]), world.history[moment + 1 :]
    event = world.history[moment][0]
    carried = BANK_V2.carry(before.pad, 1, 2)
    by_hand = changed(fold([world.history[moment]], before), pad=carried.applied(before.pad))
    assert fold(rest, by_hand) == world.state == fold(world.history)
    assert event.digest == ev.digest(by_hand.pad)
    assert from_snapshot(to_snapshot(world.state)) == world.state


@settings(max_examples=drawn(100))
@given(writes)
def test_what_says_that_it_can_be_reversed_comes_back(written):
    pad: dict[str, Any] = {}
    for names, value in written:
        pad = write(pad, path_of(names), value)
    carried = bank().carry(pad, 1, 2)
    if carried.lossless:
        after = carried.applied(pad)
        assert bank().carry(after, 2, 1).applied(after) == pad
    empty = "contact" in pad  # nothing of version 1 is called contact, so everything comes back
    assert carried.lossless or empty


def test_a_plan_is_carried_out_under_the_version_it_began_with():
    """Its references and output paths are places of that version, and a person may have approved them so."""
    world = loaded()
    under_way = changed(world.state, plans=changed(world.state.plans, is_open=True))
    world = replace(world, state=under_way).under(BANK_V2)
    assert world.after(core.Say("customer", "Go on.", "customer")).state.schema.reference == "bank@1"
    with pytest.raises(CannotMigrate) as refusal:
        world.after(core.Migrate(2, "op"))
    assert refusal.value.rule == "plan"


class BegunRun(Event, frozen=True, tag="run.started"):
    """A second form of a kind: it says why, which the first did not."""

    run: str
    trigger: str
    why: str
    v: int = 2


def newer_forms() -> Vocabulary[Any]:
    union: Any = BegunRun
    for kind in ev.EVENTS:
        union = union if kind is ev.RunStarted else union | kind
    return Vocabulary(union, {("run.started", 1): lambda form: {**form, "why": "it was asked"}})


def test_a_session_in_flight_survives_a_new_schema_a_new_chart_and_a_new_form_of_its_events_at_once(monkeypatch):
    """The state is carried; the chart stays the one it began with; old bytes are read as the newest form."""
    first = lifecycle_chart()
    second = changed(first, version=first.version + 1)
    old = replace(loaded(), chart=first, charts={first.reference: first})
    world = opened_with(old).asked(LOAD)
    world = world.ran(world.call("load_customer"), CUSTOMER)
    stored = [(ev.encode(event), at) for event, at in world.history]
    monkeypatch.setitem(event_handler.by_type, BegunRun, runs.run_started)
    read = [(newer_forms().decode(data), at) for data, at in stored]
    assert any(isinstance(event, BegunRun) for event, _ in read)
    state = fold(read)
    assert state == world.state
    both = {first.reference: first, second.reference: second}
    world = replace(world, state=state, schemas=BANK_V2, chart=second, charts=both)
    world = world.after(core.Say("customer", "Go on.", "customer")).asked(text="I do.")
    assert world.state.schema.reference == "bank@2"
    assert world.state.chart.inside.chart == first.reference
    assert opened_with(world).state.chart.inside.chart == second.reference


def opened_with(world: World) -> World:
    """Another session of the same deployment."""
    fresh = replace(world, state=SessionState(), history=())
    return fresh.after(core.Open("C-2", "team", "bank", "phone"), core.Say("customer", "Hello.", "customer"))


def test_the_scratchpads_of_instances_are_carried_with_the_sessions_own():
    world = loaded()
    plans = changed(world.state.plans, instances={"ann": Instance(pad=CALLER), "bob": Instance()})
    world = replace(world, state=changed(world.state, plans=plans)).under(BANK_V2)
    world = world.after(core.Say("customer", "Go on.", "customer"))
    assert [event.instance for event in world.events(ev.StateMigrated)] == ["ann", ""]
    ann = world.state.plans.instances["ann"]
    assert ann.pad["check"] == {"allowed": True}
    assert ann.seq == len(loaded().history)  # the entry that changed it: its part of the snapshot is written again
    assert world.state.schema.reference == "bank@2"


def test_a_contested_path_is_settled_where_its_place_is_now():
    event = ev.StateMigrated("bank", 1, 2, {}, (), "", True, {"state.authorization": "state.check"})
    conflict = Conflict("1", 1, "", "state.authorization", "vote", 2, "", (), (), ())
    state = changed(loaded().state, changes=Changes(conflicts={"1": conflict}))
    assert evolve(state, event, "").changes.conflicts["1"].path == "state.check"


def test_a_state_of_another_name_is_left_alone():
    state = changed(opened().state, schema=changed(opened().state.schema, name="shop"))
    assert rules.upgrade(core.Say("customer", "x", "customer"), state, opened(BANK_V2).given) == []


def test_a_plan_that_writes_where_the_form_has_no_place_is_refused_before_anything_runs():
    def handed(path: str) -> World:
        call = {"_tool": "load_customer", "customer": "C-1", "_outputPath": path}
        return opened().after(ProposePlan((call,), "user:sue"))

    with pytest.raises(Invalid, match="not_in_form"):
        handed("state.customer.name.first")
    assert handed("state.customer").state.plans.version == 1
