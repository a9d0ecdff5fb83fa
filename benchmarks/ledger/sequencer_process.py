"""`python -m benchmarks.ledger.sequencer_process FILE`: the sequencer as `manage.py sequence` runs it.

At SIGUSR1 it writes the lag of each head since the last time into FILE, a line each.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import django


def main(file: Path) -> None:
    """Until SIGTERM."""
    django.setup()
    from audit.management.commands.sequence import tenant
    from audit.sequencer_leader import keep_sequencing

    lags: list[float] = []
    over = threading.Event()

    def hand_over(*_: object) -> None:
        draft = file.with_suffix(".draft")
        draft.write_text("".join(f"{lag}\n" for lag in lags))
        draft.rename(file)
        lags.clear()

    signal.signal(signal.SIGTERM, lambda *_: over.set())
    signal.signal(signal.SIGUSR1, hand_over)
    keep_sequencing(tenant, over, lambda done: lags.extend(done.lags))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
