"""An approver gives a standing approval, on their own or a delegated authority. A person with a right of their own to
decide revokes it.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.engine.decide.commands.approvals import GrantSame, RevokeGrant
from agentstate.engine.decide.grants import GrantOver
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from sessions.core import authority, standing_approvals, states
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.guards import Guard
from sessions.core.person import Person, author_of
from sessions.core.states import Loaded, UnknownSession
from sessions.models.sessions import AgentSession, StandingGrant


def grant_same(
    user: Person,
    session: UUID,
    request: UUID,
    *,
    seconds: int | None = None,
    uses: int | None = None,
    reason: str = "",
    key: str = "",
) -> Committed:
    """The same tool goes on without asking, as far as the rule of `request` offers it and for less where that is said:
    in this session, in all of its customer, or in all of its agent in its team.

    Raises UnknownSession, UnknownRequest, NoGrantOffered, DecisionNotAllowed, Invalid.
    """
    team = _team(user, session)
    author = author_of(user, key)

    def command(_: Loaded) -> GrantSame:
        held = authority.reviewer(user, team)
        return GrantSame(
            str(request), author.actor, held.may, seconds, uses, reason, held.names, held.lent, held.sharing
        )

    return person_command(session, command, author)


def revoke_grant(user: Person, session: UUID, grant: str, *, reason: str = "", key: str = "") -> Committed:
    """From now on a person is asked again; in every session, if it holds beyond this one. Raises UnknownSession,
    UnknownGrant, GrantOver, DecisionNotAllowed.
    """
    team = _team(user, session)
    may, author = authority.reviewer(user, team).may, author_of(user, key)
    standing = _standing(session, grant)
    command = RevokeGrant(grant, author.actor, may, reason, wider=standing is not None)
    if standing is None:
        return person_command(session, command, author, recheck=_recheck(user, team, may))
    return person_command(
        session,
        command,
        author,
        recheck=_recheck(user, team, may),
        guard=Guard(standing_approvals.not_revoked(standing.pk), GrantOver("somebody has taken it back")),
    )


def _standing(session: UUID, grant: str) -> StandingGrant | None:
    """The row of a grant that holds in this session and beyond it."""
    loaded = states.load(session)
    if loaded.state.opened is None:
        return None
    rows = standing_approvals.rows_for(loaded.place, loaded.state.opened.agent)[: standing_approvals.MOST]
    return next((row for row in rows if str(row.pk) == grant), None)


def _team(user: Person, session: UUID) -> UUID:
    team: UUID | None = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not can(user, Permission.READ, team):
        raise UnknownSession()
    return team


def _recheck(user: Person, team: UUID, may: frozenset[str]) -> Callable[[], None]:
    """Checks once nobody else can append: waiting for the session may take long."""

    def check() -> None:
        if authority.reviewer(user, team).may != may:
            raise core.DecisionNotAllowed("your permissions have just changed")

    return check
