"""docs/conversation.md: its examples run, and its bounds are those of the code."""

from __future__ import annotations

import doctest

from agentstate.engine.conversation import MOST_ITEMS, WINDOW
from agentstate.engine.memory.pins import MOST_PINS
from agentstate.engine.memory.summaries import MOST
from tests.claims import ROOT

PAGE = ROOT / "docs" / "conversation.md"
NUMBERS = {4: "four"}


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 20
    assert result.failed == 0


def test_the_bounds_are_those_of_the_code():
    bounds = f"{WINDOW} items when a model is asked, {MOST_ITEMS} when none is, {NUMBERS[MOST]} summaries, "
    bounds += f"{MOST_PINS} pins"
    assert bounds in " ".join(PAGE.read_text(encoding="utf-8").split())
