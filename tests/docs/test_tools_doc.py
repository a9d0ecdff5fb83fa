"""docs/tools.md: its examples run, its fields and codes are those of the code."""

from __future__ import annotations

import doctest

from sessions.outside import refusals
from sessions.tools.http import description
from tests.claims import ROOT

PAGE = ROOT / "docs" / "tools.md"


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted >= 12
    assert result.failed == 0


def test_every_field_and_every_refusal_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    fields = {*description.Described.__struct_fields__} - {"description", "request", "answer"}
    fields |= {f"request.{name}" for name in ("url", "variables", "body", "auth", "idempotency")}
    codes = {each.code for each in refusals.NotReached.__subclasses__() if each.__module__ == refusals.__name__}
    assert [name for name in sorted(fields | codes) if f"`{name}`" not in text] == []
