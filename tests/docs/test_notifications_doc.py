"""docs/notifications.md: its rule is sound, its message has the form of ours, and its figures are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sessions.automation.notifications import definition, retries

TEXT = (Path(__file__).parents[2] / "docs" / "notifications.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(example) for example in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]


def test_the_rule_of_the_document_is_sound():
    assert definition.load(EXAMPLES[0]).severity == "critical"


def test_its_words_and_figures_are_those_of_the_code():
    for word in (*definition.PARTS, *definition.NOTED, *definition.WAYS):
        assert word in TEXT
    assert "after 5 seconds, 5 minutes,\n30 minutes, 2, 5, 10, 14, 20 and 24 hours" in TEXT
    assert (5, 300, 1800, *(hours * 3600 for hours in (2, 5, 10, 14, 20, 24))) == retries.WEBHOOK
