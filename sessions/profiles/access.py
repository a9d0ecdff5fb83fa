"""Who may know which customer: somebody who may read a session of theirs, by role or by a grant. To anybody else there
is none.
"""

from __future__ import annotations

from uuid import UUID

import msgspec
from django.contrib.auth.models import AnonymousUser

from agentstate.engine.profile import Declaration
from agentstate.errors import NotFound
from agentstate.people.models import User
from agentstate.people.permissions import Permission, teams_with
from sessions import access
from sessions.models import AgentSession
from sessions.profiles import declared as declarations
from sessions.profiles.logs import Subject

Person = User | AnonymousUser


class UnknownCustomer(NotFound):
    """There is no such customer, or you may not see them."""

    code = "unknown_customer"


class NoProfile(NotFound):
    """No agent that this customer has spoken with keeps profiles."""

    code = "no_profile"


class Known(msgspec.Struct, frozen=True):
    """A customer as somebody may know them: whose profile, under which declaration, the teams that serve them, the
    sessions that the reader may read, and whether those are all.
    """

    subject: Subject
    declared: Declaration
    teams: frozenset[UUID]
    sessions: frozenset[str]
    whole: bool


def known(user: Person, customer: UUID) -> Known:
    """The customer, to those who may read a session of theirs. Raises UnknownCustomer, NoProfile."""
    theirs = AgentSession.objects.filter(kid=customer)
    readable = theirs.filter(access.within(user, Permission.READ))
    sessions = frozenset(str(session) for session in readable.values_list("pk", flat=True))
    if not sessions:
        raise UnknownCustomer()
    rows = list(theirs.order_by("-opened_at").values_list("tenant_id", "team_id", "agent"))
    teams = frozenset(team for _, team, _ in rows)
    found = (declarations.for_agent(agent) for agent in dict.fromkeys(agent for _, _, agent in rows))
    declared = next((each for each in found if each is not None), None)
    if declared is None:
        raise NoProfile()
    return Known(Subject(customer, rows[0][0]), declared, teams, sessions, len(sessions) == len(rows))


def may_keep(user: Person, teams: frozenset[UUID]) -> bool:
    """Whether `user` may change the profile of a customer whom these teams serve."""
    return keeps(user, teams) or speaks(user, teams)


def keeps(user: Person, teams: frozenset[UUID]) -> bool:
    """Whether `user` may do so on the customer's behalf."""
    return bool(teams & set(teams_with(user, Permission.KEEP_PROFILE)))


def speaks(user: Person, teams: frozenset[UUID]) -> bool:
    """Whether `user` speaks as the customer there."""
    return bool(teams & set(teams_with(user, Permission.SPEAK_AS_CUSTOMER)))
