"""Starts a program under limits that it cannot lift: `python -I -S confined.py LIMITS PROGRAM [ARGUMENT...]`.

Run as a program by its path, with the standard library alone. LIMITS is JSON: the names of `resource.RLIMIT_*` and
numbers. The program takes this process's place, so its pid, group, pipes and environment are the ones that were given
to it; it is ended by the kernel as soon as the thread that started it is gone (prctl(2), PR_SET_PDEATHSIG), and gains
no rights by executing a set-user-id file (PR_SET_NO_NEW_PRIVS). What it starts inherits the limits.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
NOT_STARTED = 127  # the exit status, as shells have it


def main(limits: str, *program: str) -> int:
    """Takes the program's place; comes back only when there is no such program."""
    if sys.platform == "linux":
        control = ctypes.CDLL(None, use_errno=True).prctl
        control(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        control(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for name, wanted in json.loads(limits).items():
        number = getattr(resource, f"RLIMIT_{name}")
        highest = resource.getrlimit(number)[1]
        most = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
        resource.setrlimit(number, (most, most))
    try:
        os.execvp(program[0], program)  # noqa: S606 - that is what it is for
    except OSError:
        return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
