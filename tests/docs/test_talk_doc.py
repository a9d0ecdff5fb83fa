"""docs/talk.md: its examples run."""

from __future__ import annotations

import doctest

from tests.claims import ROOT

PAGE = ROOT / "docs" / "talk.md"


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 12
    assert result.failed == 0
