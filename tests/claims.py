"""docs/claims.md read as data: which promise is proved by which test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "claims.md"
OPEN = "open"


class Claim(NamedTuple):
    """One row: `proof` is a test's node id without parameters (path::name), or `open`."""

    promise: str
    issue: str
    proof: str


def read(text: str) -> list[Claim]:
    """The rows of the table `| promise | issue | proof |`, without its head. Raises ValueError on a broken
    row.
    """
    rows = [_cells(line) for line in text.splitlines() if line.startswith("|")]
    broken = [row for row in rows if len(row) != 3]
    if broken:
        raise ValueError(f"docs/claims.md: a row has promise, issue and proof, got {broken[0]}")
    return [Claim(*row) for row in rows if row[0] != "promise" and set(row[0]) - set(":- ")]


def proofs(claims: list[Claim]) -> set[str]:
    """The node ids that the claims rest on."""
    return {claim.proof for claim in claims if claim.proof != OPEN}


def plain(node_id: str) -> str:
    """A node id without its parameters, as claims name tests."""
    return node_id.split("[")[0]


def _cells(line: str) -> list[str]:
    return [cell.strip().strip("`").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
