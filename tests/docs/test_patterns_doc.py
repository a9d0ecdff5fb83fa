"""docs/patterns.md: its examples run, and its table has every pattern."""

from __future__ import annotations

import doctest

from benchmarks.patterns.measured import PATTERNS
from tests.processes import ROOT

PAGE = ROOT / "docs" / "patterns.md"


def test_every_example_gives_what_the_page_says(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert (result.failed, result.attempted > 10) == (0, True)


def test_the_table_has_every_pattern_with_figures():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if " ms / " in line]
    assert [row.split("|")[1].strip() for row in rows] == list(PATTERNS)
