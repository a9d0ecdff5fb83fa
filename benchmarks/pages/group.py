"""The rows of the group: clicks on pages and calls of the API, by a signed-in reviewer and by programs."""

from __future__ import annotations

from benchmarks.ground import Ground
from benchmarks.pages import clicks
from benchmarks.rows import Goal, Row, against, times

GROUP = "pages"
FULL, QUICK = 200, 5  # clicks
MAX_STATEMENTS = {"decision": 15.0, "message": 25.0, "take over": 25.0}


def rows(here: Ground, quick: bool) -> list[Row]:
    """All rows of the group."""
    samples = QUICK if quick else FULL
    with clicks.reviewing(here) as desk:
        measured = [
            row
            for way in clicks.WAYS
            for row in times(GROUP, f"decision by {way}, click to committed", desk.times(way, samples), {50: 30.0})
        ]
        counted = [_counted(way, act, desk.statements(way, act)) for way in clicks.WAYS for act in MAX_STATEMENTS]
    return [*measured, *counted]


def _counted(way: str, act: str, count: int) -> Row:
    goal = Goal(MAX_STATEMENTS[act], at_least=False)
    return against(GROUP, f"{act} by {way}, SQL statements", count, "statements", 1, goal, "1 click")
