"""docs/attacks.md names every attack that there is, and no other; a share is drawn from the commit."""

from __future__ import annotations

import ast

from tests.attacks import table
from tests.attacks.share import is_drawn


def test_the_page_of_attacks_is_what_the_table_and_the_tests_say():
    assert table.PAGE.read_text() == table.rendered(), "run `python -m tests.attacks.table`"


def test_every_attack_belongs_to_a_promise():
    named = {name for names in table.attacks().values() for name in names}
    for file in table.HERE.glob("test_*.py"):
        tests = [node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)]
        assert {name for name in tests if name.startswith("test_") and name != "test_release"} <= named, file.name


def test_a_share_is_drawn_from_the_commit_and_differs_from_one_to_the_next():
    names = [f"attack {number}" for number in range(400)]
    drawn = {commit: [name for name in names if is_drawn(name, commit, 25)] for commit in ("a", "b")}
    assert drawn["a"] != drawn["b"]
    assert all(60 < len(each) < 140 for each in drawn.values())
    assert [name for name in names if is_drawn(name, "a", 100)] == names
