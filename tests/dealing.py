"""How xdist deals tests out to its workers: whole files, and what takes longest first.

Without it the files with the fewest tests come last, which are those that start everything and kill it: in the end one
worker would wait for the other. The browser's tests are one unit: they share a running demo, which ends with them.

Two workers begin there, where processes are waited for; any others begin at the other end, with what computes while
they wait.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

WAITING = 2  # workers; more would start more processes at once than a small machine runs in their time
FIRST = ("browser", "chaos", "live")  # folders; each test of theirs waits for processes to start, die and come back
TOGETHER = "tests/browser/"


class Dealing(LoadFileScheduling):
    """`--dist loadfile`, in the order of collection, from both ends."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        if self.nodes.index(node) >= WAITING:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER if nodeid.startswith(TOGETHER) else super()._split_scope(nodeid)


def longest_first(items: list[pytest.Item]) -> None:
    """Put the slow folders in front; within them nothing changes its place."""
    ranks = {folder: rank for rank, folder in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.parent.name, len(FIRST)))
