"""Stops: a person's word that nothing new may happen in a team, read by the very statement that commits an intent.

`guarded` adds that look to a commit; it is what counts. What this process remembers of the stops in force (for
REMEMBERED seconds) saves it from trying in vain, nothing else: a commit that the guard kept from happening makes it
look again. A stop is a row (`sessions.stops.commands` writes it), never an entry of the sessions that it holds: those
go on with what runs, begin nothing, and are looked at again every LOOK_AGAIN seconds or when it is lifted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.halting import Halt
from agentstate.engine.instants import stamp
from agentstate.engine.state.session import SessionState
from audit import ledger
from audit.keys import teams
from sessions.core.projections import Place

REMEMBERED = 1.0  # seconds
LOOK_AGAIN = 15.0  # seconds after which a session that is stopped is looked at again
HELD_BACK = (ev.ToolIntended, ev.ModelRequested, ev.SummaryRequested)

_IN_FORCE = """SELECT 1 FROM agent_sessions_stop st WHERE st.team_id = %(h_team)s AND st.lifted_at IS NULL
 AND (st.scope = 'tool' AND st.value = ANY(%(h_tools)s::text[]) OR st.scope IN ('everything', 'team')
  OR st.scope = 'agent' AND st.value = %(h_agent)s)"""

_ALL = """SELECT id, team_id, scope, value, sealed_reason, by, at FROM agent_sessions_stop
 WHERE tenant_id = %(tenant)s AND lifted_at IS NULL ORDER BY at, id"""


class StopLine(msgspec.Struct, frozen=True):
    """A stop in force."""

    id: UUID
    team: UUID
    scope: str
    value: str
    sealed_reason: bytes
    by: str
    at: datetime

    @property
    def reason(self) -> str:
        """Why it was set; empty once the team's key is destroyed."""
        return teams.opened(self.sealed_reason)

    def holds(self, agent: str, team: UUID) -> bool:
        """Whether it holds all of a session of that agent and team."""
        of_agent = self.scope == "agent" and self.value == agent
        return self.team == team and (of_agent or self.scope in ("everything", "team"))


class _Memory:
    """The stops in force as this process saw them last, by tenant."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[UUID, tuple[float, tuple[StopLine, ...]]] = {}

    def of(self, tenant: UUID) -> tuple[StopLine, ...]:
        with self._lock:
            seen = self._seen.get(tenant)
        if seen is not None and time.monotonic() - seen[0] < REMEMBERED:
            return seen[1]
        lines = in_force(tenant)
        with self._lock:
            self._seen[tenant] = (time.monotonic(), lines)
        return lines

    def forget(self) -> None:
        with self._lock:
            self._seen.clear()


_memory = _Memory()
forget = _memory.forget


def in_force(tenant: UUID) -> tuple[StopLine, ...]:
    """The stops that no one has lifted, oldest first, as the database has them now."""
    return tuple(StopLine(*row) for row in ledger.run(_ALL, {"tenant": tenant}))


def remembered(tenant: UUID) -> tuple[StopLine, ...]:
    """The same, as this process saw them at most REMEMBERED seconds ago."""
    return _memory.of(tenant)


def halt_for(place: Place, state: SessionState) -> Halt:
    """What this process believes may not begin in a session."""
    lines = _memory.of(place.tenant)
    if not lines:
        return Halt()
    agent = state.opened.agent if state.opened else ""
    tools = frozenset(line.value for line in lines if line.scope == "tool" and line.team == place.team)
    return Halt(any(line.holds(agent, place.team) for line in lines), tools)


def halted_now(place: Place, state: SessionState) -> Halt:
    """Returns what may not begin in a session as the database has it now."""
    forget()
    return halt_for(place, state)


def look_again() -> str:
    """The instant at which a session that is stopped is looked at again."""
    return stamp(now() + timedelta(seconds=LOOK_AGAIN))


def guarded(
    guard: ledger.Fragment | None, place: Place, state: SessionState, events: Sequence[ev.AnyEvent]
) -> ledger.Fragment | None:
    """`guard`, and that no stop holds back what `events` begin or say."""
    if not _begins(events):
        return guard
    agent = state.opened.agent if state.opened else ""
    tools = sorted({event.tool for event in events if isinstance(event, ev.ToolIntended)})
    params = {"h_team": place.team, "h_agent": agent, "h_tools": tools}
    if guard is None:
        return ledger.Fragment(f"SELECT 1 WHERE NOT EXISTS ({_IN_FORCE})", params)
    return ledger.Fragment(
        f"SELECT 1 WHERE EXISTS ({guard.sql}) AND NOT EXISTS ({_IN_FORCE})", {**guard.params, **params}
    )


def _begins(events: Iterable[ev.AnyEvent]) -> bool:
    return any(
        isinstance(event, HELD_BACK) or (isinstance(event, ev.MessageAdded) and event.role == "agent")
        for event in events
    )
