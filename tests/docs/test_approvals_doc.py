"""The document on approvals: each ask in its table names tests that exist, and every term and decision is in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from agentstate.engine import events as ev
from agentstate.engine.policy.terms import Terms
from tests.attacks import table

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs/approvals.md").read_text()


def test_every_test_that_it_names_exists():
    named = re.findall(r"`(tests/\S+?\.py)::(\w+)`", DOCUMENT)
    assert len(named) > 30
    missing = [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert missing == []


def test_every_decision_outcome_and_term_is_in_it():
    words = [*get_args(ev.DecisionKind), *get_args(ev.Outcome), *Terms.__struct_fields__]
    left = {"superseded", "failed", "sticky"}  # of plans and grants: told in their own documents
    assert [word for word in words if word not in left and word not in DOCUMENT] == []


def test_every_line_on_what_an_approval_covers_names_an_attack_that_there_is():
    """Of the three tables: who may not approve, how an approved call ends, what the approval of a plan covers."""
    tables = re.findall(r"^\|.*\| attack \|\n\|[-| ]+\|\n((?:\|.*\n)+)", DOCUMENT, re.MULTILINE)
    assert len(tables) == 3
    lines = [line for found in tables for line in found.splitlines()]
    named = {line: line.strip("| ").split(" | ")[-1].lower().split(", ") for line in lines}
    assert [line for line in lines if not all(name in table.PROMISES for name in named[line])] == []
