"""The scratchpad: what is written at a path is read there, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import scratchpad as pad
from tests.core.made import objects, values

names = st.text("abc", min_size=1, max_size=2)
paths = st.lists(names, min_size=1, max_size=4).map(lambda parts: ".".join(["state", *parts]))
scalars = values.filter(lambda value: not isinstance(value, dict))


@given(objects, paths, scalars)
def test_what_is_written_is_read(before, path, value):
    assert pad.read(pad.write(before, path, value), path) == value


@given(objects, paths, values)
def test_writing_changes_nothing_that_was_there(before, path, value):
    copy = repr(before)
    pad.write(before, path, value)
    assert repr(before) == copy


@given(objects, paths, values)
def test_writing_twice_is_writing_once(before, path, value):
    once = pad.write(before, path, value)
    assert pad.write(once, path, value) == once


@given(objects, names, names, values)
def test_a_write_leaves_its_neighbours_alone(before, here, there, value):
    after = pad.write(before, f"state.{here}", value)
    if here != there:
        assert pad.read(after, f"state.{there}") == pad.read(before, f"state.{there}")


def test_objects_are_merged_by_key_and_everything_else_replaced():
    before = {"customer": {"name": "Ada", "tags": [1, 2]}}
    after = pad.write(before, "state.customer", {"tags": [3], "number": 7})
    assert after == {"customer": {"name": "Ada", "tags": [3], "number": 7}}


@pytest.mark.parametrize("path", ["", "state", "state.", "customer.name", "state..a", ".state.a", "state" + ".a" * 33])
def test_what_is_no_path_is_refused_by_name(path: Any):
    with pytest.raises(pad.BadPath, match="want state"):
        pad.parts(path)


def test_where_nothing_is_nothing_is_read():
    assert pad.read({"a": {"b": 1}}, "state.a.b.c") is None
    assert pad.read({}, "state.a") is None
