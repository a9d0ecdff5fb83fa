"""docs/profile.md: its examples run, and it names every address of a profile and all that can be asked of it."""

from __future__ import annotations

import doctest
import json

from agentstate.engine.profile import commands as ask
from agentstate.engine.profile.decide import _RULES
from tests.claims import ROOT

PAGE = ROOT / "docs" / "profile.md"


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 40
    assert result.failed == 0


def test_it_names_every_address_of_a_profile():
    text = PAGE.read_text(encoding="utf-8")
    paths = json.loads((ROOT / "docs" / "schema" / "openapi.json").read_text())["paths"]
    ends = [path.rpartition("/")[2] for path in paths if "/profile" in path]
    assert len(ends) == 8
    assert [end for end in ends if f"/{end}" not in text] == []


def test_every_command_is_decided_and_shown_in_an_example():
    text = PAGE.read_text(encoding="utf-8")
    assert set(_RULES) == set(ask.ProfileCommand.__subclasses__())
    unsaid = [kind.__name__ for kind in _RULES if f"ask.{kind.__name__}(" not in text]
    assert unsaid == ["Withdraw", "Correct", "Allow"]  # told in words
