"""The end of a grant is judged by the database's clock, in the statement that lets a call through by it or begins it.

A process whose clock is late commits nothing on a grant that has ended: it decides again, and asks a person as soon as
its own clock says so too.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentstate.engine import events as ev
from agentstate.engine.policy.granted import PREFIX
from agentstate.engine.state import SessionState
from audit import ledger


def in_time(
    guard: ledger.Fragment | None, state: SessionState, events: Sequence[ev.AnyEvent]
) -> ledger.Fragment | None:
    """`guard`, and that no grant on which `events` let something through has ended."""
    rules = {event.rule for event in events if isinstance(event, ev.CallAllowed | ev.ToolIntended)}
    ends = [grant.until for grant in state.grants.values() if grant.name in rules]
    if not any(rule.startswith(PREFIX) for rule in rules):
        return guard
    params = {"t_until": min(ends, default="-infinity")}
    still = "clock_timestamp() < %(t_until)s::timestamptz"
    if guard is None:
        return ledger.Fragment(f"SELECT 1 WHERE {still}", params)
    return ledger.Fragment(f"SELECT 1 WHERE EXISTS ({guard.sql}) AND {still}", {**guard.params, **params})
