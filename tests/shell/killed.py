"""A process that kills itself at a named point of sessions.core.crash_points, while it does what a worker does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from django.db import connections


def killed_at(point: str, act: Callable[[], object]) -> bool:
    """Whether a process of its own was killed at that point; False when it came to its end. It is forked, so that it
    costs no start; nothing is connected before.
    """
    connections.close_all()
    if (pid := os.fork()) == 0:
        os.environ["CRASH_AT"] = point
        try:
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
