"""docs/events.md is what the event classes and the source of `decide` say."""

from __future__ import annotations

from agentstate.engine import events
from tests.docs import events_table

NO_LONGER_EMITTED = {"task.delivered"}


def test_the_page_of_events_is_what_the_generator_writes():
    assert events_table.PAGE.read_text() == events_table.rendered(), "run `python -m tests.docs.events_table`"


def test_every_event_has_an_emitter_and_a_command_unless_it_is_no_longer_emitted():
    rows = [line.split(" | ") for line in events_table.rendered().splitlines() if line.startswith("| `")]
    kinds = [row for row in rows if len(row) == 5]
    without = {row[0].strip("| `") for row in kinds if not row[2].strip() or not row[3].strip()}
    assert len(kinds) > len(events.KINDS)
    assert without == NO_LONGER_EMITTED
