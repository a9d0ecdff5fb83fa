"""`python -m tests.chaos.skewed SECONDS CELERY-ARGUMENTS`: a worker on a machine whose clock is wrong by so much."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import Any

from celery.signals import worker_init

from agentstate import clock

WORKED = "advances a session on a wrong clock"  # in its log, once it has


@worker_init.connect
def tell_when_it_works(**_: Any) -> None:
    """Say so in the log whenever a session is claimed."""
    from sessions.runtime import leases

    claim = leases.claim

    def told() -> Any:
        lease = claim()
        if lease is not None:
            print(WORKED, lease.session, flush=True)
        return lease

    leases.claim = told


def main(seconds: float, words: list[str]) -> None:
    """Set this process's clocks wrong, then be Celery. The monotonic clock goes on as it is."""
    right_time, right_now = time.time, clock.now
    time.time = lambda: right_time() + seconds
    clock.now = lambda: right_now() + timedelta(seconds=seconds)
    sys.argv = ["celery", *words]
    from celery.__main__ import main as celery  # only now: whoever imports `now` gets the wrong one

    celery()


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
