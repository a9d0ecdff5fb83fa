"""What people need before they hand a session back: a summary of what was said and done, and what is not consistent."""

from __future__ import annotations

from uuid import UUID

from agentstate.clock import now
from agentstate.engine.decide.supervision import inconsistent
from agentstate.engine.handing_back import summary_of
from sessions.agents.registry import context_for
from sessions.core import states
from sessions.core.entry_lines import must_read, state_of
from sessions.core.session_lines import Person


def proposed_summary(user: Person, session: UUID) -> str:
    """The summary that is proposed for a hand-back now; empty when nobody has taken the session over. Raises
    UnknownSession, PermissionDenied.
    """
    state = state_of(user, session)
    if not state.taken_by:
        return ""
    return summary_of(event for _, event in states.events_since(session, state.desk.taken_seq + 1, state.seq))


def not_consistent(user: Person, session: UUID) -> list[str]:
    """What keeps the session from being handed back, by path and rule. Raises UnknownSession, PermissionDenied."""
    must_read(user, session)
    state = states.load(session).state
    return inconsistent(state, context_for(state.opened.agent if state.opened else "", now()))
