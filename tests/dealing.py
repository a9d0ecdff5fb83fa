"""How xdist deals tests out to its workers: whole files, and what takes longest first.

Without it the files with the fewest tests come last, which are those that start everything and kill it: in the end one
worker would wait for the other. The browser's tests are one unit: they share a running demo, which ends with them.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling

FIRST = ("browser", "chaos", "live")  # folders; each test of theirs waits for processes to start, die and come back
TOGETHER = "tests/browser/"


class Dealing(LoadFileScheduling):
    """`--dist loadfile`, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER if nodeid.startswith(TOGETHER) else super()._split_scope(nodeid)


def longest_first(items: list[pytest.Item]) -> None:
    """Put the slow folders in front; within them nothing changes its place."""
    ranks = {folder: rank for rank, folder in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.parent.name, len(FIRST)))
