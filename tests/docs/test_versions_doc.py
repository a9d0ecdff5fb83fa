"""docs/versions.md: its examples run, and the merge types it names are those that there are."""

from __future__ import annotations

import doctest
from typing import get_args

from agentstate.engine.merge.rules import MergeKind
from agentstate.engine.versions.kept import KEPT_AUTOMATIC, KEPT_LATE, KEPT_NAMED, KEPT_ROLLBACKS
from tests.claims import ROOT

PAGE = ROOT / "docs" / "versions.md"


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert result.attempted > 40
    assert result.failed == 0


def test_every_merge_type_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f'"{kind}"' in text for kind in get_args(MergeKind))


def test_the_bounds_are_those_of_the_code():
    told = f"Checkpoints {KEPT_AUTOMATIC} and {KEPT_NAMED} named, rollbacks {KEPT_ROLLBACKS}, late calls {KEPT_LATE},"
    assert told in PAGE.read_text(encoding="utf-8")
