"""docs/alerts.md: its definitions are sound, its tables whole, and its figures are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec

from agentstate.engine.alerts import MAX_OPEN
from sessions.automation.alerts import definition, documents
from sessions.automation.service_levels import definition as targets
from sessions.text import calendars
from sessions.text.calendars import Calendar

TEXT = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")
RULE, TARGET, CALENDAR = (json.loads(each) for each in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL))
FIRST = re.findall(r"^\| `([a-z_]+)` \|", TEXT, re.MULTILINE)


def test_its_examples_are_sound():
    assert definition.load(RULE).on.kind == "phrase"
    assert targets.load(TARGET).what == "decide"
    calendars.check(msgspec.convert(CALENDAR, Calendar))


def test_every_kind_of_rule_and_target_is_told():
    assert [*definition.KINDS, *targets.WHATS] == [name for name in FIRST if name not in ("on", "what")]


def test_its_figures_are_those_of_the_code():
    assert f"At most {MAX_OPEN} are open in a session" in TEXT
    counts = {what: sum(each[0] == what for each in documents.shipped()) for what in documents.WHATS}
    assert (counts["rule"], counts["target"], counts["calendar"]) == (12, 3, 1)
    assert "twelve rules, three targets, a calendar" in TEXT
