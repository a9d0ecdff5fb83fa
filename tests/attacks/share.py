"""Which attacks a commit draws. Standard library alone: tests/docs checks it without a server."""

from __future__ import annotations

import hashlib
import subprocess
from functools import cache
from pathlib import Path


@cache
def commit() -> str:
    """Returns the commit that is checked out; empty: this is no clone."""
    told = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


def is_drawn(name: str, commit: str, share: int) -> bool:
    """Returns whether this commit draws that attack, of which `share` in a hundred are drawn."""
    return hashlib.sha256(f"{commit} {name}".encode()).digest()[0] * 100 < share * 256
