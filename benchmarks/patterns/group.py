"""The rows of the group, and the decision table with measured figures."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.patterns.measured import Figures, measured, raw_commit
from benchmarks.rows import Goal, Row, against

GROUP = "patterns"
MESSAGES = {False: 1_500, True: 100}
SAMPLES = 60
# A step late in the conversation, against one synced commit of a kilobyte: what keeps nothing must be faster than the
# disk, what keeps the log with its tiers not slower than four commits; the two simple ones are shown for what they are.
GOALS = {"stateless": 10.0, "in memory": 2.0, "persisted": 10.0, "event sourced": 200.0, "tiered": 4.0}


def taken(quick: bool) -> tuple[list[Figures], float]:
    """Every pattern's figures, and milliseconds of a raw commit in the same directory."""
    with tempfile.TemporaryDirectory(prefix="agentstate-bench-") as name:
        folder = Path(name)
        figures = list(measured(folder, MESSAGES[quick], SAMPLES))
        return figures, raw_commit(folder, bytes(1024), 5 * SAMPLES)


def rows(quick: bool) -> list[Row]:
    """A step of each pattern late in a conversation, against a raw commit. No server."""
    figures, raw = taken(quick)
    return [
        against(
            GROUP,
            f"a step, {each.pattern}, after {MESSAGES[quick]:,} messages, against a raw commit",
            each.late,
            "ms",
            raw,
            Goal(GOALS[each.pattern], at_least=False),
            f"{SAMPLES} steps",
        )
        for each in figures
    ]


def table(figures: list[Figures], messages: int) -> str:
    """The decision table as Markdown."""
    head = (
        "| pattern | speed: a step after 60 / after all messages | persistence: a new process finds"
        " | scalability: two writers | debuggability: past states |\n| --- | --- | --- | --- | --- |\n"
    )
    return head + "".join(_line(each, messages) for each in figures)


def _line(each: Figures, messages: int) -> str:
    told = "the second is told" if each.told else "both succeed, one is lost"
    past = "the newest only" if each.past == 1 else f"every one (all {each.past} tried)"
    speed = f"{each.early:.2f} ms / {each.late:.2f} ms"
    return f"| {each.pattern} | {speed} | {each.found:,} of {messages:,} messages | {told} | {past} |\n"
