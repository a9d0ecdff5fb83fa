"""docs/claims.md names tests that exist. That they ran is checked at the end of `make test` (--claims,
conftest).
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


def test_every_claimed_test_exists():
    rows = claims.read(claims.FILE.read_text(encoding="utf-8"))
    assert rows, "docs/claims.md has no row"
    for proof in claims.proofs(rows):
        file, _, name = proof.partition("::")
        assert (claims.ROOT / file).is_file(), f"{proof}: there is no such file"
        assert name in functions_of(claims.ROOT / file), f"{proof}: there is no such test"


def test_every_promise_stands_once():
    promises = [claim.promise for claim in claims.read(claims.FILE.read_text(encoding="utf-8"))]
    assert len(promises) == len(set(promises))


def test_a_row_that_lost_a_cell_is_not_overlooked():
    with pytest.raises(ValueError, match="promise, issue and proof"):
        claims.read("| promise | issue | proof |\n|---|---|---|\n| money moves once | 2 |\n")


def test_a_row_is_read_with_its_backticks_and_bars():
    rows = claims.read("| promise | issue | proof |\n|:--|---|---|\n| a \\| b | 2 | `tests/core/test_x.py::test_y` |\n")
    assert rows == [claims.Claim("a | b", "2", "tests/core/test_x.py::test_y")]
    assert claims.proofs([claims.Claim("p", "2", "open")]) == set()
