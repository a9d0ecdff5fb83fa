"""How many examples generated tests draw: 15 in `make test-fast`, a third in `make test`, all in `make test-all`.

Also the name under which a test records a figure that the end of the run prints.
"""

from __future__ import annotations

import os

FULL = bool(os.environ.get("FULL"))
FAST = bool(os.environ.get("FAST"))
LEAST = 15
FIGURE = "figure"


def drawn(whole: int) -> int:
    """Of `whole` examples as many as this run draws."""
    if FULL:
        return whole
    return min(whole, LEAST if FAST else max(LEAST, whole // 3))
