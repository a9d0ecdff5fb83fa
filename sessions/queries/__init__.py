"""The reads for pages and API. Who may see what is decided here, never in a view or template."""

from __future__ import annotations

from sessions.queries.changes import ConflictLine, StateLine, conflicts, state_line
from sessions.queries.compensation import Undoable, UndoableLine, undoable_of
from sessions.queries.counts import WallCounts, wall_counts
from sessions.queries.data import DataLine, DataLines, data_of
from sessions.queries.entry_lines import EntryLine, LedgerLine, entries, ledger_head, ledger_lines, state_of, tail_start
from sessions.queries.plans import (
    GoalsLine,
    PlanLine,
    check_plan,
    goals_of,
    plan_difference,
    plan_of,
    saved_plan,
    saved_plans,
)
from sessions.queries.replays import ReplayLine, replayed
from sessions.queries.request_lines import (
    RequestLine,
    assignable,
    decidable,
    decided,
    request_line,
    request_of,
    requests,
    visible_requests,
)
from sessions.queries.seen import SeenLine, seen_of
from sessions.queries.session_lines import (
    ERASED_NAME,
    PAGE,
    Person,
    SessionLine,
    live_sessions,
    opening,
    session_line,
    sessions,
    teams_to_open_in,
    visible_sessions,
    worst_first,
)
from sessions.queries.stuck import StuckCall, stuck, stuck_calls, stuck_sessions
from sessions.queries.versions import StateDifference, VersionsLine, rollback_preview, state_difference, versions_of

__all__ = [
    "ERASED_NAME",
    "PAGE",
    "ConflictLine",
    "DataLine",
    "DataLines",
    "EntryLine",
    "GoalsLine",
    "LedgerLine",
    "Person",
    "PlanLine",
    "ReplayLine",
    "RequestLine",
    "SeenLine",
    "SessionLine",
    "StateDifference",
    "StateLine",
    "StuckCall",
    "Undoable",
    "UndoableLine",
    "VersionsLine",
    "WallCounts",
    "assignable",
    "check_plan",
    "conflicts",
    "data_of",
    "decidable",
    "decided",
    "entries",
    "goals_of",
    "ledger_head",
    "ledger_lines",
    "live_sessions",
    "opening",
    "plan_difference",
    "plan_of",
    "replayed",
    "request_line",
    "request_of",
    "requests",
    "rollback_preview",
    "saved_plan",
    "saved_plans",
    "seen_of",
    "session_line",
    "sessions",
    "state_difference",
    "state_line",
    "state_of",
    "stuck",
    "stuck_calls",
    "stuck_sessions",
    "tail_start",
    "teams_to_open_in",
    "undoable_of",
    "versions_of",
    "visible_requests",
    "visible_sessions",
    "wall_counts",
    "worst_first",
]
