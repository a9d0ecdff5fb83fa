"""The words of entries: each kind is told by one area."""

from __future__ import annotations

from collections import Counter

from agentstate.engine import events as ev
from sessions import words


def test_every_kind_is_told_by_exactly_one_area():
    told = Counter(kind for area in words.AREAS for kind in area.TELL)
    assert set(told.values()) == {1}
    assert set(told) == set(ev.KINDS)
    assert words.TELL.keys() == told.keys()


def test_what_was_erased_says_so_and_what_is_not_known_is_named():
    assert "erased" in words.entry("message.added", None).about
    assert words.entry("moon.landed", {}).act == "moon.landed"


def test_a_scratchpad_that_holds_nothing_has_no_rows():
    assert words.rows({}) == []
    assert words.rows({"customer": {}}) == [("customer", words.value({}))]
