"""docs/charts.md: its examples run, and it names every rule, every happening and the figures of the W3C's tests."""

from __future__ import annotations

import doctest
import re

from agentstate.engine.decide.charts import HEARD
from tests.claims import ROOT
from tests.core.scxml_world import documents
from tests.core.test_charts_w3c import NOT_COVERED, OPTIONAL_NOT_COVERED

PAGE = ROOT / "docs" / "charts.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted >= 15
    assert result.failed == 0


def test_every_rule_of_the_check_is_named():
    source = "".join(path.read_text() for path in (ROOT / "agentstate" / "engine" / "charts" / "check").glob("*.py"))
    rules = set(re.findall(r'Finding\(\s*"([a-z_]+)"', source)) | {"missing_target"}
    assert len(rules) > 12
    assert [rule for rule in sorted(rules) if f"`{rule}`" not in TEXT] == []


def test_every_happening_is_named():
    told = set(re.findall(r"`([a-z]+\.[a-z<>.]+)`", TEXT))
    for name in HEARD:
        first, what, *of_tool = name.split(".")
        exact = f"{first}.{what}" + (".<tool>" if of_tool else "")
        assert {exact, f"{first}.<what>.<tool>", f"{first}.<outcome>.<tool>"} & told


def test_the_figures_are_those_of_the_tests():
    mandatory, optional = len(documents("mandatory")), len(documents("optional"))
    passed = (mandatory - len(NOT_COVERED), optional - len(OPTIONAL_NOT_COVERED))
    assert f"of its {mandatory} mandatory tests {passed[0]} pass" in TEXT
    assert f"of the {optional} optional ones {passed[1]}" in TEXT
