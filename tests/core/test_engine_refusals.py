"""Each refusal has a name, and a test that provokes it; here are those of the engine that no other test names."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as with_fields

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.commands.conversation import AddData
from agentstate.engine.decide.commands.plans import EditPlan, InstanceGiven, ProposePlan
from agentstate.engine.decide.commands.scratchpad import Prove
from agentstate.engine.decide.compensation import MAX_STEPS, TooMuchToUndo
from agentstate.engine.decide.data import TooManyContexts
from agentstate.engine.decide.plans.refusals import NoPlan, TooManyInstances
from agentstate.engine.decide.proving import MAX_VALUE, ValueTooLarge
from agentstate.engine.decide.refusals import TooManyWaiting
from agentstate.engine.decide.sealing import NotEnded
from agentstate.engine.looping.held import MOST_WAITING
from agentstate.engine.plan import model
from agentstate.engine.plan.drawing import drawing
from agentstate.engine.plan.order import CyclicPlan
from agentstate.engine.state.rounds import MAX_INSTANCES, Instance
from tests.core.test_compensation import order, put_back
from tests.core.test_looping import at_work
from tests.core.test_plans_in_sessions import FREE, LOAD
from tests.core.worlds import World, opened

ROOT = Path(__file__).resolve().parents[2]


def test_every_refusal_is_named_by_a_test():
    """By its code; or by its class, where no other refusal has a class of that name."""
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    words, quoted = set(re.findall(r"\w+", sources)), set(re.findall(r"""['"]([^'"\s]+)(?=['"])""", sources))
    found = {part: refusals_below(ROOT / part) for part in ("agentstate", "audit", "sessions")}
    times = Counter(name for each in found.values() for name, _ in each)
    unnamed = [
        f"{name} {code}"
        for each in found.values()
        for name, code in each
        if code not in quoted and (times[name] > 1 or name not in words)
    ]
    assert unnamed == []
    assert [len(each) > 30 for each in found.values()] == [True] * 3


def refusals_below(folder: Path) -> list[tuple[str, str]]:
    return [each for path in folder.rglob("*.py") for each in refusals(path.read_text())]


def refusals(text: str) -> list[tuple[str, str]]:
    """Returns the classes of a module that have a code, each with it."""
    if "code = " not in text:
        return []
    return [
        (node.name, str(line.value.value))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
        if [getattr(target, "id", "") for target in line.targets] == ["code"]
    ]


def with_instances(number: int) -> World:
    """A session that holds so many instances."""
    world = opened().with_rules(FREE)
    instances = {f"i{each}": Instance() for each in range(number)}
    return replace(world, state=with_fields(world.state, plans=with_fields(world.state.plans, instances=instances)))


def test_more_calls_than_one_order_undoes_are_refused():
    world = put_back("a")
    (effect,) = world.events(ev.SessionRolledBack)[-1].lasting
    many = tuple(with_fields(effect, call=f"c{each}") for each in range(MAX_STEPS + 1))
    with pytest.raises(TooMuchToUndo, match=f"got {MAX_STEPS + 1}"):
        world.after(with_fields(order(world), lasting=many))
    assert len(world.after(with_fields(order(world), lasting=many[1:])).events(ev.CompensationOrdered)) == 1


def test_data_for_one_instance_more_than_a_session_holds_is_refused():
    full = with_instances(MAX_INSTANCES)
    with pytest.raises(TooManyContexts, match=f"at most {MAX_INSTANCES}"):
        full.after(AddData("note", {"a": 1}, "user:ann", instance="another"))
    assert full.after(AddData("note", {"a": 1}, "user:ann", instance="i0")).events(ev.DataAdded)


def test_a_plan_for_one_instance_more_than_a_session_holds_is_refused():
    plan = ProposePlan((LOAD,), "user:ann", instances=(InstanceGiven("another"),))
    with pytest.raises(TooManyInstances, match=f"the session would have {MAX_INSTANCES + 1}"):
        with_instances(MAX_INSTANCES).after(plan)
    assert with_instances(MAX_INSTANCES - 1).after(plan).events(ev.PlanCommitted)


def test_without_a_plan_there_is_none_to_edit():
    with pytest.raises(NoPlan):
        opened().after(EditPlan((LOAD,), "user:ann", 1))


def test_a_value_that_is_too_large_is_not_proven():
    def proving(size: int) -> World:
        """The quotation marks of a text count as well."""
        world = opened()
        world = replace(world, state=with_fields(world.state, pad={"note": "x" * (size - 2)}))
        return world.after(Prove("state.note"))

    assert proving(MAX_VALUE).events(ev.ValueProved)
    with pytest.raises(ValueTooLarge, match=f"{MAX_VALUE + 1} bytes"):
        proving(MAX_VALUE + 1)


def test_no_more_messages_wait_than_fit():
    full = at_work("enqueue").after(*[core.Say("customer", "Well?", "customer")] * MOST_WAITING)
    with pytest.raises(TooManyWaiting, match=f"{MOST_WAITING} messages wait already"):
        full.after(core.Say("customer", "Well?", "customer"))


def test_a_session_that_lives_is_not_sealed():
    with pytest.raises(NotEnded):
        opened().after(core.Seal("user:sue"))


def test_a_plan_that_waits_for_itself_is_not_drawn():
    circle = {"_tool": "tell", "_id": "tell", "text": "†state.x", "_outputPath": "state.x"}
    with pytest.raises(CyclicPlan, match="tell"):
        drawing(model.read([circle]))
