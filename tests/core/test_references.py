"""References: what they mean, that they are read as they are written, and what is refused by name."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import references as refs
from agentstate.engine.references import BadReference, Found, Never, Path, Reference, Waiting
from tests.core.made import values

names = st.text(st.characters(exclude_characters=".|&†", exclude_categories=("Z", "C")), min_size=1, max_size=5)
paths = st.builds(
    Path, st.sampled_from(["state", "input", "user"]), st.lists(names.filter(str.strip), max_size=4).map(tuple)
)
groups = st.lists(paths, min_size=1, max_size=3).map(tuple)
written = st.lists(groups, min_size=1, max_size=3).map(tuple).map(Reference)
VIEWS = {"state": {"a": {"b": 1, "n": None}, "list": [{"id": "x"}, {"id": "y"}]}, "input": {"a": 2}}


def look(path: Path) -> refs.Resolution:
    """Nothing below `state.late` has come yet, nothing below `state.lost` ever will."""
    if path.names[:1] == ("late",):
        return Waiting((path,))
    return refs.read(VIEWS, path) or Never(f"there is no {path}", blocked=path.names[:1] == ("lost",))


def found(text: str) -> refs.Resolution:
    return refs.resolve(refs.parse(text), look)


@given(written)
def test_what_is_printed_is_read_back(reference):
    assert refs.parse(str(reference)) == reference


@given(values)
def test_an_escaped_value_holds_no_references_and_comes_back(value):
    literal = refs.escaped(value)
    assert list(refs.within(literal)) == []
    assert refs.filled(literal, look) == Found(value)


@given(st.text(max_size=30) | st.text("†state.ab|& ", max_size=20).map("†".__add__))
def test_any_text_is_read_or_refused_by_name(text):
    with suppress(BadReference):
        assert refs.parse(text).paths
    with suppress(BadReference):
        found = refs.output(text).paths
        assert all(refs.is_written(path.kind) and (path.names or path.kind != "state") for path in found)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("†state.a.b", 1),
        ("†state.a", {"b": 1, "n": None}),
        ("†state.a.n", None),
        ("†input", {"a": 2}),
        ("†state.list.1.id", "y"),
        ("†state.no || †input.a", 2),
        ("†state.no || input.a", 2),
        ("†state.a.b || †state.late", 1),
        ("†state.a.b && †input.a", 2),
        ("†state.no && †state.a || †input.a", 2),
        ("†state.lost || †state.a.b && †input.a", 2),
    ],
)
def test_a_reference_is_replaced_by_the_value_that_stands_there(text, value):
    assert found(text) == Found(value)


@pytest.mark.parametrize(
    "text",
    [
        "†state.late",
        "†state.late || †state.a",
        "†state.no || †state.late",
        "†state.a && †state.late",
        "†state.late && †state.no",
    ],
)
def test_what_can_still_be_written_is_waited_for(text):
    assert found(text) == Waiting((Path("state", ("late",)),))


@pytest.mark.parametrize("text", ["†state.no", "†state.no || †state.list.2", "†state.a && †state.no", "†user.x"])
def test_what_can_never_come_is_said_at_once(text):
    answer = found(text)
    assert isinstance(answer, Never)
    assert "there is no " in answer.why
    assert not answer.blocked


def test_what_did_not_go_well_outweighs_a_branch_that_was_not_taken():
    assert found("†state.no || †state.lost.x") == Never("there is no state.lost.x", blocked=True)


def test_references_stand_anywhere_in_a_structure_and_a_dagger_can_be_written():
    value = {"to": ["†state.a.b", {"deep": "†input.a"}], "††not a key": "††state.a", "note": "see † below"}
    assert refs.filled(value, look) == Found({"to": [1, {"deep": 2}], "††not a key": "†state.a", "note": "see † below"})
    assert sorted(at for at, _ in refs.within(value)) == ["to.0", "to.1.deep"]


def test_a_structure_waits_for_all_that_can_still_come_and_then_says_what_cannot():
    missing = {"x": "†state.late.a", "y": ["†state.late.b", "†state.a"]}
    answer = refs.filled(missing, look)
    assert isinstance(answer, Waiting)
    assert {str(path) for path in answer.paths} == {"state.late.a", "state.late.b"}
    assert refs.filled({**missing, "z": "†state.no"}, look) == answer
    assert isinstance(refs.filled({"x": "†state.a", "z": "†state.no"}, look), Never)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("state.a", "dagger"),
        ("††state.a", "dagger"),
        ("†", "path"),
        ("† state.a", "path"),
        ("†State.a", "path"),
        ("†state.", "path"),
        ("†state..a", "path"),
        ("†state.a b", "path"),
        ("†state.a | †state.b", "path"),
        ("†state.a ||", "path"),
        ("†state.a || || †state.b", "path"),
        ("†state.†a", "path"),
        ("†state" + ".a" * 33, "depth"),
        ("†" + " || ".join(["state.a"] * 17), "terms"),
        ("†state." + "a" * 500, "length"),
    ],
)
def test_what_is_no_reference_is_refused_by_its_rule(text, rule):
    with pytest.raises(BadReference) as refusal:
        refs.parse(text)
    assert refusal.value.rule == rule
    assert refusal.value.reference[:20] == text[:20]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("state.a", [["state.a"]]),
        ("†state.a.b", [["state.a.b"]]),
        ("†state.ok || †state.error", [["state.ok"], ["state.error"]]),
        ("state.a && state.b || state.c", [["state.a", "state.b"], ["state.c"]]),
    ],
)
def test_an_output_path_names_outcomes_and_their_places(text, want):
    assert [[str(path) for path in group] for group in refs.output(text).alternatives] == want


@pytest.mark.parametrize("text", ["input.a", "state", "†user.name", "state.a || input.b", "state.a && state.a"])
def test_outputs_go_to_named_places_of_the_state_and_nowhere_else(text):
    with pytest.raises(BadReference) as refusal:
        refs.output(text)
    assert refusal.value.rule == "output"


def test_what_is_nested_beyond_reason_is_refused_quickly():
    deep: list = ["†state.a"]
    for _ in range(10_000):
        deep = [deep]
    begun = time.process_time()
    for ask in (lambda: list(refs.within(deep)), lambda: refs.filled(deep, look), lambda: refs.escaped(deep)):
        with pytest.raises(BadReference) as refusal:
            ask()
        assert refusal.value.rule == "nesting"
    assert time.process_time() - begun < 3
