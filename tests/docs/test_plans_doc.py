"""docs/plans.md: its examples run, and its table of rules is that of the check."""

from __future__ import annotations

import doctest

from agentstate.engine.plan.check import ERRORS, WARNINGS
from agentstate.engine.plan.model import META
from tests.claims import ROOT

PAGE = ROOT / "docs" / "plans.md"


def rules() -> str:
    rows = [f"| `{rule}` | error | {what} |" for rule, what in ERRORS.items()]
    rows += [f"| `{rule}` | warning | {what} |" for rule, what in WARNINGS.items()]
    return "\n".join(["| rule | | what was found |", "| --- | --- | --- |", *rows])


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 50
    assert result.failed == 0


def test_the_rules_are_those_of_the_check():
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- rules -->\n")
    assert rest.startswith(rules() + "\n"), f"in docs/plans.md, below rules, put:\n{rules()}"


def test_every_meta_property_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in META)
