"""Gives a session's agent what it may know of its customer: the profile as it is now, read by the declared mapping.

It is read before each model request, from the row that is written with the profile's entries, so a withdrawn consent
counts at once. Where several teams serve the customer, an agent gets what its own team's sessions taught, and what the
customer said.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine.decide.commands.conversation import Adapt
from agentstate.engine.events import Adaptation
from agentstate.engine.profile import ProfileState, adapt
from agentstate.engine.state.session import SessionState
from audit import ledger
from sessions.models.sessions import AgentSession
from sessions.profiles import declarations, logs
from sessions.profiles.logs import Subject
from sessions.profiles.partial import taught_by, teachers


def adapting(session: UUID, state: SessionState, at: str) -> Adapt:
    """The command that brings the session's knowledge of its customer up to date. Raises keys.Erased."""
    declared = declarations.for_agent(state.opened.agent) if state.opened else None
    if declared is None:
        return Adapt(Adaptation())
    rows = ledger.run(
        "SELECT p.kid, p.tenant_id, p.seq, p.sealed, s.team_id, EXISTS (SELECT 1 FROM agent_sessions_agentsession o"
        " WHERE o.kid = s.kid AND o.team_id <> s.team_id) FROM agent_sessions_agentsession s"
        " JOIN agent_sessions_customerprofile p ON p.kid = s.kid WHERE s.id = %(session)s",
        {"session": session},
    )
    for kid, tenant, seq, sealed, team, shared in rows:
        profile = logs.unsealed(Subject(kid, tenant), seq, bytes(sealed))
        return Adapt(adapt(_of_team(profile, team) if shared else profile, declared, at))
    return Adapt(Adaptation())


def _of_team(profile: ProfileState, team: UUID) -> ProfileState:
    """Returns the profile without what the sessions of other teams taught. Feedback is of no session: it stays."""
    own = AgentSession.objects.filter(pk__in=teachers(profile), team=team).values_list("pk", flat=True)
    return taught_by(profile, {"", *map(str, own)})
