"""docs/engine.md: its examples run, and its tables are those of the code."""

from __future__ import annotations

import doctest
import re

import pytest

from agentstate.engine import lifecycle as life
from tests.claims import ROOT

PAGE = ROOT / "docs" / "engine.md"
TABLES = {
    "call": life.as_markdown(life.CALL, life.CALL_ENDED),
    "session": life.as_markdown(life.SESSION, life.SESSION_ENDED),
}


def test_the_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert result.attempted > 20
    assert result.failed == 0


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_code(name):
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    assert rest.startswith(TABLES[name] + "\n"), f"in docs/engine.md, below {name}, put:\n{TABLES[name]}"


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_name_every_status(name):
    statuses = {"call": life.CallStatus, "session": life.SessionStatus}[name]
    shown = {line.split("|")[1].strip() for line in TABLES[name].splitlines()[2:]}
    assert shown == {status.value for status in statuses}


def test_the_index_names_every_folder_of_the_engine_and_leads_to_pages_that_are_there():
    index = PAGE.read_text(encoding="utf-8").partition("## What there is")[2].partition("\n## ")[0]
    engine = ROOT / "agentstate" / "engine"
    places = " ".join(row.split("|")[2] for row in index.splitlines() if row.startswith("| "))
    named = re.findall(r"`([a-z_/]+(?:\.py)?)`", places.replace("`agentstate/engine/`", ""))
    assert [place for place in named if not (engine / place).exists()] == []
    folders = {each.name for each in engine.iterdir() if (each / "__init__.py").exists()}
    shared = {"events", "guards"}  # the vocabulary, and the language of rules: of every concept
    assert folders - {place.split("/")[0] for place in named} <= shared
    pages = re.findall(r"\((\w+\.md)\)", index)
    assert pages
    assert [page for page in pages if not (PAGE.parent / page).exists()] == []
