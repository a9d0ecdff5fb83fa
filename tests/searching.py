"""How many examples tests draw that make up their own: a third in `make test`, all of them in `make test-all`."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("FULL"))
LEAST = 15


def drawn(whole: int) -> int:
    """Of `whole` examples as many as this run draws."""
    return whole if FULL else min(whole, max(LEAST, whole // 3))
