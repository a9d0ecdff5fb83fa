"""The benchmarks run from nothing and keep to the form that others read. No test here asserts a time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import told
from benchmarks.rows import Goal, Row, against
from tests.processes import ROOT, environment

FIELDS = {"group", "name", "value", "unit", "base", "ratio", "goal", "met"}


@dataclass(frozen=True)
class Ran:
    group: str
    code: int
    said: str
    rows: list[dict[str, Any]]


ROWS = {"engine": 22, "first": 7, "ledger": 40, "pages": 8, "patterns": 5, "runs": 22}
LONG = ("first", "ledger", "pages", "runs")  # these start servers of their own


@pytest.fixture(
    scope="module", params=[pytest.param(group, marks=[pytest.mark.long] * (group in LONG)) for group in ROWS]
)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A group in its quick form, as `make bench` runs it."""
    out = tmp_path_factory.mktemp("bench") / "results.json"
    command = [sys.executable, "-m", "benchmarks", "--only", request.param, "--quick", "--out", str(out)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert out.exists(), done.stderr
    return Ran(request.param, done.returncode, done.stdout, json.loads(out.read_text()))


def test_a_quick_run_ends_well_and_prints_every_row(ran: Ran):
    assert ran.code == 0
    assert len(ran.rows) == ROWS[ran.group]
    assert all(row["name"] in ran.said for row in ran.rows)


def test_every_row_has_a_value_a_base_a_goal_and_says_whether_it_is_met(ran: Ran):
    for row in ran.rows:
        assert set(row) >= FIELDS
        assert row["group"] == ran.group
        assert row["value"] > 0
        assert row["base"] > 0
        assert row["met"] in (True, False)
        assert row["goal"].split()[0] in (">=", "<=")


def test_every_row_says_how_much_was_measured(ran: Ran):
    assert all(row["size"] for row in ran.rows)


def test_a_row_without_a_goal_fails_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    whole = against("first", "whole", 2.0, "ms", 1.0, Goal(3.0, at_least=False), "1")
    lacking = Row("first", "lacking", 2.0, "ms", 1.0, 2.0, None, None, "1")
    assert told([whole], tmp_path / "a.json") == 0
    assert told([whole, lacking], tmp_path / "b.json") == 1
    assert "lacking" in capsys.readouterr().err


def test_a_speed_must_be_high_and_a_time_low():
    assert Goal(0.35, at_least=True).met(0.4)
    assert not Goal(0.35, at_least=True).met(0.3)
    assert Goal(3.0, at_least=False).met(2.0)
    assert not Goal(3.0, at_least=False).met(3.1)
