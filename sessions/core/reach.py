"""Which teams an act concerns, and in which of them a person may do it: one rule, asked by every command and query.

What protects takes effect at once in the person's own teams. What destroys or releases needs the permission in every
team that it concerns.
"""

from __future__ import annotations

from collections.abc import Set
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet

from agentstate.people.models import Membership, Team, User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission, roles_with
from audit import keyed
from audit.models import LegalHold
from audit.retention import Schedule, changes_for
from sessions.models.sessions import AgentSession, Stop


def all_teams(tenant: UUID) -> frozenset[UUID]:
    """Returns every team of the organization."""
    return frozenset(Team.objects.filter(tenant=tenant).values_list("pk", flat=True))


def of_stop(tenant: UUID, scope: str, value: str) -> frozenset[UUID]:
    """Returns the teams that a stop concerns. Agents and tools are shared: one of them may run in any team."""
    return frozenset({UUID(value)}) if scope == Stop.Scope.TEAM else all_teams(tenant)


def held_in(user: User | AnonymousUser, permission: Permission, teams: Set[UUID]) -> frozenset[UUID]:
    """Returns those of `teams` in which `user` holds the permission now."""
    return frozenset(teams) & frozenset(teams_with(user, permission))


def of_retention(tenant: UUID, before: Schedule, after: Schedule) -> frozenset[UUID]:
    """Returns the teams whose sessions go by other retention rules afterwards."""
    return frozenset(team for team in used_teams(tenant) if changes_for(before, after, team))


def of_subject(kid: UUID) -> frozenset[UUID]:
    """Returns the teams that have a session with a data subject, or a session that holds data of theirs."""
    return frozenset(sessions_of(kid).values_list("team_id", flat=True))


def sessions_of(kid: UUID) -> QuerySet[AgentSession]:
    """Returns the sessions with a data subject, and those that hold data of theirs."""
    return AgentSession.objects.filter(Q(kid=kid) | Q(pk__in=keyed.logs_of(kid)))


def of_profile(customer: UUID) -> frozenset[UUID]:
    """Returns the teams that have a session with a customer: their agents go by the customer's profile."""
    return frozenset(AgentSession.objects.filter(kid=customer).values_list("team_id", flat=True))


def of_hold(hold: LegalHold) -> frozenset[UUID]:
    """Returns the teams that a legal hold concerns: of its session, or all that serve its subject."""
    if hold.log is None:
        return of_subject(hold.kid)
    return frozenset(AgentSession.objects.filter(pk=hold.log).values_list("team_id", flat=True))


def of_actor(actor: str) -> frozenset[UUID]:
    """Returns the teams of a person, by how entries name them; none for a program or a person who has left."""
    kind, _, name = actor.partition(":")
    if kind != "user":
        return frozenset()
    return frozenset(Membership.objects.filter(user=UUID(name)).values_list("team_id", flat=True))


def answering(teams: Set[UUID], permission: Permission) -> frozenset[UUID]:
    """Returns those of `teams` in which a person holds the permission."""
    able = Membership.objects.filter(team__in=teams, role__in=roles_with(permission), user__is_active=True)
    return frozenset(able.values_list("team_id", flat=True))


def used_teams(tenant: UUID) -> frozenset[UUID]:
    """Returns the teams that have a member or a session. Without either there is nobody to ask and nothing to lose."""
    members = Membership.objects.filter(team=OuterRef("pk"))
    sessions = AgentSession.objects.filter(team_id=OuterRef("pk"))
    found = Team.objects.filter(Exists(members) | Exists(sessions), tenant=tenant)
    return frozenset(found.values_list("pk", flat=True))
