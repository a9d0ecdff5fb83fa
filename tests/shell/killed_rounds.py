"""`python -m tests.shell.killed_rounds TENANT KILLS`: runs rounds in a child, kills it at a random instant, and again.

The child is forked, so that a kill costs no start; nothing is connected before the fork. It says when a round is done,
and is killed at some instant after one or more of them, however busy the machine is.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from uuid import UUID

import django


def main(tenant: UUID, kills: int) -> None:
    """Kill so many sequencers."""
    django.setup()
    from audit import sequencer  # loaded once

    for _ in range(kills):
        done, told = os.pipe()
        child = os.fork()
        if child == 0:
            while True:
                sequencer.run_once(tenant, with_map=random.random() < 0.5)
                os.write(told, b".")
        os.close(told)
        for _ in range(random.randint(1, 3)):
            os.read(done, 1)
        time.sleep(random.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(done)
        if not os.WIFSIGNALED(status):
            sys.exit("a round failed")
    print("killed", kills)


if __name__ == "__main__":
    main(UUID(sys.argv[1]), int(sys.argv[2]))
