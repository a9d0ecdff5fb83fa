"""How many examples tests draw that make up their own: a third in `make test`, all of them in `make test-all`; and the
name under which a test records a figure that the end of the run prints.
"""

from __future__ import annotations

import os

FULL = bool(os.environ.get("FULL"))
LEAST = 15
FIGURE = "figure"


def drawn(whole: int) -> int:
    """Of `whole` examples as many as this run draws."""
    return whole if FULL else min(whole, max(LEAST, whole // 3))
