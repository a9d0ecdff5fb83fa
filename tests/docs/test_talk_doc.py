"""docs/talk.md: its examples run, and its figures are those of the vectors."""

from __future__ import annotations

import doctest

from tests.claims import ROOT
from tests.core.references import DOMAINS, domain, parts, score, table

PAGE = ROOT / "docs" / "talk.md"


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 15
    assert result.failed == 0


def test_the_figures_are_those_of_the_vectors():
    figures = table({name: score(name) for name in DOMAINS})
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- figures -->\n")
    assert rest.startswith(figures + "\n"), f"in docs/talk.md put:\n{figures}"


def test_the_numbers_of_cases_are_those_of_the_vectors():
    cases = [case for name in DOMAINS for case in domain(name)["cases"]]
    assert f"{len(cases)} cases with {sum(len(parts(case)) for case in cases)} expectations" in PAGE.read_text()
