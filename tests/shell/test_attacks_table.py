"""The table of attacks is complete: every threat and pitfall has its tests, and every test its place in it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.shell.attacks import PITFALLS, THREATS

ROOT = Path(__file__).parents[2]
OF_THE_DESIGN = {
    *("edited entries", "dropped entries", "swapped entries", "inserted entries", "replayed entries"),
    *("a truncated tail", "an old genuine head", "two different histories shown to two auditors"),
    *("a restored backup", "a lying key", "a foreign session's head", "a proof for another tree"),
}
CONTROLS = {
    "tests/shell/test_attacks_entries.py::test_nobody_finds_anything_where_nothing_was_done",
    "tests/shell/test_attacks_monitor.py::test_a_monitor_finds_nothing_where_nothing_was_done",
}


def in_file(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
    return {f"{path.relative_to(ROOT).as_posix()}::{name}" for name in names}


def test_every_threat_of_the_design_and_every_pitfall_has_tests():
    assert set(THREATS) == OF_THE_DESIGN
    assert [number for number, _ in PITFALLS] == list(range(1, 23))
    assert all([*THREATS.values(), *PITFALLS.values()])


def test_every_test_that_the_table_names_exists():
    named = {name for names in (*THREATS.values(), *PITFALLS.values()) for name in names}
    for file in {name.partition("::")[0] for name in named}:
        assert {name for name in named if name.startswith(f"{file}::")} <= in_file(ROOT / file)


def test_every_attack_that_is_tried_stands_in_the_table():
    named = {name for names in (*THREATS.values(), *PITFALLS.values()) for name in names}
    files = [path for path in (ROOT / "tests/shell").glob("test_attacks_*.py") if path.name != "test_attacks_table.py"]
    tried = set().union(*map(in_file, files))
    assert tried - CONTROLS <= named
