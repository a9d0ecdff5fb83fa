"""Who may write a place of the state: a protected place changes through its declared writer only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import references, schemas
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.migrating.pruning import read_by
from agentstate.engine.scratchpad import BadPath
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import Call
from agentstate.engine.writers import BadKey, Output, WriteRules, own_place, problems
from agentstate.errors import Refused
from sessions.agents import registry
from sessions.library import policies, state_schemas
from tests.core.worlds import proposed
from tests.core.writer_world import NAMES, World, only_staff, opened
from tests.searching import drawn

OWN = {"load_customer": "state.customer", "authorize": "state.checks.last"}
FORM = only_staff(
    flags={"x-writers": ["staff"]},
    deep={"properties": {"inner": {"x-writers": ["tool:remember", "staff"]}}},
)
PROTECTED = {"customer": "load_customer", "checks.last": "authorize", "flags": "", "deep.inner": "remember"}
PATHS = (
    "customer",
    "customer.name",
    "checks",
    "checks.last",
    "checks.last.allowed",
    "flags",
    "flags.one",
    "deep",
    "deep.inner",
    "scrap",
    "scrap.x",
)
VALUES = st.sampled_from(
    [{"error": "x"}, {"inner": 1}, {"last": {"allowed": True}}, {"name": "x"}, "text", 7, None, []]
)
TERM = st.sampled_from([f"state.{path}" for path in PATHS])
OUTPUT = st.lists(TERM, min_size=1, max_size=3, unique=True).flatmap(
    lambda terms: st.sampled_from([" || ".join(terms), " && ".join(terms)])
)
CALL = st.fixed_dictionaries(
    {"_tool": st.sampled_from(NAMES)},
    optional={"_outputPath": OUTPUT, "_delegate": st.just("anonymous"), "_when": st.just("true")},
)
WAY = st.sampled_from(["calls", "plan", "person"])
TURN = st.tuples(WAY, st.lists(CALL, min_size=1, max_size=3), st.lists(st.tuples(st.booleans(), VALUES), min_size=3))


def at(pad: Any, place: str) -> Any:
    """The value at a place; a mark of its own where there is none."""
    for name in place.split("."):
        if not isinstance(pad, dict) or name not in pad:
            return "nothing"
        pad = pad[name]
    return pad


def tried(world: World, command: Command) -> World:
    """The world after a command; the same where it is refused."""
    try:
        return world.after(command)
    except Refused:
        return world


def turned(world: World, way: str, calls: list[dict[str, Any]]) -> World:
    """The world after a model or a person has proposed calls."""
    if way == "person":
        return tried(world, core.ProposePlan(tuple(calls), "user:ann", replace=True))
    if way == "plan":
        return world.asked(proposed(PLAN, calls=calls))
    rest = [({key: value for key, value in call.items() if key != "_tool"}, call["_tool"]) for call in calls]
    return world.asked(*(proposed(tool, OWN.get(tool), **arguments) for arguments, tool in rest))


def ended(world: World, gives: list[tuple[bool, Any]], protected: dict[str, str]) -> World:
    """The world after calls that may run have run; protected places are compared at each step."""
    for fails, value in gives:
        allowed = (call.id for call in world.state.calls.values() if call.status is CallStatus.READY)
        for key in [*world.state.plans.ready, *allowed][:3]:
            world = tried(world, core.Begin(key))
            call = world.state.calls.get(key)
            if call is None or call.status is not CallStatus.RUNNING:
                continue
            before, writer = world.state.pad, "" if fails else writer_of(world, call)
            over = core.Fail(key, call.attempt, "it broke", False) if fails else core.Return(key, call.attempt, value)
            world = world.after(over)
            for place, owner in protected.items():
                assert at(before, place) == at(world.state.pad, place) or (writer and writer == owner), place
    return world


def writer_of(world: World, call: Call) -> str:
    """The tool whose result a call gives; empty where a delegate gives it."""
    planned = world.state.plans.plan.by_id.get(call.id.partition(".")[2])
    return "" if planned is not None and planned.delegate else call.tool


@given(turns=st.lists(TURN, min_size=1, max_size=4), has_schema=st.booleans())
@settings(max_examples=drawn(150))
def test_protected_places_are_changed_by_their_declared_writer_only(turns, has_schema):
    world = opened(FORM, OWN) if has_schema else opened(output_paths=OWN)
    world = world.changed_by_staff("state.flags", ["fraud"]).changed_by_staff("state.deep", {"inner": {"was": 1}})
    protected = PROTECTED if has_schema else {"customer": "load_customer", "checks.last": "authorize"}
    for way, calls, gives in turns:
        before = world.state.pad
        world = turned(world, way, calls)
        assert world.state.pad == before
        world = ended(world, gives, protected)


def found(tool: str, text: str, rules: WriteRules, **more: Any) -> list[str]:
    """The codes of why a call of the tool may not write there."""
    output = Output(tool, {}, references.output(text).alternatives if text else (), **more)
    return [problem.code for problem in problems(output, rules)]


RULES = WriteRules(own={"authorize": "state.checks.last"}, reads=read_by(["state.user_id"]))


@pytest.mark.parametrize(
    ("tool", "text", "wanted"),
    [
        ("authorize", "state.checks.last", []),
        ("authorize", "state.checks.last || state.trouble", []),
        ("authorize", "", []),
        ("authorize", "state.scrap", ["fixed_output"]),
        ("authorize", "state.checks.last && state.scrap", ["fixed_output"]),
        ("authorize", "state.scrap || state.checks.last", ["fixed_output"]),
        ("authorize", "state.checks.last || state.checks.last.error", ["not_a_writer"]),
        ("remember", "state.checks", ["not_a_writer"]),
        ("remember", "state.checks.last.allowed", ["not_a_writer"]),
        ("remember", "state.checks.lasting", []),
        ("remember", "notes.last", []),
        ("remember", "state.user_id", []),
        ("remember", "state.scrap || state.user_id.error", ["not_a_writer"]),
    ],
)
def test_where_a_call_may_write(tool, text, wanted):
    assert found(tool, text, RULES) == wanted


def test_a_model_neither_leaves_a_place_out_nor_writes_where_rules_read():
    assert found("authorize", "", RULES, by_model=True) == ["fixed_output"]
    assert found("remember", "state.user_id.x", RULES, by_model=True) == ["not_a_writer"]
    declared = schemas.declare(
        "open", 1, {"type": "object", "properties": {"user_id": {"x-writers": ["tool:remember"]}}}
    )
    named = WriteRules(declared, reads=RULES.reads)
    assert found("remember", "state.user_id", named, by_model=True) == []


def test_neither_an_error_nor_a_models_path_goes_anywhere_where_a_rule_reads_the_whole_state():
    rules = WriteRules(reads=read_by(["size(state) > 3"]))
    assert found("remember", "state.x || state.y", rules) == ["not_a_writer"]
    assert found("remember", "state.x", rules, by_model=True) == ["not_a_writer"]
    assert found("remember", "state.x", rules) == []


def test_a_scalar_in_the_place_of_an_object_takes_away_nothing_that_others_write():
    declared = FORM.current
    remember, cancel = schemas.Actor("tool", ("remember",)), schemas.Actor("tool", ("cancel",))
    pad = {"deep": {"inner": 1}}
    schemas.check_write(declared, remember, "state.deep", {"inner": 2}, pad)
    schemas.check_write(declared, cancel, "state.deep", {"other": 2}, pad)
    for taken in (7, None, []):
        with pytest.raises(schemas.NotAWriter):
            schemas.check_write(declared, cancel, "state.deep", taken, pad)


RECORDS = {"get_record": "state.records.{record_id}.last"}


@pytest.mark.parametrize("key", ["R1", "#W12", "a-b_c", "0"])
def test_a_place_takes_its_key_from_the_arguments(key):
    assert own_place(RECORDS, "get_record", {"record_id": key}) == f"state.records.{key}.last"


@pytest.mark.parametrize("key", ["", "a.b", "†state.x", "a b", "ä", "x" * 65, "a\n", "#", "-", 7, None, ["R1"]])
def test_a_key_that_is_no_plain_word_is_refused_by_name(key):
    with pytest.raises(BadKey, match="get_record: want letters"):
        own_place(RECORDS, "get_record", {"record_id": key})


def test_the_place_of_a_record_is_made_of_arguments_that_its_tool_requires_as_text():
    def agent(**paths: str) -> registry.Agent:
        return registry.Agent("by-id", "", tuple(paths), "bank", paths)

    for paths in ({"load_customer": "state.kept.{who}"}, {"authorize": "state.checks.{to_account}"}):
        with pytest.raises(ValueError, match="output_paths"):
            registry.register(agent(**paths))
    for paths in ({"load_customer": "kept"}, {"load_customer": "notes.kept"}):
        with pytest.raises(BadPath):
            registry.register(agent(**paths))
    registry._must_be_a_place("load_customer", "state.kept.{customer}")


@pytest.mark.parametrize("name", ["airline", "retail"])
def test_the_states_that_rules_expect_fit_the_shipped_schema(name):
    declared, cases = state_schemas.named(name).current, policies.cases_of(policies.named(name).reference)
    schemas.check_state(declared, cases.given["state"])
    for case in cases.cases:
        schemas.check_state(declared, case.given.get("state", {}))
