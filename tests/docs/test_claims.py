"""docs/claims.md and docs/threats.md name tests that exist. That those of the claims ran is checked at the end of
`make test` (--claims, conftest).
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests import claims


@cache
def functions_of(path: Path) -> set[str]:
    """`name` and `Class::name` of every test function in a file."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{part.name}" for part in node.body if hasattr(part, "name")}
        elif isinstance(node, ast.Assign) and getattr(node.value, "attr", "") == "TestCase":  # Hypothesis's machines
            found |= {f"{name.id}::runTest" for name in node.targets if isinstance(name, ast.Name)}
    return found


@pytest.mark.parametrize("page", ["claims.md", "threats.md"])
def test_every_claimed_test_exists(page: str):
    rows = claims.read((claims.FILE.parent / page).read_text(encoding="utf-8"))
    assert rows, f"docs/{page} has no row"
    for proof in claims.proofs(rows):
        file, _, name = proof.partition("::")
        assert (claims.ROOT / file).is_file(), f"{proof}: there is no such file"
        assert name in functions_of(claims.ROOT / file), f"{proof}: there is no such test"


def test_every_promise_stands_once():
    promises = [claim.promise for claim in claims.read(claims.FILE.read_text(encoding="utf-8"))]
    assert len(promises) == len(set(promises))


def test_the_page_of_threats_has_a_table_for_each_party_and_no_promise_without_a_test():
    page = (claims.FILE.parent / "threats.md").read_text(encoding="utf-8")
    parties = page.split("\n## ")[1:]
    assert [party.partition("\n")[0] for party in parties] == [
        "The customer", "A tool", "The model", "A program or API client", "A stranger", "People", "The operator",
    ]  # fmt: skip
    assert all(claims.read(party) for part in parties for party in part.split("\n### "))
    assert all(row.proof != claims.OPEN for row in claims.read(page))


def test_a_row_that_lost_a_cell_is_not_overlooked():
    with pytest.raises(ValueError, match="promise, issue and proof"):
        claims.read("| promise | issue | proof |\n|---|---|---|\n| money moves once | 2 |\n")


def test_a_row_is_read_with_its_backticks_and_bars():
    rows = claims.read("| promise | issue | proof |\n|:--|---|---|\n| a \\| b | 2 | `tests/core/test_x.py::test_y` |\n")
    assert rows == [claims.Claim("a | b", "2", "tests/core/test_x.py::test_y")]
    assert claims.proofs([claims.Claim("p", "2", "open")]) == set()
