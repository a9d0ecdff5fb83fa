"""`python -m benchmarks.patterns [--quick]`: the decision table with measured figures, as Markdown."""

from __future__ import annotations

import sys

from benchmarks.patterns import group

if __name__ == "__main__":
    quick = "--quick" in sys.argv[1:]
    figures, raw = group.taken(quick)
    print(group.table(figures, group.MESSAGES[quick]))
    print(f"A raw commit of 1 KiB to the same disk: {raw:.2f} ms.")
