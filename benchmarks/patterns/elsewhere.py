"""A new process that opens what another has kept, and prints how many messages it finds."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.patterns.measured import SESSION, store_of

if __name__ == "__main__":
    print(store_of(sys.argv[1], Path(sys.argv[2])).load(SESSION).messages)
