"""Which attacks a commit draws. Standard library alone: tests/docs checks it without a server."""

from __future__ import annotations

import hashlib


def is_drawn(name: str, commit: str, share: int) -> bool:
    """Returns whether this commit draws that attack, of which `share` in a hundred are drawn."""
    return hashlib.sha256(f"{commit} {name}".encode()).digest()[0] * 100 < share * 256
