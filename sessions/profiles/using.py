"""What a session's agent is given of its customer: the profile as it is now, read by the declared mapping.

Read before each model request, from the row that is written with the profile's entries: a consent that was withdrawn a
moment ago counts.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine.decide.commands.user import Adapt
from agentstate.engine.events import Adaptation
from agentstate.engine.profile import adapt
from agentstate.engine.state import SessionState
from audit import ledger
from sessions.profiles import declared as declarations
from sessions.profiles import logs
from sessions.profiles.logs import Subject


def adapting(session: UUID, state: SessionState, at: str) -> Adapt:
    """The command that brings the session's knowledge of its customer up to date. Raises keys.Erased."""
    declared = declarations.for_agent(state.opened.agent) if state.opened else None
    if declared is None:
        return Adapt(Adaptation())
    rows = ledger.run(
        "SELECT p.kid, p.tenant_id, p.seq, p.sealed FROM agent_sessions_agentsession s"
        " JOIN agent_sessions_customerprofile p ON p.kid = s.kid WHERE s.id = %(session)s",
        {"session": session},
    )
    for kid, tenant, seq, sealed in rows:
        profile = logs.unsealed(Subject(kid, tenant), seq, bytes(sealed))
        return Adapt(adapt(profile, declared, at))
    return Adapt(Adaptation())
