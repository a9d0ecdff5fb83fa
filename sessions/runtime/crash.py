"""Named points at which a process kills itself, so that tests can crash it exactly there.

`CRASH_AT=point` or `CRASH_AT=point:tool`, and `CRASH_FLAG=file`: the process dies by SIGKILL the first time it passes
the point, having made the file, so that its successor lives. Without CRASH_AT nothing happens.
"""

from __future__ import annotations

import os
import signal

POINTS = ("before_intent", "after_intent", "after_effect", "after_result", "after_model")


def point(name: str, tool: str = "") -> None:
    """Die here if the environment says so."""
    wanted = os.environ.get("CRASH_AT", "")
    if not wanted or wanted not in (name, f"{name}:{tool}"):
        return
    flag = os.environ.get("CRASH_FLAG", "")
    if flag:
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return
    os.kill(os.getpid(), signal.SIGKILL)
