"""Which customers a person may know: those of whom the person may read a session, by role or by audit access. Other
customers are unknown to the person.
"""

from __future__ import annotations

from uuid import UUID

import msgspec
from django.contrib.auth.models import AnonymousUser

from agentstate.engine.profile import Declaration
from agentstate.errors import NotFound
from agentstate.people.models import User
from agentstate.people.roles import Permission
from sessions.core import access, reach
from sessions.models.sessions import AgentSession
from sessions.profiles import declarations
from sessions.profiles.logs import Subject

Person = User | AnonymousUser


class UnknownCustomer(NotFound):
    """There is no such customer, or you may not see them."""

    code = "unknown_customer"


class NoProfile(NotFound):
    """No agent that this customer has spoken with keeps profiles."""

    code = "no_profile"


class Known(msgspec.Struct, frozen=True):
    """A customer as a reader may know them. `teams` serve the customer; `sessions` are those that the reader may read,
    and `whole` says whether these are all.
    """

    subject: Subject
    declared: Declaration
    teams: frozenset[UUID]
    sessions: frozenset[str]
    whole: bool


def known(user: Person, customer: UUID) -> Known:
    """Returns a customer of whom the person may read a session. Raises UnknownCustomer, NoProfile."""
    theirs = AgentSession.objects.filter(kid=customer)
    readable = theirs.filter(access.within(user, Permission.READ))
    sessions = frozenset(str(session) for session in readable.values_list("pk", flat=True))
    if not sessions:
        raise UnknownCustomer()
    tenant = theirs.values_list("tenant_id", flat=True)[0]
    whole = len(sessions) == theirs.count()
    return Known(Subject(customer, tenant), declaration_of(customer), reach.of_profile(customer), sessions, whole)


def declaration_of(customer: UUID) -> Declaration:
    """Returns the declaration of the agent that keeps profiles and spoke with the customer last. Raises NoProfile."""
    agents = AgentSession.objects.filter(kid=customer).order_by("-opened_at").values_list("agent", flat=True)
    found = (declarations.for_agent(agent) for agent in dict.fromkeys(agents))
    declared = next((each for each in found if each is not None), None)
    if declared is None:
        raise NoProfile()
    return declared


def kept_in(user: Person, teams: frozenset[UUID]) -> frozenset[UUID]:
    """Returns those of these teams for which `user` changes a profile on the customer's behalf."""
    return reach.held_in(user, Permission.KEEP_PROFILE, teams)


def spoken_in(user: Person, teams: frozenset[UUID]) -> frozenset[UUID]:
    """Returns those of these teams in which `user` speaks as the customer."""
    return reach.held_in(user, Permission.SPEAK_AS_CUSTOMER, teams)
