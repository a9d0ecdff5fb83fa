"""The words of entries: each kind is told by one area."""

from __future__ import annotations

from collections import Counter

from agentstate.engine import events as ev
from sessions.descriptions import entries as descriptions_entries
from sessions.descriptions import values


def test_every_kind_is_told_by_exactly_one_area():
    told = Counter(kind for area in descriptions_entries.AREAS for kind in area.TELL)
    assert set(told.values()) == {1}
    assert set(told) == set(ev.KINDS)
    assert descriptions_entries.TELL.keys() == told.keys()


def test_what_was_erased_says_so_and_what_is_not_known_is_named():
    assert "erased" in descriptions_entries.entry("message.added", None).about
    assert descriptions_entries.entry("moon.landed", {}).act == "moon.landed"


def test_a_scratchpad_that_holds_nothing_has_no_rows():
    assert values.rows({}) == []
    assert values.rows({"customer": {}}) == [("customer", values.value({}))]


def test_an_error_or_an_answer_that_is_not_written_says_why():
    why = "state.flags: x-writers: got tool, want one of staff:supervisor"
    failed = {"call": "c", "attempt": 1, "reason": "it broke", "transient": False}
    told = [
        descriptions_entries.entry("tool.failed", failed | {"unwritten": why}, "Remember"),
        descriptions_entries.entry("request.ended", {"outcome": "responded", "unwritten": why}),
        descriptions_entries.entry(
            "call.intervened", {"how": "skip", "reason": "it broke", "unwritten": why}, "Remember"
        ),
    ]
    assert [each.about.removeprefix("it broke. ") for each in told] == [f"Not written to the state: {why}"] * 3
    assert "Not written" not in descriptions_entries.entry("tool.failed", failed, "Remember").about
