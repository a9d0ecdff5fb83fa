"""docs/state.md and docs/migrations.md: their examples run, and they name every step and word there is."""

from __future__ import annotations

import doctest
from typing import get_args

import pytest

from agentstate.engine.migrating.steps import AnyStep
from agentstate.engine.schemas.declared import WORDS
from tests.claims import ROOT


@pytest.mark.parametrize(("page", "most"), [("state.md", 20), ("migrations.md", 20)])
def test_the_examples_run(page, most, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(
        str(ROOT / "docs" / page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS
    )
    assert result.attempted > most
    assert result.failed == 0


def test_every_step_of_a_migration_is_explained():
    told = (ROOT / "docs" / "migrations.md").read_text(encoding="utf-8")
    for step in get_args(AnyStep):
        assert f"| `{step.__struct_config__.tag}` |" in told


def test_every_word_of_a_states_schema_is_explained():
    told = (ROOT / "docs" / "state.md").read_text(encoding="utf-8")
    for word in WORDS:
        assert f"| `{word}` |" in told
