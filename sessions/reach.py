"""Which teams an act concerns, and in which of them a person may do it: one rule, asked by every command and query.

What protects takes effect at once in the person's own teams. What destroys or releases needs the permission in every
team that it concerns.
"""

from __future__ import annotations

from collections.abc import Set
from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from agentstate.people.models import Team, User
from agentstate.people.permissions import Permission, teams_with
from sessions.models import Stop


def all_teams(tenant: UUID) -> frozenset[UUID]:
    """Returns every team of the organization."""
    return frozenset(Team.objects.filter(tenant=tenant).values_list("pk", flat=True))


def of_stop(tenant: UUID, scope: str, value: str) -> frozenset[UUID]:
    """Returns the teams that a stop concerns. Agents and tools are shared: one of them may run in any team."""
    return frozenset({UUID(value)}) if scope == Stop.Scope.TEAM else all_teams(tenant)


def held_in(user: User | AnonymousUser, permission: Permission, teams: Set[UUID]) -> frozenset[UUID]:
    """Returns those of `teams` in which `user` holds the permission now."""
    return frozenset(teams) & frozenset(teams_with(user, permission))
