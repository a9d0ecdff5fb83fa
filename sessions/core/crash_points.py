"""Named points at which a process ends or stops itself, so that tests can crash it exactly there.

`CRASH_AT=point` or `CRASH_AT=point:detail` (a tool, or the kind of a commit's first event): the process kills itself
with SIGKILL whenever it passes that point; with `CRASH_FLAG=file` only if the file is not there yet, and it makes the
file first, so its successor lives. `CRASH_AT=@file`: what is armed stands in that file, a point and perhaps the word
STOP (SIGSTOP instead: a worker that sleeps through its lease). Whoever passes the point removes the file first, so it
goes off once, and the next point is armed without a restart. Without CRASH_AT nothing happens.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

POINTS = (
    "before_intent",
    "after_intent",
    "after_effect",
    "after_result",
    "after_model",
    "after_commit",
    "after_alerts",
    "after_poll",  # of triggers: fetched from another database, and not deleted there
    "before_fired",  # and acted on, and not written down
)


def point(name: str, detail: str = "") -> None:
    """Die or stop here if the environment says so."""
    wanted = os.environ.get("CRASH_AT", "")
    if wanted.startswith("@"):
        _armed(Path(wanted[1:]), name, detail)
    elif wanted and wanted in (name, f"{name}:{detail}") and _first(os.environ.get("CRASH_FLAG", "")):
        os.kill(os.getpid(), signal.SIGKILL)


def _armed(file: Path, name: str, detail: str) -> None:
    try:
        wanted, _, how = file.read_text().strip().partition(" ")
        if wanted not in (name, f"{name}:{detail}"):
            return
        file.unlink()
    except FileNotFoundError:  # nothing is armed, or another thread was here first
        return
    if how == "STOP":  # to this very thread: it must not run on while another is told to stop
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def _first(flag: str) -> bool:
    """Whether nobody passed before, by the flag; always without one."""
    if not flag:
        return True
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True
