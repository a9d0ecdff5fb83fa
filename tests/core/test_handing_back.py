"""The proposed summary of a hand-back, line by line: what was said and done, and what gives way for want of room."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentstate.engine import events as ev
from agentstate.engine.handing_back import LONGEST, NOTHING, SAID, summary_of


def event(kind: type, **fields: Any) -> Any:
    """An event of that kind; what is not named here is empty."""
    empty: dict[str, Any] = {"str": "", "int": 0, "bool": False}
    for each in msgspec.structs.fields(kind):
        if each.required and each.name not in fields:
            fields[each.name] = empty.get(str(getattr(each.type, "__name__", "")), ())
    return kind(**fields)


def said(role: str, text: str) -> Any:
    return event(ev.MessageAdded, role=role, text=text)


INTENDED = event(ev.ToolIntended, call="c-1", tool="post_the_letter")
ASKED = event(ev.ApprovalRequested, request="r-1", tool="move_the_money")
WRITES = (ev.Write("state.a"), ev.Write("state.b.c"))
LONG = "x" * (SAID + 1)
CLIPPED = "x" * (SAID - 1) + "…"

LINES: list[tuple[list[Any], str]] = [
    ([said("customer", "Are you there?")], "Customer: Are you there?"),
    ([said("staff", "Yes.")], "Colleague: Yes."),
    ([said("customer", LONG)], f"Customer: {CLIPPED}"),
    ([said("staff", LONG)], f"Colleague: {CLIPPED}"),
    ([said("agent", "One moment.")], NOTHING),
    ([INTENDED], NOTHING),
    ([ASKED], NOTHING),
    ([INTENDED, event(ev.ToolReturned, call="c-1", result=None)], "Done: post the letter"),
    ([event(ev.ToolReturned, call="c-2", result=None)], "Done: a step"),
    ([INTENDED, event(ev.ToolFailed, call="c-1", reason=LONG)], f"Failed: post the letter, {CLIPPED}"),
    ([event(ev.ToolFailed, call="c-2", reason="No paper.")], "Failed: a step, No paper."),
    ([event(ev.ToolFailed, call="c-2", reason="Busy.", retry_at="2026-01-01T00:00:00Z")], NOTHING),
    (
        [ASKED, event(ev.DecisionMade, request="r-1", decision="approve", reason=LONG)],
        f"Decided: approve move the money: {CLIPPED}",
    ),
    ([event(ev.DecisionMade, request="r-2", decision="reject")], "Decided: reject a request"),
    ([ASKED, event(ev.RequestEnded, request="r-1", outcome="expired")], "Expired: move the money"),
    ([event(ev.RequestEnded, request="r-2", outcome="withdrawn")], "Withdrawn: a request"),
    ([event(ev.RequestEnded, request="r-2", outcome="approved")], NOTHING),
    ([event(ev.StateChanged, writes=WRITES)], "Changed: state.a, state.b.c"),
    ([event(ev.SessionPassedOn, to="user:bob")], "Passed on to another colleague"),
    ([event(ev.SessionPassedOn, to="")], NOTHING),
]


@pytest.mark.parametrize(("events", "line"), LINES, ids=range(len(LINES)))
def test_each_event_is_one_line_or_none(events: list[Any], line: str) -> None:
    assert summary_of(events) == line


def test_lines_stand_in_the_order_of_what_happened() -> None:
    events = [said("customer", "a"), INTENDED, event(ev.ToolReturned, call="c-1", result=None), said("staff", "b")]
    events.append(event(ev.StateChanged, writes=WRITES[:1]))
    assert summary_of(events).splitlines() == [
        "Customer: a",
        "Done: post the letter",
        "Colleague: b",
        "Changed: state.a",
    ]


def changed(length: int) -> Any:
    """A change whose line has so many characters."""
    return event(ev.StateChanged, writes=(ev.Write("s" * (length - len("Changed: "))),))


def test_what_fills_the_room_to_its_last_character_stays() -> None:
    assert len(summary_of([changed(999), changed(999)])) == LONGEST - 1
    assert summary_of([changed(999), changed(1_000)]) == "Changed: " + "s" * 991


def test_the_oldest_words_give_way_before_anything_that_was_done() -> None:
    kept = [changed(985), said("customer", "first"), said("staff", "second"), changed(985)]
    lines = summary_of(kept).splitlines()
    assert [line[:9] for line in lines] == ["Changed: ", "Colleague", "Changed: "]


def test_where_nothing_was_said_the_oldest_that_was_done_gives_way() -> None:
    lines = summary_of([changed(1_001), changed(1_002), changed(400)]).splitlines()
    assert [len(line) for line in lines] == [1_002, 400]
