"""docs/triggers.md: its definitions are sound, and its figures are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sessions.automation.triggers import definition, schedule

TEXT = (Path(__file__).parents[2] / "docs" / "triggers.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_definition_of_the_document_is_sound(example):
    assert definition.load(json.loads(example))


def test_its_figures_are_those_of_the_code():
    assert f"{schedule.MAX_CATCH_UP} at most" in TEXT
    assert f"({definition.MAX_DEPTH} at most)" in TEXT
    assert f"{schedule.MIN_EVERY} at least" in TEXT
    assert len(EXAMPLES) == 4
