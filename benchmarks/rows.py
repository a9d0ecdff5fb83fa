"""A line of the table: a value of ours beside the raw limit of the same run, the goal for their ratio, and whether it
is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.rounds import percentile

RESULTS = Path(__file__).resolve().parent / "results.json"


class Goal(msgspec.Struct, frozen=True):
    """What the ratio to the base must be: at least `bound` for a speed, at most `bound` for a time."""

    bound: float
    at_least: bool

    def met(self, ratio: float) -> bool:
        """Whether `ratio` reaches the goal."""
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"


class Row(msgspec.Struct, frozen=True):
    """`value` and `base` in `unit`; `ratio` is value / base, paired within rounds where there are rounds.

    `goal` reads `>= 0.35` or `<= 10`. `size` says how much was measured.
    """

    group: str
    name: str
    value: float | None
    unit: str
    base: float | None
    ratio: float | None
    goal: str | None
    met: bool | None
    size: str


def against(
    group: str, name: str, value: float, unit: str, base: float, goal: Goal, size: str, ratio: float | None = None
) -> Row:
    """The row of a measurement; `ratio` where it is not simply value / base."""
    exact = value / base if ratio is None else ratio
    return Row(group, name, rounded(value), unit, rounded(base), rounded(exact), str(goal), goal.met(exact), size)


def rounded(number: float) -> float:
    """Three digits that mean something, thousands whole."""
    return round(number) if abs(number) >= 1000 else float(f"{number:.3g}")


def incomplete(rows: Sequence[Row]) -> list[str]:
    """The names of rows that lack a goal, a base or the word whether the goal is met."""
    return [row.name for row in rows if None in (row.value, row.base, row.ratio, row.goal, row.met)]


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    head = ("group", "what", "value", "unit", "base", "ratio", "goal", "met", "size")
    lines = [head, *([_text(value) for value in msgspec.structs.astuple(row)] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:g}" if isinstance(value, float) else str(value)


def write(rows: Sequence[Row], path: Path) -> None:
    """All rows as JSON, in place of what an earlier run wrote."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(list(rows)), indent=1) + b"\n")


def times(group: str, what: str, taken: tuple[Sequence[float], Sequence[float]], goals: dict[int, float]) -> list[Row]:
    """A row for each percentile of `goals`: our milliseconds and the raw ones, which ours may exceed so many times."""
    ours, raw = taken
    return [
        against(
            group,
            f"{what}, p{share}",
            percentile(ours, share),
            "ms",
            percentile(raw, share),
            Goal(bound, at_least=False),
            f"{len(ours)} each",
        )
        for share, bound in goals.items()
    ]
