"""docs/running.md lists the states of due work as the enum defines them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def defined() -> dict[str, str]:
    """The members of WorkState, each with the docstring below it."""
    tree = ast.parse((ROOT / "sessions/core/due_work.py").read_text())
    (states,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "WorkState"]
    found = {}
    for member, text in zip(states.body, states.body[1:], strict=False):
        if isinstance(member, ast.Assign) and isinstance(text, ast.Expr) and isinstance(member.targets[0], ast.Name):
            found[member.targets[0].id.lower()] = ast.literal_eval(text.value)
    return found


def test_the_table_of_states_is_the_enum():
    page = (ROOT / "docs/running.md").read_text().partition("## States of due work")[2].partition("\n## ")[0]
    table = page.partition("| state | meaning |")[2].partition("\n\n")[0]
    listed = dict(
        tuple(cell.strip(" `") for cell in row.strip("|").split("|")) for row in table.strip().splitlines()[1:]
    )
    assert len(listed) == 6
    assert listed == defined()
