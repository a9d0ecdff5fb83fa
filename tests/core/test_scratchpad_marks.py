"""Write marks and scopes: what an output wrote stays, and only what is allowed is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import scratchpad
from agentstate.engine.references import BadReference, Path
from agentstate.engine.scratchpad import marks, scopes
from tests.core.made import objects, values

names = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)
results = values | st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(st.lists(st.tuples(names, results), max_size=8))
def test_what_an_output_wrote_is_never_changed_by_another(writes):
    pad, marked, kept = {}, {}, []
    for path, value in writes:
        if marks.is_free(marked, path, value):
            pad = scratchpad.write(pad, ".".join(("state", *path)), value)
            marked = marks.marked(marked, path, value)
            kept.append((path, value))
    for path, value in kept:
        stands = scratchpad.read(pad, ".".join(("state", *path)))
        if isinstance(value, dict):
            assert {key: stands[key] for key in value} == value
        else:
            assert stands == value


@given(st.lists(st.tuples(names, results), max_size=8))
def test_a_place_that_was_written_is_known_to_be(writes):
    marked = {}
    for path, value in writes:
        if marks.is_free(marked, path, value):
            marked = marks.marked(marked, path, value)
            assert marks.is_written(marked, path)
            assert not marks.is_free(marked, path, value)


def test_a_part_may_be_added_beside_what_was_written_but_nothing_over_it():
    marked = marks.marked({}, ("customer",), {"name": "Ada"})
    assert marks.is_free(marked, ("customer", "limit"), 5)
    assert not marks.is_free(marked, ("customer", "name"), "Bob")
    assert not marks.is_free(marked, ("customer",), {"mood": "good"})
    assert not marks.is_written(marked, ("customer", "limit"))


def test_a_whole_may_be_written_around_a_part_but_not_over_it():
    marked = marks.marked({}, ("customer", "limit"), 5)
    assert marks.is_free(marked, ("customer",), {"name": "Ada"})
    assert not marks.is_free(marked, ("customer",), {"name": "Ada", "limit": 6})
    assert not marks.is_free(marked, ("customer",), "nobody")


VIEWS = {
    "state": {"customer": {"name": "Ada", "ssn": "1"}, "list": [{"x": 1}], "empty": None},
    "input": {"to": "7"},
    "user": {"age": 40},
}


@pytest.mark.parametrize(
    ("allowed", "shown"),
    [
        ([], {}),
        (["input"], {"input": {"to": "7"}}),
        (["state.customer.name"], {"state": {"customer": {"name": "Ada"}}}),
        (["†state.customer.name", "state.empty"], {"state": {"customer": {"name": "Ada"}, "empty": None}}),
        (["state.customer.name", "state.customer"], {"state": {"customer": {"name": "Ada", "ssn": "1"}}}),
        (["state.nothing", "weather"], {}),
        (["state.list.0.x"], {}),
    ],
)
def test_scopes_show_what_they_name_and_nothing_else(allowed, shown):
    assert scopes.narrowed(VIEWS, allowed) == shown


@given(objects, st.lists(st.lists(st.sampled_from("abc"), max_size=2), max_size=3))
def test_nothing_is_shown_that_no_scope_allows_and_nothing_changes(pad, allowed):
    texts = [".".join(("state", *each)) for each in allowed]
    before = repr(pad)
    shown = scopes.narrowed({"state": pad, "input": {"secret": 1}}, texts)
    assert repr(pad) == before
    assert "input" not in shown
    for path in _leaves(shown.get("state", {}), ()):
        assert scopes.allows(map(scopes.read, texts), Path("state", path))


def _leaves(value, names):
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _leaves(each, (*names, name))
    elif names:
        yield names


@pytest.mark.parametrize("scope", ["", "State", "state.a b", "a || b"])
def test_what_is_no_scope_is_refused(scope):
    with pytest.raises(BadReference):
        scopes.narrowed(VIEWS, [scope])
