"""`python -m benchmarks [--only GROUP] [--quick] [--out FILE]`: run the groups, print one table, write the results.

Fails when a row has no goal, no base or no word on whether the goal is met. A goal that is not met is a finding, not
a failure.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import rows
from benchmarks.ground import ground, settle_environment
from benchmarks.rows import Row


def _engine(quick: bool) -> list[Row]:
    from benchmarks.engine import group  # once settings are named

    return group.rows(quick)


def _first(quick: bool) -> list[Row]:
    with ground() as here:
        from benchmarks.first import group  # after django.setup()

        return group.rows(here, quick)


def _ledger(quick: bool) -> list[Row]:
    with ground() as here:
        from benchmarks.ledger import group  # after django.setup()

        return group.rows(here, quick)


def _pages(quick: bool) -> list[Row]:
    with ground() as here:
        from benchmarks.pages import group  # after django.setup()

        return group.rows(here, quick)


def _patterns(quick: bool) -> list[Row]:
    from benchmarks.patterns import group

    return group.rows(quick)


def _runs(quick: bool) -> list[Row]:
    with ground() as here:
        from benchmarks.runs import group  # after django.setup()

        return group.rows(here, quick)


GROUPS: dict[str, Callable[[bool], list[Row]]] = {
    "engine": _engine,
    "first": _first,
    "ledger": _ledger,
    "pages": _pages,
    "patterns": _patterns,
    "runs": _runs,
}


def main(words: Sequence[str]) -> int:
    """Run what `words` ask for; the exit code."""
    options = _parsed(words)
    settle_environment()
    measured = [row for name in options.only for row in GROUPS[name](options.quick)]
    return told(measured, options.out)


def told(measured: Sequence[Row], out: Path) -> int:
    """Write and print the rows; 1 when one of them is incomplete, else 0."""
    rows.write(measured, out)
    print(rows.table(measured))
    lacking = rows.incomplete(measured)
    for name in lacking:
        print(f"no goal, base or met: {name}", file=sys.stderr)
    return 1 if lacking else 0


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--only", nargs=1, choices=sorted(GROUPS), default=sorted(GROUPS), metavar="GROUP")
    parser.add_argument("--quick", action="store_true", help="all rows, small sizes: whether all works")
    parser.add_argument("--out", type=Path, default=rows.RESULTS, metavar="FILE", help="where the results go")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
