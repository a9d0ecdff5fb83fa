"""What a model says that phrases mean: offered where something is known, checked in form, recorded as its word."""

from __future__ import annotations

import ast
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentstate.engine
from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import model_request
from agentstate.engine.decide import offers
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.shown import ToolSpec
from agentstate.engine.memory.tokens import ESTIMATE
from agentstate.engine.model_request import Definition
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.understanding import answer
from agentstate.engine.understanding.answer import MAX_MEANT, MAX_MENTION, RESOLVE_REFERENCES
from agentstate.engine.understanding.held import MAX_REFERENCES
from tests.core.talk_world import ACCOUNTS, World, loaded, resolving
from tests.core.worlds import proposed

ENGINE = Path(agentstate.engine.__file__).parent
DEFINITION = Definition("Help.", (ToolSpec(RESOLVE_REFERENCES, "Say.", answer.SCHEMA),))
REFERENCES = (("my savings", "a"), ("it", "a"))


def resolved() -> World:
    """The model has said what the newest message refers to."""
    world = loaded()
    return world.asked(resolving(world.state.talk.heard_seq, *REFERENCES))


def refusal(world: World, *calls: ev.CallProposed) -> tuple[str, str]:
    """The code and reason with which the last of these calls is refused; nothing of the talk has changed."""
    after = world.asked(*calls)
    refused = after.events(ev.CallRefused)[-1]
    assert after.state.talk.heard == world.state.talk.heard
    assert after.events(ev.ReferencesResolved) == world.events(ev.ReferencesResolved)
    return refused.code, refused.reason


def test_what_the_model_says_is_recorded_with_its_step_and_copied():
    world = resolved()
    (said,) = world.events(ev.ReferencesResolved)
    (asked,) = (each for each in world.events(ev.ModelAnswered) if each.calls[0].tool == RESOLVE_REFERENCES)
    assert (said.step, said.call, said.seq) == (asked.step, asked.calls[0].id, world.state.talk.heard_seq)
    assert [(each.mention, each.entities, each.by) for each in said.references] == [
        ("my savings", ("a",), "model"), ("it", ("a",), "model"),
    ]  # fmt: skip
    assert world.state.talk.heard == said.references
    assert [mention.entity for mention in world.state.talk.mentions] == ["a"]


def test_the_call_has_ended_and_the_model_is_asked_again():
    world = resolved()
    assert not [call for call in world.state.calls.values() if call.tool == RESOLVE_REFERENCES]
    assert world.state.owes
    assert world.state.items[-1].text == '{"status":"ok"}'


def test_the_record_round_trips_and_the_state_is_the_fold():
    world = resolved()
    (said,) = world.events(ev.ReferencesResolved)
    assert ev.decode(ev.encode(said)) == said
    for cut in range(len(world.history)):
        assert fold(world.history[cut:], fold(world.history[:cut])) == world.state
    assert from_snapshot(to_snapshot(world.state)) == world.state


def test_it_is_offered_with_what_is_known_until_the_message_is_answered():
    request = model_request.build(DEFINITION, "m", loaded().state)
    assert [tool.name for tool in request.tools] == [RESOLVE_REFERENCES]
    known = [{"id": "b", "type": "account", "label": "checking"}, {"id": "a", "type": "account", "label": "savings"}]
    assert request.state["known"] == {"message": loaded().state.talk.heard_seq, "entities": known}
    after = model_request.build(DEFINITION, "m", resolved().state)
    assert after.tools == ()
    assert "known" not in after.state
    assert after.state["references"][0] == {"said": "my savings", "means": [{"id": "a", "label": "savings"}]}


def test_a_new_message_of_the_customer_is_open_again_and_one_of_the_agent_is_not():
    world = resolved().asked(text="It is open.")
    assert world.state.talk.heard
    newer = world.after(core.Say("customer", "Close it.", "customer"))
    assert newer.state.talk.heard == ()
    newer = newer.asked(resolving(newer.state.talk.heard_seq, ("it", "a")))
    assert newer.state.talk.heard[0].mention == "it"


def test_an_agent_without_entities_is_offered_nothing():
    bare = World(ontology=None).after(core.Open("C-1", "t", "bank", "phone"), core.Say("customer", "my savings?", "c"))
    request = model_request.build(DEFINITION, "m", bare.state)
    assert (request.tools, "known" in request.state) == ((), False)
    assert RESOLVE_REFERENCES not in offers.tools_in(bare.given)
    assert refusal(bare, resolving(bare.state.talk.heard_seq, ("my savings", "a")))[0] == "not_offered"


def test_what_was_not_offered_in_this_request_is_refused_by_name():
    world = loaded()
    asked = world.after(core.Ask("s", "model", 0, 0, ("load_customer",), "digest"))
    call = resolving(world.state.talk.heard_seq, *REFERENCES)
    (refused,) = asked.after(core.Answer("s", "model", "", (call,))).events(ev.CallRefused)
    assert refused.code == "not_offered"


def test_a_message_is_answered_once_and_the_first_answer_stays():
    world = resolved()
    assert refusal(world, resolving(world.state.talk.heard_seq, ("my savings", "b")))[0] == "references_known"
    world = loaded()
    twice = [resolving(world.state.talk.heard_seq, ("it", each)) for each in "ab"]
    both = world.asked(*twice)
    assert [each.entities for each in both.state.talk.heard] == [("a",)]
    assert both.events(ev.CallRefused)[-1].code == "references_known"


def test_an_answer_that_nothing_refers_is_one():
    world = loaded()
    world = world.asked(resolving(world.state.talk.heard_seq))
    assert (world.state.talk.heard, world.state.talk.answered) == ((), True)


def test_a_person_who_was_first_is_not_overruled_by_the_model():
    world = loaded()
    seq = world.state.talk.heard_seq
    right = world.after(core.CorrectReference(seq, "it", ("b",), "user:ann"))
    assert refusal(right, resolving(seq, ("it", "a")))[0] == "references_known"


def test_a_person_corrects_the_model_and_the_next_request_says_so():
    world = resolved()
    world = world.after(core.CorrectReference(world.state.talk.heard_seq, "it", ("b",), "user:ann"))
    assert [(each.mention, each.by) for each in world.state.talk.heard] == [("my savings", "model"), ("it", "user:ann")]
    (_, fact) = model_request.build(DEFINITION, "m", world.state).state["references"]
    assert fact == {"said": "it", "means": [{"id": "b", "label": "checking"}]}


@pytest.mark.parametrize(
    ("references", "code"),
    [
        ([("my savings", "ghost")], "unknown_entity"),
        ([("my savings", "a", "ghost")], "unknown_entity"),
        ([("my mortgage", "a")], "unknown_mention"),
        ([("My savings", "a")], "unknown_mention"),
        ([("Move", "a")], "unknown_mention"),  # of the message before
        ([("it", "a"), ("it", "b")], "bad_references"),
        ([("it",)], "bad_references"),
        ([("", "a")], "bad_references"),
        ([("x" * (MAX_MENTION + 1), "a")], "bad_references"),
        ([("it", *["a"] * (MAX_MEANT + 1))], "bad_references"),
        ([(f"phrase {number}", "a") for number in range(MAX_REFERENCES + 1)], "bad_references"),
        ([("it", "a" * 10_000)], "bad_references"),
    ],
)
def test_what_does_not_fit_message_or_entities_is_refused_by_name(references, code):
    world = loaded()
    assert refusal(world, resolving(world.state.talk.heard_seq, *references))[0] == code


@pytest.mark.parametrize("off", [-100, -1, 1, 2**70])
def test_an_answer_about_another_message_is_refused_by_name(off):
    world = loaded()
    assert refusal(world, resolving(world.state.talk.heard_seq + off, ("it", "a")))[0] in (
        "not_newest_message", "bad_references",
    )  # fmt: skip


def test_thousands_of_references_are_refused_before_they_are_read():
    world = loaded()
    code, reason = refusal(world, resolving(world.state.talk.heard_seq, *[("it", "a")] * 5_000))
    assert code in ("bad_references", "breaks_schema", "too_large")
    assert len(reason) < 1_100


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"message": "4", "references": []}, {"message": True, "references": []},
        {"message": Decimal("4.0"), "references": []},
        {"message": None, "references": None}, {"message": 1, "references": {"mention": "it"}},
        {"message": 1, "references": [{"mention": "it", "entities": "a"}]},
        {"message": 1, "references": [{"mention": 3, "entities": ["a"]}]},
        {"message": 1, "references": [], "by": "user:ann"},
        {"message": 1, "references": [{"mention": "it", "entities": ["a"], "by": "user:ann"}]},
    ],
)  # fmt: skip
def test_arguments_of_another_form_are_refused_by_name(arguments):
    assert refusal(loaded(), proposed(RESOLVE_REFERENCES, **arguments))[0] == "bad_references"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(max_size=12), each, max_size=4),
    max_leaves=12,
)


@given(message=st.integers(0, 12) | JSON, references=JSON, mention=st.text(max_size=8), entity=st.text(max_size=3))
def test_no_answer_says_more_than_message_and_request_hold(message, references, mention, entity):
    world = loaded()
    for call in (
        proposed(RESOLVE_REFERENCES, message=message, references=references),
        resolving(message, (mention, entity), ("it", "a")),
    ):
        after = world.asked(call)
        text = next(item.text for item in after.state.items if item.seq == after.state.talk.heard_seq)
        assert all(each.mention in text for each in after.state.talk.heard)
        assert {entity for each in after.state.talk.heard for entity in each.entities} <= {"a", "b"}
        assert fold(after.history) == after.state


def test_an_entity_that_came_after_the_request_does_not_count():
    world = loaded().asked(proposed("load_customer"))
    later = world.call("load_customer")
    asked = world.after(core.Say("customer", "Is it open?", "customer"))
    asked = asked.after(core.Ask("s", "model", 0, 0, offers.tools_in(world.given), "digest"))
    asked = asked.ran(later, {"accounts": [{"id": "c", "kind": "late"}]})
    call = resolving(asked.state.talk.heard_seq, ("it", "c"))
    assert {each.id for each in asked.state.talk.entities} == {"a", "b", "c"}
    assert asked.after(core.Answer("s", "model", "", (call,))).events(ev.CallRefused)[-1].code == "unknown_entity"


def requested(world: World, definition: Definition) -> World:
    """The world after the request that the definition makes of it was recorded."""
    request = model_request.build(definition, "m", world.state)
    shown = model_request.shown(request, "d", world.state, ESTIMATE, 10_000)
    tools = tuple(tool.name for tool in request.tools)
    return world.after(core.Ask("s", "m", 0, 0, tools, "digest", shown=shown))


def test_only_what_the_request_had_room_for_counts():
    small = msgspec.structs.replace(DEFINITION, room=4 * 60)
    world = requested(loaded(), small)
    assert [each["id"] for each in model_request.build(small, "m", loaded().state).state["known"]["entities"]] == ["b"]
    assert world.events(ev.ModelRequested)[-1].shown.entities == 1
    seq = world.state.talk.heard_seq
    left_out = world.after(core.Answer("s", "m", "", (resolving(seq, ("it", "a")),)))
    assert left_out.events(ev.CallRefused)[-1].code == "unknown_entity"
    assert world.after(core.Answer("s", "m", "", (resolving(seq, ("it", "b")),))).state.talk.heard
    none = model_request.build(msgspec.structs.replace(DEFINITION, room=4), "m", loaded().state)
    assert (none.tools, "known" in none.state) == ((), False)


def test_a_request_that_names_no_entity_records_no_number_of_them():
    bare = World(ontology=None).after(core.Open("C-1", "t", "bank", "phone"), core.Say("customer", "Hi.", "c"))
    (event,) = requested(bare, DEFINITION).events(ev.ModelRequested)
    assert b"entities" not in ev.encode(event)
    assert b'"entities":2' in ev.encode(requested(loaded(), DEFINITION).events(ev.ModelRequested)[-1])


def test_an_entity_of_a_private_result_is_neither_shown_nor_taken():
    private = ("state.customer",)
    world = loaded(path="state.customer")
    open_request = model_request.build(DEFINITION, "m", world.state)
    assert len(open_request.state["known"]["entities"]) == 2
    request = model_request.build(msgspec.structs.replace(DEFINITION, private=private), "m", world.state)
    assert (request.tools, "known" in request.state) == ((), False)
    hiding = replace(world, memory=Remembering(private=private))
    assert refusal(hiding, resolving(world.state.talk.heard_seq, ("it", "a")))[0] == "unknown_entity"


def test_beside_a_plan_of_calls_the_references_are_taken_and_the_plan_too():
    world = loaded().offering(*offers.PLANNING)
    step = proposed("load_customer", _id="x", customer="C-1")
    world = world.asked(step, resolving(world.state.talk.heard_seq, ("it", "a")))
    assert world.state.talk.heard[0].entities == ("a",)
    assert world.events(ev.PlanCommitted)
    whole = loaded().offering(*offers.PLANNING)
    plan = proposed("plan", calls=[{"_tool": "load_customer", "customer": "C-1"}])
    whole = whole.asked(plan, resolving(whole.state.talk.heard_seq, ("it", "a")))
    assert whole.state.talk.heard[0].entities == ("a",)
    assert whole.events(ev.PlanCommitted)


def test_a_phrase_with_a_dagger_is_text():
    world = loaded("Close †state.account, please.").offering(*offers.PLANNING)
    world = world.asked(resolving(world.state.talk.heard_seq, ("†state.account", "a")), proposed("load_customer"))
    assert world.state.talk.heard[0].mention == "†state.account"
    assert world.events(ev.PlanCommitted) == []  # the call beside it belongs to no plan


READ_BY_MONEY = (
    "policy", "guards", "speech", "plan", "schemas", "references.py", "scratchpad", "money.py", "charts", "merge",
    "decide/verdicts.py", "decide/gates.py", "decide/permits.py", "decide/calls.py", "decide/approvals.py",
    "decide/grants.py", "decide/holds.py", "decide/approvers.py", "decide/compensation.py", "decide/families.py",
    "state/approved_inputs.py", "state/rounds.py", "state/calls.py", "state/approvals.py", "state/value_authors.py",
    "state/standing_approvals.py",
    "advance.py",
)  # fmt: skip


def _sources() -> list[Path]:
    found = [
        path
        for name in READ_BY_MONEY
        for path in ([ENGINE / name] if name.endswith(".py") else (ENGINE / name).rglob("*.py"))
    ]
    assert all(path.is_file() for path in found)
    return found


def reads_talk(source: str) -> list[str]:
    """Where a source reads what was said of references: the talk of a state, or the modules for it."""
    found = []
    for node in ast.walk(ast.parse(source)):
        named: Any = ""
        if isinstance(node, ast.ImportFrom):
            named = node.module
        elif isinstance(node, ast.Attribute) and node.attr in ("talk", "heard_seq", "ontology"):
            named = node.attr
        if named in ("talk", "heard_seq", "ontology") or ".understanding" in str(named):
            found.append(f"line {node.lineno}: {named}")
    return found


def test_nothing_that_decides_about_money_reads_what_the_model_said_of_references():
    assert {str(path): faults for path in _sources() if (faults := reads_talk(path.read_text()))} == {}
    assert len(_sources()) > 60
    assert reads_talk("from agentstate.engine.understanding.held import Talk\nmeant = state.talk.heard")
    assert ACCOUNTS.types
