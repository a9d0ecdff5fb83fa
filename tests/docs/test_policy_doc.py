"""docs/policy.md: its examples run, and its tables name every field of a rule and every name that rules read."""

from __future__ import annotations

import doctest

from agentstate.engine import guards
from agentstate.engine.policy import Rule
from tests.claims import ROOT

PAGE = ROOT / "docs" / "policy.md"


def test_every_example_gives_what_the_page_says(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert (result.failed, result.attempted > 15) == (0, True)


def test_the_tables_name_every_field_and_every_value():
    text = PAGE.read_text(encoding="utf-8")
    named = [f"`{name}`" for name in (*Rule.__struct_fields__, *guards.NAMES) if name != "event"]
    assert [name for name in named if name not in text and name not in ("`name`", "`tools`", "`why`")] == []
